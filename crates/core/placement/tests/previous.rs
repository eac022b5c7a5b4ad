//! Plans that follow a previous one, spreading, and problems without a plan.

mod instance;

use instance::{check, random};
use ripstop_delay::Dice;
use ripstop_placement::{
    Group, Plan, PlanError, Problem, Spread, StorageNodeState, solve, testbed,
};

fn instance(seed: u64, files: &[u64]) -> Problem {
    let mut problem = random(&mut Dice::new(seed), 12, 4, files, 0.5);
    for class in &mut problem.classes {
        class.k = 3 + class.k % 2;
        class.survive_nodes = 2;
        class.survive_sites = 1;
        class.rate *= 0.6;
    }
    problem
}

#[test]
fn a_plan_solved_again_is_the_same_plan_without_moves() {
    for seed in 0..8 {
        let files: &[u64] = if seed % 2 == 0 { &[400, 300, 7] } else { &[1, 1, 1, 2] };
        let mut problem = instance(seed, files);
        let first = solve(&problem, None).unwrap();
        for price in [0.0, 1e-9, 1e-6] {
            problem.seconds_per_moved_byte = price;
            let again = solve(&problem, Some(&first)).unwrap();
            check(&problem, &again);
            assert_eq!(again.classes, first.classes, "{seed}");
            assert!(again.moves.is_empty());
        }
    }
}

#[test]
fn after_a_change_the_second_plan_stays() {
    for seed in 0..12 {
        let mut problem = instance(seed, &[400, 300, 70]);
        let first = solve(&problem, None).unwrap();
        problem.classes[0].rate *= 1.3;
        problem.nodes[3].service = problem.nodes[3].service.resized(0.0, 1.5).unwrap();
        problem.seconds_per_moved_byte = 1e-9;
        let second = solve(&problem, Some(&first)).unwrap();
        check(&problem, &second);
        let third = solve(&problem, Some(&second)).unwrap();
        assert_eq!(third.classes, second.classes, "{seed}");
    }
}

#[test]
fn dear_moves_are_not_made_and_cheap_ones_pay() {
    let mut fewer = 0;
    for seed in 0..12 {
        let mut problem = instance(seed, &[400, 300, 70]);
        let first = solve(&problem, None).unwrap();
        for node in &mut problem.nodes {
            node.price_per_chunk = 1.0 - node.price_per_chunk;
        }
        let mut last = u64::MAX;
        for price in [0.0, 1e-7, 1e-5, 1e-2] {
            problem.seconds_per_moved_byte = price;
            let plan = solve(&problem, Some(&first)).unwrap();
            check(&problem, &plan);
            let stay = Plan::new(&problem, first.classes.clone(), 0.0).certificate.value;
            let pay = price * plan.moved_bytes() as f64;
            assert!(plan.certificate.value + pay <= stay * (1.0 + 1e-6), "{seed} {price}");
            assert!(plan.moved_bytes() <= last.saturating_add(last / 20), "{seed} {price}");
            fewer += usize::from(plan.moved_bytes() < last);
            last = plan.moved_bytes();
        }
        assert_eq!(last, 0);
    }
    assert!(fewer > 18, "{fewer}");
}

#[test]
fn the_moves_lead_from_the_previous_plan_to_the_next() {
    for seed in 0..12 {
        let mut problem = instance(seed, &[400, 300, 70]);
        let first = solve(&problem, None).unwrap();
        problem.nodes[2].state = StorageNodeState::Down;
        problem.nodes[5].state = StorageNodeState::Fixed;
        problem.seconds_per_moved_byte = 1e-8;
        let plan = match solve(&problem, Some(&first)) {
            Ok(plan) => plan,
            Err(PlanError::Overload { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        check(&problem, &plan);
        for class in 0..problem.classes.len() {
            let held = |plan: &Plan| {
                let mut held = vec![0i64; problem.nodes.len()];
                for group in &plan.classes[class] {
                    for &node in &group.nodes {
                        held[usize::from(node)] += group.files.cast_signed();
                    }
                }
                held
            };
            let (mut now, then) = (held(&first), held(&plan));
            for change in plan.moves.iter().filter(|change| change.class == class) {
                if let Some(from) = change.from {
                    now[usize::from(from)] -= change.files.cast_signed();
                }
                if let Some(to) = change.to {
                    now[usize::from(to)] += change.files.cast_signed();
                }
            }
            assert_eq!(now, then);
            assert_eq!(held(&first)[5], then[5], "what is fixed stays");
            assert_eq!(then[2], 0);
        }
    }
}

#[test]
fn a_class_that_grows_keeps_its_chunks() {
    let mut problem = instance(3, &[400, 300]);
    let first = solve(&problem, None).unwrap();
    problem.classes[0].files = 500;
    problem.classes[1].files = 200;
    problem.seconds_per_moved_byte = 1.0;
    let plan = solve(&problem, Some(&first)).unwrap();
    check(&problem, &plan);
    assert_eq!(plan.moved_bytes(), 0, "{:?}", plan.moves);
}

#[test]
fn files_are_spread_in_the_groups_proportions_from_the_first_on() {
    let mut dice = Dice::new(5);
    for _ in 0..50 {
        let group = |files| Group { files, nodes: vec![], probabilities: vec![] };
        let count = 1 + dice.below(8);
        let groups: Vec<Group> = (0..count).map(|_| group(1 + dice.below(1000))).collect();
        let total: u64 = groups.iter().map(|group| group.files).sum();
        let spread = Spread::new(&groups).unwrap();
        let mut seen = vec![0u64; groups.len()];
        for file in 0..5000 {
            seen[spread.group(file)] += 1;
            for (seen, group) in seen.iter().zip(&groups) {
                let wanted = (file + 1) as f64 * group.files as f64 / total as f64;
                assert!((*seen as f64 - wanted).abs() < 6.0, "{seen} for {wanted} at {file}");
            }
        }
    }
    assert_eq!(Spread::new(&[]), None);
}

#[test]
fn what_is_missing_is_named() {
    let base = testbed::problem(100, 2.0);
    let fails = |change: &dyn Fn(&mut Problem)| {
        let mut problem = base.clone();
        change(&mut problem);
        solve(&problem, None).unwrap_err()
    };
    let error = fails(&|p| p.classes[1].survive_nodes = 6);
    assert_eq!(error, PlanError::MissingNodes { class: 1, needed: 13, usable: 12 });
    assert!(error.to_string().contains("1 missing"), "{error}");
    // Three sites of four nodes: 8 chunks stay when one is lost.
    let error = fails(&|p| (p.classes[0].k, p.classes[0].survive_sites) = (9, 1));
    assert!(matches!(error, PlanError::MissingSites { class: 0, .. }), "{error}");
    let error = fails(&|p| (p.classes[2].k, p.classes[2].spread) = (1, true));
    assert!(matches!(error, PlanError::MissingSites { class: 2, reached: 0, .. }), "{error}");
    let error = fails(&|p| p.classes.iter_mut().for_each(|class| class.rate *= 2.0));
    let PlanError::Overload { utilisation, chunks_per_second_missing, .. } = error else {
        panic!("{error}")
    };
    let lacking = 2.0 * base.chunk_rate() - 12.0 / testbed::SERVICE.0;
    assert!(utilisation > 1.5 && (chunks_per_second_missing / lacking - 1.0).abs() < 0.01);
    let error = fails(&|p| p.nodes.iter_mut().for_each(|node| node.capacity_bytes = 1_000_000_000));
    let PlanError::MissingBytes { bytes_missing, .. } = error else { panic!("{error}") };
    assert!((bytes_missing as f64 / 3e9 - 1.0).abs() < 0.01, "{bytes_missing}");
    let error = fails(&|p| p.classes[0].rate = f64::NAN);
    assert!(matches!(error, PlanError::Invalid { kind: "class", at: 0, .. }), "{error}");
    let error = fails(&|p| (p.nodes[0].vendor, p.nodes[4].vendor) = (1, 1));
    assert!(matches!(error, PlanError::CrossingDomains { .. }), "{error}");
}
