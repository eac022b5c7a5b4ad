use crate::{
    Store, StoreError,
    deletions::Gone,
    error::{RETRY_AFTER, STAMPS_MAX},
    record::Telling,
};
use ripstop_catalog::{
    BUCKET_DOCUMENTS_LEN_MAX, Bucket, Change, Condition, ListingRequest, Refusal, Versioning,
};
use ripstop_host::unix_ms;
use std::sync::atomic::Ordering;

impl Store {
    /// Makes a bucket of which nothing is configured.
    pub async fn create_bucket(&self, name: &str) -> Result<(), StoreError> {
        self.make_bucket(Bucket { name: name.to_owned(), ..Bucket::default() }).await
    }

    /// Makes a bucket of which this is configured: its owner, its documents, and how it keeps
    /// versions.
    pub async fn make_bucket(&self, wanted: Bucket) -> Result<(), StoreError> {
        if self.inner.catalog.bucket(&wanted.name).await?.is_some() {
            return Err(Refusal::BucketExists.into());
        }
        let created_ms = unix_ms();
        for _ in 0..STAMPS_MAX {
            let (told_by, _pin) = self.name().await?;
            let stamp = Some(self.stamp(told_by, &Condition::None).await?);
            let bucket = Bucket { created_ms, told_by, stamp, ..wanted.clone() };
            let told = Telling::Bucket(bucket.clone());
            let written = self.tell(self.pool_for(&bucket.name), told_by, told).await?;
            let change = |stripes| Change::CreateBucket { bucket, stripes };
            match self.commit(vec![written], change).await {
                Ok(_) => return Ok(()),
                Err(why) => _ = self.behind(why)?,
            }
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }

    /// Has a bucket have this document of that name in the place of any other; with `None`, none.
    pub async fn set_bucket_document(
        &self,
        bucket: &str,
        name: &str,
        document: Option<&str>,
    ) -> Result<(), StoreError> {
        let with_it = |old: Bucket| {
            let documents = old.documents.with(name, document.map(str::to_owned));
            Ok(Bucket { documents, ..old })
        };
        self.change_bucket(bucket, with_it).await
    }

    /// The same of a document that says who may do what to it.
    pub async fn set_bucket_guard(
        &self,
        bucket: &str,
        name: &str,
        document: Option<&str>,
    ) -> Result<(), StoreError> {
        let with_it = |old: Bucket| {
            let guards = old.guards.with(name, document.map(str::to_owned));
            Ok(Bucket { guards, ..old })
        };
        self.change_bucket(bucket, with_it).await
    }

    /// Has a bucket keep versions like this from now on; one that ever did goes on keeping those
    /// that it has, so `Versioning::Never` changes nothing.
    pub async fn set_versioning(
        &self,
        bucket: &str,
        versioning: Versioning,
    ) -> Result<(), StoreError> {
        if versioning == Versioning::Never {
            return self.bucket(bucket).await.map(drop);
        }
        self.change_bucket(bucket, |old| Ok(Bucket { versioning, ..old })).await
    }

    /// Makes a bucket other than it is, unless `change` refuses that: of the same name, and made at
    /// the same time. It is told again, so that a rebuild knows the change. Where others change it
    /// at the same time, `change` is asked again, of what they have made of it.
    pub async fn change_bucket<E: From<StoreError>>(
        &self,
        name: &str,
        change: impl Fn(Bucket) -> Result<Bucket, E>,
    ) -> Result<(), E> {
        for _ in 0..STAMPS_MAX {
            let old = self.bucket(name).await?;
            let was = old.told_by;
            let new = change(old.clone())?;
            if new == old {
                return Ok(());
            }
            let len = new.documents_len();
            if len > BUCKET_DOCUMENTS_LEN_MAX {
                return Err(StoreError::from(Refusal::DocumentsTooLong { len }).into());
            }
            let (told_by, _pin) = self.name().await?;
            let stamp = Some(self.stamp(told_by, &Condition::None).await?);
            let bucket = Bucket { told_by, stamp, ..new };
            let told = Telling::Bucket(bucket.clone());
            let written = self.tell(self.pool_for(&bucket.name), told_by, told).await?;
            let change = |stripes| Change::SetBucket { bucket, was, stripes };
            match self.commit(vec![written], change).await {
                Ok(_) => return Ok(()),
                // Somebody else has changed it since.
                Err(why) if why.is_refusal(&Refusal::ConditionFailed) => {}
                Err(why) => _ = self.behind(why)?,
            }
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER }.into())
    }

    /// Removes an empty bucket. As with objects, what tells of it at the nodes is left out where
    /// too few of them take it.
    pub async fn delete_bucket(&self, name: &str) -> Result<(), StoreError> {
        self.bucket(name).await?;
        let first = ListingRequest { bucket: name.to_owned(), max: 1, ..Default::default() };
        if !self.inner.catalog.versions(&first).await?.versions.is_empty() {
            return Err(Refusal::BucketNotEmpty.into());
        }
        for _ in 0..STAMPS_MAX {
            let gone = [Gone {
                bucket: name.to_owned(),
                key: String::new(),
                condition: Some(Condition::None),
            }];
            let (written, mut tombstones) = self.tell_gone(self.pool_for(name), &gone).await?;
            let (name, tombstone) = (name.to_owned(), tombstones.pop());
            let change = |stripes| Change::DeleteBucket { name, tombstone, stripes };
            match self.commit(written.into_iter().collect(), change).await {
                Ok(_) => return Ok(()),
                Err(why) => _ = self.behind(why)?,
            }
        }
        Err(StoreError::Busy { retry_after: RETRY_AFTER })
    }

    /// A bucket by name; `NoSuchBucket` if there is none.
    pub async fn bucket(&self, name: &str) -> Result<Bucket, StoreError> {
        let found = self.inner.catalog.bucket(name).await?;
        found.ok_or_else(|| Refusal::NoSuchBucket.into())
    }

    /// How often buckets were made, changed or deleted since the start: what was read of them
    /// before is still so if it is still this. `None` if others may change them, too, unseen.
    pub fn bucket_changes(&self) -> Option<u64> {
        let changes = self.inner.bucket_changes.load(Ordering::Acquire);
        (!self.inner.settings.is_shared).then_some(changes)
    }

    /// Buckets by name, ascending, after `after`; fewer than `max` where much is configured of
    /// them.
    pub async fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, StoreError> {
        Ok(self.inner.catalog.buckets(after, max).await?)
    }
}
