use crate::number::{rounded, text};

/// What stands in a row under a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// A name, or a number that is none to compute with: an id, a seed.
    Text(String),
    /// A quantity, in the unit that the column's name ends with. Not NaN.
    Number(f64),
    /// Nothing is known.
    Missing,
}

impl Cell {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Missing => None,
        }
    }

    /// As people read it; empty if missing.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => text(*number),
            Self::Missing => String::new(),
        }
    }

    /// As tables keep it: numbers rounded, NaN missing.
    #[must_use]
    pub fn kept(self) -> Self {
        match self {
            Self::Number(number) if number.is_nan() => Self::Missing,
            Self::Number(number) => Self::Number(rounded(number)),
            Self::Text(_) | Self::Missing => self,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// Exact below 2^53.
impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Number(number as f64)
    }
}

/// Exact below 2^53.
impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Number(number as f64)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Missing, Self::Number)
    }
}
