//! Fig. 9: plans that leave a decision out.

use super::{
    play::{Budget, FigureError, Played, check, play},
    setting::{per_file, uneven},
};
use crate::Dispatch;
use ripstop_delay::Dice;
use ripstop_experiment::{Check, Expected, Part};
use ripstop_figure::{Axis, Figure, Panel, Series, Table};
use ripstop_placement::{Plan, Problem, Published, baseline, solve, testbed};

/// Seconds per dollar of one file, as in the paper.
const THETA: f64 = 200.0;
const OURS: &str = "planned";
/// (nodes that may be lost, what that is called).
const SETTINGS: [(u32, &str); 2] = [(0, "no redundancy demanded"), (2, "two nodes may be lost")];

pub(super) fn part(budget: Budget) -> Result<Part, FigureError> {
    let mut table =
        Table::new(["setting", "scheme", "dollars", "simulated_s", "half_width_s", "bound_s"]);
    let mut figure = Figure::new("Plans that leave a decision out");
    let mut checks = Vec::new();
    for (survive, setting) in SETTINGS {
        let problem = problem(survive);
        let schemes = schemes(&problem, survive == 0)?;
        let runs: Vec<_> =
            schemes.iter().map(|(_, plan)| (&problem, plan, Dispatch::Probabilistic)).collect();
        let played = play(budget, &runs);
        let x = Axis::linear("dollars for each file");
        let mut panel = Panel::new(setting, x, Axis::linear("simulated mean latency, s"));
        for ((name, plan), played) in schemes.iter().zip(&played) {
            let dollars = per_file(&problem, plan.money);
            let told = |value: f64| Some(value).filter(|_| plan.latency.is_finite());
            let (mean, half) = (told(played.all.mean), told(played.all.half_width));
            let numbers = [dollars.into(), mean.into(), half.into(), told(plan.latency).into()];
            table.push([setting.into(), (*name).into()].into_iter().chain(numbers));
            let points = mean.map(|mean| (dollars, mean)).into_iter().collect();
            panel = panel.series(Series::points(*name, points));
        }
        figure = figure.panel(panel);
        let total = |(played, (_, plan)): (&Played, &(&str, Plan))| {
            let seconds = if plan.latency.is_finite() { played.all.mean } else { f64::INFINITY };
            seconds + THETA * per_file(&problem, plan.money)
        };
        let totals: Vec<f64> = played.iter().zip(&schemes).map(total).collect();
        for (at, (name, plan)) in schemes.iter().enumerate().skip(1) {
            checks.extend(against(name, setting, (&schemes[0].1, plan), (totals[0], totals[at])));
        }
    }
    Ok(Part {
        file: "figure-09",
        caption: "Latency, simulated with probabilistic scheduling, against what a file costs, θ = 200 s per \
                  dollar of one file; sites differ in speed.",
        figure,
        table,
        checks,
    })
}

/// Our latency plus cost over another's: by the bound, and simulated.
fn against(name: &str, setting: &str, plans: (&Plan, &Plan), totals: (f64, f64)) -> [Check; 2] {
    let bound = plans.0.certificate.value / plans.1.certificate.value;
    let claim = |how: &str| format!("latency plus cost over that of {name}, {how}");
    let overloaded = if plans.1.latency.is_finite() { "" } else { ", overloaded" };
    let place = format!("{setting}{overloaded}");
    [
        check(9, &claim("by the bound"), bound, Expected::AtMost(1.0), place.clone()),
        check(9, &claim("simulated"), totals.0 / totals.1, Expected::AtMost(1.0), place),
    ]
}

fn problem(survive_nodes: u32) -> Problem {
    let mut problem = uneven(testbed::problem(super::setting::FILES, THETA), false);
    problem.classes.iter_mut().for_each(|class| class.survive_nodes = survive_nodes);
    problem
}

/// Ours first.
fn schemes(problem: &Problem, published: bool) -> Result<Vec<(&'static str, Plan)>, FigureError> {
    let plan = solve(problem, None)?;
    let mut dice = Dice::new(9);
    let random = baseline::random_placement(problem, &plan, || dice.next_u64());
    let mut schemes = vec![
        ("oblivious load balancing", baseline::oblivious(problem, &plan)),
        ("random placement", random),
        ("maximum code", baseline::maximum_code(problem, &plan)),
    ];
    // It knows no redundancy but what it pays for.
    if published {
        schemes.push(("published algorithm", Published::default().solve(problem)?.0));
    }
    schemes.insert(0, (OURS, plan));
    Ok(schemes)
}
