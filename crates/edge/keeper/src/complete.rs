use crate::{
    listing::{Buckets, Listing as _, Places, Stripes},
    reach::reach,
};
use ripstop_catalog::{
    Bucket, Catalog, CatalogError, Change, Condition, Located, Quota, Refusal, Release, Stripe,
};
use ripstop_host::unix_ms;
use ripstop_model::StripeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Places that are looked at together of those of which a pack tells what is not so.
const OUTLIVED_PAGE: usize = 256;

/// What was brought into a catalog.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CompleteReport {
    /// Buckets that it lacked, or knew as they were before they were configured again.
    pub buckets: u64,
    /// Objects that it lacked, or had older versions of.
    pub objects: u64,
    /// Buckets and objects that it had and that were deleted later.
    #[serde(default)]
    pub deletions: u64,
    /// Objects that share a stripe with something that was deleted: left out.
    pub left_out: u64,
}

/// Brings into `catalog` what it lacks of `found`, a catalog made from all fragments of the same
/// nodes, by the same numbers: buckets, later versions of objects than its own, and later
/// deletions. What it knows to have been deleted stays so. `progress` hears of objects looked at.
///
/// # Errors
/// If either catalog fails: what was brought in until then stays, and doing it again does the rest.
pub async fn complete(
    catalog: &dyn Catalog,
    found: &dyn Catalog,
    progress: impl Fn(u64),
) -> Result<CompleteReport, CatalogError> {
    // Stamps to come are later than all that are at the nodes.
    let reached = found.vouched().await?.sessions.into_iter().max_by_key(|(_, until_ms)| *until_ms);
    if let Some((session, until_ms)) = reached {
        reach(catalog, session, until_ms).await?;
    }
    let mut completing = Completing { catalog, found, report: CompleteReport::default(), seen: 0 };
    completing.walk(&progress, false).await?;
    completing.walk(&progress, true).await?;
    completing.outlived().await?;
    Ok(completing.report)
}

struct Completing<'a> {
    catalog: &'a dyn Catalog,
    found: &'a dyn Catalog,
    report: CompleteReport,
    /// Objects looked at.
    seen: u64,
}

impl Completing<'_> {
    /// Goes through what was found, and brings it in; or through what there is, for what was
    /// deleted.
    async fn walk(
        &mut self,
        progress: &impl Fn(u64),
        for_deletions: bool,
    ) -> Result<(), CatalogError> {
        let through = if for_deletions { self.catalog } else { self.found };
        let mut buckets = Buckets::default();
        while let Some(page) = buckets.page(through).await? {
            for bucket in page {
                if !for_deletions {
                    self.bucket(bucket.clone()).await?;
                }
                let mut places = Places::of(bucket.name.clone());
                while let Some(page) = places.page(through).await? {
                    for (space, key) in page {
                        if for_deletions {
                            self.deletion(&space, key).await?;
                        } else {
                            self.object(&space, key).await?;
                        }
                        self.seen += 1;
                        progress(self.seen);
                    }
                }
                if for_deletions {
                    self.deleted_bucket(bucket).await?;
                }
            }
        }
        Ok(())
    }

    /// Removes an object that was deleted later.
    async fn deletion(&mut self, bucket: &str, key: String) -> Result<(), CatalogError> {
        let Some(tombstone) = self.found.tombstone(bucket, &key).await? else { return Ok(()) };
        let present = self.catalog.object(bucket, &key).await?;
        if present.is_none_or(|present| present.object.stamp() >= tombstone.stamp) {
            return Ok(());
        }
        let stripes = self.new_stripes([tombstone.told_by].into()).await?;
        let (bucket, condition, tombstone) = (bucket.to_owned(), Condition::None, Some(tombstone));
        let release = Release::AsTold;
        let change = Change::DeleteObject { bucket, key, condition, release, tombstone, stripes };
        self.delete(change).await
    }

    /// Removes a bucket that was deleted later, if nothing is in it.
    async fn deleted_bucket(&mut self, bucket: Bucket) -> Result<(), CatalogError> {
        let Some(tombstone) = self.found.tombstone(&bucket.name, "").await? else { return Ok(()) };
        if bucket.stamp() >= tombstone.stamp {
            return Ok(());
        }
        let stripes = self.new_stripes([tombstone.told_by].into()).await?;
        let (name, tombstone) = (bucket.name, Some(tombstone));
        self.delete(Change::DeleteBucket { name, tombstone, stripes }).await
    }

    async fn delete(&mut self, change: Change) -> Result<(), CatalogError> {
        match self.catalog.commit_one(unix_ms(), change).await {
            Ok(_) => self.report.deletions += 1,
            // Something is in the bucket, or what tells of the deletion is garbage here.
            Err(CatalogError::Refused(_)) => self.report.left_out += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn bucket(&mut self, bucket: Bucket) -> Result<(), CatalogError> {
        let present = self.catalog.bucket(&bucket.name).await?;
        let is_known = present.as_ref().is_some_and(|present| present.stamp() >= bucket.stamp());
        if is_known || self.catalog.is_garbage(bucket.told_by).await? {
            return Ok(());
        }
        let stripes = self.new_stripes([bucket.told_by].into()).await?;
        let change = match present {
            Some(present) => Change::SetBucket { bucket, was: present.told_by, stripes },
            None => Change::CreateBucket { bucket, stripes },
        };
        match self.catalog.commit_one(unix_ms(), change).await {
            Ok(_) => self.report.buckets += 1,
            Err(CatalogError::Refused(Refusal::Retired { .. })) => self.report.left_out += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn object(&mut self, bucket: &str, key: String) -> Result<(), CatalogError> {
        let Some(Located { object, .. }) = self.found.object(bucket, &key).await? else {
            return Ok(());
        };
        let present = self.catalog.object(bucket, &key).await?;
        let is_known = present.is_some_and(|present| present.object.stamp() >= object.stamp());
        if is_known || self.catalog.is_garbage(object.told_by).await? {
            return Ok(());
        }
        let extents = object.extents.iter().map(|extent| extent.stripe);
        let stripes = self.new_stripes(extents.chain([object.told_by]).collect()).await?;
        let (bucket, condition) = (bucket.to_owned(), Condition::AsTold);
        // What the nodes hold was let in once.
        let quota = Quota::NONE;
        let change = Change::PutObject { bucket, key, object, stripes, condition, quota };
        match self.catalog.commit_one(unix_ms(), change).await {
            Ok(_) => self.report.objects += 1,
            // Its bucket was deleted, or a stripe of it was; or the session that wrote it was given
            // up before it had done so.
            Err(CatalogError::Refused(
                Refusal::StripeGone { .. } | Refusal::NoSuchBucket | Refusal::Retired { .. },
            )) => self.report.left_out += 1,
            // It was deleted later.
            Err(CatalogError::Refused(Refusal::Behind { .. })) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Notes of packs, which one of their members may have brought, what they tell of others that
    /// is not so: for as long as they do, deletions of those must be told.
    async fn outlived(&self) -> Result<(), CatalogError> {
        let mut buckets = Buckets::default();
        while let Some(page) = buckets.page(self.found).await? {
            for bucket in page {
                let mut places = Places::of(bucket.name.clone());
                while let Some(page) = places.page(self.found).await? {
                    for (space, key) in page {
                        self.outlived_version(&space, &key).await?;
                    }
                }
            }
        }
        let mut stripes = Stripes::default();
        while let Some(page) = stripes.page(self.found).await? {
            for (id, stripe) in page.into_iter().filter(|(_, stripe)| stripe.is_pack()) {
                self.outlived_by(id, stripe).await?;
            }
        }
        Ok(())
    }

    /// If a key stands for another version than was found, told by a pack that is in force.
    async fn outlived_version(&self, bucket: &str, key: &str) -> Result<(), CatalogError> {
        let Some(Located { object, .. }) = self.found.object(bucket, key).await? else {
            return Ok(());
        };
        let present = self.catalog.object(bucket, key).await?;
        if present.is_some_and(|present| present.object.told_by == object.told_by) {
            return Ok(());
        }
        match self.catalog.stripes(&[object.told_by]).await?.pop().flatten() {
            Some(stripe) if stripe.is_pack() => {
                let (bucket, key) = (bucket.to_owned(), key.to_owned());
                let stripe = (object.told_by, stripe);
                self.note(vec![Change::Outlive { bucket, key, stripe }]).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What a pack was found to tell that is not so, if it is in force, with the deletions that
    /// were found to be later.
    async fn outlived_by(&self, id: StripeId, stripe: Stripe) -> Result<(), CatalogError> {
        if self.catalog.stripes(&[id]).await?.pop().flatten().is_none() {
            return Ok(());
        }
        let mut after = (String::new(), String::new());
        loop {
            let page = self.found.outlived_by(id, (&after.0, &after.1), OUTLIVED_PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.clone();
            let mut changes = Vec::with_capacity(2 * page.len());
            for (bucket, key) in page {
                let stripe = (id, stripe.clone());
                if let Some(tombstone) = self.found.tombstone(&bucket, &key).await? {
                    let stripes = self.new_stripes([tombstone.told_by].into()).await?;
                    let (bucket, key) = (bucket.clone(), key.clone());
                    changes.push(Change::Bury { bucket, key, tombstone, stripes });
                }
                changes.push(Change::Outlive { bucket, key, stripe });
            }
            self.note(changes).await?;
        }
    }

    async fn note(&self, changes: Vec<Change>) -> Result<(), CatalogError> {
        for outcome in self.catalog.commit(unix_ms(), changes).await? {
            match outcome {
                // What told of the deletion is garbage here: it is as old as what it was told of.
                // Or whoever told it was given up before it was so.
                Ok(_) | Err(Refusal::StripeGone { .. } | Refusal::Retired { .. }) => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Ok(())
    }

    /// Those of `ids` that the catalog does not hold, as they were found.
    async fn new_stripes(
        &self,
        ids: BTreeSet<StripeId>,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let ids: Vec<StripeId> = ids.into_iter().collect();
        let (known, found) = (self.catalog.stripes(&ids).await?, self.found.stripes(&ids).await?);
        let new = ids.into_iter().zip(known.into_iter().zip(found));
        Ok(new.filter_map(|(id, (known, found))| known.is_none().then_some((id, found?))).collect())
    }
}
