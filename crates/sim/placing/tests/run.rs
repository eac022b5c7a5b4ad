//! The simulation where the answer is known, and the figures with a small budget.

use ripstop_experiment::Verdict;
use ripstop_figure::mean;
use ripstop_placement::{Class, Group, LatencyBound, Plan, Problem, Service, Sojourn, testbed};
use ripstop_placing::{Dispatch, Run, jlcm};

/// `n` nodes that take turns, any k of them suffice, used to `load`.
fn turns(service: Service, (n, k): (u16, u32), load: f64) -> (Problem, Plan) {
    let mut problem = testbed::problem(1000, 0.0);
    problem.nodes.truncate(n.into());
    problem.nodes.iter_mut().for_each(|node| node.service = service);
    problem.classes = vec![Class {
        rate: load * service.rate() * f64::from(n) / f64::from(k),
        files: 1,
        k,
        chunk_bytes: 1,
        survive_nodes: 0,
        survive_sites: 0,
        spread: false,
    }];
    let probabilities = vec![f64::from(k) / f64::from(n); n.into()];
    let group = Group { files: 1, nodes: (0..n).collect(), probabilities };
    let plan = Plan::new(&problem, vec![vec![group]], 0.0);
    (problem, plan)
}

fn played(service: Service, code: (u16, u32), load: f64, dispatch: Dispatch) -> f64 {
    let (problem, plan) = turns(service, code, load);
    let run = Run { problem: &problem, plan: &plan, dispatch };
    mean(&run.play(200_000, 1)[0]).expect("there are requests")
}

fn near(found: f64, wanted: f64, part: f64) {
    assert!((found / wanted - 1.0).abs() < part, "{found}, expected {wanted}");
}

#[test]
fn one_node_is_an_m_g_1_queue_and_with_lanes_an_m_m_c_queue() {
    let service = testbed::service();
    let sojourn = Sojourn::new(&service, 0.7 * service.rate()).unwrap();
    near(played(service, (1, 1), 0.7, Dispatch::Probabilistic), sojourn.mean, 0.02);
    // Erlang's formula for four servers at 80 %: 0.5964 have to wait, for 1/(4 − 3.2) on average.
    let exponential = Service::from_mean_sd(1.0, 1.0, None).unwrap().with_lanes(4);
    let wanted = 1.0 + 0.596_42 / 0.8;
    near(played(exponential, (1, 1), 0.8, Dispatch::Probabilistic), wanted, 0.03);
}

#[test]
fn the_reference_latencies_of_a_7_4_code_are_met() {
    let service = testbed::service();
    near(played(service, (7, 4), 0.6, Dispatch::Probabilistic), 38.3, 0.03);
    // 24.4 s where the work left is known; here it is expected from the number of chunks.
    let expected = played(service, (7, 4), 0.6, Dispatch::LeastWork);
    assert!((24.0..28.5).contains(&expected), "{expected}");
}

#[test]
fn what_is_taken_for_lanes_is_above_the_truth() {
    let variable = Service::from_mean_sd(13.9, 25.0, None).unwrap();
    let constant = Service::from_mean_sd(13.9, 0.01, None).unwrap();
    let services = [testbed::service(), variable, constant];
    let points = [(1, 0.5), (2, 0.3), (2, 0.8), (4, 0.6), (8, 0.9)];
    let cases = services.into_iter().flat_map(|service| points.map(|point| (service, point)));
    for (service, (lanes, load)) in cases {
        let service = service.with_lanes(lanes);
        let sojourn = Sojourn::new(&service, load * service.rate()).unwrap();
        let found = played(service, (1, 1), load, Dispatch::Probabilistic);
        assert!(found <= sojourn.mean * 1.02, "{lanes} lanes: {found} above {}", sojourn.mean);
        let coded = played(service, (7, 4), load, Dispatch::Probabilistic);
        let bound = LatencyBound::of_equal_nodes(sojourn, 4);
        assert!(coded <= bound, "{lanes} lanes: {coded} above {bound}");
    }
}

#[test]
fn what_must_hold_of_the_figures_does_with_few_requests_too() {
    let budget = jlcm::Budget { seeds: 2, requests: 5000, threads: None };
    let evaluation = jlcm::evaluate(budget, || ()).expect("the settings have plans");
    for check in &evaluation.checks {
        assert_ne!(check.verdict(), Verdict::Fails, "{check:?}");
    }
}

#[test]
fn threads_change_nothing() {
    let of = |threads| {
        let budget = jlcm::Budget { seeds: 2, requests: 500, threads };
        jlcm::evaluate(budget, || ()).expect("the settings have plans")
    };
    assert_eq!(of(core::num::NonZero::new(1)), of(core::num::NonZero::new(3)));
}
