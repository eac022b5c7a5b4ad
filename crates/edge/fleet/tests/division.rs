//! Two and four gateways over one catalog: what each may take of nodes and promises, as one wants
//! more, one dies, one comes, and the catalog stalls.

#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

mod scene;

use ripstop_catalog::Catalog;
use scene::{LANES, Member, PROMISED, World};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn alone_it_has_everything() {
    let world = World::new();
    let one = world.join(1).await;
    assert_eq!(one.lanes(), [LANES; 6]);
    assert_eq!(one.promise(), PROMISED);
}

#[tokio::test(start_paused = true)]
async fn those_that_want_nothing_have_equal_parts() {
    let world = World::new();
    let one = world.join(1).await;
    one.run();
    let two = world.join(2).await;
    two.run();
    for _ in 0..40 {
        world.must_hold();
        sleep(Duration::from_millis(250)).await;
    }
    assert_eq!((one.lanes(), two.lanes()), ([8; 6], [8; 6]));
    let half = PROMISED / 2;
    assert!(one.promise().abs_diff(half) <= half / 16, "{}", one.promise());
    assert!(two.promise().abs_diff(half) <= half / 16, "{}", two.promise());
}

#[tokio::test(start_paused = true)]
async fn where_all_of_a_tenants_clients_are_nearly_all_of_its_promise_is_within_a_few_beats() {
    let world = World::new();
    let (one, two) = (world.join(1).await, world.join(2).await);
    one.run();
    two.run();
    sleep(Duration::from_secs(8)).await;
    let asking = one.ask();
    for _ in 0..24 {
        world.must_hold();
        sleep(Duration::from_millis(250)).await;
    }
    assert!(one.promise() >= PROMISED * 9 / 10, "{}", one.promise());
    assert!(one.lanes().iter().all(|lanes| *lanes >= LANES - 2), "{:?}", one.lanes());
    // And when they go to the other.
    asking.abort();
    let _asking = two.ask();
    for _ in 0..80 {
        world.must_hold();
        sleep(Duration::from_millis(250)).await;
    }
    assert!(two.promise() >= PROMISED * 9 / 10, "{}", two.promise());
    assert!(two.lanes().iter().all(|lanes| *lanes >= LANES - 2), "{:?}", two.lanes());
}

#[tokio::test(start_paused = true)]
async fn what_one_of_four_had_is_divided_within_seconds_of_its_death_and_at_once_when_it_leaves() {
    let world = World::new();
    let mut members = Vec::new();
    for number in 1..=4 {
        let member = world.join(number).await;
        member.run();
        members.push(member);
    }
    let sum = |members: &[Arc<Member>]| members.iter().map(|it| it.lanes()[0]).sum::<u16>();
    let settled = async |members: &[Arc<Member>], within: u64| {
        for _ in 0..within * 4 {
            world.must_hold();
            sleep(Duration::from_millis(250)).await;
        }
        let parts: Vec<u16> = members.iter().map(|it| it.lanes()[0]).collect();
        let least = LANES / members.len() as u16;
        assert!(parts.iter().all(|it| (least..=least + 1).contains(it)), "{parts:?}");
        assert_eq!(sum(members), LANES);
    };
    settled(&members, 10).await;
    members.pop().unwrap().die();
    // Until it counts as dead, nobody takes its part.
    sleep(Duration::from_secs(2)).await;
    assert_eq!(sum(&members), LANES - LANES / 4);
    settled(&members, 8).await;
    let left = members.pop().unwrap();
    left.leave().await;
    settled(&members, 4).await;
    let come = world.join(5).await;
    come.run();
    members.push(come);
    settled(&members, 6).await;
}

#[tokio::test(start_paused = true)]
async fn one_whose_beats_fail_lets_go_before_the_others_take_its_part() {
    let world = World::new();
    let (one, two) = (world.join(1).await, world.join(2).await);
    one.run();
    two.run();
    sleep(Duration::from_secs(8)).await;
    assert_eq!((one.lanes()[0], two.lanes()[0]), (8, 8));
    one.stall(true);
    let mut let_go = false;
    for _ in 0..40 {
        sleep(Duration::from_millis(250)).await;
        let_go |= one.lanes()[0] == 1;
        // The least that one keeps whom the others count as dead is over and above.
        assert!(one.lanes()[0] == 1 || two.lanes()[0] <= 8, "{:?} {:?}", one.lanes(), two.lanes());
    }
    assert!(let_go && one.fleet.is_late());
    assert_eq!(two.lanes()[0], LANES);
    one.stall(false);
    sleep(Duration::from_secs(8)).await;
    world.must_hold();
    assert!(!one.fleet.is_late());
    assert_eq!((one.lanes()[0], two.lanes()[0]), (8, 8));
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_data_folder_is_another_gateway() {
    let world = World::new();
    let (one, copy) = (world.join(1).await, world.join(1).await);
    one.run();
    copy.run();
    sleep(Duration::from_secs(8)).await;
    let known = world.catalog.gateways().await.unwrap();
    assert_eq!(known.len(), 2, "{known:?}");
    assert_eq!(one.fleet.sights().iter().filter(|sight| sight.is_alive).count(), 2);
    assert_eq!((one.lanes()[0], copy.lanes()[0]), (8, 8));
}

#[tokio::test(start_paused = true)]
async fn it_shows_who_lives() {
    let world = World::new();
    let (one, two) = (world.join(1).await, world.join(2).await);
    one.run();
    two.run();
    sleep(Duration::from_secs(3)).await;
    two.die();
    sleep(Duration::from_secs(6)).await;
    let sights = one.fleet.sights();
    let shown: Vec<_> =
        sights.iter().map(|it| (it.id.0, it.is_own, it.is_alive, it.gateway.epoch)).collect();
    assert_eq!(shown, [(1, true, true, 1), (2, false, false, 1)]);
    assert_eq!(sights[1].gateway.address, "127.0.0.1:2");
    assert!(sights[1].silent_for > Duration::from_secs(5));
    let again = world.join(2).await;
    assert_eq!(again.fleet.sights()[1].gateway.epoch, 2);
}
