//! How reads are served, case by case. `1.2@5` is fragment 2 of request 1 at node 5.

use crate::scene::Scene;
use expect_test::expect;
use ripstop_gateway::{
    MachineSettings, NodeState,
    TaskOutcome::{self, Refused, Unavailable},
};

const WHOLE: &[usize] = &[0, 1, 2, 3];

fn six_nodes() -> Scene {
    Scene::new(MachineSettings::default(), &[2; 6])
}

#[test]
fn in_calm_the_wanted_strips_are_fetched_and_nothing_is_decoded() {
    let mut scene = six_nodes();
    scene.read(1, WHOLE, &[]).at(5).done(1, &[2, 0, 1, 3]);
    scene.read(2, &[1], &[]).at(9).done(2, &[1]);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        5     1.2 ends Done
        5     1.0 ends Done
        5     1.1 ends Done
        5     1.3 ends Done → complete 1, settle 1 []
        5     read 2 wants {1} → start 2.1@1
        9     2.1 ends Done → complete 2, settle 2 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_missing_fragment_is_replaced_by_parity() {
    let mut scene = six_nodes();
    scene.read(1, WHOLE, &[1]).done(1, &[0, 2, 3, 4]).decoded(1, true);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.2@2, start 1.3@3, start 1.4@4
        0     1.0 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        0     1.4 ends Done → decode 1 from {0, 2, 3, 4}
        0     1 is decoded: true → complete 1, settle 1 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_range_of_a_missing_strip_needs_a_full_set() {
    let mut scene = six_nodes();
    scene.read(1, &[1], &[1]).done(1, &[0, 2, 3, 4]).decoded(1, true);
    scene
        .read(2, &[0], &[1])
        .end(2, 0, TaskOutcome::Damaged)
        .done(2, &[2, 3, 4, 5])
        .decoded(2, true);
    expect![[r"
        0     read 1 wants {1} → start 1.0@0, start 1.2@2, start 1.3@3, start 1.4@4
        0     1.0 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        0     1.4 ends Done → decode 1 from {0, 2, 3, 4}
        0     1 is decoded: true → complete 1, settle 1 []
        0     read 2 wants {0} → start 2.0@0
        0     2.0 ends Damaged → lost 0 Damaged, start 2.2@2, start 2.3@3, start 2.4@4, start 2.5@5
        0     2.2 ends Done
        0     2.3 ends Done
        0     2.4 ends Done
        0     2.5 ends Done → decode 2 from {2, 3, 4, 5}
        0     2 is decoded: true → complete 2, settle 2 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn nodes_that_are_down_are_done_without_until_too_few_are_left() {
    let mut scene = six_nodes();
    scene.node(0, NodeState::Down).read(1, WHOLE, &[]).done(1, &[1, 2, 3, 4]).decoded(1, true);
    scene.node(5, NodeState::Down).read(2, WHOLE, &[]).done(2, &[1, 2, 3, 4]).decoded(2, true);
    scene.node(3, NodeState::Down).read(3, WHOLE, &[]).read(4, &[2], &[]).done(4, &[2]);
    scene.node(0, NodeState::Up).read(5, WHOLE, &[]);
    expect![[r"
        0     node 0 is Down → node 0 down
        0     read 1 wants {0, 1, 2, 3} → start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        0     1.4 ends Done → decode 1 from {1, 2, 3, 4}
        0     1 is decoded: true → complete 1, settle 1 []
        0     node 5 is Down → node 5 down
        0     read 2 wants {0, 1, 2, 3} → start 2.1@1, start 2.2@2, start 2.3@3, start 2.4@4
        0     2.1 ends Done
        0     2.2 ends Done
        0     2.3 ends Done
        0     2.4 ends Done → decode 2 from {1, 2, 3, 4}
        0     2 is decoded: true → complete 2, settle 2 []
        0     node 3 is Down → node 3 down
        0     read 3 wants {0, 1, 2, 3} → fail 3 Unavailable, settle 3 []
        0     read 4 wants {2} → start 4.2@2
        0     4.2 ends Done → complete 4, settle 4 []
        0     node 0 is Up → node 0 up
        0     read 5 wants {0, 1, 2, 3} → start 5.0@0, start 5.1@1, start 5.2@2, start 5.4@4
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn damaged_and_missing_chunks_are_erasures_until_too_many_are_lost() {
    let mut scene = six_nodes();
    scene.read(1, WHOLE, &[]).end(1, 0, TaskOutcome::Damaged).end(1, 2, TaskOutcome::Missing);
    scene.end(1, 4, TaskOutcome::Damaged).done(1, &[1]);
    scene.done(1, &[3, 5]);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        0     1.0 ends Damaged → lost 0 Damaged, start 1.4@4
        0     1.2 ends Missing → lost 2 Missing, start 1.5@5
        0     1.4 ends Damaged → lost 4 Damaged, fail 1 Lost, cancel 1.1, cancel 1.3, cancel 1.5
        0     1.1 ends Done
        0     1.3 ends Done
        0     1.5 ends Done → settle 1 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn an_unavailable_chunk_is_tried_again_when_nothing_else_is_left() {
    let mut scene = six_nodes();
    scene.read(1, WHOLE, &[4, 5]).end(1, 0, Unavailable).end(1, 1, Refused);
    scene.read(2, WHOLE, &[4, 5]).end(2, 0, Unavailable).done(2, &[0, 1, 2, 3]);
    scene.read(3, WHOLE, &[5]).end(3, 0, Unavailable).end(3, 4, Unavailable);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        0     1.0 ends Unavailable → start 1.0@0
        0     1.1 ends Refused → fail 1 Unavailable, cancel 1.0, cancel 1.2, cancel 1.3
        0     read 2 wants {0, 1, 2, 3} → start 2.1@1, start 2.0@0, start 2.2@2, start 2.3@3
        0     2.0 ends Unavailable → start 2.0@0
        0     2.0 ends Done
        0     2.1 ends Done
        0     2.2 ends Done
        0     2.3 ends Done → complete 2, settle 2 []
        0     read 3 wants {0, 1, 2, 3} → start 3.1@1, start 3.4@4, start 3.0@0, start 3.2@2
        0     3.0 ends Unavailable → start 3.3@3
        0     3.4 ends Unavailable → start 3.0@0
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn fragments_that_share_a_node_are_tried_again_too() {
    use ripstop_gateway::RequestSpec;
    use ripstop_model::NodeId;
    let settings = MachineSettings { tasks_waiting_max: 1, ..MachineSettings::default() };
    let mut scene = Scene::new(settings, &[2, 1]);
    let places = [0, 0, 1].map(|node| Some(NodeId(node))).to_vec();
    let wanted = [0, 1].into_iter().collect();
    scene.request(1, "read 1", RequestSpec::Read { k: 2, wanted, places });
    scene.end(1, 0, Unavailable).end(1, 1, Unavailable);
    scene.end(1, 2, TaskOutcome::Missing).done(1, &[0, 1]);
    expect![[r"
        0     read 1 → start 1.0@0, start 1.1@0
        0     1.0 ends Unavailable → start 1.2@1
        0     1.1 ends Unavailable → start 1.0@0
        0     1.2 ends Missing → lost 2 Missing, start 1.1@0
        0     1.0 ends Done
        0     1.1 ends Done → complete 1, settle 1 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn what_waits_fails_as_soon_as_a_lost_node_makes_it_impossible() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    scene.read(1, &[0, 1, 2], &[]).read(2, WHOLE, &[4, 5]).read(3, WHOLE, &[]);
    scene.node(0, NodeState::Down).node(5, NodeState::Down).node(4, NodeState::Down);
    expect![[r"
        0     read 1 wants {0, 1, 2} → start 1.0@0, start 1.1@1, start 1.2@2
        0     read 2 wants {0, 1, 2, 3}
        0     read 3 wants {0, 1, 2, 3}
        0     node 0 is Down → node 0 down, fail 2 Unavailable, settle 2 []
        0     node 5 is Down → node 5 down
        0     node 4 is Down → node 4 down, fail 3 Unavailable, settle 3 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_late_answer_shows_that_a_node_still_serves() {
    let settings = MachineSettings { failures_to_down: 2, ..MachineSettings::default() };
    let mut scene = Scene::new(settings, &[2; 6]);
    scene.read(1, &[0], &[]).fire_until("task_timeout").done(1, &[0]);
    scene.read(2, &[0], &[]).end(2, 0, Unavailable);
    scene.read(3, &[0], &[]).end(3, 0, Unavailable);
    expect![[r"
        0     read 1 wants {0} → start 1.0@0
        1000  late_after is over → start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4
        2000  late_after is over → start 1.5@5
        3000  late_after is over
        30000 task_timeout is over → cancel 1.0
        30000 1.0 ends Done → complete 1, cancel 1.1, cancel 1.2, cancel 1.3, cancel 1.4, cancel 1.5
        30000 read 2 wants {0} → start 2.0@0
        30000 2.0 ends Unavailable → start 2.1@1, start 2.2@2, start 2.3@3, start 2.4@4
        30000 read 3 wants {0} → start 3.0@0
        30000 3.0 ends Unavailable → node 0 down, start 3.5@5
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn what_cannot_be_decoded_is_lost() {
    let mut scene = six_nodes();
    scene.read(1, WHOLE, &[0]).done(1, &[1, 2, 3, 4]).decoded(1, false).decoded(1, true);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        0     1.4 ends Done → decode 1 from {1, 2, 3, 4}
        0     1 is decoded: false → fail 1 Lost, settle 1 []
        0     1 is decoded: true
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_slow_node_is_done_without_once_its_lanes_are_taken() {
    let mut scene = six_nodes();
    scene.read(1, &[0], &[]).read(2, &[0], &[]);
    // Node 0 does not answer: both its lanes are taken.
    scene.read(3, WHOLE, &[]).done(3, &[1, 2, 3, 4]).decoded(3, true);
    // A range of its strip waits a little, lets others pass, then reads around it.
    scene.read(4, &[0], &[]).read(5, &[3], &[]).fire();
    scene.done(4, &[1, 2, 4, 5]).decoded(4, true);
    expect![[r"
        0     read 1 wants {0} → start 1.0@0
        0     read 2 wants {0} → start 2.0@0
        0     read 3 wants {0, 1, 2, 3} → start 3.1@1, start 3.2@2, start 3.3@3, start 3.4@4
        0     3.1 ends Done
        0     3.2 ends Done
        0     3.3 ends Done
        0     3.4 ends Done → decode 3 from {1, 2, 3, 4}
        0     3 is decoded: true → complete 3, settle 3 []
        0     read 4 wants {0}
        0     read 5 wants {3} → start 5.3@3
        10    patience is over → start 4.1@1, start 4.2@2, start 4.4@4, start 4.5@5
        10    4.1 ends Done
        10    4.2 ends Done
        10    4.4 ends Done
        10    4.5 ends Done → decode 4 from {1, 2, 4, 5}
        10    4 is decoded: true → complete 4, settle 4 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_parity_strip_goes_first_only_if_its_node_is_clearly_less_loaded() {
    let mut scene = Scene::new(MachineSettings::default(), &[8; 6]);
    scene.read(1, &[0], &[]).read(2, &[0], &[]).read(3, WHOLE, &[]).read(4, WHOLE, &[]);
    expect![[r"
        0     read 1 wants {0} → start 1.0@0
        0     read 2 wants {0} → start 2.0@0
        0     read 3 wants {0, 1, 2, 3} → start 3.1@1, start 3.2@2, start 3.3@3, start 3.0@0
        0     read 4 wants {0, 1, 2, 3} → start 4.1@1, start 4.2@2, start 4.3@3, start 4.4@4
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn under_load_one_lane_is_enough_once_patience_is_over() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    scene.read(1, WHOLE, &[]).read(2, WHOLE, &[]).read(3, WHOLE, &[4]).at(4).done(1, &[2]).fire();
    scene.done(1, &[0, 1, 3]);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        0     read 2 wants {0, 1, 2, 3}
        0     read 3 wants {0, 1, 2, 3}
        4     1.2 ends Done
        10    patience is over → start 2.2@2, start 2.4@4, start 2.5@5
        10    1.0 ends Done → start 2.0@0
        10    1.1 ends Done → start 3.1@1
        10    1.3 ends Done → complete 1, settle 1 [], start 3.3@3
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_task_that_takes_too_long_is_replaced_but_keeps_its_lane() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    scene.read(1, WHOLE, &[4, 5]).at(3).done(1, &[1, 2, 3]).read(2, WHOLE, &[4, 5]);
    scene.fire_until("task_timeout").fire().abandon(1);
    scene.read(2, &[0], &[]).end(1, 0, TaskOutcome::Cancelled).done(2, &[0]);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        3     1.1 ends Done
        3     1.2 ends Done
        3     1.3 ends Done
        3     read 2 wants {0, 1, 2, 3}
        13    patience is over → start 2.1@1, start 2.2@2, start 2.3@3
        1000  late_after is over
        1013  late_after is over
        30000 task_timeout is over → cancel 1.0
        30013 task_timeout is over → cancel 2.1, cancel 2.2, cancel 2.3
        30013 1 is abandoned → fail 1 Abandoned
        30013 read 2 wants {0}
        30013 1.0 ends Cancelled → settle 1 [], start 2.0@0
        30013 2.0 ends Done
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_read_whose_chunks_are_late_fetches_others_where_nodes_are_ready() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    scene.read(1, WHOLE, &[]).at(3).done(1, &[1, 2, 3]);
    scene.read(2, &[3], &[]).fire().done(1, &[4]).decoded(1, true);
    scene.fire().done(2, &[1, 2, 4, 5]).decoded(2, true);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        3     1.1 ends Done
        3     1.2 ends Done
        3     1.3 ends Done
        3     read 2 wants {3} → start 2.3@3
        1000  late_after is over → start 1.4@4
        1000  1.4 ends Done → decode 1 from {1, 2, 3, 4}, cancel 1.0
        1000  1 is decoded: true → complete 1
        1003  late_after is over → start 2.1@1, start 2.2@2, start 2.4@4, start 2.5@5
        1003  2.1 ends Done
        1003  2.2 ends Done
        1003  2.4 ends Done
        1003  2.5 ends Done → decode 2 from {1, 2, 4, 5}, cancel 2.3
        1003  2 is decoded: true → complete 2
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn what_arrives_after_its_time_still_counts() {
    let mut scene = six_nodes();
    scene.read(1, WHOLE, &[4, 5]).at(3).done(1, &[1, 2, 3]).fire_until("task_timeout");
    scene.done(1, &[0]).end(1, 0, TaskOutcome::Cancelled);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        3     1.1 ends Done
        3     1.2 ends Done
        3     1.3 ends Done
        1000  late_after is over
        30000 task_timeout is over → cancel 1.0, start 1.0@0
        30000 1.0 ends Done → cancel 1.0, complete 1
        30000 1.0 ends Cancelled → settle 1 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_request_that_takes_too_long_fails() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    scene.read(1, &[0], &[4, 5, 3]).read(2, &[0], &[1, 2, 3]);
    scene.fire_until("request_timeout").end(1, 0, TaskOutcome::Cancelled);
    expect![[r"
        0     read 1 wants {0} → start 1.0@0
        0     read 2 wants {0}
        10    patience is over
        1000  late_after is over
        30000 task_timeout is over → cancel 1.0, fail 1 Unavailable
        60000 request_timeout is over → fail 2 TimedOut, settle 2 []
        60000 1.0 ends Cancelled → settle 1 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn failures_in_a_row_take_a_node_down_and_probes_bring_it_back() {
    let mut scene = Scene::new(MachineSettings::default(), &[2, 1, 2, 2, 2, 2]);
    scene.read(1, &[0], &[4]).end(1, 0, Unavailable).read(2, &[0], &[]);
    scene.end(2, 0, Unavailable).read(3, &[0], &[]).read(4, &[0], &[]);
    scene.end(3, 0, Unavailable).fire().node(0, NodeState::Down).fire();
    scene.node(0, NodeState::Up).node(0, NodeState::Up).read(5, &[0], &[]);
    expect![[r"
        0     read 1 wants {0} → start 1.0@0
        0     1.0 ends Unavailable → start 1.1@1, start 1.2@2, start 1.3@3, start 1.5@5
        0     read 2 wants {0} → start 2.0@0
        0     2.0 ends Unavailable → start 2.4@4, start 2.2@2, start 2.3@3, start 2.5@5
        0     read 3 wants {0} → start 3.0@0
        0     read 4 wants {0} → start 4.0@0
        0     3.0 ends Unavailable → node 0 down, start 3.4@4
        1000  late_after is over → probe 0
        1000  node 0 is Down
        2000  late_after is over → probe 0
        2000  node 0 is Up → node 0 up
        2000  node 0 is Up
        2000  read 5 wants {0} → start 5.0@0
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn abandonment_cancels_what_is_under_way_at_any_moment() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    scene.read(1, WHOLE, &[]).read(2, WHOLE, &[]).abandon(2).abandon(2);
    scene.done(1, &[0, 1]).abandon(1).end(1, 2, TaskOutcome::Cancelled).end(
        1,
        3,
        TaskOutcome::Done,
    );
    scene.read(3, WHOLE, &[0]).done(3, &[1, 2, 3, 4]).abandon(3).decoded(3, true);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        0     read 2 wants {0, 1, 2, 3}
        0     2 is abandoned → fail 2 Abandoned, settle 2 []
        0     2 is abandoned
        0     1.0 ends Done
        0     1.1 ends Done
        0     1 is abandoned → fail 1 Abandoned, cancel 1.2, cancel 1.3
        0     1.2 ends Cancelled
        0     1.3 ends Done → settle 1 []
        0     read 3 wants {0, 1, 2, 3} → start 3.1@1, start 3.2@2, start 3.3@3, start 3.4@4
        0     3.1 ends Done
        0     3.2 ends Done
        0     3.3 ends Done
        0     3.4 ends Done → decode 3 from {1, 2, 3, 4}
        0     3 is abandoned → fail 3 Abandoned, settle 3 []
        0     3 is decoded: true
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_full_queue_rejects() {
    let settings = MachineSettings { requests_waiting_max: 2, ..MachineSettings::default() };
    let mut scene = Scene::new(settings, &[1; 6]);
    scene.read(1, WHOLE, &[]).read(2, WHOLE, &[]).read(3, WHOLE, &[]).read(4, WHOLE, &[]);
    scene.abandon(2).read(5, WHOLE, &[]).read(5, WHOLE, &[]);
    expect![[r"
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        0     read 2 wants {0, 1, 2, 3}
        0     read 3 wants {0, 1, 2, 3}
        0     read 4 wants {0, 1, 2, 3} → refused 4 of 0, reject 4
        0     2 is abandoned → fail 2 Abandoned, settle 2 []
        0     read 5 wants {0, 1, 2, 3}
        0     read 5 wants {0, 1, 2, 3}
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn nobody_is_overtaken_at_a_node_that_it_waits_for() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    // 2 waits for nodes 0 and 1, of which 1 is idle: 3 may not take it, 4 may take node 3.
    scene.read(1, &[0], &[]).read(2, &[0, 1], &[]).read(3, &[1], &[]).read(4, &[3], &[]);
    scene.done(1, &[0]).done(2, &[1]);
    expect![[r"
        0     read 1 wants {0} → start 1.0@0
        0     read 2 wants {0, 1}
        0     read 3 wants {1}
        0     read 4 wants {3} → start 4.3@3
        0     1.0 ends Done → complete 1, settle 1 [], start 2.0@0, start 2.1@1
        0     2.1 ends Done → start 3.1@1
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn requests_whose_numbers_are_no_code_are_answered_too() {
    use ripstop_gateway::RequestSpec;
    let mut scene = six_nodes();
    scene.request(1, "write (2,3)", RequestSpec::Write { n: 2, k: 3 });
    scene.request(2, "write (0,0)", RequestSpec::Write { n: 0, k: 0 });
    scene.read(3, &[], &[]).read(4, &[200], &[]);
    let places = vec![None; 300];
    scene.request(
        5,
        "300 places",
        RequestSpec::Read { k: 4, wanted: [0].into_iter().collect(), places },
    );
    expect![[r"
        0     write (2,3) → fail 1 Lost, settle 1 [- -]
        0     write (0,0) → fail 2 Lost, settle 2 []
        0     read 3 wants {} → complete 3, settle 3 []
        0     read 4 wants {200} → start 4.0@0, start 4.1@1, start 4.2@2, start 4.3@3
        0     300 places → fail 5 Lost, settle 5 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn reports_tell_what_happened() {
    let mut scene = six_nodes().with_reports();
    scene.read(1, &[0], &[]).at(5).done(1, &[0]);
    scene.read(2, WHOLE, &[0]).at(7).done(2, &[1, 2, 3]).abandon(2);
    expect![[r"
        0     read 1 wants {0} → [1 started (1,1) after 0ns], start 1.0@0
        5     1.0 ends Done → [1.0@0 Done, write false, 1000 bytes, waited 0ns, served 5ms, redundant false], complete 1, [1 answered, write false, took 5ms, done true], settle 1 []
        5     read 2 wants {0, 1, 2, 3} → [2 started (4,4) after 0ns], start 2.1@1, start 2.2@2, start 2.3@3, start 2.4@4
        7     2.1 ends Done → [2.1@1 Done, write false, 1000 bytes, waited 0ns, served 2ms, redundant false]
        7     2.2 ends Done → [2.2@2 Done, write false, 1000 bytes, waited 0ns, served 2ms, redundant false]
        7     2.3 ends Done → [2.3@3 Done, write false, 1000 bytes, waited 0ns, served 2ms, redundant false]
        7     2 is abandoned → fail 2 Abandoned, [2 answered, write false, took 2ms, done false], cancel 2.4
    "]].assert_eq(&scene.text());
}
