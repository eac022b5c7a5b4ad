//! Fig. 13: latency against cost as θ runs.

use super::{
    play::{Budget, FigureError, check, play},
    setting::{per_file, three, uneven},
};
use crate::Dispatch;
use libm::pow;
use ripstop_experiment::{Check, Expected, Part};
use ripstop_figure::{Axis, Cell, Figure, Panel, Series, Table};
use ripstop_placement::{Plan, Problem, Published, solve};

/// From 0.5 to 200 seconds per dollar of one file.
const STEPS: i32 = 13;
/// Plans are within this of the best, so that neighbours can be out of order by as much.
const SLACK: f64 = 2e-3;

pub(super) fn part(budget: Budget) -> Result<Part, FigureError> {
    let mut table = Table::new([
        "what",
        "theta_s_per_dollar",
        "dollars",
        "bound_s",
        "simulated_s",
        "half_width_s",
    ]);
    let thetas: Vec<f64> =
        (0..STEPS).map(|at| 0.5 * pow(400.0, f64::from(at) / f64::from(STEPS - 1))).collect();
    let mut checks = Vec::new();
    for (name, prices) in [("equal prices", false), ("the faster the dearer", true)] {
        let problems: Vec<Problem> =
            thetas.iter().map(|&theta| uneven(three(theta), prices)).collect();
        let plans: Vec<Plan> =
            problems.iter().map(|problem| solve(problem, None)).collect::<Result<_, _>>()?;
        let published: Vec<Plan> = problems
            .iter()
            .map(|problem| Ok(Published::default().solve(problem)?.0))
            .collect::<Result<_, FigureError>>()?;
        for (who, plans) in [("planned", &plans), ("published algorithm", &published)] {
            let runs: Vec<_> = problems
                .iter()
                .zip(plans)
                .map(|(problem, plan)| (problem, plan, Dispatch::Probabilistic))
                .collect();
            let played = play(Budget { requests: budget.requests / 2, ..budget }, &runs);
            for (((theta, problem), plan), played) in
                thetas.iter().zip(&problems).zip(plans).zip(&played)
            {
                let numbers =
                    [*theta, per_file(problem, plan.money), plan.latency, played.all.mean];
                let row = numbers.map(Cell::from).into_iter().chain([played.all.half_width.into()]);
                table.push([format!("{who}, {name}").into()].into_iter().chain(row));
            }
        }
        checks.extend(monotone(name, &plans));
        checks.push(lowest(name, &plans, &published));
    }
    let x = Axis::linear("dollars for each file");
    let mut panel = Panel::new("", x, Axis::linear("bound on the mean latency, s"));
    for (name, points) in table.series("what", "dollars", "bound_s")? {
        panel = panel.series(Series::line(name, points).markers());
    }
    Ok(Part {
        file: "figure-13",
        caption: "Latency against cost as θ runs from 0.5 to 200 s per dollar of one file.",
        figure: Figure::new("Latency against cost").panel(panel),
        table,
        checks,
    })
}

/// The more a second costs in dollars, the less is paid for it.
fn monotone(name: &str, plans: &[Plan]) -> [Check; 2] {
    let most = |of: fn(&Plan, &Plan) -> f64| {
        plans.windows(2).map(|pair| of(&pair[0], &pair[1])).fold(0.0, f64::max)
    };
    let money = most(|before, after| after.money / before.money);
    let latency = most(|before, after| before.latency / after.latency);
    let expected = Expected::AtMost(1.0 + SLACK);
    let claim = |what| format!("{what} (most)");
    [
        check(13, &claim("money over that at the next smaller θ"), money, expected, name.into()),
        check(13, &claim("latency over that at the next larger θ"), latency, expected, name.into()),
    ]
}

fn lowest(name: &str, plans: &[Plan], published: &[Plan]) -> Check {
    let ratios = plans.iter().zip(published);
    let ratio = ratios.map(|(plan, other)| plan.certificate.value / other.certificate.value);
    let claim = "objective over the published algorithm's (most)";
    check(13, claim, ratio.fold(0.0, f64::max), Expected::AtMost(1.0 + 1e-6), name.into())
}
