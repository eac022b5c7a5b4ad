mod block;
mod csv;
mod json;
mod line;
mod name;
mod s3;
mod text;

pub(crate) use line::{Line, Request};
pub use name::Format;

use crate::{BadLine, TraceError};
use csv::Columns;
use std::str::FromStr;

impl Format {
    /// The format of a log that begins with these lines.
    pub(crate) fn of<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<Self> {
        let first = lines.next()?;
        if Columns::meant(first) {
            return Some(Self::Csv);
        }
        let mut lines = std::iter::once(first).chain(lines);
        lines.find_map(|line| match line {
            _ if line.starts_with('{') => Some(Self::Ripstop),
            _ if s3::parse(line).is_ok() => Some(Self::S3),
            _ if block::parse_spc(line).is_ok() => Some(Self::Spc),
            _ if block::parse_sectors(line).is_ok() => Some(Self::Sectors),
            _ => None,
        })
    }
}

impl FromStr for Format {
    type Err = TraceError;
    fn from_str(name: &str) -> Result<Self, TraceError> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| TraceError::Name { name: name.to_owned() })
    }
}

/// Reads lines of one format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Parser {
    S3,
    Ripstop,
    /// CSV whose header has not come yet.
    Header,
    Csv(Columns),
    Spc,
    Sectors,
}

impl Parser {
    pub(crate) fn new(format: Format) -> Self {
        match format {
            Format::S3 => Self::S3,
            Format::Ripstop => Self::Ripstop,
            Format::Csv => Self::Header,
            Format::Spc => Self::Spc,
            Format::Sectors => Self::Sectors,
        }
    }

    /// Takes the header if that is what comes now: `Ok(true)`. The error says what is wrong with
    /// it.
    pub(crate) fn take_header(&mut self, line: &str) -> Result<bool, String> {
        let is_next = *self == Self::Header;
        if is_next {
            *self = Self::Csv(Columns::of(line)?);
        }
        Ok(is_next)
    }

    /// Reads a line that is neither blank nor the header.
    pub(crate) fn parse<'a>(&self, line: &'a str) -> Result<Line<'a>, BadLine> {
        match self {
            Self::S3 => s3::parse(line),
            Self::Ripstop => json::parse(line),
            Self::Header => Ok(Line::Ignored),
            Self::Csv(columns) => columns.parse(line),
            Self::Spc => block::parse_spc(line),
            Self::Sectors => block::parse_sectors(line),
        }
    }
}

#[cfg(test)]
mod tests;
