use crate::{BadLine, Format};
use std::{io, path::PathBuf};
use thiserror::Error;

/// Why a trace could not be read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {path:?}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file cannot be read further, or what it is packed with is damaged.
    #[error("cannot read beyond line {line}")]
    Read {
        /// The last line that was read; zero if none was.
        line: u64,
        /// Why not.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("the trace is empty")]
    Empty,
    /// No format fits its first lines.
    #[error(
        "cannot tell the format of the trace that begins {begin:?}; there are: {}",
        Format::names()
    )]
    Unknown {
        /// The beginning of its first line.
        begin: String,
    },
    /// A format of this name does not exist.
    #[error("no trace format is named {name:?}; there are: {}", Format::names())]
    Name {
        /// The name.
        name: String,
    },
    /// The CSV header does not name what is needed, each once.
    #[error("line {line}: the header {problem}")]
    Header {
        /// Where the header stands.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A line that is refused.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: BadLine,
    },
    /// Times that are to be spread over their second are known better than that.
    #[error("line {line}: the time is finer than a second: there is nothing to spread")]
    Fine {
        /// The first such line.
        line: u64,
    },
    /// Too many records to sort all of them.
    #[error(
        "there are more than {max} requests (at line {line}): read its beginning, or a part of it"
    )]
    Many {
        /// The first that is too many.
        line: u64,
        /// How many there may be.
        max: usize,
    },
    /// Too many requests in one second to spread.
    #[error("more than {max} requests in one second cannot be spread over it (before line {line})")]
    Crowded {
        /// How far the file was read.
        line: u64,
        /// How many can be spread: [`SPREAD_MAX`](crate::SPREAD_MAX).
        max: usize,
    },
}
