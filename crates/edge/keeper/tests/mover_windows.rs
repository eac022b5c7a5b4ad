//! What may happen between a fragment's copy, its switch in the catalog, and the deletion of what
//! it left behind: each is held at a gate meanwhile.

mod common;
mod scene;

use common::*;
use futures::TryStreamExt;
use ripstop_catalog::{Catalog as _, Condition, Leftover};
use ripstop_gateway::Placement;
use ripstop_keeper::{CheckOptions, KeeperSettings};
use ripstop_model::{FragmentId, StripeId};
use scene::*;
use std::{collections::BTreeMap, time::Duration};

const LOW: &[u16] = &[0, 1, 2, 3];
const HIGH: &[u16] = &[4, 5, 6, 7];
const GRACE: Duration = Duration::from_millis(20);

/// A store whose objects are all at the low nodes, nothing left behind.
async fn at_low(count: usize) -> (Scene, BTreeMap<String, Vec<u8>>) {
    let scene = Scene::with(KeeperSettings { grace: GRACE, ..settings() }).await;
    let objects = scene.fill(count, 5000).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    tokio::time::sleep(2 * GRACE).await;
    scene.is_whole().await;
    (scene, objects)
}

/// Stored at the high nodes.
async fn copies(scene: &Scene) -> usize {
    fragments(&scene.nodes).await.iter().filter(|(node, _)| *node >= 4).count()
}

/// Sweeps with every way there is until long after the grace; answers what was deleted at nodes
/// where the catalog does not have it.
async fn swept(scene: &Scene) -> u64 {
    let mut gone = 0;
    for _ in 0..5 {
        scene.keeper.sweep_garbage().await.expect("swept");
        gone += scene.keeper.sweep_unclaimed().await.expect("swept");
        let report = scene.keeper.check(CheckOptions { repair: true }, |_| {}).await;
        gone += report.expect("checked").repaired;
        tokio::time::sleep(GRACE).await;
    }
    gone
}

/// Fragments at nodes where they are neither in force nor known to have been left behind.
async fn nobodys(scene: &Scene) -> Vec<(usize, FragmentId)> {
    let mut nobodys = fragments(&scene.nodes).await;
    let left = scene.catalog.leftovers(u64::MAX, None, 1000).await.expect("read");
    let stripes = scene.catalog.stripes_after(StripeId(0), 1000).await.expect("read");
    nobodys.retain(|(node, name)| {
        let at = |copy: &Leftover| (usize::from(copy.node.0), copy.stripe, copy.index);
        let is_left = left.iter().any(|copy| at(copy) == (*node, name.stripe, name.index));
        let stripe = stripes.iter().find(|(id, _)| *id == name.stripe);
        let place = stripe.and_then(|(_, stripe)| stripe.node(name.index.into()));
        !is_left && place.map(|place| usize::from(place.0)) != Some(*node)
    });
    nobodys
}

/// The end of every test: no fragment is missing, or where it should not be, or known to nobody.
async fn ends_at(scene: &Scene, nodes: &[u16], objects: &BTreeMap<String, Vec<u8>>) {
    tokio::time::sleep(2 * GRACE).await;
    let spots: Vec<Vec<u16>> = scene.spots().await.into_keys().collect();
    assert_eq!(spots, [nodes]);
    scene.all_are(objects).await;
    scene.is_whole().await;
    scene.all_are(objects).await;
}

/// Runs in a runtime of its own each, so that a store can be killed: with its runtime end all its
/// tasks, wherever they are.
struct Killed {
    runtime: tokio::runtime::Runtime,
    scene: Scene,
    objects: BTreeMap<String, Vec<u8>>,
}

impl Killed {
    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().expect("a runtime")
    }

    /// A store at the low nodes, killed once `meanwhile` has ended.
    fn after(meanwhile: impl AsyncFnOnce(&Scene)) -> Self {
        let runtime = Self::runtime();
        let (mut scene, objects) = runtime.block_on(async {
            let (scene, objects) = at_low(4).await;
            meanwhile(&scene).await;
            (scene, objects)
        });
        runtime.shutdown_background();
        let runtime = Self::runtime();
        let gates = &scene.gates;
        for gate in [&scene.catalog.moves, &scene.catalog.forgets, &gates.puts, &gates.deletes] {
            gate.open();
        }
        let settings = KeeperSettings { grace: GRACE, ..settings() };
        let kept = runtime.block_on(async { scene.reopen(settings) });
        scene.take(kept);
        Self { runtime, scene, objects }
    }

    fn then(self, check: impl AsyncFnOnce(&Scene, &BTreeMap<String, Vec<u8>>)) {
        let Self { runtime, scene, objects } = self;
        runtime.block_on(check(&scene, &objects));
        // Its store ends with its runtime.
        drop((scene, runtime));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sweep_takes_a_copy_whose_put_is_not_answered_or_whose_switch_is_under_way() {
    for at_put in [true, false] {
        let (scene, objects) = at_low(6).await;
        let gate = if at_put { &scene.gates.puts } else { &scene.catalog.moves };
        let before = scene.keeper.moves();
        gate.shut();
        scene.keeper.follow(POOL, &plan(&[(1, HIGH)]));
        until("held", || gate.held() == 1).await;
        assert_eq!(copies(&scene).await, 1);
        assert_eq!(swept(&scene).await, 0);
        assert_eq!(copies(&scene).await, 1, "the copy is swept, at put {at_put}");
        scene.all_are(&objects).await;
        assert_eq!(gate.held(), 1);
        gate.open();
        let moves = moved(&scene.keeper, before).await;
        assert_eq!((moves.failed, moves.fragments_moved - before.fragments_moved), (0, 7 * 4));
        ends_at(&scene, HIGH, &objects).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_had_the_old_places_finds_the_new_ones_once_those_are_swept() {
    let (scene, mut objects) = at_low(2).await;
    let content = bytes(900_000, 4);
    put(&scene.store, "large", &content).await;
    objects.insert("large".into(), content.clone());
    tokio::time::sleep(Duration::from_millis(50)).await;
    for (from, to) in [(LOW, HIGH), (HIGH, LOW)] {
        // One read knows where to go, the other has gone there already.
        let located = scene.store.object("b", "large").await.expect("found");
        scene.gates.gets.shut();
        let (store, known) = (scene.store.clone(), located.clone());
        let reading = tokio::spawn(async move {
            let pieces = store.read(known, 0..900_000).await?;
            pieces.try_collect::<Vec<_>>().await
        });
        until("under way", || scene.gates.gets.held() >= 2).await;
        scene.gates.gets.hold_no_more();
        follow(&scene.keeper, &[(1, to)]).await;
        assert!(scene.gates.gets.held() >= 2);
        tokio::time::sleep(2 * GRACE).await;
        scene.keeper.sweep_garbage().await.expect("swept");
        let is_old = |&(node, _): &(usize, _)| from.contains(&(node as u16));
        assert!(!fragments(&scene.nodes).await.iter().any(is_old));
        scene.gates.gets.open();
        let pieces = reading.await.expect("no panic").expect("read");
        assert!(pieces.concat() == content);
        let pieces = scene.store.read(located, 0..900_000).await.expect("read");
        let pieces: Vec<bytes::Bytes> = pieces.try_collect().await.expect("read");
        assert!(pieces.concat() == content);
        ends_at(&scene, to, &objects).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_ends_or_changes_between_copy_and_switch_leaves_nothing_behind() {
    for (at_put, next) in
        [(false, None), (true, None), (false, Some([2, 3, 4, 5])), (true, Some([2, 3, 4, 5]))]
    {
        let (scene, objects) = at_low(5).await;
        let gate = if at_put { &scene.gates.puts } else { &scene.catalog.moves };
        let before = scene.keeper.moves();
        gate.shut();
        scene.keeper.follow(POOL, &plan(&[(1, HIGH)]));
        until("held", || gate.held() == 1).await;
        gate.hold_no_more();
        match next {
            None => scene.keeper.follow(POOL, &Placement::default()),
            Some(next) => scene.keeper.follow(POOL, &plan(&[(1, &next)])),
        }
        // Meanwhile the new plan's mover brings all others.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(swept(&scene).await, 0);
        gate.open();
        if let Some(next) = next {
            moved(&scene.keeper, before).await;
            ends_at(&scene, &next, &objects).await;
        } else {
            until("moved", || scene.keeper.moves().fragments_moved > before.fragments_moved).await;
            tokio::time::sleep(2 * GRACE).await;
            assert_eq!(copies(&scene).await, 1);
            scene.is_whole().await;
            scene.all_are(&objects).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_or_overwritten_between_copy_and_switch_leaves_nothing_behind() {
    for (at_put, overwritten) in [(true, true), (true, false), (false, true), (false, false)] {
        let (scene, mut objects) = at_low(0).await;
        put(&scene.store, "k", &bytes(5000, 1)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let gate = if at_put { &scene.gates.puts } else { &scene.catalog.moves };
        let before = scene.keeper.moves();
        // The first stripe is that of the bucket; of the object's, one fragment has moved.
        gate.shut_after(5);
        scene.keeper.follow(POOL, &plan(&[(1, HIGH)]));
        until("held", || gate.held() == 1).await;
        assert_eq!(copies(&scene).await, 6);
        gate.hold_no_more();
        if overwritten {
            objects.insert("k".into(), bytes(7000, 2));
            put(&scene.store, "k", &objects["k"]).await;
        } else {
            scene.store.delete("b", "k", Condition::None).await.expect("deleted");
        }
        tokio::time::sleep(2 * GRACE).await;
        assert_eq!(swept(&scene).await, 0);
        let garbage = scene.catalog.garbage(u64::MAX, StripeId(0), 9).await.expect("read");
        assert!(garbage.is_empty());
        gate.open();
        until("refused", || scene.keeper.moves().failed > before.failed).await;
        // Not even a listing is needed to be rid of the copy.
        assert_eq!(nobodys(&scene).await, []);
        moved(&scene.keeper, before).await;
        ends_at(&scene, HIGH, &objects).await;
        assert_eq!(get(&scene.store, "k").await.is_ok(), overwritten);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_swept_is_forgotten_before_its_stripe_moves_again() {
    let (scene, objects) = at_low(3).await;
    follow(&scene.keeper, &[(1, HIGH)]).await;
    tokio::time::sleep(2 * GRACE).await;
    scene.catalog.forgets.shut();
    let keeper = scene.keeper.clone();
    let sweeping = tokio::spawn(async move { keeper.sweep_garbage().await });
    until("held", || scene.catalog.forgets.held() > 0).await;
    assert_eq!(copies(&scene).await, fragments(&scene.nodes).await.len());
    // There and back, if it is let.
    for nodes in [LOW, HIGH] {
        scene.keeper.follow(POOL, &plan(&[(1, nodes)]));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    scene.catalog.forgets.open();
    sweeping.await.expect("no panic").expect("swept");
    scene.keeper.follow(POOL, &Placement::default());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(nobodys(&scene).await, []);
    follow(&scene.keeper, &[(1, HIGH)]).await;
    ends_at(&scene, HIGH, &objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_moved_back_since_a_sweep_knew_it_for_left_stays() {
    let (scene, objects) = at_low(3).await;
    follow(&scene.keeper, &[(1, HIGH)]).await;
    tokio::time::sleep(2 * GRACE).await;
    scene.catalog.leftovers.shut();
    let keeper = scene.keeper.clone();
    let sweeping = tokio::spawn(async move { keeper.sweep_garbage().await });
    until("held", || scene.catalog.leftovers.held() > 0).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    scene.catalog.leftovers.open();
    sweeping.await.expect("no panic").expect("swept");
    ends_at(&scene, LOW, &objects).await;
}

#[test]
fn a_copy_that_a_kill_left_without_a_switch_is_swept_or_used() {
    for (at_put, sweep_first) in [(true, true), (true, false), (false, true), (false, false)] {
        let killed = Killed::after(async |scene| {
            let gate = if at_put { &scene.gates.puts } else { &scene.catalog.moves };
            gate.shut();
            scene.keeper.follow(POOL, &plan(&[(1, HIGH)]));
            until("held", || gate.held() == 1).await;
        });
        killed.then(async |scene, objects| {
            assert_eq!(copies(scene).await, 1);
            if sweep_first {
                assert_eq!(swept(scene).await, 1);
                ends_at(scene, LOW, objects).await;
            }
            follow(&scene.keeper, &[(1, HIGH)]).await;
            ends_at(scene, HIGH, objects).await;
        });
    }
}

#[test]
fn what_a_kill_left_behind_is_swept_and_what_has_moved_back_is_not() {
    for (is_deleted, sweep_first) in [(true, true), (true, false), (false, true), (false, false)] {
        let killed = Killed::after(async |scene| {
            let gate = if is_deleted { &scene.catalog.forgets } else { &scene.gates.deletes };
            gate.shut();
            follow(&scene.keeper, &[(1, HIGH)]).await;
            tokio::time::sleep(2 * GRACE).await;
            let keeper = scene.keeper.clone();
            tokio::spawn(async move { keeper.sweep_garbage().await });
            until("held", || gate.held() > 0).await;
        });
        killed.then(async |scene, objects| {
            let left = scene.catalog.leftovers(u64::MAX, None, 1000).await.expect("read");
            assert!(!left.is_empty());
            if sweep_first {
                ends_at(scene, HIGH, objects).await;
            }
            follow(&scene.keeper, &[(1, LOW)]).await;
            ends_at(scene, LOW, objects).await;
        });
    }
}
