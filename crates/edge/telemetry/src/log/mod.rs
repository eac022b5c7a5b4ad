mod format;
mod layer;
mod line;
#[cfg(test)]
mod tests;

pub use format::{LogFormat, LogsError};

use layer::Lines;
use std::io;
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

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
