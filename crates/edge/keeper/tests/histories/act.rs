//! What a gateway does in a history.

use crate::{
    common::{Kept, PartPieces, Pieces, bytes, target, upload_of},
    scene::{self, World, plan},
};
use ripstop_batching::CleaningRule;
use ripstop_catalog::{
    Attributes, CatalogError, Condition, ListedVersion, ListingRequest, ObjectLock, ObjectVersion,
    Refusal, Retention, RetentionMode, Versioning,
};
use ripstop_host::unix_ms;
use ripstop_keeper::CheckOptions;
use ripstop_store::{Batch, Deed, Done, Member, StoreError, Target, WriteError};
use std::collections::BTreeMap;

const BUCKETS: [&str; 2] = ["b", "c"];
const KEYS: [&str; 3] = ["k", "l", "m"];
/// A class of storage, of the same pool.
pub(crate) const CLASS: &str = "COLD";

/// What is drawn from a seed (xorshift64*).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A key or, without one, a bucket.
pub(crate) type Name = (&'static str, &'static str);
/// What is told of any key may be told elsewhere too, and where it lies.
pub(crate) const ELSEWHERE: Name = ("", "");

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Put {
        name: Name,
        len: usize,
        condition: Condition,
    },
    Delete(Name),
    Copy {
        from: Name,
        to: Name,
    },
    Tag(Name),
    Multipart {
        name: Name,
        parts: u16,
        is_aborted: bool,
    },
    MakeBucket(&'static str),
    RemoveBucket(&'static str),
    /// Something is configured of a bucket.
    Configure(&'static str, Option<&'static str>),
    /// A bucket keeps versions from now on, or no more.
    Keep(&'static str, Versioning),
    /// One of a key's versions is deleted for good.
    DeleteVersion(Name, u64),
    /// Locks a version for this number of years, or no longer.
    Lock(Name, u64, u64),
    /// Brings a version to another class of storage, or back.
    Relocate(Name, u64, bool),
    /// Several keys at once: each a put, a put that must find nothing, or a deletion.
    Pack(Vec<(Name, Packed)>),
    Move([u16; 4]),
    /// Small objects are written again, together: this share of what is packed may be dead.
    Clean(f64),
    Sweep,
    SweepUnclaimed,
    LoseNode(usize),
}

/// What a member of a batch does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Packed {
    Put(usize),
    PutAbsent(usize),
    Delete,
    DeletePresent,
    Tag,
}

impl Act {
    /// A batch of up to as many members as there are keys.
    fn draw_pack(draw: &mut Draw) -> Self {
        let mut members: BTreeMap<Name, Packed> = BTreeMap::new();
        for _ in 0..=draw.below(6) {
            let name = (draw.of(&BUCKETS), draw.of(&KEYS));
            let len = draw.of(&[0, 1, 256, 700, 3000]);
            let packed = match draw.below(10) {
                0..=3 => Packed::Put(len),
                4 | 5 => Packed::PutAbsent(len),
                6 | 7 => Packed::Delete,
                8 => Packed::DeletePresent,
                _ => Packed::Tag,
            };
            members.insert(name, packed);
        }
        Self::Pack(members.into_iter().collect())
    }

    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let name = (draw.of(&BUCKETS), draw.of(&KEYS));
        match draw.below(46) {
            44.. => Self::Relocate(name, draw.below(8), draw.below(4) > 0),
            42.. => Self::Keep(BUCKETS[1], draw.of(&[Versioning::Enabled, Versioning::Suspended])),
            40.. => Self::Lock((BUCKETS[1], name.1), draw.below(8), draw.below(3)),
            38.. => Self::DeleteVersion((BUCKETS[1], name.1), draw.below(8)),
            36.. => Self::Configure(name.0, draw.of(&[None, Some("one"), Some("another")])),
            32.. => Self::Clean(draw.of(&[0.0, 0.25])),
            24.. => Self::draw_pack(draw),
            0..=7 => {
                let len = draw.of(&[0, 1, 700, 4096, 9000]);
                let condition = draw.of(&[0, 0, 0, 1]);
                let condition = if condition == 0 { Condition::None } else { Condition::Absent };
                Self::Put { name, len, condition }
            }
            8..=12 => Self::Delete(name),
            13 | 14 => Self::Copy { from: name, to: (draw.of(&BUCKETS), draw.of(&KEYS)) },
            15 | 16 => Self::Tag(name),
            17 | 18 => {
                let (parts, is_aborted) = (1 + draw.below(2) as u16, draw.below(4) == 0);
                Self::Multipart { name, parts, is_aborted }
            }
            19 => Self::MakeBucket(name.0),
            20 => Self::RemoveBucket(name.0),
            21 => Self::Sweep,
            22 => draw.of(&[Self::sweep_unclaimed, Self::sweep_unclaimed, Self::lose])(draw),
            _ => {
                let first = draw.below(5) as u16;
                Self::Move(std::array::from_fn(|at| first + at as u16))
            }
        }
    }

    fn sweep_unclaimed(_: &mut Draw) -> Self {
        Self::SweepUnclaimed
    }

    fn lose(draw: &mut Draw) -> Self {
        Self::LoseNode(draw.below(8) as usize)
    }

    /// What it may change.
    pub(crate) fn touches(&self) -> Vec<Name> {
        if let Self::Pack(members) = self {
            return members.iter().map(|(name, _)| *name).collect();
        }
        self.touches_one().into_iter().collect()
    }

    fn touches_one(&self) -> Option<Name> {
        match self {
            Self::Put { name, .. }
            | Self::Delete(name)
            | Self::Copy { to: name, .. }
            | Self::Tag(name)
            | Self::DeleteVersion(name, _)
            | Self::Lock(name, ..)
            | Self::Relocate(name, ..)
            | Self::Multipart { name, .. } => Some(*name),
            Self::MakeBucket(bucket)
            | Self::RemoveBucket(bucket)
            | Self::Configure(bucket, _)
            | Self::Keep(bucket, _) => Some((bucket, "")),
            Self::Clean(_) => Some(ELSEWHERE),
            Self::Pack(_)
            | Self::Move(_)
            | Self::Sweep
            | Self::SweepUnclaimed
            | Self::LoseNode(_) => None,
        }
    }

    /// Answers of which names something was told that is so.
    pub(crate) async fn run(&self, world: &World, store: &Kept) -> Result<Vec<Name>, StoreError> {
        let mut told = if let Self::Pack(members) = self {
            write_pack(store, members).await?
        } else {
            self.run_one(world, store).await?;
            // There may have been no version to delete.
            let is_told = !matches!(
                self,
                Self::Multipart { is_aborted: true, .. }
                    | Self::Clean(_)
                    | Self::DeleteVersion(..)
                    | Self::Lock(..)
                    | Self::Relocate(..)
            );
            if is_told { self.touches() } else { Vec::new() }
        };
        // What is put as another version says nothing of those before it.
        for at in (0..told.len()).rev() {
            let (bucket, key) = told[at];
            if !key.is_empty() && versioning(store, bucket).await != Versioning::Never {
                told.remove(at);
            }
        }
        Ok(told)
    }

    async fn run_one(&self, world: &World, store: &Kept) -> Result<(), StoreError> {
        match self {
            Self::Put { name: (bucket, key), len, condition } => {
                let to = Target {
                    bucket: (*bucket).into(),
                    key: (*key).into(),
                    condition: condition.clone(),
                };
                let body = Pieces::new(bytes(*len, 7));
                match store.put(to, *len as u64, body).await {
                    Ok(_) => Ok(()),
                    Err(WriteError::Store(error)) => Err(error),
                    Err(WriteError::Body(error)) => panic!("{error}"),
                }
            }
            Self::Delete((bucket, key)) => {
                store.delete(bucket, key, Condition::None).await.map(drop)
            }
            Self::Copy { from, to } => {
                let source = store.object(from.0, from.1).await?;
                let to = Target { bucket: to.0.into(), ..target(to.1) };
                store.copy(&source, to, source.object.attributes.clone()).await.map(drop)
            }
            Self::Tag((bucket, key)) => {
                let read = store.object(bucket, key).await?;
                let tags = vec![("at".into(), read.object.told_by.to_string())];
                let attributes = Attributes { tags, ..read.object.attributes.clone() };
                store.set_attributes(bucket, key, &read, attributes).await.map(drop)
            }
            Self::Multipart { name: (bucket, key), parts, is_aborted } => {
                let upload = store.create_upload(upload_of(bucket, key)).await?;
                let mut put = Vec::new();
                for number in 1..=*parts {
                    let body = PartPieces(Pieces::new(bytes(5000, number.into())));
                    match store.put_part(&upload, number, 5000, body).await {
                        Ok(part) => put.push(part),
                        Err(WriteError::Store(error)) => return Err(error),
                        Err(WriteError::Body(error)) => panic!("{error}"),
                    }
                }
                if *is_aborted {
                    return store.abort_upload(&upload.id).await;
                }
                let (attributes, condition) = (Attributes::default(), Condition::None);
                store.complete_upload(&upload, &put, attributes, condition).await.map(drop)
            }
            Self::MakeBucket(bucket) => store.create_bucket(bucket).await,
            Self::RemoveBucket(bucket) => store.delete_bucket(bucket).await,
            Self::Configure(bucket, document) => {
                store.set_bucket_document(bucket, "name", *document).await
            }
            Self::Keep(bucket, versioning) => store.set_versioning(bucket, *versioning).await,
            Self::DeleteVersion(name, pick) => delete_version(store, *name, *pick).await,
            Self::Lock(name, pick, years) => lock_version(store, *name, *pick, *years).await,
            Self::Relocate(name, pick, is_away) => relocate(store, *name, *pick, *is_away).await,
            Self::Pack(_) => unreachable!("it answers for each of its members"),
            Self::Move(nodes) => {
                store.keeper.follow(scene::POOL, &plan(&[(1, nodes)]));
                Ok(())
            }
            Self::Clean(dead_share_max) => clean(store, *dead_share_max).await,
            Self::Sweep => store.keeper.sweep_garbage().await.map(drop),
            Self::SweepUnclaimed => store.keeper.sweep_unclaimed().await.map(drop),
            Self::LoseNode(node) => {
                world.wipe(*node).await;
                store.keeper.check(CheckOptions { repair: true }, |_| {}).await.map(drop)
            }
        }
    }
}

/// Has small objects written again: all that are short, and of packs more than this share of which
/// are dead.
async fn clean(store: &Kept, dead_share_max: f64) -> Result<(), StoreError> {
    let rule = CleaningRule {
        dead_share_max,
        short_below: 3000,
        merged_len: 1,
        short_max: 2,
        ..CleaningRule::default()
    };
    match store.keeper.clean(&rule).await {
        // Another session named the stripes in this millisecond.
        Ok(_) | Err(StoreError::Busy { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// One of a key's versions, if it has any.
async fn pick_version(
    store: &Kept,
    (bucket, key): Name,
    pick: u64,
) -> Result<Option<ListedVersion>, StoreError> {
    let (bucket, prefix) = (bucket.to_owned(), key.to_owned());
    let all = ListingRequest { bucket, prefix, max: 100, ..Default::default() };
    let mut versions = store.versions(&all).await?.versions;
    let at = pick as usize % versions.len().max(1);
    Ok((at < versions.len()).then(|| versions.swap_remove(at)))
}

/// Deletes one of a key's versions, if it has any: what is locked stays.
async fn delete_version(store: &Kept, name: Name, pick: u64) -> Result<(), StoreError> {
    let (bucket, key) = name;
    let Some(picked) = pick_version(store, name, pick).await? else { return Ok(()) };
    let kept = match store.version(bucket, key, picked.version).await {
        Ok(read) => read.object.attributes.lock != ObjectLock::default(),
        Err(StoreError::Marker { .. }) => false,
        Err(error) => return Err(error),
    };
    let deleted = store.delete_version(bucket, key, picked.version, Condition::None, false).await;
    match deleted {
        Err(StoreError::Catalog(CatalogError::Refused(Refusal::Locked))) => {
            assert!(kept, "nothing locks it");
            Ok(())
        }
        Ok(_) => {
            assert!(!kept, "it is locked");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Brings one of a key's versions to another class of storage, or back; its bytes are then stored
/// again.
async fn relocate(store: &Kept, name: Name, pick: u64, is_away: bool) -> Result<(), StoreError> {
    let (bucket, key) = name;
    let Some(picked) = pick_version(store, name, pick).await? else { return Ok(()) };
    let read = match store.version(bucket, key, picked.version).await {
        Ok(read) => read,
        Err(StoreError::Marker { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let class = if is_away { CLASS } else { "" };
    let now = store.relocate((bucket, key, picked.version), &read, class).await?;
    assert_eq!(now.modified_ms, read.object.modified_ms);
    assert_eq!((now.len, &*now.attributes.storage_class), (read.object.len, class));
    Ok(())
}

/// Locks one of a key's versions for this number of years, or no longer.
async fn lock_version(store: &Kept, name: Name, pick: u64, years: u64) -> Result<(), StoreError> {
    let (bucket, key) = name;
    let Some(picked) = pick_version(store, name, pick).await? else { return Ok(()) };
    // Where locks are, what is put takes the place of no other version.
    if picked.version == ObjectVersion::Null {
        return Ok(());
    }
    let read = match store.version(bucket, key, picked.version).await {
        Ok(read) => read,
        Err(StoreError::Marker { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let until_ms = unix_ms() + years * 365 * 86_400_000;
    let retention = Retention { mode: RetentionMode::Governance, until_ms };
    let lock = ObjectLock { retention: (years > 0).then_some(retention), legal_hold: None };
    let attributes = Attributes { lock, ..read.object.attributes.clone() };
    store.set_attributes(bucket, key, &read, attributes).await.map(drop)
}

/// How a bucket keeps versions; one that is not there keeps none.
async fn versioning(store: &Kept, bucket: &str) -> Versioning {
    store.bucket(bucket).await.map_or(Versioning::Never, |bucket| bucket.versioning)
}

/// Writes a batch: refused if nothing of it was done. Answers of which names it tells what is so.
async fn write_pack(store: &Kept, members: &[(Name, Packed)]) -> Result<Vec<Name>, StoreError> {
    let (mut batch, mut names) = (Batch::default(), Vec::new());
    for ((bucket, key), packed) in members {
        let versioning = versioning(store, bucket).await;
        let put = |len: usize| Deed::Put {
            versioning,
            bytes: bytes(len, 7).into(),
            attributes: Attributes { etag: "etag".into(), ..Attributes::default() },
        };
        let delete = if versioning == Versioning::Never {
            Deed::Delete { bypass: false }
        } else {
            Deed::Mark(versioning)
        };
        let (deed, condition) = match packed {
            Packed::Put(len) => (put(*len), Condition::None),
            Packed::PutAbsent(len) => (put(*len), Condition::Absent),
            Packed::Delete => (delete, Condition::None),
            Packed::DeletePresent => (delete, Condition::Present),
            Packed::Tag => {
                let Ok(read) = store.object(bucket, key).await else { continue };
                if read.version.is_some() {
                    // Which version is told again is for those who list them to say.
                    continue;
                }
                let mut object = read.object.clone();
                object.attributes.tags = vec![("in".into(), "a pack".into())];
                let condition = Condition::ToldBy(object.told_by);
                (Deed::Retell(object), condition)
            }
        };
        let target = Target { bucket: (*bucket).into(), key: (*key).into(), condition };
        batch.add(Member { target, deed }).expect("each key once");
        names.push((*bucket, *key));
    }
    let done = store.write_batch(scene::POOL, batch).await;
    // What there was nothing to delete of may not have been packed.
    let is_told = |done: &Result<Done, StoreError>| {
        done.as_ref().is_ok_and(|done| !matches!(done, Done::Deleted(None)))
    };
    let told = names.into_iter().zip(&done).filter(|(_, done)| is_told(done));
    let told: Vec<Name> = told.map(|(name, _)| name).collect();
    let refused: Vec<StoreError> = done.into_iter().filter_map(Result::err).collect();
    assert!(refused.iter().all(is_refusal), "{members:?}: {refused:?}");
    match refused.into_iter().next() {
        // What was refused of a pack that is in force was told again before the answer.
        Some(refused) if told.is_empty() => Err(refused),
        Some(_) | None => Ok(told),
    }
}

/// Whether it is what a client may be told, when others write beside it.
pub(crate) fn is_refusal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Catalog(CatalogError::Refused(
            Refusal::NoSuchBucket
                | Refusal::BucketExists
                | Refusal::BucketNotEmpty
                | Refusal::NoSuchKey
                | Refusal::NoSuchUpload
                | Refusal::ConditionFailed
                | Refusal::StripeGone { .. }
        )) | StoreError::Marker { .. }
            | StoreError::NoSuchVersion
    )
}
