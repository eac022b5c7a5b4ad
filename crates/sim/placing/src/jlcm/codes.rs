//! Fig. 10: the distribution of each class's latency under its plan.

use super::{
    play::{Budget, FigureError, bound, check, play},
    setting::coded,
};
use crate::{Dispatch, Run};
use ripstop_experiment::{Check, Expected, Part};
use ripstop_figure::{Axis, Figure, Panel, Series, Table, percentile};
use ripstop_placement::{Plan, Problem, solve};

const THETA: f64 = 2.0;
const RATE: f64 = 0.118;
const SHOWN: [Dispatch; 2] = [Dispatch::Probabilistic, Dispatch::LeastWorkPlanned];

pub(super) fn part(budget: Budget) -> Result<Part, FigureError> {
    let problem = coded(super::setting::MEASURED_MB, RATE, THETA);
    let plan = solve(&problem, None)?;
    let mut table = Table::new(["dispatch", "class", "latency_s", "percent"]);
    let mut figure = Figure::new("Latency of each class under the plan, 0.118 requests/s");
    let mut beyond = (0.0f64, String::new());
    for dispatch in SHOWN {
        let run = Run { problem: &problem, plan: &plan, dispatch };
        let latencies = run.play(4 * budget.requests, 1);
        let x = Axis::linear("latency, s").from(0.0).to(250.0);
        let y = Axis::linear("requests, %").from(0.0).to(100.0);
        let mut panel = Panel::new(dispatch.name(), x, y);
        for (at, mut class) in latencies.into_iter().enumerate() {
            class.sort_by(f64::total_cmp);
            let name = name(&problem, &plan, at);
            let percents = (1..100).map(f64::from).chain([99.5, 99.9]);
            let points: Vec<(f64, f64)> = percents
                .filter_map(|percent| Some((percentile(&class, percent)?, percent)))
                .collect();
            for &(latency, percent) in &points {
                let row = [latency.into(), percent.into()];
                table.push([dispatch.name().into(), name.clone().into()].into_iter().chain(row));
                if dispatch == Dispatch::Probabilistic {
                    let tail = plan.class_tail(&problem, at, latency);
                    let over = 1.0 - percent / 100.0 - tail;
                    if over > beyond.0 {
                        beyond = (over, format!("{name} at {latency:.0} s"));
                    }
                }
            }
            panel = panel.series(Series::step(name, points));
        }
        figure = figure.panel(panel);
    }
    let mut checks = checks(budget, &problem, &plan);
    let claim = "share of requests beyond the bound on the tail (most)";
    checks.push(check(10, claim, beyond.0, Expected::AtMost(0.0), beyond.1));
    let caption = "Latency of each class, with the plan's probabilities and by least work, with the paper's \
                   codes.";
    Ok(Part { file: "figure-10", caption, table, figure, checks })
}

fn name(problem: &Problem, plan: &Plan, at: usize) -> String {
    let n = plan.classes[at].iter().map(|group| group.nodes.len()).min().unwrap_or(0);
    format!("class {}, ({n},{})", at + 1, problem.classes[at].k)
}

fn checks(budget: Budget, problem: &Problem, plan: &Plan) -> Vec<Check> {
    let runs = SHOWN.map(|dispatch| (problem, plan, dispatch));
    let played = play(budget, &runs);
    let mut checks = Vec::new();
    for (at, seen) in played[0].classes.iter().enumerate() {
        let ratio = seen.mean / plan.class_latency(problem, at);
        let claim = "simulated mean latency over its bound";
        checks.push(check(10, claim, ratio, Expected::AtMost(1.0), name(problem, plan, at)));
    }
    let ratio = played[1].all.mean / played[0].all.mean;
    let claim = "mean latency by least work over that with the plan's probabilities";
    checks.push(check(10, claim, ratio, Expected::AtMost(0.8), String::new()));
    let ratio = played[0].all.mean / bound(problem, plan);
    let claim = "simulated mean latency of all requests over its bound";
    checks.push(check(10, claim, ratio, Expected::AtMost(1.0), String::new()));
    checks
}
