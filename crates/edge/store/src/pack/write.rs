//! A batch becomes one stripe and one transaction.

use super::{
    Batch, DIRECTORY_LEN_MAX, Deed, Done, Member, PackDirectory, PackEntry, commit::Packed, lay_out,
};
use crate::{
    Body, Store, StoreError, Target, WriteError,
    deletion::Deletion,
    deletions::{NAMES_LEN_MAX, Waiting},
    error::RETRY_AFTER,
    record::Telling,
    target::marker,
};
use bytes::Bytes;
use ripstop_catalog::{
    Attributes, CatalogError, Condition, Extent, Object, Quota, Versioning, bucket_of,
};
use ripstop_host::unix_ms;
use ripstop_model::{BlockLen, PoolId, StripeId, StripeShape};
use ripstop_runtime::{Pool, StripeDraft};
use std::convert::Infallible;
use tokio::sync::oneshot;

/// Packs that take no more memory than this wait among short stripes for it, not behind whole ones.
const SHORT_LEN_MAX: usize = 256 << 10;
/// What is between members.
static ZEROS: [u8; 4096] = [0; 4096];

/// A body that is all there.
struct Whole(Option<Bytes>, Option<Attributes>);

impl Body for Whole {
    type Seal = Attributes;
    type Error = Infallible;

    async fn next(&mut self) -> Option<Result<Bytes, Infallible>> {
        self.0.take().filter(|bytes| !bytes.is_empty()).map(Ok)
    }

    fn storage_class(&self) -> &str {
        self.1.as_ref().map_or("", |attributes| &attributes.storage_class)
    }

    fn seal(&mut self) -> Result<Attributes, Infallible> {
        Ok(self.1.take().expect("sealed once"))
    }
}

/// A batch that only has to be made visible.
pub(crate) struct Prepared {
    /// What is answered already, without anything being written.
    answers: Vec<Option<Result<Done, StoreError>>>,
    rest: Rest,
}

/// Those of its members that are written.
enum Rest {
    /// One, or none: as if there were no packs, and not begun.
    Lone(Vec<Member>),
    /// Few deletions, not begun.
    Deletions(Pool, Vec<Waiting>, Vec<Deleted>),
    /// A pack that is stored.
    Packed(Box<Packed>, Vec<Member>),
    /// One that could not be.
    NotStored(Pool, Vec<Member>, StoreError),
    /// This many, for a pool that does not exist, and why.
    Unknown(StoreError, usize),
}

impl Store {
    /// An empty batch, with room for as much as one stripe is to hold.
    pub fn batch(&self) -> Batch {
        Batch::within(self.inner.settings.stripe_max as usize)
    }

    /// Does what a batch is to do, all of it with buckets of one pool: writes one pack and commits
    /// it, and answers each member in its order. A lone member, and few deletions alone, are
    /// written as if there were no packs. It runs to its end even if the caller leaves.
    pub async fn write_batch(&self, pool: PoolId, batch: Batch) -> Vec<Result<Done, StoreError>> {
        self.write_measured(pool, batch).await.1
    }

    /// The same; answers also how many bytes of payload the pack has, 0 if there is none.
    pub async fn write_measured(
        &self,
        pool: PoolId,
        batch: Batch,
    ) -> (u32, Vec<Result<Done, StoreError>>) {
        let (store, count) = (self.clone(), batch.len());
        let writing = ripstop_host::spawn(async move {
            let prepared = store.prepare(pool, batch).await;
            let payload_len = match &prepared.rest {
                Rest::Packed(packed, _) => packed.payload_len(),
                Rest::Lone(_) | Rest::Deletions(..) | Rest::NotStored(..) | Rest::Unknown(..) => 0,
            };
            (payload_len, store.finish(prepared).await)
        });
        writing.await.unwrap_or_else(|error| {
            let error = StoreError::Catalog(CatalogError::Unavailable(error.into()));
            (0, error.for_each_of(count).into_iter().map(Err).collect())
        })
    }

    /// What is to be answered without writing anything: that a condition or a quota refuses it, or
    /// that there is nothing to delete. What a pack tells of a key that a slower write is putting
    /// would be later than that, and not be so.
    async fn admit_member(&self, member: &Member) -> Result<Option<Done>, StoreError> {
        let Target { bucket, key, condition } = &member.target;
        match &member.deed {
            Deed::Put { bytes, attributes, .. } => {
                if *condition != Condition::None || self.quota(bucket) != Quota::NONE {
                    self.admit(&member.target, attributes.len_of(bytes.len() as u64)).await?;
                }
            }
            Deed::Mark(_) => self.admit_marker(&member.target).await?,
            Deed::Retell(_) | Deed::Move { .. } | Deed::Rebury(_) => {}
            Deed::Delete { bypass } => {
                let present = self.inner.catalog.object(bucket, key).await?;
                if present.is_none() {
                    self.bucket(bucket_of(bucket)).await?;
                }
                condition.check(present.as_ref().map(|located| &located.object))?;
                self.must_be_free(present.as_ref(), *bypass)?;
                if present.is_none() {
                    return Ok(Some(Done::Deleted(None)));
                }
            }
        }
        Ok(None)
    }

    /// Stores a batch, if it is a pack: nobody sees it yet. What comes after it may be stored while
    /// it is finished.
    pub(crate) async fn prepare(&self, pool: PoolId, batch: Batch) -> Prepared {
        let mut answers = Vec::with_capacity(batch.members.len());
        let mut members = Vec::with_capacity(batch.members.len());
        for member in batch.members {
            let answer = self.admit_member(&member).await.transpose();
            if answer.is_none() {
                members.push(member);
            }
            answers.push(answer);
        }
        let Some(pool) = self.pool(pool).cloned() else {
            let unknown = StoreError::NoSuchPool { stripe: StripeId(0), pool: pool.to_string() };
            return Prepared { answers, rest: Rest::Unknown(unknown, members.len()) };
        };
        Prepared { answers, rest: self.prepare_rest(pool, members).await }
    }

    async fn prepare_rest(&self, pool: Pool, members: Vec<Member>) -> Rest {
        if members.len() < 2 && !members.iter().any(|member| member.deed.is_again()) {
            return Rest::Lone(members);
        }
        let is_deletion = |member: &Member| matches!(member.deed, Deed::Delete { .. });
        if members.iter().all(is_deletion) {
            let (waiting, answers): (Vec<_>, Vec<_>) = members.iter().map(waiting).unzip();
            if waiting.iter().map(Waiting::len).sum::<usize>() <= NAMES_LEN_MAX {
                return Rest::Deletions(pool, waiting, answers);
            }
        }
        match self.store_pack(&pool, &members).await {
            Ok(packed) => Rest::Packed(Box::new(packed), members),
            Err(error) => Rest::NotStored(pool, members, error),
        }
    }

    /// Makes a batch visible, and answers each of its members in order.
    pub(crate) async fn finish(&self, prepared: Prepared) -> Vec<Result<Done, StoreError>> {
        let Prepared { answers, rest } = prepared;
        let mut written = self.finish_rest(rest).await.into_iter();
        let answer = |answer: Option<_>| {
            answer.unwrap_or_else(|| written.next().expect("the rest is answered in order"))
        };
        answers.into_iter().map(answer).collect()
    }

    async fn finish_rest(&self, rest: Rest) -> Vec<Result<Done, StoreError>> {
        match rest {
            Rest::Lone(members) => {
                let mut done = Vec::with_capacity(1);
                for member in members {
                    done.push(Box::pin(self.write_lone(member)).await);
                }
                done
            }
            Rest::Deletions(pool, waiting, answers) => {
                self.delete_together(&pool, waiting, answers).await
            }
            Rest::Packed(packed, members) => self.commit_pack(*packed, members).await,
            Rest::NotStored(pool, members, error) => self.give_up(&pool, members, error).await,
            Rest::Unknown(error, count) => error.for_each_of(count).into_iter().map(Err).collect(),
        }
    }

    /// Does what one member is to do, as a request of its own.
    pub(crate) async fn write_lone(&self, member: Member) -> Result<Done, StoreError> {
        let Member { target, deed } = member;
        match deed {
            Deed::Put { bytes, attributes, versioning } => {
                let (target, len) = ((target, versioning), bytes.len() as u64);
                match self.put_alone(target, len.into(), Whole(Some(bytes), Some(attributes))).await
                {
                    Ok(object) => Ok(Done::Put(object)),
                    Err(WriteError::Store(error)) => Err(error),
                    Err(WriteError::Body(never)) => match never {},
                }
            }
            Deed::Mark(versioning) => self.mark_alone(target, versioning).await.map(Done::Put),
            Deed::Retell(object) => {
                let target = (target, Versioning::Never);
                self.put_told(target, object, None).await.map(Done::Put)
            }
            Deed::Move { .. } | Deed::Rebury(_) => unreachable!("they are never alone"),
            Deed::Delete { bypass } => {
                let Target { bucket, key, condition } = target;
                self.delete_alone(&bucket, &key, condition, bypass).await.map(Done::Deleted)
            }
        }
    }

    async fn delete_together(
        &self,
        pool: &Pool,
        mut waiting: Vec<Waiting>,
        answers: Vec<Deleted>,
    ) -> Vec<Result<Done, StoreError>> {
        while !waiting.is_empty() {
            waiting = self.tell_together(pool.id(), waiting).await;
        }
        let mut done = Vec::with_capacity(answers.len());
        for answered in answers {
            let answer = answered.await.expect("each is answered before its line ends");
            done.push(answer.map(Done::Deleted));
        }
        done
    }

    /// A pack could not be stored: what is to be deleted is deleted all the same, told or not,
    /// unless there is too much to do.
    async fn give_up(
        &self,
        pool: &Pool,
        members: Vec<Member>,
        error: StoreError,
    ) -> Vec<Result<Done, StoreError>> {
        let is_busy = matches!(error, StoreError::Busy { .. });
        let mut errors = error.for_each_of(members.len()).into_iter();
        let mut done = Vec::with_capacity(members.len());
        let (mut gone, mut answers, mut at) = (Vec::new(), Vec::new(), Vec::new());
        for (place, member) in members.iter().enumerate() {
            done.push(Err(errors.next().expect("one for each")));
            if matches!(member.deed, Deed::Delete { .. }) && !is_busy {
                let (waiting, answer) = waiting(member);
                gone.push(waiting);
                answers.push(answer);
                at.push(place);
            }
        }
        let deleted = self.delete_together(pool, gone, answers).await;
        for (place, deleted) in at.into_iter().zip(deleted) {
            done[place] = deleted;
        }
        done
    }

    /// Stores a pack of these members.
    async fn store_pack(&self, pool: &Pool, members: &[Member]) -> Result<Packed, StoreError> {
        let (told_by, pin) = self.name().await?;
        let mut entries = Vec::with_capacity(members.len());
        for member in members {
            entries.push(self.entry(told_by, member).await?);
        }
        let mut directory = PackDirectory { told_by, entries };
        let mut encoded = directory.encode();
        let len = encoded.len();
        if len > DIRECTORY_LEN_MAX {
            return Err(StoreError::RecordTooLong { len });
        }
        let lens: Vec<u32> = members.iter().map(|member| member.payload_len() as u32).collect();
        let layout = lay_out(pool.code().k(), len as u32, &lens);
        let layout = layout.expect("a batch and its directory are within a stripe's limits");
        directory.place(&layout.offsets, &mut encoded);
        let mark = directory.mark(&encoded);
        let record = Telling::Pack(mark).encode();
        let shape = StripeShape::new(pool.code(), layout.payload_len);
        let shape = shape.expect("a layout is within a stripe's limits");
        let shape = shape.in_blocks(BlockLen::SHORTEST);
        let (memory, bytes) = (self.memory(), pool.draft_memory(shape));
        let share = if bytes <= SHORT_LEN_MAX {
            self.wait_for(memory.acquire_complete(bytes)).await?
        } else {
            self.wait_for(memory.acquire(bytes)).await?
        };
        let mut draft = pool.draft(told_by, shape, share);
        drop(pin);
        draft.fill(&mut encoded.into());
        let mut order: Vec<_> = layout.offsets.iter().zip(members).collect();
        order.sort_by_key(|(offset, _)| **offset);
        for (&offset, member) in order {
            if let Some(bytes) = member.bytes().filter(|bytes| !bytes.is_empty()) {
                fill_to(&mut draft, offset);
                draft.fill(&mut bytes.clone());
            }
        }
        fill_to(&mut draft, layout.payload_len);
        let sealed = draft.seal(pool.origin(), record);
        let written = pool.on_behalf_of(self.tenant).write(sealed).await?;
        Ok(Packed { directory, mark, written })
    }

    /// What a pack is to tell of a member, which has no place yet.
    async fn entry(&self, told_by: StripeId, member: &Member) -> Result<PackEntry, StoreError> {
        let Target { bucket, key, condition } = &member.target;
        let (bucket, key) = (bucket.clone(), key.clone());
        let here = |bytes: &Bytes| {
            let extent = Extent { stripe: told_by, offset: 0, len: bytes.len() as u32 };
            if bytes.is_empty() { Vec::new() } else { vec![extent] }
        };
        Ok(match &member.deed {
            Deed::Put { bytes, attributes, versioning } => {
                let object = Object {
                    len: attributes.len_of(bytes.len() as u64),
                    modified_ms: unix_ms(),
                    attributes: attributes.clone(),
                    extents: here(bytes),
                    told_by,
                    stamp: Some(self.stamp(told_by, condition).await?),
                    ..Object::default()
                };
                let (bucket, key) = member.target.place(*versioning, &object);
                PackEntry::Object { bucket, key, object }
            }
            Deed::Mark(versioning) => {
                let stamp = Some(self.stamp(told_by, condition).await?);
                let object = Object { told_by, stamp, ..marker() };
                let (bucket, key) = member.target.place(*versioning, &object);
                PackEntry::Object { bucket, key, object }
            }
            Deed::Retell(object) => {
                let stamp = Some(self.stamp(told_by, condition).await?);
                PackEntry::Object {
                    bucket,
                    key,
                    object: Object { told_by, stamp, ..object.clone() },
                }
            }
            Deed::Move { object, bytes } => {
                // Of two that tell the same a rebuild believes the later one.
                if told_by <= object.told_by {
                    return Err(StoreError::Busy { retry_after: RETRY_AFTER });
                }
                let stamp = Some(object.stamp());
                let mut object = Object { told_by, stamp, ..object.clone() };
                if let Some(bytes) = bytes {
                    object.extents = here(bytes);
                }
                PackEntry::Object { bucket, key, object }
            }
            Deed::Delete { .. } => {
                let stamp = self.stamp(told_by, condition).await?;
                PackEntry::Deletion(Deletion { bucket, key, stamp })
            }
            Deed::Rebury(stamp) => PackEntry::Deletion(Deletion { bucket, key, stamp: *stamp }),
        })
    }
}

/// The answer to a deletion.
type Deleted = oneshot::Receiver<Result<Option<Object>, StoreError>>;

/// A deletion as it is told beside others.
fn waiting(member: &Member) -> (Waiting, Deleted) {
    let Target { bucket, key, condition } = member.target.clone();
    let bypass = matches!(member.deed, Deed::Delete { bypass: true });
    let (answer, answered) = oneshot::channel();
    (Waiting { bucket, key, condition, bypass, found_nothing: false, told: 0, answer }, answered)
}

/// Fills a draft with zeros up to this byte of its payload.
fn fill_to(draft: &mut StripeDraft, at: u32) {
    while draft.filled() < at {
        let gap = (at - draft.filled()).min(ZEROS.len() as u32) as usize;
        draft.fill(&mut Bytes::from_static(&ZEROS[..gap]));
    }
}
