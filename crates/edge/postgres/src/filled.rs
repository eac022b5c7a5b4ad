//! Tables that are being filled with rows of another catalog, or of what nodes hold.
//!
//! While they are, the row of `ripstop_turn` bears a number that whoever fills them drew: no
//! gateway begins on them, and whoever begins to fill them again stops whoever did so before.

use crate::carried::PostgresRows;
use crate::connection::{Ask, Connection, Edge, Value};
use crate::failure::Failure;
use crate::place::LAST;
use crate::pool::Pool;
use crate::postgres::Postgres;
use crate::schema;
use crate::settings::PostgresSettings;
use crate::state::State;
use crate::statement::Sql;
use crate::table::Table;
use crate::url::PostgresUrl;
use crate::write::statements;
use async_trait::async_trait;
use ripstop_catalog::{CatalogError, Retries, RowSink, Writes};
use std::sync::Arc;
use thiserror::Error;

/// Why a database is not filled.
#[derive(Debug, Error)]
pub enum FillError {
    /// It is a catalog, and holds something.
    #[error(
        "the database holds a catalog: name an empty one, or another schema \
         (?options=-csearch_path%3DNAME)"
    )]
    NotEmpty,
    /// It is what was left behind when a catalog was moved elsewhere.
    #[error(
        "the database holds what was left behind when its catalog was moved elsewhere: drop the \
         tables whose names begin with ripstop_, or name another schema \
         (?options=-csearch_path%3DNAME)"
    )]
    LeftBehind,
    /// It failed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// Tables that are being filled; no gateway begins on them before the end.
#[derive(Clone, Debug)]
pub struct FilledDatabase(Arc<Postgres>);

impl FilledDatabase {
    /// Begins to fill a database that holds no catalog. What an earlier one left that did not come
    /// to its end is removed.
    ///
    /// # Errors
    /// If it holds one, or cannot be used.
    pub async fn begin(url: &PostgresUrl, settings: PostgresSettings) -> Result<Self, FillError> {
        let (state, pool) = (State::drawn(), Pool::new(url, 1, &settings)?);
        let mut patience = Retries::within(settings.patience);
        loop {
            match claim(&pool, state).await {
                Ok(Claim::Done) => break,
                Ok(Claim::NotEmpty) => return Err(FillError::NotEmpty),
                Ok(Claim::LeftBehind) => return Err(FillError::LeftBehind),
                Err(failure) => patience.wait(failure).await?,
            }
        }
        Ok(Self(Arc::new(Postgres::open_as(url, settings, state).await?)))
    }

    /// What is filled, as a catalog that takes changes too.
    pub const fn catalog(&self) -> &Arc<Postgres> {
        &self.0
    }

    /// What is in it by now.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub async fn rows(&self) -> Result<PostgresRows, CatalogError> {
        self.0.rows().await
    }

    /// Has it be a catalog.
    ///
    /// # Errors
    /// If the database fails, or another has begun to fill it.
    pub async fn finish(self) -> Result<(), CatalogError> {
        let set = format!("UPDATE ripstop_turn SET id = {}", State::Open.number());
        let mut patience = Retries::within(self.0.settings.patience);
        let mut is_in_doubt = false;
        loop {
            match self.finish_once(&set, &mut is_in_doubt).await {
                Ok(()) => return Ok(()),
                Err(failure) => patience.wait(failure).await?,
            }
        }
    }

    async fn finish_once(&self, set: &str, is_in_doubt: &mut bool) -> Result<(), Failure> {
        let connection = self.0.connect().await?;
        let turn = [Ask(Sql::Turn, vec![])];
        let answers = connection.pipeline(Some(Edge::Begin), &turn, None).await?;
        let state = State::of_turn(&answers[0])?;
        if *is_in_doubt && state == State::Open {
            return Ok(());
        }
        state.must_be(self.0.state)?;
        connection.simple(set).await?;
        *is_in_doubt = true;
        connection.simple("COMMIT").await
    }

    async fn put_once(&self, asks: &[Ask]) -> Result<(), Failure> {
        let lent = self.0.writers.lend().await.inspect_err(|_| self.0.turn())?;
        let put = async {
            let turn = [Ask(Sql::Turn, vec![])];
            let answers = lent.pipeline(Some(Edge::Begin), &turn, None).await?;
            State::of_turn(&answers[0])?.must_be(self.0.state)?;
            lent.pipeline(None, asks, Some(Edge::Commit)).await?;
            Ok(())
        };
        let put = put.await;
        self.0.give_back(lent, put)
    }
}

#[async_trait]
impl RowSink for FilledDatabase {
    /// Written twice, if an answer is lost: rows stay as they are.
    async fn put(&mut self, rows: Writes<'static>) -> Result<(), CatalogError> {
        let asks = statements(&rows);
        let mut patience = Retries::within(self.0.settings.patience);
        loop {
            match self.put_once(&asks).await {
                Ok(()) => return Ok(()),
                Err(failure) => patience.wait(failure).await?,
            }
        }
    }
}

enum Claim {
    Done,
    NotEmpty,
    LeftBehind,
}

/// Makes the tables, and has them say that they are being filled.
async fn claim(pool: &Pool, state: State) -> Result<Claim, Failure> {
    let connection = pool.connect().await?;
    schema::prepare(&connection, ripstop_host::unix_ms()).await?;
    let turn = [Ask(Sql::Turn, vec![])];
    let answers = connection.pipeline(Some(Edge::Begin), &turn, None).await?;
    match State::of_turn(&answers[0])? {
        State::Open if holds_any(&connection).await? => return Ok(Claim::NotEmpty),
        State::Left => return Ok(Claim::LeftBehind),
        State::Open | State::Filling(_) => {}
    }
    // But what a catalog says of itself from the beginning.
    let tables = Table::ALL.into_iter().filter(|table| *table != Table::Facts);
    let tables: Vec<&str> = tables.map(Table::name).collect();
    connection.simple(&format!("TRUNCATE TABLE {}", tables.join(", "))).await?;
    connection.simple(&format!("UPDATE ripstop_turn SET id = {}", state.number())).await?;
    connection.simple("COMMIT").await?;
    Ok(Claim::Done)
}

/// Whether there is anything but what a gateway leaves that began on an empty catalog.
async fn holds_any(connection: &Connection) -> Result<bool, Failure> {
    let first = |table| {
        let end = Value::Bytes(LAST.to_vec());
        Ask(Sql::After(table), vec![Value::Bytes(Vec::new()), end, Value::limit(1)])
    };
    let asks = Table::ALL.into_iter().filter(|table| match table {
        Table::Facts
        | Table::Nodes
        | Table::Sessions
        | Table::Watermarks
        | Table::Leases
        | Table::Gateways => false,
        Table::Buckets
        | Table::Objects
        | Table::Stripes
        | Table::Garbage
        | Table::Leftovers
        | Table::Uploads
        | Table::UploadPlaces
        | Table::Parts
        | Table::Accounts
        | Table::Tombstones
        | Table::Outlived
        | Table::OutlivedAt => true,
    });
    let asks: Vec<Ask> = asks.map(first).collect();
    Ok(connection.ask(&asks).await?.iter().any(|rows| !rows.is_empty()))
}
