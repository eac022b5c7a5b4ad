//! Random histories, with gateways killed at any step of theirs: what a rebuild finds at the nodes
//! is what the catalog holds. Nothing that was deleted comes back, nothing is missing, nothing is
//! an older version.
//!
//! `RIPSTOP_HISTORIES` says how many, `RIPSTOP_SEED` where they begin; a failure prints its seed.

#[path = "histories/act.rs"]
mod act;
mod common;
mod scene;

use act::{Act, Draw, ELSEWHERE, Name, is_refusal};
use common::{rebuilt, settings, store_settings};
use futures::future::join_all;
use ripstop_catalog::{
    Attributes, Audited as _, Catalog, Change, Embedded, ListingRequest, Object, Place,
};
use ripstop_keeper::{CheckOptions, KeeperSettings};
use ripstop_store::{PackSettings, StoreSettings};
use scene::{Life, World};
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
/// What a catalog holds: by bucket and key; a bucket under the empty key, as if it were an object
/// whose tags are what is configured of it.
type Held = BTreeMap<(String, String), Object>;

async fn held(catalog: &dyn Catalog) -> Held {
    let mut held = Held::new();
    for bucket in catalog.buckets("", 100).await.expect("read") {
        let request =
            ListingRequest { bucket: bucket.name.clone(), max: 1000, ..Default::default() };
        for listed in catalog.versions(&request).await.expect("listed").versions {
            let place = Place::of_version(&bucket.name, &listed.key, listed.version).into_owned();
            let found = catalog.object(&place.bucket, &place.key).await;
            let found = found.expect("read").expect("listed");
            held.insert((place.bucket.into_owned(), place.key.into_owned()), found.object);
        }
        let mut tags = bucket.documents.pairs().to_vec();
        tags.push(("versioning".into(), format!("{:?}", bucket.versioning)));
        let attributes = Attributes { tags, ..Attributes::default() };
        let like = Object { attributes, stamp: Some(bucket.stamp()), ..Object::default() };
        held.insert((bucket.name, String::new()), like);
    }
    held
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
        let classes = vec![(act::CLASS.to_owned(), scene::POOL)];
        (StoreSettings { stripe_max: 4096, packs, classes, ..store_settings() }, settings())
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
            let place = Place::new(&name.0, &name.1);
            let key = place.version().map_or_else(|| name.1.clone(), |(key, _)| key);
            let of_open =
                |open: &Name| open.0 == place.bucket_name() && (open.1 == key || name.1.is_empty());
            let is_open = open.iter().any(of_open);
            let (held, found) = (held.get(name), found.get(name));
            let is_elsewhere = open.contains(&ELSEWHERE) && is_same(held, found);
            // Who finds a bucket as it is wanted may have told so before another was answered.
            let is_retold = name.1.is_empty() && is_alike(held, found);
            if held == found || is_retold || is_elsewhere || is_open && is_later(held, found) {
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
fn is_same(held: Option<&Object>, found: Option<&Object>) -> bool {
    let (Some(held), Some(found)) = (held, found) else { return false };
    let (told_by, extents) = (held.told_by, held.extents.clone());
    let found = Object { told_by, extents, ..found.clone() };
    held.stamp() == found.stamp() && Object { stamp: held.stamp, ..found } == *held
}

/// Whether it is the same, whenever it was told.
fn is_alike(held: Option<&Object>, found: Option<&Object>) -> bool {
    let (Some(held), Some(found)) = (held, found) else { return false };
    Object { stamp: held.stamp, ..found.clone() } == *held
}

/// Whether what was found is what somebody wrote who was not answered.
fn is_later(held: Option<&Object>, found: Option<&Object>) -> bool {
    match (held, found) {
        (Some(held), Some(found)) => found.stamp() > held.stamp(),
        // It was being made, or removed.
        (None, Some(_)) | (Some(_), None) => true,
        (None, None) => false,
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
