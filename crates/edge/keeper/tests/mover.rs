//! Stripes are brought to where a plan wants them, and nobody notices.

mod common;
mod scene;

use common::*;
use futures::TryStreamExt;
use ripstop_catalog::{Catalog as _, Condition};
use ripstop_gateway::Placement;
use ripstop_keeper::{KeeperSettings, MoveProgress};
use ripstop_model::{NodeId, PoolId, StripeId};
use scene::*;
use std::{collections::BTreeMap, time::Duration};

const LOW: &[u16] = &[0, 1, 2, 3];
const HIGH: &[u16] = &[4, 5, 6, 7];

/// Fragments that a plan's moves count: groups that have most nodes in common are paired first.
fn planned(spots: &BTreeMap<Vec<u16>, u64>, groups: &[(u64, &[u16])]) -> u64 {
    let (total, weights): (u64, u64) =
        (spots.values().sum(), groups.iter().map(|group| group.0).sum());
    let mut open: Vec<u64> = groups.iter().map(|group| total * group.0 / weights).collect();
    open[0] += total - open.iter().sum::<u64>();
    let mut pairs = Vec::new();
    for (spot, count) in spots {
        for (at, group) in groups.iter().enumerate() {
            let moved = group.1.iter().filter(|node| !spot.contains(node)).count() as u64;
            pairs.push((moved, spot, at, *count));
        }
    }
    pairs.sort();
    let mut left = spots.clone();
    let mut all = 0;
    for (moved, spot, at, _) in pairs {
        let count = left[spot].min(open[at]);
        *left.get_mut(spot).expect("one of them") -= count;
        open[at] -= count;
        all += moved * count;
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn stripes_stored_before_a_plan_end_in_its_groups_by_weight() {
    let scene = Scene::new().await;
    // With the stripe that tells of the bucket they are 80; some objects have more than one.
    let mut objects = scene.fill(77, 5000).await;
    objects.insert("large".into(), bytes(300_000, 9));
    put(&scene.store, "large", &objects["large"]).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let before = scene.spots().await;
    assert_eq!(before.values().sum::<u64>(), 80);
    let groups = [(1, LOW), (3, HIGH)];
    let moves = follow(&scene.keeper, &groups).await;
    assert_eq!(scene.spots().await, [(LOW.to_vec(), 20), (HIGH.to_vec(), 60)].into());
    let census = scene.keeper.census(PoolId(0)).await.unwrap();
    let nodes = |numbers: &[u16]| numbers.iter().copied().map(NodeId).collect::<Vec<_>>();
    assert_eq!((census.stripes, census.groups), (80, vec![(nodes(LOW), 20), (nodes(HIGH), 60)]));
    assert_eq!((moves.fragments_left, moves.failed), (0, 0));
    let planned = planned(&before, &groups);
    assert!(moves.fragments_moved <= planned, "{} for {planned}", moves.fragments_moved);
    assert!(moves.bytes_moved > moves.fragments_moved * 64 && moves.stripes_seen >= 80);
    scene.all_are(&objects).await;
    scene.is_whole().await;
    scene.all_are(&objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn following_the_same_plan_again_moves_nothing() {
    let scene = Scene::new().await;
    scene.fill(20, 3000).await;
    let groups = [(1, LOW), (1, HIGH)];
    let first = follow(&scene.keeper, &groups).await;
    assert!(first.fragments_moved > 0);
    // What is written under the plan is where it belongs.
    scene.fill(30, 3000).await;
    let again = follow(&scene.keeper, &groups).await;
    assert_eq!(again.fragments_moved, first.fragments_moved);
    scene.is_whole().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_weights_move_what_a_group_has_too_many_of() {
    let scene = Scene::new().await;
    let objects = scene.fill(59, 3000).await;
    follow(&scene.keeper, &[(1, LOW), (1, HIGH)]).await;
    let before = scene.keeper.moves();
    let after = follow(&scene.keeper, &[(1, LOW), (4, HIGH)]).await;
    assert_eq!(after.fragments_moved - before.fragments_moved, 18 * 4);
    assert_eq!(scene.spots().await, [(LOW.to_vec(), 12), (HIGH.to_vec(), 48)].into());
    scene.is_whole().await;
    scene.all_are(&objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_begun_before_a_move_end_from_where_the_fragments_were() {
    let settings = KeeperSettings { grace: Duration::from_hours(1), ..settings() };
    let scene = Scene::with(settings).await;
    let content = bytes(900_000, 4);
    put(&scene.store, "k", &content).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let located = scene.store.object("b", "k").await.expect("found");
    follow(&scene.keeper, &[(1, LOW)]).await;
    follow(&scene.keeper, &[(1, HIGH)]).await;
    // Neither sweep takes what is not due.
    scene.keeper.sweep_garbage().await.expect("swept");
    assert_eq!(scene.keeper.sweep_unclaimed().await.expect("swept"), 0);
    for (id, stripe) in &located.stripes {
        for (index, node) in stripe.nodes.iter().enumerate() {
            let name = ripstop_model::FragmentId { stripe: *id, index: index as u8 };
            let here = (usize::from(node.expect("stored")), name);
            assert!(fragments(&scene.nodes).await.contains(&here));
        }
    }
    let pieces = scene.store.read(located, 0..900_000).await.expect("read");
    let pieces: Vec<bytes::Bytes> = pieces.try_collect().await.expect("read");
    assert!(pieces.concat() == content);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_on_while_stripes_move_to_and_fro() {
    let grace = Duration::from_millis(500);
    let scene = Scene::with(KeeperSettings { grace, ..settings() }).await;
    let mut objects = scene.fill(40, 20_000).await;
    let mut rounds = 0;
    let groups: [&[(u64, &[u16])]; 3] = [&[(1, LOW)], &[(1, HIGH)], &[(1, &[2, 3, 4, 5])]];
    for at in 0..9 {
        let before = scene.keeper.moves();
        scene.keeper.follow(POOL, &plan(groups[at % 3]));
        while scene.keeper.moves().walks == before.walks {
            rounds += 1;
            let key = format!("o{}", rounds % 40);
            assert!(get(&scene.store, &key).await.expect("read") == objects[&key], "{key}");
            let content = bytes(1000 + rounds * 11, rounds as u64);
            if rounds % 3 == 0 {
                scene.store.delete("b", &key, Condition::None).await.expect("deleted");
            }
            put(&scene.store, &key, &content).await;
            objects.insert(key, content);
            // Longer than any read takes, and short beside the moves.
            scene.keeper.sweep_garbage().await.expect("swept");
            scene.keeper.sweep_unclaimed().await.expect("swept");
            assert!(rounds < 20_000, "{:?}", scene.keeper.moves());
        }
    }
    tokio::time::sleep(2 * grace).await;
    scene.is_mended().await;
    scene.is_whole().await;
    scene.all_are(&objects).await;
    assert!(scene.keeper.moves().fragments_moved > 200, "{:?}", scene.keeper.moves());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_moved_each_second_than_was_set_and_nothing_once_the_plan_ends() {
    let rate = 100_000;
    let scene = Scene::with(KeeperSettings { move_rate_max: rate, ..settings() }).await;
    scene.fill(60, 20_000).await;
    let start = std::time::Instant::now();
    scene.keeper.follow(POOL, &plan(&[(1, LOW)]));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let moves = scene.keeper.moves();
    let most = rate as f64 * start.elapsed().as_secs_f64() + 15_000.0;
    assert!(moves.bytes_moved > 20_000, "{moves:?}");
    assert!((moves.bytes_moved as f64) < most, "{moves:?}");
    assert!(moves.fragments_left > 0);
    scene.keeper.follow(POOL, &Placement::default());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let ended = scene.keeper.moves();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(scene.keeper.moves(), ended);
    assert_eq!(ended.fragments_left, 0);
    scene.is_whole().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_rate_at_nothing_new_stripes_follow_the_plan_and_old_ones_stay() {
    let scene = Scene::with(KeeperSettings { move_rate_max: 0, ..settings() }).await;
    scene.fill(10, 3000).await;
    let before = scene.spots().await;
    scene.keeper.follow(POOL, &plan(&[(1, LOW)]));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(scene.spots().await, before);
    put(&scene.store, "new", &bytes(3000, 1)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let new = scene.store.object("b", "new").await.expect("found");
    let mut nodes: Vec<u16> = new.stripes[0].1.nodes.iter().flatten().copied().collect();
    nodes.sort_unstable();
    assert_eq!(nodes, LOW);
    assert_eq!(scene.keeper.moves(), MoveProgress::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn packs_move_as_other_stripes_do_and_their_members_with_them() {
    let scene = Scene::new().await;
    let contents = put_pack(&scene.store, &[0, 1, 256, 3000, 9000, 40]).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (_, before) = scene
        .catalog
        .stripes_after(StripeId(0), 9)
        .await
        .expect("read")
        .into_iter()
        .find(|(_, stripe)| stripe.is_pack())
        .expect("there is a pack");
    for groups in [[(1, LOW)], [(1, HIGH)]] {
        follow(&scene.keeper, &groups).await;
        let spots = scene.spots().await;
        assert_eq!(spots.keys().collect::<Vec<_>>(), [groups[0].1]);
        for (at, content) in contents.iter().enumerate() {
            assert_eq!(get(&scene.store, &format!("p{at}")).await.expect("read"), *content);
        }
    }
    let packs = scene.catalog.stripes_after(StripeId(0), 9).await.expect("read");
    let (_, after) = packs.iter().find(|(_, it)| it.is_pack()).expect("there is a pack");
    assert_eq!((after.block_len, after.payload_len), (before.block_len, before.payload_len));
}
