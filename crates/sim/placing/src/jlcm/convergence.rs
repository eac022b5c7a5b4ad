//! Fig. 8: the published algorithm's objective against its iterations, and the plan made here.

use super::{
    play::{Budget, FigureError, check},
    setting::uneven,
};
use ripstop_experiment::{Expected, Part};
use ripstop_figure::{Axis, Figure, Panel, Series, Table};
use ripstop_placement::{Published, solve, testbed};
use std::time::Instant;

/// The paper's time for 1000 files at 12 nodes, seconds.
const PAPER_S: f64 = 202.0;
const THETA: f64 = 2.0;

pub(super) fn part(_: Budget) -> Result<Part, FigureError> {
    let problem = uneven(testbed::problem(super::setting::FILES, THETA), true);
    let begun = Instant::now();
    let plan = solve(&problem, None)?;
    let took = begun.elapsed().as_secs_f64();
    let (published, history) =
        Published { epsilon: 1e-9, ..Published::default() }.solve(&problem)?;
    let least = plan.certificate.lower_bound;
    let mut table = Table::new(["what", "iteration", "over_lower_bound"]);
    for (at, value) in history.iter().enumerate() {
        table.push(["published algorithm".into(), at.into(), (value / least).into()]);
    }
    let value = plan.certificate.value / least;
    for at in [0, history.len() - 1] {
        table.push(["this planner's plan".into(), at.into(), value.into()]);
    }
    let (x, y) = (Axis::linear("linearisation"), Axis::linear("objective over lower bound"));
    let mut panel = Panel::new("", x, y);
    for (name, points) in table.series("what", "iteration", "over_lower_bound")? {
        panel = panel.series(Series::line(name, points).markers());
    }
    let falls = history.windows(2).filter(|pair| pair[1] > pair[0] * (1.0 + 1e-9)).count();
    let theirs = published.certificate.value / plan.certificate.value;
    // What is found must not depend on the machine, so that it is no number of seconds.
    let fast = f64::from(u8::from(took <= PAPER_S / 100.0));
    let of = |claim, found, expected| check(8, claim, found, expected, String::new());
    Ok(Part {
        file: "figure-08",
        caption: "The published algorithm's objective, with the logarithm for the cost, against \
                  linearisations; 1 is what no plan is below.",
        figure: Figure::new("Convergence, 1000 files at 12 uneven nodes").panel(panel),
        table,
        checks: vec![
            of(
                "linearisations after which the objective had risen",
                falls as f64,
                Expected::AtMost(0.0),
            ),
            of(
                "gap of the plan's certificate, %",
                100.0 * plan.certificate.gap(),
                Expected::AtMost(0.1),
            ),
            of(
                "objective of the published algorithm's plan over this plan's",
                theirs,
                Expected::AtLeast(1.0 - 1e-6),
            ),
            of(
                "planned in less than a hundredth of the paper's 202 s: 1 if so",
                fast,
                Expected::AtLeast(1.0),
            ),
        ],
    })
}
