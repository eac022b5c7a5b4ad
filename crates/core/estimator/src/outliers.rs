/// No more than this share of either kind is told apart: of more, what is left would be no bulk.
pub const OUTLIERS_MAX: f64 = 0.2;

/// Shares of a log's tasks that do not follow the law that the others follow.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outliers {
    /// That ended far too soon: something else answered.
    pub quick: f64,
    /// That took far too long: something held them up.
    pub slow: f64,
}

impl Outliers {
    /// None of either kind.
    pub const NONE: Self = Self { quick: 0.0, slow: 0.0 };
}
