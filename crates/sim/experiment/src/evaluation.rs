use crate::{Check, Report};
use ripstop_figure::{Figure, Table};

/// One figure, the table it is drawn from, what they are called, and what was checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// The name of their files, without ending.
    pub file: &'static str,
    /// What is shown.
    pub caption: &'static str,
    /// What was found.
    pub table: Table,
    /// Drawn from it.
    pub figure: Figure,
    /// What must hold of it.
    pub checks: Vec<Check>,
}

/// What came of playing a set of figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    title: &'static str,
    intro: &'static str,
    parts: Vec<Part>,
    /// What was checked, in the order of the parts.
    pub checks: Vec<Check>,
}

impl Evaluation {
    /// Of these figures: the report's heading, and what comes first there.
    pub fn new(title: &'static str, intro: &'static str, parts: Vec<Part>) -> Self {
        let checks = parts.iter().flat_map(|part| part.checks.clone()).collect();
        Self { title, intro, parts, checks }
    }

    /// Tables, drawings and checks, with `report.html`.
    pub fn report(&self) -> Report {
        let mut report = Report::new(self.title, self.intro);
        for Part { file, caption, table, figure, .. } in &self.parts {
            report.figure(file, *caption, figure);
            report.long_table(file, table.clone());
        }
        report.table("checks", "What must hold", Check::table(&self.checks));
        report
    }
}
