//! The evaluation of the paper on TOFEC (Liang and Kozat), replayed: its figures 1 and 4 to 11 as
//! tables and drawings, and what must hold of them as checks.
//!
//! The traces that the authors recorded at S3 in 2013 are not public; two
//! [presets](ripstop_delay::Preset) stand in for them. Drawings are made from the tables alone
//! ([`PaperFigure::draw`]), so that a committed drawing can be compared with the committed table it
//! shows.

mod against_rate;
mod claims;
mod codes;
mod fixed_codes;
mod harmonic;
mod paper;
mod paper_figure;
mod point;
mod style;
mod surge;
mod task_log;
#[cfg(test)]
mod tests;

pub use paper_figure::PaperFigure;

use crate::{Budget, Check, Report};
use core::num::NonZero;
use ripstop_figure::{Table, TableError};

/// Runs it takes.
pub fn runs(budget: Budget) -> u64 {
    let points = point::plans().len() as u64 * budget.seeds;
    points + surge::runs(budget) + task_log::runs()
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// Each figure's table.
    pub tables: Vec<(PaperFigure, Table)>,
    /// What was checked.
    pub checks: Vec<Check>,
}

impl Evaluation {
    /// Tables and drawings of all figures, and the checks; with `report.html`.
    pub fn report(&self) -> Result<Report, TableError> {
        let mut report = Report::new("TOFEC, replayed", INTRODUCTION);
        for (figure, table) in &self.tables {
            for (end, drawing) in figure.draw(table)? {
                let caption = format!("Fig. {}: {}", figure.number(), figure.caption());
                report.figure(&(figure.name() + end), caption, &drawing);
            }
            report.long_table(&figure.name(), table.clone());
        }
        report.table("checks", "What must hold", Check::table(&self.checks));
        Ok(report)
    }
}

const INTRODUCTION: &str = "The figures of Liang and Kozat, TOFEC, from this program's simulator, \
which decides with the code that serves. The traces of the paper are not public; two delay models fitted \
to what it tells stand in for them. Bands are 95 % confidence intervals over the seeds.";

/// Plays everything, on this many threads (all cores if not given); the outcome does not depend on
/// how many. `done` is called after each of the [`runs`].
pub fn evaluate(
    budget: Budget,
    threads: Option<NonZero<usize>>,
    done: impl Fn() + Sync,
) -> Evaluation {
    let points = point::play(&point::plans(), budget, threads, &done);
    let logs = task_log::play(budget, threads, &done);
    let surges = surge::play(budget, threads, &done);
    let table = |figure| match figure {
        PaperFigure::FixedCodes => fixed_codes::table(&points),
        PaperFigure::TaskDelays => task_log::delay_table(&logs),
        PaperFigure::ServiceDelays => task_log::service_table(&logs),
        PaperFigure::ChunkSizes => task_log::size_table(&logs),
        PaperFigure::Harmonic => harmonic::table(),
        PaperFigure::Delays => against_rate::delay_table(&points),
        PaperFigure::Deviation => against_rate::deviation_table(&points),
        PaperFigure::Codes => codes::table(&points),
        PaperFigure::Surge => surge::table(&surges),
    };
    let tables = PaperFigure::ALL.into_iter().map(|figure| (figure, table(figure))).collect();
    Evaluation { tables, checks: claims::all(&points, &logs, &surges) }
}
