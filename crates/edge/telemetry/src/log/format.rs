use std::str::FromStr;
use thiserror::Error;

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
