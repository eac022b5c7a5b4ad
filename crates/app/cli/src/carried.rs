//! Catalogs that rows are carried out of and into, in a file or in a database.

use crate::progress::progress;
use anyhow::{Result, ensure};
use async_trait::async_trait;
use ripstop_catalog::{
    Audited as _, CatalogError, EmbeddedRows, FilledFile, RowCount, RowSink, RowSource, Writes,
    carry, count_rows,
};
use ripstop_postgres::{FilledDatabase, PostgresRows};

/// Rows as they were at one moment.
pub(crate) enum Rows {
    File(EmbeddedRows),
    Database(Box<PostgresRows>),
}

#[async_trait]
impl RowSource for Rows {
    async fn next(&mut self) -> Result<Option<Writes<'static>>, CatalogError> {
        match self {
            Self::File(rows) => rows.next().await,
            Self::Database(rows) => rows.next().await,
        }
    }
}

/// What is being filled.
pub(crate) enum Target {
    File(FilledFile),
    Database(FilledDatabase),
}

#[async_trait]
impl RowSink for Target {
    async fn put(&mut self, rows: Writes<'static>) -> Result<(), CatalogError> {
        match self {
            Self::File(file) => file.put(rows).await,
            Self::Database(database) => database.put(rows).await,
        }
    }
}

impl Target {
    async fn rows(&self) -> Result<Rows, CatalogError> {
        Ok(match self {
            Self::File(file) => Rows::File(file.rows()?),
            Self::Database(database) => Rows::Database(Box::new(database.rows().await?)),
        })
    }
}

/// Carries all rows, reads what was written, and compares. Tells a terminal how far it is.
pub(crate) async fn carried(from: &mut Rows, to: &mut Target) -> Result<RowCount> {
    let bar = progress("records carried");
    let count = carry(from, to, |rows| bar.set_position(rows)).await?;
    bar.finish_and_clear();
    let written = counted(&mut to.rows().await?).await?;
    ensure!(written == count, "what was written is not what was read: {written}, not {count}");
    Ok(count)
}

/// Counts rows. Tells a terminal how far it is.
pub(crate) async fn counted(rows: &mut Rows) -> Result<RowCount> {
    let bar = progress("records verified");
    let count = count_rows(rows, |rows| bar.set_position(rows)).await?;
    bar.finish_and_clear();
    Ok(count)
}

/// What records in a database say of each other that is not as it should be.
pub(crate) async fn audited(database: &FilledDatabase) -> Result<Vec<String>> {
    let audit = database.catalog().audit().await?;
    Ok(audit.findings.iter().map(ToString::to_string).collect())
}
