use crate::{
    Body, Store, StoreError, Target, WriteError,
    clock::unix_ms,
    record::{Telling, check_extents},
};
use bytes::Bytes;
use ripstop_catalog::{Attributes, Change, Extent, Object};
use ripstop_model::StripeShape;
use ripstop_runtime::{FailedStripe, Pool, Sealed, StripeDraft, Written};
use tokio::{task::JoinSet, time::timeout};

impl Store {
    /// Stores `len` bytes of `body` as the key's object. Dropping the future abandons the write.
    pub async fn put<B: Body<Seal = Attributes>>(
        &self,
        target: Target,
        len: u64,
        mut body: B,
    ) -> Result<Object, WriteError<B::Error>> {
        self.admit(&target).await?;
        let mut writing = Writing::new(self, self.pool_for(&target.bucket), len)?;
        writing.take(&mut body).await?;
        let attributes = body.seal().map_err(WriteError::Body)?;
        let Target { bucket, key, condition } = target;
        let last = writing.last_draft().await?;
        let object = Object {
            len,
            modified_ms: unix_ms(),
            attributes,
            extents: writing.extents.clone(),
            told_by: last.id(),
        };
        let told =
            Telling::Object { bucket: bucket.clone(), key: key.clone(), object: object.clone() };
        writing.store(last, told.record().await?).await?;
        let written = writing.finish().await?;
        let put = object.clone();
        let change =
            move |stripes| Change::PutObject { bucket, key, object: put, stripes, condition };
        self.commit(written, change).await?;
        Ok(object)
    }
}

/// Stripes of one body: one being filled, some being stored.
pub(crate) struct Writing<'a> {
    store: &'a Store,
    pool: Pool,
    /// Bytes that are yet to come.
    left: u64,
    len: u64,
    draft: Option<StripeDraft>,
    storing: JoinSet<Result<Written, FailedStripe>>,
    written: Vec<Written>,
    /// Where the bytes are, in order.
    pub extents: Vec<Extent>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(store: &'a Store, pool: &Pool, len: u64) -> Result<Self, StoreError> {
        let stripes = len.div_ceil(store.inner.settings.stripe_max.into());
        check_extents(usize::try_from(stripes).unwrap_or(usize::MAX))?;
        Ok(Self {
            store,
            pool: pool.on_behalf_of(store.tenant),
            left: len,
            len,
            draft: None,
            storing: JoinSet::new(),
            written: Vec::new(),
            extents: Vec::new(),
        })
    }

    /// Reads the body to its end. All stripes but the last are on their way to the nodes then.
    pub(crate) async fn take<B: Body>(&mut self, body: &mut B) -> Result<(), WriteError<B::Error>> {
        while let Some(bytes) = body.next().await {
            let mut bytes = bytes.map_err(WriteError::Body)?;
            let got = bytes.len() as u64;
            if got > self.left {
                let got = self.len - self.left + got;
                return Err(StoreError::Length { got, announced: self.len }.into());
            }
            while !bytes.is_empty() {
                self.fill(&mut bytes).await?;
            }
        }
        if self.left > 0 {
            let got = self.len - self.left;
            return Err(StoreError::Length { got, announced: self.len }.into());
        }
        Ok(())
    }

    async fn fill(&mut self, bytes: &mut Bytes) -> Result<(), StoreError> {
        let mut draft = match self.draft.take() {
            Some(draft) if draft.room() > 0 => draft,
            Some(full) => {
                self.store(full, Bytes::new()).await?;
                self.new_draft().await?
            }
            None => self.new_draft().await?,
        };
        let before = draft.room();
        draft.fill(bytes);
        self.left -= u64::from(before - draft.room());
        self.draft = Some(draft);
        Ok(())
    }

    async fn new_draft(&mut self) -> Result<StripeDraft, StoreError> {
        let payload = self.left.min(self.store.inner.settings.stripe_max.into()) as u32;
        let shape = StripeShape::new(self.pool.code(), payload)
            .expect("the largest stripe is checked as the settings are");
        let (memory, bytes) = (self.store.memory(), StripeDraft::memory(shape));
        // Only its beginning is refused: what has begun may take its time.
        let share = match memory.patience().filter(|_| self.extents.is_empty()) {
            None => memory.acquire(bytes).await,
            Some(patience) => timeout(patience, memory.acquire(bytes))
                .await
                .map_err(|_| StoreError::Busy { retry_after: patience })?,
        };
        let id = self.store.inner.names.next();
        if payload > 0 {
            self.extents.push(Extent { stripe: id, offset: 0, len: payload });
        }
        Ok(StripeDraft::new(id, shape, share))
    }

    /// The stripe that ends the body: full, or empty where there was no byte.
    pub(crate) async fn last_draft(&mut self) -> Result<StripeDraft, StoreError> {
        match self.draft.take() {
            Some(draft) => Ok(draft),
            None => self.new_draft().await,
        }
    }

    /// Sends a full stripe to the nodes, once there is a place among those under way.
    pub(crate) async fn store(
        &mut self,
        draft: StripeDraft,
        record: Bytes,
    ) -> Result<(), StoreError> {
        while self.storing.len() >= self.store.inner.settings.stripes_in_flight {
            self.join_one().await?;
        }
        let (pool, sealed): (Pool, Sealed) =
            (self.pool.clone(), draft.seal(self.pool.origin(), record));
        self.storing.spawn(async move { pool.write(sealed).await });
        Ok(())
    }

    async fn join_one(&mut self) -> Result<(), StoreError> {
        if let Some(joined) = self.storing.join_next().await {
            self.written.push(joined.expect("writing a stripe does not panic")?);
        }
        Ok(())
    }

    /// Waits until every stripe is stored.
    pub(crate) async fn finish(mut self) -> Result<Vec<Written>, StoreError> {
        while !self.storing.is_empty() {
            self.join_one().await?;
        }
        Ok(self.written)
    }
}
