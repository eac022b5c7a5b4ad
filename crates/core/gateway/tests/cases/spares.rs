//! Redundant tasks that a read makes only when it has taken a while.

use crate::scene::Scene;
use expect_test::expect;
use ripstop_gateway::RequestSpec;
use ripstop_model::{Code, NodeId, Timestamp};
use ripstop_policy::{Choice, Load, Policy, Redundancy, RequestClass};
use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Code (3,1), one task at once.
#[derive(Debug)]
struct Later {
    spare_after: Duration,
    rescue_after: Option<Duration>,
}

impl Policy for Later {
    fn choose(&mut self, _now: Timestamp, _class: &RequestClass, _load: Load) -> Choice {
        let Self { spare_after, rescue_after } = *self;
        let (at_once, keep_idle, preemptible) = (1, 0, true);
        let redundancy =
            Redundancy::Spare { at_once, keep_idle, spare_after, rescue_after, preemptible };
        Choice { code: Code::new(3, 1).expect("a code"), redundancy }
    }
}

fn scene(lanes: u16, spare_after: u64, rescue_after: Option<u64>) -> Scene {
    let (spare_after, rescue_after) = (ms(spare_after), rescue_after.map(ms));
    Scene::under(Box::new(Later { spare_after, rescue_after }), lanes)
}

fn read(scene: &mut Scene, id: u64) {
    let operation = RequestSpec::ReadShared { n: 6, k: 1, node: Some(NodeId(0)) };
    scene.request(id, &format!("read {id}"), operation);
}

#[test]
fn spare_tasks_are_made_when_the_read_has_taken_that_long() {
    let mut scene = scene(3, 20, None);
    read(&mut scene, 1);
    scene.fire_until("hedge").at(30).done(1, &[2]);
    expect![[r"
        0     read 1 → start 1.0@0
        20    hedge is over → start 1.1@0, start 1.2@0
        30    1.2 ends Done → decode 1 from {2}, cancel 1.0, cancel 1.1
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_read_that_is_done_by_then_makes_none() {
    let mut scene = scene(3, 20, Some(50));
    read(&mut scene, 1);
    scene.at(10).done(1, &[0]);
    assert_eq!(scene.machine.deadline(), None);
}

#[test]
fn spare_tasks_made_later_give_way_and_are_rescued_when_due() {
    let mut scene = scene(2, 20, Some(50));
    read(&mut scene, 1);
    scene.fire_until("hedge").at(30);
    read(&mut scene, 2);
    scene.at(31).end(1, 1, ripstop_gateway::TaskOutcome::Cancelled);
    scene.fire_until("hedge").fire_until("hedge");
    scene.at(60).done(2, &[0]).done(1, &[0]);
    expect![[r"
        0     read 1 → start 1.0@0
        20    hedge is over → start 1.1@0
        30    read 2 → cancel 1.1
        31    1.1 ends Cancelled → start 2.0@0
        50    hedge is over
        51    hedge is over
        60    2.0 ends Done → complete 2, settle 2 [], start 1.1@0
        60    1.0 ends Done → complete 1, cancel 1.1
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_rescue_that_is_due_before_makes_the_first_spare_task_needed_at_once() {
    let mut scene = scene(1, 20, Some(5));
    read(&mut scene, 1);
    scene.fire_until("hedge");
    assert_eq!(scene.machine.load().tasks_waiting, 1);
    expect![[r"
        0     read 1 → start 1.0@0
        20    hedge is over
    "]]
    .assert_eq(&scene.text());
}
