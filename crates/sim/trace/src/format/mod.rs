mod block;
mod csv;
mod json;
mod s3;
mod text;

use crate::{BadLine, TraceError};
use csv::Columns;
use ripstop_model::Operation;
use std::{borrow::Cow, fmt, str::FromStr};

/// How a log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// An S3 server access log.
    S3,
    /// Ripstop's own log, JSON lines.
    Ripstop,
    /// CSV with a header.
    Csv,
    /// A block trace: `ASU,LBA,bytes,opcode,seconds`.
    Spc,
    /// A block trace: `nanoseconds device LBA sectors type`, divided by blanks.
    Sectors,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::S3, Self::Ripstop, Self::Csv, Self::Spc, Self::Sectors];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Ripstop => "ripstop",
            Self::Csv => "csv",
            Self::Spc => "spc",
            Self::Sectors => "sectors",
        }
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

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

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = TraceError;
    fn from_str(name: &str) -> Result<Self, TraceError> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| TraceError::Name { name: name.to_owned() })
    }
}

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    /// A request that moved an object's bytes.
    Request(Request<'a>),
    /// A request that was refused or broke off.
    Failed,
    /// Anything else that belongs into such a log.
    Ignored,
}

/// A request as the log has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request<'a> {
    /// Since 1970, or since whatever the log counts from.
    pub(crate) time_ns: u64,
    pub(crate) operation: Operation,
    pub(crate) bytes: u64,
    pub(crate) key: Option<u64>,
    pub(crate) tenant: Option<Cow<'a, str>>,
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

    /// Takes the header if that is what comes now: `Ok(true)`. The error says what is wrong with it.
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
