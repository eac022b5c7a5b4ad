//! Nodes with several lanes: the bound, which takes them for one lane that is as fast as all,
//! against one queue for all lanes.

use super::play::{Budget, FigureError, check, play};
use crate::Dispatch;
use ripstop_experiment::{Expected, Part};
use ripstop_figure::{Axis, Cell, Figure, Panel, Series, Table};
use ripstop_placement::{Class, Group, Plan, Problem, testbed};

const LANES: [u16; 3] = [1, 4, 16];
const LOADS: [f64; 7] = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95];
const N: u16 = 7;
const K: u32 = 4;

pub(super) fn part(budget: Budget) -> Result<Part, FigureError> {
    let points: Vec<(u16, f64)> =
        LANES.into_iter().flat_map(|lanes| LOADS.map(|load| (lanes, load))).collect();
    let settings: Vec<(Problem, Plan)> =
        points.iter().map(|&(lanes, load)| setting(lanes, load)).collect();
    let runs: Vec<_> =
        settings.iter().map(|(problem, plan)| (problem, plan, Dispatch::Probabilistic)).collect();
    let played = play(budget, &runs);
    let mut table = Table::new(["what", "lanes", "utilisation", "latency_s", "half_width_s"]);
    let (mut closest, mut checks) = ((0.0, String::new()), Vec::new());
    for (((lanes, load), (_, plan)), played) in points.iter().zip(&settings).zip(&played) {
        let place = [u64::from(*lanes).into(), (*load).into()];
        let name = format!("bound, {lanes} lanes");
        let rest = [plan.latency.into(), Cell::Missing];
        table.push([name.into()].into_iter().chain(place.clone()).chain(rest));
        let rest = [played.all.mean.into(), played.all.half_width.into()];
        let name = format!("simulated, {lanes} lanes");
        table.push([name.into()].into_iter().chain(place).chain(rest));
        let ratio = played.all.mean / plan.latency;
        let place = format!("{lanes} lanes at {:.0} %", load * 100.0);
        if load.total_cmp(&0.8).is_eq() {
            let claim = "bound over simulated latency";
            checks.push(check(14, claim, 1.0 / ratio, Expected::Between(1.0, 2.5), place.clone()));
        }
        if ratio > closest.0 {
            closest = (ratio, place);
        }
    }
    let (x, y) = (Axis::linear("utilisation").from(0.0).to(1.0), Axis::log("mean latency, s"));
    let mut panel = Panel::new("", x, y);
    for (name, points) in table.series("what", "utilisation", "latency_s")? {
        panel = panel.series(Series::line(name, points).markers());
    }
    let claim = "simulated latency over its bound (most)";
    checks.insert(0, check(14, claim, closest.0, Expected::AtMost(1.0), closest.1));
    Ok(Part {
        file: "lanes",
        caption: "A (7,4) code on seven nodes with several lanes each: the bound, and one queue for all lanes \
                  simulated. Not a figure of the paper's.",
        figure: Figure::new("Nodes with several lanes").panel(panel),
        table,
        checks,
    })
}

fn setting(lanes: u16, load: f64) -> (Problem, Plan) {
    let mut problem = testbed::problem(1000, 0.0);
    problem.nodes.truncate(N.into());
    for node in &mut problem.nodes {
        node.service = node.service.with_lanes(lanes);
    }
    let able: f64 = problem.nodes.iter().map(|node| node.service.rate()).sum();
    let class = Class {
        rate: load * able / f64::from(K),
        files: 1,
        k: K,
        chunk_bytes: 1,
        survive_nodes: 0,
        survive_sites: 0,
        spread: false,
    };
    problem.classes = vec![class];
    let probabilities = vec![f64::from(K) / f64::from(N); N.into()];
    let group = Group { files: 1, nodes: (0..N).collect(), probabilities };
    let plan = Plan::new(&problem, vec![vec![group]], 0.0);
    (problem, plan)
}
