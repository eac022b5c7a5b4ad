//! Stripes whose nodes were stood in for are brought home soon after those are back.

mod common;
mod scene;

use common::*;
use ripstop_keeper::{CheckOptions, KeeperSettings};
use scene::*;
use std::time::{Duration, Instant};

const LOW: &[u16] = &[0, 1, 2, 3];
const HOME_AFTER: Duration = Duration::from_millis(800);

async fn strays(scene: &Scene) -> u64 {
    let spots = scene.spots().await;
    spots.iter().filter(|(spot, _)| *spot != LOW).map(|(_, stripes)| stripes).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_while_a_node_was_down_comes_home_soon_after_it_is_back() {
    let scene = Scene::with(KeeperSettings { home_after: HOME_AFTER, ..settings() }).await;
    let mut objects = scene.fill(10, 5000).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    scene.is_whole().await;
    let clean = scene.keeper.moves();
    scene.down(&[2], true);
    // A check asks every node how it is: from now on the node is known to be down.
    scene.keeper.check(CheckOptions::default(), |_| {}).await.expect("checked");
    for at in 0..20 {
        let (key, content) = (format!("new{at}"), bytes(6000, at));
        put(&scene.store, &key, &content).await;
        objects.insert(key, content);
    }
    scene.is_mended().await;
    assert_eq!(strays(&scene).await, 20);
    // While it is down there is nothing to be done about it.
    tokio::time::sleep(3 * HOME_AFTER).await;
    assert_eq!(scene.keeper.moves(), clean);
    scene.down(&[2], false);
    let back = Instant::now();
    let home = moved(&scene.keeper, clean).await;
    let took = back.elapsed();
    assert!(took > HOME_AFTER && took < HOME_AFTER + Duration::from_secs(5), "{took:?}");
    assert_eq!((home.failed, home.fragments_left), (clean.failed, 0));
    assert_eq!(home.fragments_moved - clean.fragments_moved, 20);
    assert_eq!(strays(&scene).await, 0);
    scene.is_whole().await;
    scene.all_are(&objects).await;
    // Once is enough.
    tokio::time::sleep(3 * HOME_AFTER).await;
    assert_eq!(scene.keeper.moves(), home);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_did_not_take_without_going_down_comes_home_too() {
    let scene = Scene::with(KeeperSettings { home_after: HOME_AFTER, ..settings() }).await;
    let mut objects = scene.fill(5, 5000).await;
    follow(&scene.keeper, &[(1, LOW)]).await;
    scene.is_whole().await;
    let clean = scene.keeper.moves();
    // Too short to be taken out of service for it.
    scene.down(&[2], true);
    objects.insert("new".into(), bytes(6000, 1));
    put(&scene.store, "new", &objects["new"]).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    scene.down(&[2], false);
    scene.is_mended().await;
    assert_eq!(strays(&scene).await, 1);
    let home = moved(&scene.keeper, clean).await;
    assert_eq!(home.fragments_moved - clean.fragments_moved, 1);
    assert_eq!(strays(&scene).await, 0);
    scene.is_whole().await;
    scene.all_are(&objects).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_where_it_belongs_calls_for_nothing() {
    let scene = Scene::with(KeeperSettings { home_after: HOME_AFTER, ..settings() }).await;
    follow(&scene.keeper, &[(1, LOW), (1, &[4, 5, 6, 7])]).await;
    let clean = scene.keeper.moves();
    scene.fill(30, 5000).await;
    tokio::time::sleep(3 * HOME_AFTER).await;
    assert_eq!(scene.keeper.moves(), clean);
}
