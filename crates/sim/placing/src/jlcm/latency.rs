//! Figs. 11 and 12: latency and its bound against file size and against rate.

use super::{
    play::{Budget, FigureError, bound, check, play},
    setting::coded,
};
use crate::Dispatch;
use ripstop_experiment::{Expected, Part};
use ripstop_figure::{Axis, Cell, Figure, Panel, Series, Table};
use ripstop_placement::{Plan, Problem, solve};

const THETA: f64 = 2.0;

/// Fig. 11.
pub(super) fn against_size(budget: Budget) -> Result<Part, FigureError> {
    let points = (2..=8).map(|quarter| 25.0 * f64::from(quarter));
    let problems = points.map(|mb| (mb, coded(mb, 0.118, THETA))).collect::<Vec<_>>();
    let shown = Shown {
        number: 11,
        file: "figure-11",
        column: "file_mb",
        axis: "file, MB",
        title: "Latency against file size, 0.118 requests/s",
        caption: "Latency and its bound against file size, with the paper's codes.",
    };
    shown.part(budget, &problems)
}

/// Fig. 12.
pub(super) fn against_rate(budget: Budget) -> Result<Part, FigureError> {
    let points = [0.1, 0.105, 0.11, 0.115, 0.12, 0.125];
    let problems = points.map(|rate| (rate, coded(200.0, rate, THETA)));
    let shown = Shown {
        number: 12,
        file: "figure-12",
        column: "rate_per_s",
        axis: "requests/s",
        title: "Latency against rate, files of 200 MB",
        caption: "Latency and its bound against the rate of requests, with the paper's codes.",
    };
    shown.part(budget, &problems)
}

struct Shown {
    number: u8,
    file: &'static str,
    column: &'static str,
    axis: &'static str,
    title: &'static str,
    caption: &'static str,
}

impl Shown {
    fn part(&self, budget: Budget, problems: &[(f64, Problem)]) -> Result<Part, FigureError> {
        let plans: Vec<Plan> =
            problems.iter().map(|(_, problem)| solve(problem, None)).collect::<Result<_, _>>()?;
        let runs: Vec<_> = problems
            .iter()
            .zip(&plans)
            .flat_map(|((_, problem), plan)| Dispatch::ALL.map(|how| (problem, plan, how)))
            .collect();
        let played = play(budget, &runs);
        let mut table = Table::new(["what", self.column, "latency_s", "half_width_s"]);
        let mut closest = (0.0, f64::NAN);
        for (((at, problem), plan), played) in
            problems.iter().zip(&plans).zip(played.chunks(Dispatch::ALL.len()))
        {
            let bound = bound(problem, plan);
            table.push(["bound (5)".into(), (*at).into(), bound.into(), Cell::Missing]);
            for (run, dispatch) in played.iter().zip(Dispatch::ALL) {
                let (mean, half) = (run.all.mean, run.all.half_width);
                let name = format!("simulated, {}", dispatch.name());
                table.push([name.into(), (*at).into(), mean.into(), half.into()]);
            }
            let ratio = played[0].all.mean / bound;
            if ratio > closest.0 {
                closest = (ratio, *at);
            }
        }
        let (x, y) = (Axis::linear(self.axis), Axis::linear("mean latency, s").from(0.0));
        let mut panel = Panel::new("", x, y);
        for (name, points) in table.series("what", self.column, "latency_s")? {
            panel = panel.series(Series::line(name, points).markers());
        }
        let claim = "simulated latency over its bound (most)";
        let place = format!("{} {}", closest.1, self.axis);
        let above = check(self.number, claim, closest.0, Expected::AtMost(1.0), place);
        let figure = Figure::new(self.title).panel(panel);
        Ok(Part { file: self.file, caption: self.caption, table, figure, checks: vec![above] })
    }
}
