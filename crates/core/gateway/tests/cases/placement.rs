//! Reads under a plan, case by case. `1.2@5` is fragment 2 of request 1 at node 5.

use crate::scene::Scene;
use expect_test::expect;
use ripstop_gateway::{
    Event, MachineSettings, Placement, PlacementGroup, ReadSelection, WHOLE_CHUNK,
};
use ripstop_model::NodeId;

const WHOLE: &[usize] = &[0, 1, 2, 3];

/// Eight nodes with two lanes each, all stripes wanted at six of them, the first two of which are
/// not to be asked.
fn planned(first: u16) -> Scene {
    let mut scene = Scene::new(MachineSettings::default(), &[2; 8]);
    let group = PlacementGroup {
        weight: 1,
        nodes: (first..first + 6).map(NodeId).collect(),
        dispatch: [0, 0, 1, 1, 1, 1].map(|chunks| chunks * WHOLE_CHUNK).to_vec(),
    };
    let placement = Placement { selection: ReadSelection::Probabilistic, groups: vec![group] };
    scene.send("a plan", Event::PlacementChanged(placement));
    scene
}

#[test]
fn probabilities_of_the_plan_lead_reads_whatever_the_queues() {
    let mut scene = planned(0);
    scene.read(1, WHOLE, &[]).read(2, WHOLE, &[]).read(3, WHOLE, &[]);
    expect![[r"
        0     a plan
        0     read 1 wants {0, 1, 2, 3} → start 1.2@2, start 1.4@4, start 1.5@5, start 1.3@3
        0     read 2 wants {0, 1, 2, 3} → start 2.2@2, start 2.5@5, start 2.4@4, start 2.3@3
        0     read 3 wants {0, 1, 2, 3}
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn stripes_that_are_not_yet_where_the_plan_wants_them_are_read_from_the_least_busy_nodes() {
    let mut scene = planned(2);
    scene.read(1, WHOLE, &[4, 5]).read(2, WHOLE, &[]).read(3, WHOLE, &[]);
    expect![[r"
        0     a plan
        0     read 1 wants {0, 1, 2, 3} → start 1.0@0, start 1.1@1, start 1.2@2, start 1.3@3
        0     read 2 wants {0, 1, 2, 3} → start 2.4@4, start 2.5@5, start 2.0@0, start 2.1@1
        0     read 3 wants {0, 1, 2, 3} → start 3.2@2, start 3.3@3, start 3.4@4, start 3.5@5
    "]]
    .assert_eq(&scene.text());
}

#[test]
fn groups_at_the_same_nodes_are_one_that_is_asked_as_both_are_on_average() {
    let mut scene = Scene::new(MachineSettings::default(), &[2; 6]);
    let group = |weight, dispatch: [u32; 6]| PlacementGroup {
        weight,
        nodes: (0..6).map(NodeId).collect(),
        dispatch: dispatch.map(|chunks| chunks * WHOLE_CHUNK).to_vec(),
    };
    let groups = vec![group(99, [0, 0, 1, 1, 1, 1]), group(1, [1, 1, 1, 1, 0, 0])];
    let selection = ReadSelection::Probabilistic;
    scene.send("a plan", Event::PlacementChanged(Placement { selection, groups }));
    scene.read(1, WHOLE, &[]).read(2, WHOLE, &[]);
    expect![[r"
        0     a plan
        0     read 1 wants {0, 1, 2, 3} → start 1.2@2, start 1.4@4, start 1.5@5, start 1.3@3
        0     read 2 wants {0, 1, 2, 3} → start 2.2@2, start 2.5@5, start 2.4@4, start 2.3@3
    "]]
    .assert_eq(&scene.text());
}
