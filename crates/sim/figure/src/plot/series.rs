use crate::Points;

/// How points are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Line,
    Step,
    Points,
    Area,
    Bar,
}

/// Values of one thing, named in the legend.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) points: Points,
    /// (x, low, high).
    pub(super) band: Vec<(f64, f64, f64)>,
    pub(super) is_marked: bool,
    pub(super) style: Option<usize>,
}

impl Series {
    fn new(name: impl Into<String>, shape: Shape, points: Points) -> Self {
        Self { name: name.into(), shape, points, band: Vec::new(), is_marked: false, style: None }
    }

    /// A line through points (x, y) in their order. It breaks where a value is not finite, or not
    /// positive on a logarithmic axis.
    pub fn line(name: impl Into<String>, points: Points) -> Self {
        Self::new(name, Shape::Line, points)
    }

    /// A line of steps: a value holds until the next point. For distributions.
    pub fn step(name: impl Into<String>, points: Points) -> Self {
        Self::new(name, Shape::Step, points)
    }

    /// Markers without a line.
    pub fn points(name: impl Into<String>, points: Points) -> Self {
        Self { is_marked: true, ..Self::new(name, Shape::Points, points) }
    }

    /// A layer on top of the panel's earlier layers. For shares; a missing value counts as zero.
    pub fn area(name: impl Into<String>, points: Points) -> Self {
        Self::new(name, Shape::Area, points)
    }

    /// The same as bars.
    pub fn bar(name: impl Into<String>, points: Points) -> Self {
        Self::new(name, Shape::Bar, points)
    }

    /// With a marker at each point.
    #[must_use]
    pub fn markers(mut self) -> Self {
        self.is_marked = true;
        self
    }

    /// With a band behind it, (x, low, high): a confidence interval.
    #[must_use]
    pub fn band(mut self, band: Vec<(f64, f64, f64)>) -> Self {
        self.band = band;
        self
    }

    /// In the same colour, dashes and marker wherever it says the same number. Otherwise a series
    /// takes the place of its name among the figure's names.
    #[must_use]
    pub fn style(mut self, style: usize) -> Self {
        self.style = Some(style);
        self
    }

    /// Whether it is a layer.
    pub(super) fn is_stacked(&self) -> bool {
        matches!(self.shape, Shape::Area | Shape::Bar)
    }
}
