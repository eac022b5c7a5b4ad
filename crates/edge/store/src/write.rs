use crate::{
    Body, BodyLen, Store, StoreError, StoredObject, Target, WriteError,
    intake::{CLOSED_MIN, Pace},
    record::{Telling, check_extents},
};
use bytes::{Bytes, BytesMut};
use ripstop_catalog::{Attributes, Extent, Object, Versioning};
use ripstop_host::carried;
use ripstop_host::unix_ms;
use ripstop_model::StripeShape;
use ripstop_runtime::{FailedStripe, Pool, Sealed, Share, StripeDraft, Written};
use std::{pin::pin, time::Duration};
use tokio::{task::JoinSet, time::timeout};

/// Bytes of a body that come before memory for a stripe is asked for: by then it is known whether
/// it comes fast, and a short one is there.
const GATHERED_LEN: u32 = 16 << 10;
/// How often a body that nothing comes of is looked at, for the sake of others that wait.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Longest record that needs no memory of its own beside a stripe's.
const RECORD_LEN_FREE: usize = 16 << 10;

impl Store {
    /// Stores `body` as the key's object; `len` bytes were announced of it. Dropping the future
    /// abandons the write, unless the object is so short that it is written together with others,
    /// and has come.
    pub async fn put<B: Body<Seal = Attributes>>(
        &self,
        target: Target,
        len: impl Into<BodyLen>,
        mut body: B,
    ) -> Result<StoredObject, WriteError<B::Error>> {
        let len = len.into();
        let bucket = self.admit(&target, len.max()).await?;
        body.admitted(&bucket).await.map_err(WriteError::Body)?;
        let (versioning, len) = (bucket.versioning, body.stored_len(len));
        drop(bucket);
        let object = if self.is_gathered(&target.bucket, body.storage_class(), len.max()) {
            self.put_gathered((target, versioning), len, body).await?
        } else {
            self.put_alone((target, versioning), len, body).await?
        };
        Ok(StoredObject::new(versioning, object))
    }

    /// The same in stripes of its own, for a write that was admitted.
    pub(crate) async fn put_alone<B: Body<Seal = Attributes>>(
        &self,
        (target, versioning): (Target, Versioning),
        len: BodyLen,
        mut body: B,
    ) -> Result<Object, WriteError<B::Error>> {
        let pool = self.pool_of(&target.bucket, body.storage_class());
        let mut writing = Writing::new(self, pool, len)?;
        writing.take(&mut body).await?;
        let attributes = body.seal().map_err(WriteError::Body)?;
        let last = writing.last_draft().await?;
        let object = Object {
            len: attributes.len_of(writing.came()),
            modified_ms: unix_ms(),
            attributes,
            extents: writing.extents.clone(),
            told_by: last.id(),
            stamp: Some(self.stamp(last.id(), &target.condition).await?),
            ..Object::default()
        };
        let (bucket, key) = target.place(versioning, &object);
        let told = Telling::Object { bucket, key, object: object.clone() };
        writing.store(last, told.record().await?).await?;
        let written = writing.finish().await?;
        Ok(self.commit_object((target, versioning), object, written, None).await?)
    }

    /// Waits for memory for as long as a request may; then it is to come back later.
    pub(crate) async fn wait_for<T>(
        &self,
        memory: impl Future<Output = T>,
    ) -> Result<T, StoreError> {
        let patience = self.memory().patience().unwrap_or(self.inner.settings.memory_wait);
        let waited = timeout(patience, memory).await;
        waited.map_err(|_| StoreError::Busy { retry_after: patience })
    }

    /// Memory beside a stripe's for a long record, which all its headers share.
    pub(crate) fn make_room(
        &self,
        draft: &mut StripeDraft,
        record: &Bytes,
    ) -> Result<(), StoreError> {
        let busy = StoreError::Busy { retry_after: self.inner.settings.memory_wait };
        let needed = record.len() > RECORD_LEN_FREE;
        if needed && !draft.grow(record.len()) { Err(busy) } else { Ok(()) }
    }
}

/// The first bytes of a stripe, until it is known how much memory it is to have.
#[derive(Debug, Default)]
struct Gathered {
    bytes: BytesMut,
    share: Option<Share>,
}

/// Stripes of one body: one being filled, some being stored.
pub(crate) struct Writing<'a> {
    store: &'a Store,
    pool: Pool,
    /// Bytes that are yet to come.
    left: u64,
    len: BodyLen,
    pace: Pace,
    gathered: Gathered,
    draft: Option<StripeDraft>,
    storing: JoinSet<Result<Written, FailedStripe>>,
    written: Vec<Written>,
    /// Where the bytes are, in order.
    pub extents: Vec<Extent>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(
        store: &'a Store,
        pool: &Pool,
        len: impl Into<BodyLen>,
    ) -> Result<Self, StoreError> {
        let len = len.into();
        let stripes = len.max().div_ceil(store.inner.settings.stripe_max.into());
        check_extents(usize::try_from(stripes).unwrap_or(usize::MAX))?;
        Ok(Self {
            store,
            pool: pool.on_behalf_of(store.tenant),
            left: len.max(),
            len,
            pace: Pace::default(),
            gathered: Gathered::default(),
            draft: None,
            storing: JoinSet::new(),
            written: Vec::new(),
            extents: Vec::new(),
        })
    }

    /// Reads the body to its end. All stripes but the last are on their way to the nodes then.
    pub(crate) async fn take<B: Body>(&mut self, body: &mut B) -> Result<(), WriteError<B::Error>> {
        while let Some(mut bytes) = self.next(body).await? {
            let got = bytes.len() as u64;
            if got > self.left {
                return Err(self.wrong_len(self.came() + got).into());
            }
            self.left -= got;
            while !bytes.is_empty() {
                self.fill(&mut bytes).await?;
            }
        }
        if !self.len.admits(self.came()) {
            return Err(self.wrong_len(self.came()).into());
        }
        Ok(self.end_early().await?)
    }

    /// Bytes that have come.
    fn came(&self) -> u64 {
        self.len.max() - self.left
    }

    fn wrong_len(&self, got: u64) -> StoreError {
        StoreError::Length { got, announced: self.len.max() }
    }

    /// The body has ended: the stripe that more of it was to go to is of just what came.
    async fn end_early(&mut self) -> Result<(), StoreError> {
        if self.left == 0 {
            return Ok(());
        }
        (self.len, self.left) = (BodyLen::Exactly(self.came()), 0);
        if !self.gathered.bytes.is_empty() {
            self.draft = self.gather(&mut Bytes::new()).await?;
        } else if let Some(draft) = self.draft.take_if(|draft| draft.room() > 0) {
            self.draft = Some(self.close(draft));
        }
        Ok(())
    }

    /// The stripe of just what came of one that more was to come of.
    fn close(&mut self, draft: StripeDraft) -> StripeDraft {
        let closed = draft.close();
        let extent = self.extents.last_mut().expect("a stripe under way has its extent");
        extent.len = closed.shape().payload_len();
        closed
    }

    /// The next bytes of the body. While it keeps others waiting, its stripe is closed early, or it
    /// is refused.
    async fn next<B: Body>(&mut self, body: &mut B) -> Result<Option<Bytes>, WriteError<B::Error>> {
        let begun = ripstop_host::now();
        let mut next = pin!(body.next());
        let came = loop {
            match timeout(LOOK_EVERY, &mut next).await {
                Ok(came) => break came,
                Err(_) => self.give_way(ripstop_host::since(begun)).await?,
            }
        };
        let Some(bytes) = came.transpose().map_err(WriteError::Body)? else { return Ok(None) };
        self.pace.note(bytes.len(), ripstop_host::since(begun));
        self.give_way(Duration::ZERO).await?;
        Ok(Some(bytes))
    }

    /// Closes the stripe under way if others wait for its memory and it comes too slowly, having
    /// been waited for by this much more than was noted.
    async fn give_way(&mut self, waiting: Duration) -> Result<(), StoreError> {
        let is_due = self.draft.as_ref().is_some_and(|draft| {
            draft.room() > 0
                && draft.is_wanted()
                && self.pace.is_overdue(draft.shape().payload_len(), waiting)
        });
        let Some(draft) = self.draft.take_if(|_| is_due) else { return Ok(()) };
        if draft.filled() < CLOSED_MIN {
            return Err(StoreError::Busy { retry_after: self.store.inner.settings.memory_wait });
        }
        let closed = self.close(draft);
        self.store(closed, Bytes::new()).await
    }

    async fn fill(&mut self, bytes: &mut Bytes) -> Result<(), StoreError> {
        let mut draft = match self.draft.take() {
            Some(draft) if draft.room() > 0 => draft,
            Some(full) => {
                self.store(full, Bytes::new()).await?;
                return Ok(());
            }
            None => match self.gather(bytes).await? {
                Some(draft) => draft,
                None => return Ok(()),
            },
        };
        draft.fill(bytes);
        self.draft = Some(draft);
        Ok(())
    }

    /// A new stripe, once enough has come of it to say how large it is to be; what was gathered is
    /// in it.
    async fn gather(&mut self, bytes: &mut Bytes) -> Result<Option<StripeDraft>, StoreError> {
        let here = self.gathered.bytes.len() + bytes.len();
        let to_come = here as u64 + self.left;
        // What is gathered goes into one stripe, however short stripes are.
        let most = GATHERED_LEN.min(self.store.inner.settings.stripe_max);
        let enough = to_come.min(most.into()) as usize;
        if here < enough {
            if self.gathered.share.is_none() {
                let memory = self.store.memory();
                let share = self.store.wait_for(memory.acquire_arriving(enough)).await?;
                self.gathered =
                    Gathered { bytes: BytesMut::with_capacity(enough), share: Some(share) };
            }
            self.gathered.bytes.extend_from_slice(&bytes.split_off(0));
            return Ok(None);
        }
        let mut draft = self.new_draft(to_come, self.left == 0).await?;
        let Gathered { bytes: gathered, share } = std::mem::take(&mut self.gathered);
        let mut gathered = gathered.freeze();
        draft.fill(&mut gathered);
        assert!(gathered.is_empty(), "what is gathered fits a stripe");
        drop(share);
        Ok(Some(draft))
    }

    /// An empty stripe for the next of `to_come` bytes, in memory of the part that suits how they
    /// come.
    async fn new_draft(&mut self, to_come: u64, is_here: bool) -> Result<StripeDraft, StoreError> {
        let settings = &self.store.inner.settings;
        let whole = to_come.min(settings.stripe_max.into()) as u32;
        let payload = if is_here { whole } else { self.pace.plan(whole) };
        self.pace.halve();
        let shape = StripeShape::new(self.pool.code(), payload)
            .expect("the largest stripe is checked as the settings are");
        let (memory, bytes) = (self.store.memory(), self.pool.draft_memory(shape));
        let is_complete = is_here && to_come <= GATHERED_LEN.into();
        let share = if is_complete {
            self.store.wait_for(memory.acquire_complete(bytes)).await?
        } else if payload < whole {
            self.store.wait_for(memory.acquire_slow(bytes)).await?
        } else {
            self.store.wait_for(memory.acquire(bytes)).await?
        };
        let (id, _pin) = self.store.name().await?;
        if payload > 0 {
            self.extents.push(Extent { stripe: id, offset: 0, len: payload });
        }
        Ok(self.pool.draft(id, shape, share))
    }

    /// The stripe that ends the body: full, or empty where there was no byte.
    pub(crate) async fn last_draft(&mut self) -> Result<StripeDraft, StoreError> {
        match self.draft.take() {
            Some(draft) => Ok(draft),
            None => self.new_draft(0, true).await,
        }
    }

    /// Sends a full stripe to the nodes, once there is a place among those under way.
    pub(crate) async fn store(
        &mut self,
        draft: StripeDraft,
        record: Bytes,
    ) -> Result<(), StoreError> {
        let mut draft = draft;
        self.store.make_room(&mut draft, &record)?;
        while self.storing.len() >= self.store.inner.settings.stripes_in_flight {
            self.join_one().await?;
        }
        let (pool, sealed): (Pool, Sealed) =
            (self.pool.clone(), draft.seal(self.pool.origin(), record));
        self.storing.spawn(carried(async move { pool.write(sealed).await }));
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
