use super::*;
use alloc::vec;

fn nodes(of: impl IntoIterator<Item = u16>) -> BTreeSet<NodeId> {
    of.into_iter().map(NodeId).collect()
}

fn goal(weight: u64, of: impl IntoIterator<Item = u16>) -> Goal {
    Goal { weight, nodes: nodes(of) }
}

fn spot(of: impl IntoIterator<Item = u16>) -> Spot {
    let nodes = nodes(of);
    Spot { fragments: nodes.len() as u8, nodes }
}

/// How many stripes end in which goal, and how many fragments move.
fn ends(goals: &[Goal], stripes: &[(Spot, u64)]) -> (Vec<u64>, u64) {
    let mut tally = Tally::new(goals.to_vec());
    for (spot, count) in stripes {
        (0..*count).for_each(|_| tally.note(spot.clone()));
    }
    let mut assignment = tally.assign();
    let said = assignment.fragments();
    let (mut ends, mut moved) = (vec![0; goals.len()], 0);
    for (spot, count) in stripes {
        for _ in 0..*count {
            let to = assignment.next(spot).cloned();
            moved += to.as_ref().map_or(0, |goal| u64::from(goal.lacks(spot)));
            let home = goals.iter().position(|goal| goal.lacks(spot) == 0);
            let at = to.map_or(home, |to| goals.iter().position(|goal| *goal == to));
            ends[at.expect("in a goal")] += 1;
        }
    }
    assert_eq!(said, moved);
    (ends, moved)
}

#[test]
fn strays_go_to_the_groups_by_weight_and_to_the_nearest() {
    let goals = [goal(1, 0..4), goal(3, 4..8)];
    // Two of four nodes are right for either; the others are near one of them.
    let stripes = [(spot([0, 1, 4, 5]), 20), (spot([0, 1, 2, 9]), 10), (spot([4, 5, 6, 9]), 50)];
    let (ends, moved) = ends(&goals, &stripes);
    assert_eq!(ends, [20, 60]);
    // 10 and 50 by one, 20 by two.
    assert_eq!(moved, 60 + 40);
}

#[test]
fn what_is_in_a_group_stays_while_the_groups_have_about_their_parts() {
    let goals = [goal(1, 0..4), goal(1, 4..8)];
    let stripes = [(spot(0..4), 51), (spot(4..8), 49)];
    assert_eq!(ends(&goals, &stripes), (vec![51, 49], 0));
    // The one that is in none goes where there are fewer.
    let stripes = [(spot(0..4), 51), (spot(4..8), 49), (spot([0, 1, 2, 4]), 1)];
    assert_eq!(ends(&goals, &stripes), (vec![51, 50], 3));
}

#[test]
fn a_group_that_has_far_too_many_gives_some_away_and_no_more() {
    let goals = [goal(1, 0..4), goal(1, 2..6)];
    let stripes = [(spot(0..4), 90), (spot(2..6), 10)];
    assert_eq!(ends(&goals, &stripes), (vec![50, 50], 80));
}

#[test]
fn stripes_of_spots_beyond_the_count_have_room_kept_for_them() {
    let goals = [goal(1, 0..2), goal(1, 2..4)];
    let spots = (0..SPOTS_MAX as u16 + 500).map(|at| (spot([100 + at, 20_000 + at]), 1));
    let stripes: Vec<_> = spots.collect();
    let mut tally = Tally::new(goals.to_vec());
    for (spot, _) in &stripes {
        tally.note(spot.clone());
    }
    let mut assignment = tally.assign();
    let mut ends = [0, 0];
    for (spot, _) in &stripes {
        let to = assignment.next(spot).expect("in no group");
        ends[usize::from(*to == goals[1])] += 1;
    }
    assert_eq!(ends, [stripes.len() / 2, stripes.len() / 2]);
}

#[test]
fn parts_are_whole_and_never_off_by_one() {
    assert_eq!(parts(10, &[1, 1, 1]), [4, 3, 3]);
    assert_eq!(parts(0, &[5, 7]), [0, 0]);
    assert_eq!(parts(u64::MAX, &[u64::MAX, 1]).iter().sum::<u64>(), u64::MAX);
}

#[test]
fn only_what_is_outside_moves_and_what_is_nowhere_is_made_first() {
    let goal = goal(1, [2, 4, 6, 8]);
    let moves = |nodes: &[Option<u16>]| {
        let moves = goal.moves(nodes.len() as u8, nodes);
        moves.into_iter().map(|(index, to)| (index, to.0)).collect::<Vec<_>>()
    };
    assert_eq!(moves(&[Some(8), Some(2), Some(4), Some(6)]), []);
    assert_eq!(moves(&[Some(1), Some(2), Some(8), Some(3)]), [(0, 4), (3, 6)]);
    assert_eq!(moves(&[Some(1), Some(2), None, Some(4)]), [(2, 6), (0, 8)]);
    // Two at one node: one of them moves on.
    assert_eq!(moves(&[Some(2), Some(2), Some(4), Some(6)]), [(1, 8)]);
    // A group of fewer nodes than fragments keeps what it cannot take where it is.
    assert_eq!(moves(&[Some(1), Some(2), Some(4), Some(6), Some(9)]), [(0, 8)]);
}
