//! Moves meet what goes wrong: nodes that are lost, stripes that change meanwhile, crashes.

mod common;
mod scene;

use common::*;
use ripstop_catalog::{Catalog as _, Change};
use ripstop_keeper::{CheckOptions, KeeperSettings};
use ripstop_model::StripeId;
use scene::*;
use std::{collections::BTreeSet, time::Duration};

const LOW: &[u16] = &[0, 1, 2, 3];
const HIGH: &[u16] = &[4, 5, 6, 7];

#[tokio::test(flavor = "multi_thread")]
async fn fragments_of_a_node_that_is_lost_are_computed_where_they_belong() {
    let scene = Scene::new().await;
    let objects = scene.fill(30, 10_000).await;
    follow(&scene.keeper, &[(1, HIGH)]).await;
    scene.is_whole().await;
    scene.down(&[7], true);
    let moves = follow(&scene.keeper, &[(1, &[2, 3, 4, 5])]).await;
    assert_eq!(moves.fragments_left, 0);
    assert_eq!(scene.spots().await.into_keys().collect::<Vec<_>>(), [[2, 3, 4, 5]]);
    scene.all_are(&objects).await;
    // Back again, it is rid of what it still has.
    scene.down(&[7], false);
    scene.is_whole().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_killed_while_stripes_move_to_it_gets_them_once_it_is_back() {
    let home_after = Duration::from_millis(300);
    let slow = KeeperSettings { move_rate_max: 2_000_000, home_after, ..settings() };
    let scene = Scene::with(slow).await;
    let objects = scene.fill(60, 20_000).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    let before = scene.keeper.moves();
    scene.keeper.follow(POOL, &plan(&[(1, HIGH)]));
    let some = before.fragments_moved + 20;
    until("halfway", || scene.keeper.moves().fragments_moved >= some).await;
    scene.down(&[6], true);
    until("failed", || scene.keeper.moves().failed > before.failed).await;
    scene.all_are(&objects).await;
    // What belongs there is not even tried once the node is known to be out of service.
    until("seen all", || scene.keeper.moves().stripes_seen >= before.stripes_seen + 2 * 61).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let moves = scene.keeper.moves();
    assert!(moves.failed < before.failed + 10, "{moves:?}");
    assert!(moves.fragments_left > 0 && moves.walks == before.walks, "{moves:?}");
    // Nor is it looked for again and again.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(scene.keeper.moves(), moves);
    scene.down(&[6], false);
    moved(&scene.keeper, before).await;
    assert_eq!(scene.spots().await.into_keys().collect::<Vec<_>>(), [HIGH]);
    scene.is_whole().await;
    scene.all_are(&objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_that_is_damaged_or_missing_arrives_whole() {
    let scene = Scene::new().await;
    let objects = scene.fill(10, 10_000).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    scene.is_whole().await;
    for (node, name) in fragments(&scene.nodes).await {
        match node {
            0 => ripstop_node::Node::delete(&*scene.nodes[0], name).await.expect("deleted"),
            1 => {
                use ripstop_node::Node;
                let mut junk = scene.nodes[1].get(name, 0..128).await.expect("there").to_vec();
                junk[70] ^= 1;
                let junk = bytes::Bytes::from(junk);
                scene.nodes[1].put(name, vec![junk]).await.expect("stored");
            }
            _ => {}
        }
    }
    follow(&scene.keeper, &[(1, HIGH)]).await;
    scene.is_whole().await;
    scene.all_are(&objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fragments_that_a_check_rebuilds_go_to_nodes_of_their_own() {
    let scene = Scene::new().await;
    let objects = scene.fill(40, 3000).await;
    for (id, stripe) in scene.catalog.stripes_after(StripeId(0), 1000).await.expect("read") {
        for index in 1..3 {
            let name = ripstop_model::FragmentId { stripe: id, index };
            let node = stripe.node(index.into()).expect("it is somewhere");
            let node = &scene.nodes[usize::from(node.0)];
            ripstop_node::Node::delete(&**node, name).await.expect("deleted");
            let change = Change::PlaceFragment { stripe: id, index, node: None };
            scene.catalog.commit_one(1, change).await.expect("committed");
        }
    }
    let report = scene.keeper.check(CheckOptions { repair: true }, |_| {}).await.expect("checked");
    assert_eq!((report.missing, report.repaired), (82, 82));
    assert!(scene.spots().await.keys().all(|spot| {
        let nodes: BTreeSet<&u16> = spot.iter().collect();
        nodes.len() == 4
    }));
    scene.is_whole().await;
    scene.all_are(&objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_fails_leaves_the_fragment_where_it_was() {
    for tamper in [Tamper::Fail, Tamper::LoseAnswer] {
        let scene = Scene::new().await;
        let objects = scene.fill(8, 5000).await;
        follow(&scene.keeper, &[(1, LOW)]).await;
        scene.is_whole().await;
        let before = scene.keeper.moves();
        scene.catalog.set(tamper);
        scene.keeper.follow(POOL, &plan(&[(1, HIGH)]));
        until("failed", || scene.keeper.moves().failed >= before.failed + 9 * 4).await;
        assert_eq!(scene.keeper.moves().fragments_moved, before.fragments_moved);
        if tamper == Tamper::Fail {
            assert_eq!(scene.spots().await, [(LOW.to_vec(), 9)].into());
        }
        scene.all_are(&objects).await;
        // Both copies are there; the sweep takes those that are not in force.
        scene.keeper.follow(POOL, &plan(&[]));
        tokio::time::sleep(Duration::from_millis(100)).await;
        scene.is_whole().await;
        scene.all_are(&objects).await;
        scene.catalog.set(Tamper::Nothing);
        follow(&scene.keeper, &[(1, HIGH)]).await;
        assert_eq!(scene.spots().await, [(HIGH.to_vec(), 9)].into());
        scene.is_whole().await;
        scene.all_are(&objects).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_removed_between_copy_and_switch_stays_removed() {
    let scene = Scene::new().await;
    put(&scene.store, "k", &bytes(5000, 1)).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    scene.catalog.set(Tamper::Remove);
    follow(&scene.keeper, &[(1, HIGH)]).await;
    assert!(get(&scene.store, "k").await.is_err());
    // The copy is gone at once; the rest is garbage.
    scene.is_whole().await;
    assert_eq!(scene.spots().await.values().sum::<u64>(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_placed_otherwise_between_copy_and_switch_wins() {
    let scene = Scene::new().await;
    let content = bytes(5000, 1);
    put(&scene.store, "k", &content).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    scene.is_whole().await;
    let before = scene.keeper.moves();
    scene.catalog.set(Tamper::Place);
    scene.keeper.follow(POOL, &plan(&[(1, HIGH)]));
    until("failed", || scene.keeper.moves().failed > before.failed).await;
    moved(&scene.keeper, before).await;
    // What was said to be nowhere was made again, where it belongs.
    assert_eq!(scene.spots().await, [(HIGH.to_vec(), 2)].into());
    assert!(get(&scene.store, "k").await.expect("read") == content);
    // Where it had been it is nowhere in the catalog: a sweep finds it once its stripe is known to
    // have it elsewhere.
    scene.is_whole().await;
}

#[test]
fn moves_that_a_crash_cut_off_are_taken_up_by_the_next_store() {
    let new = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().expect("a runtime")
    };
    let slow = KeeperSettings { move_rate_max: 2_000_000, ..settings() };
    let first = new();
    let (mut scene, objects) = first.block_on(async {
        let scene = Scene::with(slow.clone()).await;
        let objects = scene.fill(50, 20_000).await;
        (scene, objects)
    });
    let mut runtime = first;
    for round in 0..4 {
        let groups = if round % 2 == 0 { LOW } else { HIGH };
        runtime.block_on(async {
            scene.keeper.follow(POOL, &plan(&[(1, groups)]));
            until("some moved", || scene.keeper.moves().fragments_moved >= 30).await;
        });
        runtime.shutdown_background();
        runtime = new();
        let kept = runtime.block_on(async { scene.reopen(slow.clone()) });
        scene.take(kept);
        runtime.block_on(scene.all_are(&objects));
    }
    runtime.block_on(async {
        assert!(scene.spots().await.len() > 1, "it was in the middle");
        follow(&scene.keeper, &[(1, LOW)]).await;
        assert_eq!(scene.spots().await, [(LOW.to_vec(), 51)].into());
        scene.is_whole().await;
        scene.all_are(&objects).await;
    });
    drop(scene);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mover_ends_with_its_store() {
    let scene = Scene::with(KeeperSettings { move_rate_max: 10_000, ..settings() }).await;
    scene.fill(20, 20_000).await;
    scene.keeper.follow(POOL, &plan(&[(1, LOW)]));
    until("began", || scene.keeper.moves().fragments_moved > 0).await;
    let (catalog, nodes) = (scene.catalog.clone(), scene.nodes.clone());
    drop(scene);
    tokio::time::sleep(Duration::from_millis(700)).await;
    let before = fragments(&nodes).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(fragments(&nodes).await, before);
    let all = catalog.stripes_after(StripeId(0), 1000).await.expect("read");
    assert_eq!(all.len(), 21);
    // Nobody else holds it any longer.
    let forget = Change::ForgetLeftovers { leftovers: Vec::new() };
    catalog.commit_one(1, forget).await.expect("committed");
    assert_eq!(std::sync::Arc::strong_count(&catalog), 1);
}
