mod layer;
mod line;
#[cfg(test)]
mod tests;

use layer::Lines;
use std::{io, str::FromStr};
use thiserror::Error;
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

/// How a line of the log looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// A JSON object: for machines.
    #[default]
    Json,
    /// Time, level, target, message, fields: for people.
    Text,
}

impl FromStr for LogFormat {
    type Err = LogsError;
    fn from_str(name: &str) -> Result<Self, LogsError> {
        match name {
            "json" => Ok(Self::Json),
            "text" => Ok(Self::Text),
            _ => Err(LogsError::Format { name: name.to_owned() }),
        }
    }
}

/// Why logs could not be set up.
#[derive(Debug, Error)]
pub enum LogsError {
    /// No format has this name.
    #[error("no log format is named {name:?}; there are: json, text")]
    Format {
        /// The name.
        name: String,
    },
    /// The filter cannot be read.
    #[error("log filter {filter:?}")]
    Filter {
        /// The filter.
        filter: String,
        /// Why not.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Somebody has set up logs already.
    #[error("logs are set up already")]
    Twice,
}

/// Sends what is traced to the standard error output, one line for each event: its own fields and
/// those of the spans it is in. `filter` is a list like `info,ripstop_store=debug`.
///
/// Fields whose name tells of a secret are not written, nor signatures in URLs.
pub fn init_logs(format: LogFormat, filter: &str) -> Result<(), LogsError> {
    let parsed = EnvFilter::try_new(filter)
        .map_err(|source| LogsError::Filter { filter: filter.to_owned(), source })?;
    let lines = Lines::new(format, io::stderr);
    tracing_subscriber::registry().with(parsed).with(lines).try_init().map_err(|_| LogsError::Twice)
}
