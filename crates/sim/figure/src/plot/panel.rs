use super::{axis::Axis, series::Series};

/// A rule across a panel.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Rule {
    pub(super) at: f64,
    pub(super) label: String,
    pub(super) is_upright: bool,
}

/// A pair of axes and what is drawn between them.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    pub(super) rules: Vec<Rule>,
}

impl Panel {
    /// An empty panel; the title may be empty.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new(), rules: Vec::new() }
    }

    /// Draws a series over those before it.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Draws an upright rule at this x: a capacity, a moment.
    #[must_use]
    pub fn rule_x(mut self, at: f64, label: impl Into<String>) -> Self {
        self.rules.push(Rule { at, label: label.into(), is_upright: true });
        self
    }

    /// Draws a level rule at this y: a bound.
    #[must_use]
    pub fn rule_y(mut self, at: f64, label: impl Into<String>) -> Self {
        self.rules.push(Rule { at, label: label.into(), is_upright: false });
        self
    }
}
