//! How writes and mends are served, case by case. `1.2@5` is fragment 2 of request 1 at node 5.

use crate::scene::Scene;
use expect_test::expect;
use ripstop_gateway::{AfterAnswer, Event, MachineSettings, NodeState, TaskOutcome};
use std::time::Duration;

fn nodes(count: usize) -> Scene {
    Scene::new(MachineSettings::default(), &vec![2; count])
}

#[test]
fn in_calm_k_plus_f_durable_fragments_are_an_answer() {
    let mut scene = nodes(6);
    scene.write(1).done(1, &[0, 1, 2, 3, 4, 5]).write(2);
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        0     1.4 ends Done → complete 1
        0     1.5 ends Done → settle 1 [0 1 2 3 4 5]
        0     write 2 → encode 2
        0     2 is encoded → start 2.0@1, start 2.1@2, start 2.2@3, start 2.3@4, start 2.4@5, start 2.5@0
    "]].assert_eq(&scene.text());
}

#[test]
fn equal_nodes_take_turns() {
    let mut scene = Scene::new(MachineSettings::default(), &[9; 8]);
    scene.write(1).write(2).write(3).write(4);
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     write 2 → encode 2
        0     2 is encoded → start 2.0@6, start 2.1@7, start 2.2@1, start 2.3@2, start 2.4@3, start 2.5@4
        0     write 3 → encode 3
        0     3 is encoded → start 3.0@5, start 3.1@6, start 3.2@7, start 3.3@0, start 3.4@2, start 3.5@3
        0     write 4 → encode 4
        0     4 is encoded → start 4.0@4, start 4.1@5, start 4.2@6, start 4.3@7, start 4.4@0, start 4.5@1
    "]].assert_eq(&scene.text());
}

#[test]
fn failed_fragments_go_elsewhere_and_else_to_the_same_node_again() {
    let mut scene = nodes(7);
    scene.write(1).end(1, 0, TaskOutcome::Unavailable).end(1, 1, TaskOutcome::Unavailable);
    scene.end(1, 2, TaskOutcome::Refused).done(1, &[0, 1, 3, 4]).done(1, &[5]);
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.0 ends Unavailable → start 1.0@6
        0     1.1 ends Unavailable → start 1.1@1
        0     1.2 ends Refused
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.3 ends Done
        0     1.4 ends Done
        0     1.5 ends Done → complete 1, settle 1 [6 1 - 3 4 5]
    "]].assert_eq(&scene.text());
}

#[test]
fn a_write_that_cannot_be_durable_fails_and_tells_what_is_garbage() {
    let mut scene = nodes(6);
    scene.write(1).done(1, &[0]).end(1, 1, TaskOutcome::Refused).end(1, 2, TaskOutcome::Refused);
    scene.end(1, 3, TaskOutcome::Refused).end(1, 4, TaskOutcome::Done).end(
        1,
        5,
        TaskOutcome::Cancelled,
    );
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.0 ends Done
        0     1.1 ends Refused
        0     1.2 ends Refused
        0     1.3 ends Refused → fail 1 Unavailable, cancel 1.4, cancel 1.5
        0     1.4 ends Done
        0     1.5 ends Cancelled → settle 1 [0 - - - 4 -]
    "]].assert_eq(&scene.text());
}

#[test]
fn with_nodes_down_fragments_are_left_out_and_below_k_it_fails_at_once() {
    let mut scene = nodes(6);
    scene.node(5, NodeState::Down).node(4, NodeState::Down).write(1).done(1, &[0, 1, 2, 3]);
    scene.node(3, NodeState::Down).write(2).node(3, NodeState::Up);
    let write = ripstop_gateway::RequestSpec::Write { n: 6, k: 4 };
    scene.request(3, "write 3", write).node(0, NodeState::Down).encoded(3);
    expect![[r"
        0     node 5 is Down → node 5 down
        0     node 4 is Down → node 4 down
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done → complete 1, settle 1 [0 1 2 3 - -]
        0     node 3 is Down → node 3 down
        0     write 2 → fail 2 Unavailable, settle 2 [- - - - - -]
        0     2 is encoded
        0     node 3 is Up → node 3 up
        0     write 3 → encode 3
        0     node 0 is Down → node 0 down
        0     3 is encoded → fail 3 Unavailable, settle 3 [- - - - - -]
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_slow_node_delays_no_write_and_too_many_only_for_a_while() {
    let mut scene = nodes(6);
    scene.write(1).done(1, &[0, 1, 2, 3]).fire().done(1, &[4]);
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        2000  degraded_after is over → complete 1
        2000  1.4 ends Done
    "]].assert_eq(&scene.text());
}

#[test]
fn full_nodes_have_a_write_wait_and_are_tried_once_more_before_it_goes_without_redundancy() {
    let mut scene = nodes(6);
    scene.write(1).done(1, &[0, 1, 2]).end(1, 4, TaskOutcome::Refused).end(
        1,
        5,
        TaskOutcome::Refused,
    );
    scene.done(1, &[3]).fire_until("degraded_after");
    scene.end(1, 4, TaskOutcome::Refused).end(1, 5, TaskOutcome::Refused);
    scene.write(2).done(2, &[0, 1, 2, 3]).end(2, 4, TaskOutcome::Refused).end(
        2,
        5,
        TaskOutcome::Refused,
    );
    scene.fire_until("degraded_after").done(2, &[4]).end(2, 5, TaskOutcome::Refused);
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.4 ends Refused
        0     1.5 ends Refused
        0     1.3 ends Done
        2000  degraded_after is over → start 1.4@4, start 1.5@5
        2000  1.4 ends Refused
        2000  1.5 ends Refused → complete 1, settle 1 [0 1 2 3 - -]
        2000  write 2 → encode 2
        2000  2 is encoded → start 2.0@1, start 2.1@2, start 2.2@3, start 2.3@0, start 2.4@4, start 2.5@5
        2000  2.0 ends Done
        2000  2.1 ends Done
        2000  2.2 ends Done
        2000  2.3 ends Done
        2000  2.4 ends Refused
        2000  2.5 ends Refused
        4000  degraded_after is over → start 2.4@4, start 2.5@5
        4000  2.4 ends Done → complete 2
        4000  2.5 ends Refused → settle 2 [1 2 3 0 4 -]
    "]].assert_eq(&scene.text());
}

#[test]
fn what_is_durable_enough_when_a_writes_time_is_over_is_answered_as_done() {
    let settings =
        MachineSettings { request_timeout: Duration::from_secs(3), ..MachineSettings::default() };
    // It comes to wait for more, here for full nodes, with less time left than it might wait.
    let waits = || {
        let mut scene = Scene::new(settings, &[1; 6]);
        scene.write(1).done(1, &[0, 1, 2]).end(1, 4, TaskOutcome::Refused).end(
            1,
            5,
            TaskOutcome::Refused,
        );
        scene.at(1500).done(1, &[3]);
        scene.text();
        scene
    };
    let on_time = waits().fire().text();
    let late = waits().at(9000).send("the timer fires", Event::TimerFired).text();
    let mut scene = Scene::new(settings, &[1; 6]);
    scene.write(1).done(1, &[0, 1, 2]).fire();
    let lacks = scene.text();
    expect![[r"
        3000  degraded_after is over → complete 1, settle 1 [0 1 2 3 - -]
        9000  the timer fires → complete 1, settle 1 [0 1 2 3 - -]
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        3000  request_timeout is over → fail 1 TimedOut, cancel 1.3, cancel 1.4, cancel 1.5
    "]].assert_eq(&format!("{on_time}{late}{lacks}"));
}

#[test]
fn what_is_left_after_the_answer_is_treated_as_set() {
    let mut table = String::new();
    for after_answer in
        [AfterAnswer::Continue, AfterAnswer::Background, AfterAnswer::Cancel, AfterAnswer::Leave]
    {
        let settings =
            MachineSettings { after_answer, answer_extra: 0, ..MachineSettings::default() };
        let mut scene = Scene::new(settings, &[1; 6]);
        // Node 0 is busy, so one fragment of the write waits for it when the others are stored.
        scene.read(9, &[0], &[]).write(1).done(1, &[0, 1, 2, 3]).read(2, &[0], &[]).done(9, &[0]);
        table.extend([format!("{after_answer:?}\n"), scene.text()]);
    }
    expect![[r"
        Continue
        0     read 9 wants {0} → start 9.0@0
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@1, start 1.1@2, start 1.2@3, start 1.3@4, start 1.4@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done → complete 1
        0     read 2 wants {0}
        0     9.0 ends Done → complete 9, settle 9 [], start 1.5@0
        Background
        0     read 9 wants {0} → start 9.0@0
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@1, start 1.1@2, start 1.2@3, start 1.3@4, start 1.4@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done → complete 1
        0     read 2 wants {0}
        0     9.0 ends Done → complete 9, settle 9 [], start 2.0@0
        Cancel
        0     read 9 wants {0} → start 9.0@0
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@1, start 1.1@2, start 1.2@3, start 1.3@4, start 1.4@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done → complete 1, cancel 1.4
        0     read 2 wants {0}
        0     9.0 ends Done → complete 9, settle 9 [], start 2.0@0
        Leave
        0     read 9 wants {0} → start 9.0@0
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@1, start 1.1@2, start 1.2@3, start 1.3@4, start 1.4@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done → complete 1
        0     read 2 wants {0}
        0     9.0 ends Done → complete 9, settle 9 [], start 2.0@0
    "]]
    .assert_eq(&table);
}

#[test]
fn what_is_left_beyond_its_limit_is_dropped() {
    let settings =
        MachineSettings { left_bytes_max: 0, answer_extra: 0, ..MachineSettings::default() };
    let mut scene = Scene::new(settings, &[1; 6]);
    scene.read(9, &[0], &[]).write(1).done(1, &[0, 1, 2, 3, 4]).done(9, &[0]);
    expect![[r"
        0     read 9 wants {0} → start 9.0@0
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@1, start 1.1@2, start 1.2@3, start 1.3@4, start 1.4@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done → complete 1
        0     1.4 ends Done → settle 1 [1 2 3 4 5 -]
        0     9.0 ends Done → complete 9, settle 9 []
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn a_cancelled_store_that_was_done_counts_and_one_that_failed_does_not() {
    let settings =
        MachineSettings { after_answer: AfterAnswer::Cancel, ..MachineSettings::default() };
    let mut scene = Scene::new(settings, &[2; 6]);
    scene.write(1).done(1, &[0, 1, 2, 3, 4]).end(1, 5, TaskOutcome::Done);
    scene.write(2).done(2, &[0, 1, 2, 3, 4]).end(2, 5, TaskOutcome::Cancelled);
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.0 ends Done
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        0     1.4 ends Done → complete 1, cancel 1.5
        0     1.5 ends Done → settle 1 [0 1 2 3 4 5]
        0     write 2 → encode 2
        0     2 is encoded → start 2.0@1, start 2.1@2, start 2.2@3, start 2.3@4, start 2.4@5, start 2.5@0
        0     2.0 ends Done
        0     2.1 ends Done
        0     2.2 ends Done
        0     2.3 ends Done
        0     2.4 ends Done → complete 2, cancel 2.5
        0     2.5 ends Cancelled → settle 2 [1 2 3 4 5 -]
    "]].assert_eq(&scene.text());
}

#[test]
fn a_store_that_ends_too_late_makes_its_second_try_needless() {
    let mut scene = nodes(7);
    scene.write(1).done(1, &[1, 2, 3]).fire().end(1, 0, TaskOutcome::Done);
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     1.1 ends Done
        0     1.2 ends Done
        0     1.3 ends Done
        30000 task_timeout is over → cancel 1.0, start 1.0@6, cancel 1.4, start 1.4@4, cancel 1.5, start 1.5@5
        30000 1.0 ends Done → cancel 1.0
    "]].assert_eq(&scene.text());
}

#[test]
fn a_node_that_refuses_is_chosen_last_for_a_while() {
    let mut scene = Scene::new(MachineSettings::default(), &[9; 5]);
    let write = || ripstop_gateway::RequestSpec::Write { n: 2, k: 1 };
    scene.request(1, "write 1", write()).encoded(1).end(1, 0, TaskOutcome::Refused);
    for id in 2..7 {
        scene.request(id, "write", write()).encoded(id);
    }
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1
        0     1.0 ends Refused → start 1.0@2
        0     write → encode 2
        0     2 is encoded → start 2.0@3, start 2.1@4
        0     write → encode 3
        0     3 is encoded → start 3.0@2, start 3.1@3
        0     write → encode 4
        0     4 is encoded → start 4.0@4, start 4.1@1
        0     write → encode 5
        0     5 is encoded → start 5.0@4, start 5.1@1
        0     write → encode 6
        0     6 is encoded → start 6.0@2, start 6.1@3
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn abandonment_fails_a_write_at_any_moment_before_its_answer_and_never_after() {
    let mut scene = nodes(6);
    scene.request(1, "write 1", ripstop_gateway::RequestSpec::Write { n: 6, k: 4 });
    scene.abandon(1).encoded(1);
    scene.write(2).done(2, &[0, 1]).abandon(2).done(2, &[2, 3, 4]).end(
        2,
        5,
        TaskOutcome::Unavailable,
    );
    scene.write(3).done(3, &[0, 1, 2, 3, 4]).abandon(3).done(3, &[5]);
    expect![[r"
        0     write 1 → encode 1
        0     1 is abandoned → fail 1 Abandoned, settle 1 [- - - - - -]
        0     1 is encoded
        0     write 2 → encode 2
        0     2 is encoded → start 2.0@0, start 2.1@1, start 2.2@2, start 2.3@3, start 2.4@4, start 2.5@5
        0     2.0 ends Done
        0     2.1 ends Done
        0     2 is abandoned → fail 2 Abandoned, cancel 2.2, cancel 2.3, cancel 2.4, cancel 2.5
        0     2.2 ends Done
        0     2.3 ends Done
        0     2.4 ends Done
        0     2.5 ends Unavailable → settle 2 [0 1 2 3 4 -]
        0     write 3 → encode 3
        0     3 is encoded → start 3.0@1, start 3.1@2, start 3.2@3, start 3.3@4, start 3.4@5, start 3.5@0
        0     3.0 ends Done
        0     3.1 ends Done
        0     3.2 ends Done
        0     3.3 ends Done
        0     3.4 ends Done → complete 3
        0     3 is abandoned
        0     3.5 ends Done → settle 3 [1 2 3 4 5 0]
    "]].assert_eq(&scene.text());
}

#[test]
fn a_full_task_queue_takes_no_more() {
    let settings =
        MachineSettings { tasks_waiting_max: 1, answer_extra: 0, ..MachineSettings::default() };
    let mut scene = Scene::new(settings, &[1, 9, 9, 9, 9, 9]);
    for id in 1..4 {
        scene.write(id);
    }
    expect![[r"
        0     write 1 → encode 1
        0     1 is encoded → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3, start 1.4@4, start 1.5@5
        0     write 2 → encode 2
        0     2 is encoded → start 2.0@1, start 2.1@2, start 2.2@3, start 2.3@4, start 2.4@5
        0     write 3 → encode 3
        0     3 is encoded → start 3.0@2, start 3.1@3, start 3.2@4, start 3.3@5, start 3.4@1
    "]].assert_eq(&scene.text());
}

#[test]
fn mends_wait_for_everybody_else() {
    let mut scene = Scene::new(MachineSettings::default(), &[1; 6]);
    scene.read(1, &[1], &[]).mend(2, Some(1), &[]).mend(3, Some(1), &[]).mend(4, None, &[0, 2, 5]);
    scene.read(5, &[1], &[]).done(1, &[1]).done(5, &[1]).done(2, &[1]);
    scene.mend(6, None, &[0, 1, 2, 3, 4, 5]).mend(7, Some(40), &[]);
    scene.end(3, 1, TaskOutcome::Refused).end(4, 1, TaskOutcome::Unavailable).done(4, &[1]);
    expect![[r"
        0     read 1 wants {1} → start 1.1@1
        0     mend 2
        0     mend 3
        0     mend 4 → start 4.1@3
        0     read 5 wants {1}
        0     1.1 ends Done → complete 1, settle 1 [], start 5.1@1
        0     5.1 ends Done → complete 5, settle 5 [], start 2.1@1
        0     2.1 ends Done → complete 2, settle 2 [- 1], start 3.1@1
        0     mend 6 → fail 6 Unavailable, settle 6 [- -]
        0     mend 7 → fail 7 Unavailable, settle 7 [- -]
        0     3.1 ends Refused → fail 3 Unavailable, settle 3 [- -]
        0     4.1 ends Unavailable → start 4.1@4
        0     4.1 ends Done → complete 4, settle 4 [- 4]
    "]]
    .assert_eq(&scene.text());
}
