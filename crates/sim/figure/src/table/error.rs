use std::{io, path::PathBuf};
use thiserror::Error;

/// Why a table could not be read, written, or asked.
#[derive(Debug, Error)]
pub enum TableError {
    /// The file cannot be read or written.
    #[error("{path:?}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no header.
    #[error("the table is empty")]
    Empty,
    /// A column without a name, or two of one name.
    #[error("column {column} is named {name:?}: names must be there, and differ")]
    Name {
        /// Its number, from 1.
        column: usize,
        /// What it is called.
        name: String,
    },
    /// A quotation mark without its partner.
    #[error("line {line}: a quoted cell does not end")]
    Quote {
        /// Where the row begins.
        line: usize,
    },
    /// A row with more or fewer cells than the header.
    #[error("line {line}: {found} cells, the header has {wanted}")]
    Width {
        /// Where the row begins.
        line: usize,
        /// How many it has.
        found: usize,
        /// How many the header has.
        wanted: usize,
    },
    /// There is no such column.
    #[error("no column {name:?}; there are: {columns}")]
    Column {
        /// The name.
        name: String,
        /// Those there are.
        columns: String,
    },
    /// A text where numbers are.
    #[error("column {column:?} has {found:?}, which is not a number")]
    Number {
        /// The column.
        column: String,
        /// The cell.
        found: String,
    },
}

/// Refuses names of columns of which one is empty or there twice.
pub(super) fn check_names(names: &[String]) -> Result<(), TableError> {
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() || names[..index].contains(name) {
            return Err(TableError::Name { column: index + 1, name: name.clone() });
        }
    }
    if names.is_empty() { Err(TableError::Empty) } else { Ok(()) }
}
