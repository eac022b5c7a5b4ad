//! Readers of access logs: what was asked for, when and how large.
//!
//! [`open`] takes a file, plain or packed with gzip or zstd, tells its format from its first lines
//! and gives one [`Record`] for each request that moved an object's bytes. It reads
//!
//! * Ripstop's own access log: one JSON object a line, other lines of the log between them;
//! * S3 server access logs, whose times are whole seconds, which can be [spread](Spread);
//! * CSV with a header: a time (`time_s`, `time_ms`, `time_us`, `time_ns`, or `timestamp`, which is
//!   RFC 3339 or seconds since 1970), `operation`, `bytes`, and if wanted `key`, `tenant`,
//!   `status`;
//! * the Storage Performance Council's block traces (`ASU,LBA,bytes,opcode,seconds`) and their
//!   blank-separated kin (`nanoseconds device LBA sectors type`).
//!
//! Memory is bounded whatever the file holds: a line by [`LINE_MAX`], sorting by
//! [`Options::disorder`], spreading by [`SPREAD_MAX`], remembered tenants and skipped lines by
//! numbers of their own. What was left out, and why, is in the [`Summary`].
//!
//! It deliberately keeps no keys: a key is a hash of 64 bits, the same on every platform, and
//! [`Writer`] writes it as such, so that a trace can be handed on without telling names. It knows
//! nothing of how requests are served, and does not join files.
//!
//! ```
//! use ripstop_trace::{Options, Reader};
//!
//! let log = "timestamp,operation,bytes\n\
//!            2019-02-06T00:00:38.5Z,GET,3000\n\
//!            2019-02-06T00:00:39Z,put,4096\n";
//! let mut reader = Reader::from_reader(log.as_bytes(), None, Options::default())?;
//! let records = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(records[1].time.as_millis(), 500);
//! assert_eq!(reader.summary().bytes_read, 3000);
//! # Ok::<(), ripstop_trace::TraceError>(())
//! ```
//!
//! Speed: about a third of a second for a million lines of CSV or of a block trace, one core;
//! nothing is allocated for a line
//! (`cargo test --release -p ripstop-trace --test speed -- --ignored --nocapture` measures it).

mod bad_line;
mod error;
mod format;
mod input;
mod options;
mod order;
mod reader;
mod record;
mod spread;
mod summary;
mod writer;

pub use bad_line::BadLine;
pub use error::TraceError;
pub use format::Format;
pub use input::{Compression, LINE_MAX};
pub use options::{Disorder, OnBadLine, Options, Spread};
pub use reader::{Reader, open, open_with};
pub use record::{Record, key_hash};
pub use spread::SPREAD_MAX;
pub use summary::{SKIPPED_SHOWN, SkippedLine, Summary};
pub use writer::Writer;
