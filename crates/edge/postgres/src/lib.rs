//! The catalog in a database that speaks `PostgreSQL`'s protocol: many gateways share one.
//!
//! [`Postgres`] implements [`Catalog`](ripstop_catalog::Catalog) and passes its conformance suite.
//! What a change does is decided where every catalog decides it, in
//! [`decide`](ripstop_object::decide): a commit takes its turn, fetches the rows that its changes
//! name, decides, writes, and ends its transaction. A `COMMIT` whose answer is lost is looked up.
//! Records have the form that the embedded catalog's have, with checksums bound to their places.
//!
//! It deliberately uses no more of SQL than several engines have in common (`statement`): no
//! `LISTEN`, no advisory locks, no sequences, no triggers, no deferrable constraints; keys are
//! bytes, so no collation orders them. It does not group commits: a
//! [`Grouped`](ripstop_catalog::Grouped) stands above it.
//!
//! ```no_run
//! use ripstop_catalog::Catalog;
//! use ripstop_postgres::{Postgres, PostgresSettings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "postgres://ripstop@127.0.0.1/ripstop".parse()?;
//! let catalog = Postgres::open(&url, PostgresSettings::default()).await?;
//! assert!(catalog.bucket("photos").await?.is_none());
//! # Ok(())
//! # }
//! ```

mod answer;
mod audit;
mod carried;
mod commit;
mod connection;
mod failure;
mod fetched;
mod filled;
mod listing;
mod number;
mod place;
mod pool;
#[cfg(test)]
mod portable;
mod postgres;
mod schema;
mod settings;
mod short;
mod state;
mod statement;
mod table;
mod tls;
mod url;
mod wanted;
mod window;
mod write;

pub use carried::PostgresRows;
pub use filled::{FillError, FilledDatabase};
pub use postgres::Postgres;
pub use settings::PostgresSettings;
pub use url::{PostgresUrl, PostgresUrlError};
