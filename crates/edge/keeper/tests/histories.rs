//! Random histories, with gateways killed at any step of theirs: what a rebuild finds at the nodes
//! is what the catalog holds. Nothing that was deleted comes back, nothing is missing, nothing is
//! an older version.
//!
//! `RIPSTOP_HISTORIES` says how many, `RIPSTOP_SEED` where they begin; a failure prints its seed.

mod common;
mod scene;

use common::{
    Kept, PartPieces, Pieces, bytes, rebuilt, settings, store_settings, target, upload_of,
};
use futures::future::join_all;
use ripstop_batching::CleaningRule;
use ripstop_catalog::{
    Attributes, Audited as _, Catalog, CatalogError, Change, Condition, Embedded, ListingRequest,
    Object, Refusal,
};
use ripstop_keeper::{CheckOptions, KeeperSettings};
use ripstop_store::{
    Batch, Deed, Done, Member, PackSettings, StoreError, StoreSettings, Target, WriteError,
};
use scene::{Life, World, plan};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

/// Histories of an everyday run.
const HISTORIES: u64 = 150;
/// Gateways that follow one another in a history, at most.
const SESSIONS_MAX: u64 = 4;
/// Groups of acts of one gateway, at most.
const GROUPS_MAX: u64 = 8;
/// Acts of one group, which run side by side, at most.
const TOGETHER_MAX: u64 = 3;
/// Steps (what is asked of a node or the catalog, and what it answers) before a gateway is killed,
/// at most.
const STEPS_MAX: u64 = 150;
const BUCKETS: [&str; 2] = ["b", "c"];
const KEYS: [&str; 3] = ["k", "l", "m"];

/// What is drawn from a seed (xorshift64*).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A key or, without one, a bucket.
type Name = (&'static str, &'static str);
/// What is told of any key may be told elsewhere too, and where it lies.
const ELSEWHERE: Name = ("", "");

#[derive(Clone, Debug)]
enum Act {
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
enum Packed {
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

    fn draw(draw: &mut Draw) -> Self {
        let name = (draw.of(&BUCKETS), draw.of(&KEYS));
        match draw.below(36) {
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
    fn touches(&self) -> Vec<Name> {
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
            | Self::Multipart { name, .. } => Some(*name),
            Self::MakeBucket(bucket) | Self::RemoveBucket(bucket) => Some((bucket, "")),
            Self::Clean(_) => Some(ELSEWHERE),
            Self::Pack(_)
            | Self::Move(_)
            | Self::Sweep
            | Self::SweepUnclaimed
            | Self::LoseNode(_) => None,
        }
    }

    /// Answers of which names something was told that is so.
    async fn run(&self, world: &World, store: &Kept) -> Result<Vec<Name>, StoreError> {
        if let Self::Pack(members) = self {
            return write_pack(store, members).await;
        }
        self.run_one(world, store).await?;
        let is_told =
            !matches!(self, Self::Multipart { is_aborted: true, .. } | Self::Clean(_));
        Ok(if is_told { self.touches() } else { Vec::new() })
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
    let rule = CleaningRule { dead_share_max, short_below: 3000, merged_len: 1, short_max: 2 };
    match store.keeper.clean(&rule).await {
        // Another session named the stripes in this millisecond.
        Ok(_) | Err(StoreError::Busy { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a batch: refused if nothing of it was done. Answers of which names it tells what is so.
async fn write_pack(store: &Kept, members: &[(Name, Packed)]) -> Result<Vec<Name>, StoreError> {
    let (mut batch, mut names) = (Batch::default(), Vec::new());
    for ((bucket, key), packed) in members {
        let put = |len: usize| Deed::Put {
            bytes: bytes(len, 7).into(),
            attributes: Attributes { etag: "etag".into(), ..Attributes::default() },
        };
        let (deed, condition) = match packed {
            Packed::Put(len) => (put(*len), Condition::None),
            Packed::PutAbsent(len) => (put(*len), Condition::Absent),
            Packed::Delete => (Deed::Delete, Condition::None),
            Packed::DeletePresent => (Deed::Delete, Condition::Present),
            Packed::Tag => {
                let Ok(read) = store.object(bucket, key).await else { continue };
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

/// What a catalog holds: by bucket and key; a bucket under the empty key.
type Held = BTreeMap<(String, String), Option<Object>>;

async fn held(catalog: &dyn Catalog) -> Held {
    let mut held = Held::new();
    for bucket in catalog.buckets("", 100).await.expect("read") {
        let request =
            ListingRequest { bucket: bucket.name.clone(), max: 1000, ..Default::default() };
        for (key, _) in catalog.list(&request).await.expect("listed").objects {
            let found = catalog.object(&bucket.name, &key).await.expect("read").expect("listed");
            held.insert((bucket.name.clone(), key), Some(found.object));
        }
        held.insert((bucket.name, String::new()), None);
    }
    held
}

/// Whether it is what a client may be told, when others write beside it.
fn is_refusal(error: &StoreError) -> bool {
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
        ))
    )
}

struct History {
    seed: u64,
    draw: Draw,
    world: World,
    /// Whether a node was lost of which not everything is made good.
    is_hurt: bool,
}

impl History {
    fn new(seed: u64) -> Self {
        let draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Self { seed, draw, world: World::new(), is_hurt: false }
    }

    fn settings() -> (StoreSettings, KeeperSettings) {
        // Nothing waits for company but what is a batch; what is as short may be cleaned.
        let packs = PackSettings { below: 1000, ..PackSettings::default() };
        let packs = [(scene::POOL, packs)].into();
        (StoreSettings { stripe_max: 4096, packs, ..store_settings() }, settings())
    }

    /// Has one gateway do some things, or a part of them; answers of which names something may have
    /// been told that is not so: what it was at as it was killed, what was refused, and what was
    /// left so by those before it and nothing was answered for since.
    fn session(&mut self, life: Life, left: &BTreeSet<Name>) -> BTreeSet<Name> {
        self.world.begin(life);
        let (world, draw, seed) = (&self.world, &mut self.draw, self.seed);
        let is_hurt = &mut self.is_hurt;
        let at = Mutex::new(BTreeSet::new());
        let (mut refused, mut left) = (BTreeSet::new(), left.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(async {
            let store = world.open(Self::settings());
            let acts = async {
                for _ in 0..=draw.below(GROUPS_MAX) {
                    let group = (0..=draw.below(TOGETHER_MAX)).map(|_| Act::draw(draw));
                    // A node that is lost is made good before anything else is asked of the others.
                    let (mut alone, mut group): (Vec<Act>, Vec<Act>) =
                        group.partition(|act| matches!(act, Act::LoseNode(_)));
                    alone.truncate(1);
                    // Of two that clean the same, each may have some of it: whoever has the lease
                    // is the only one.
                    let mut cleans = 0..;
                    group.retain(|act| !matches!(act, Act::Clean(_)) || cleans.next() == Some(0));
                    for group in [alone, group] {
                        *is_hurt |= group.iter().any(|act| matches!(act, Act::LoseNode(_)));
                        *at.lock().expect("not poisoned") =
                            group.iter().flat_map(Act::touches).collect();
                        let done = join_all(group.iter().map(|act| act.run(world, &store))).await;
                        for (act, done) in group.iter().zip(done) {
                            match done {
                                Ok(told) => told.iter().for_each(|name| _ = left.remove(name)),
                                Err(error) => {
                                    assert!(is_refusal(&error), "seed {seed}: {act:?}: {error:?}");
                                    refused.extend(act.touches());
                                }
                            }
                        }
                        *is_hurt = false;
                        at.lock().expect("not poisoned").clear();
                    }
                }
            };
            tokio::select! {
                biased;
                () = world.is_over() => {}
                () = acts => {}
            }
        });
        // As a kill does: nothing of it goes on but what the catalog's disk has taken.
        runtime.shutdown_background();
        &(&at.into_inner().expect("not poisoned") | &refused) | &left
    }

    /// Compares what the catalog holds with what a rebuild finds. `open` are names of which
    /// something may have been told that nobody was answered.
    fn compare(&mut self, open: &BTreeSet<Name>, when: &str) -> Arc<Embedded> {
        self.world.begin(Life::Endless);
        let world = &self.world;
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let (held, found, again, audit, report) = runtime.block_on(async {
            // What was asked for before the kill is done, or never will be.
            let nothing = Change::ForgetGarbage { stripes: vec![] };
            world.catalog().commit_one(0, nothing).await.expect("committed");
            let (again, report) = rebuilt(world.surveyed()).await;
            let audit = [world.catalog().audit().await, again.audit().await];
            (held(&*world.catalog()).await, held(&*again).await, again, audit, report)
        });
        for audit in audit {
            let audit = audit.expect("audited");
            assert!(audit.is_clean(), "seed {}, {when}: {audit:?}", self.seed);
        }
        let names: BTreeSet<_> = held.keys().chain(found.keys()).collect();
        for name in names {
            // Of a key of which something is told there is a bucket, too.
            let of_open = |open: &Name| open.0 == name.0 && (open.1 == name.1 || name.1.is_empty());
            let is_open = open.iter().any(of_open);
            let (held, found) = (held.get(name), found.get(name));
            let is_elsewhere = open.contains(&ELSEWHERE) && is_same(held, found);
            if held == found || is_elsewhere || is_open && is_later(held, found) {
                continue;
            }
            panic!(
                "seed {}, {when}: {name:?}\nthe catalog holds {held:?}\na rebuild finds {found:?}\n{report:?}",
                self.seed
            );
        }
        again
    }

    /// A gateway that is not killed sweeps what another left.
    fn sweep(&mut self) {
        self.world.begin(Life::Endless);
        let world = &self.world;
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let store = world.open(Self::settings());
            store.keeper.check(CheckOptions { repair: true }, |_| {}).await.expect("checked");
            // What was named in this millisecond is too young.
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
            store.keeper.sweep_garbage().await.expect("swept");
            store.keeper.sweep_unclaimed().await.expect("swept");
        });
    }

    fn play(mut self) {
        let mut left = BTreeSet::new();
        for session in 0..=self.draw.below(SESSIONS_MAX) {
            let life = match self.draw.below(3) {
                0 => Life::Endless,
                _ => Life::Steps(1 + self.draw.below(STEPS_MAX) as usize),
            };
            let open = self.session(life, &left);
            self.compare(&open, &format!("session {session}"));
            if !self.is_hurt && self.draw.below(2) == 0 {
                // The next begins before what this one left is swept.
                left = open;
                continue;
            }
            left.clear();
            if !open.is_empty() || self.is_hurt {
                self.sweep();
                self.is_hurt = false;
            }
            let again = self.compare(&BTreeSet::new(), &format!("session {session}, swept"));
            if self.draw.below(3) == 0 {
                // The catalog is lost: from now on it is what was found.
                self.world.take(again);
            }
        }
    }
}

/// Whether it is the same object, wherever its bytes are.
fn is_same(held: Option<&Option<Object>>, found: Option<&Option<Object>>) -> bool {
    let (Some(Some(held)), Some(Some(found))) = (held, found) else { return false };
    let (told_by, extents) = (held.told_by, held.extents.clone());
    let found = Object { told_by, extents, ..found.clone() };
    held.stamp() == found.stamp() && Object { stamp: held.stamp, ..found } == *held
}

/// Whether what was found is what somebody wrote who was not answered.
fn is_later(held: Option<&Option<Object>>, found: Option<&Option<Object>>) -> bool {
    match (held, found) {
        (Some(Some(held)), Some(Some(found))) => found.stamp() > held.stamp(),
        // It was being made, or removed.
        (None, Some(_)) | (Some(_), None) => true,
        (Some(None), Some(_)) | (Some(Some(_)), Some(None)) | (None, None) => false,
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn a_rebuild_finds_what_the_catalog_holds_whatever_happened() {
    let (first, count) = (number("RIPSTOP_SEED", 1), number("RIPSTOP_HISTORIES", HISTORIES));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seeds = (first..first + count).skip(thread).step_by(threads);
            scope.spawn(|| seeds.for_each(|seed| History::new(seed).play()));
        }
    });
}
