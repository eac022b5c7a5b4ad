use crate::connection::Connection;
use crate::failure::Failure;
use crate::pool::{Lent, Pool};
use crate::schema;
use crate::settings::PostgresSettings;
use crate::state::State;
use crate::statement::Sql;
use crate::url::PostgresUrl;
use async_trait::async_trait;
use ripstop_catalog::{
    Audit, Audited, Catalog, CatalogError, Change, Outcome, Query, Reply, Retries,
};
use std::fmt;
use tokio::sync::Mutex;

/// Bytes of what tells one writer from others.
const WRITER_LEN: usize = 16;

/// A catalog in a database that speaks `PostgreSQL`'s protocol, for any number of processes.
///
/// Commits of all processes follow one another. Each is one transaction and three or four round
/// trips, so a [`Grouped`](ripstop_catalog::Grouped) belongs above it. A query takes one round
/// trip, a page of a listing about two. While the database is away, both are tried again for as
/// long as [`PostgresSettings::patience`] says; when that is over, whether a commit's changes are
/// in force is unknown.
pub struct Postgres {
    url: PostgresUrl,
    pub(crate) settings: PostgresSettings,
    /// For queries.
    readers: Pool,
    /// For commits: one connection.
    pub(crate) writers: Pool,
    /// Which writer this is, drawn at random.
    pub(crate) writer: Vec<u8>,
    /// The number of the last commit; held while one is under way.
    pub(crate) batches: Mutex<i64>,
    /// Whether the engine steps over what listings roll up.
    pub(crate) has_steps: bool,
    /// What the tables must be for it to commit.
    pub(crate) state: State,
}

impl Postgres {
    /// Opens the catalog in a database, whose tables are made if they are not there.
    ///
    /// # Errors
    /// If the database cannot be used, or its tables are no catalog that is served: one that is
    /// being filled, or was moved elsewhere.
    pub async fn open(url: &PostgresUrl, settings: PostgresSettings) -> Result<Self, CatalogError> {
        Self::open_as(url, settings, State::Open).await
    }

    pub(crate) async fn open_as(
        url: &PostgresUrl,
        settings: PostgresSettings,
        state: State,
    ) -> Result<Self, CatalogError> {
        let mut writer = vec![0; WRITER_LEN];
        ripstop_host::fill(&mut writer);
        let mut catalog = Self {
            url: url.clone(),
            readers: Pool::new(url, settings.readers_max, &settings)?,
            writers: Pool::new(url, 1, &settings)?,
            settings,
            writer,
            batches: Mutex::new(0),
            has_steps: false,
            state,
        };
        let mut patience = Retries::within(catalog.settings.patience);
        loop {
            match catalog.prepare().await {
                Ok(has_steps) => {
                    catalog.has_steps = has_steps;
                    return Ok(catalog);
                }
                Err(failure) => patience.wait(failure).await?,
            }
        }
    }

    /// Makes the tables; whether the engine understands the statement that steps.
    async fn prepare(&self) -> Result<bool, Failure> {
        let lent = self.writers.lend().await?;
        schema::prepare(&lent, ripstop_host::unix_ms()).await?;
        let number = lent.number("SELECT id FROM ripstop_turn").await?;
        State::of_number(number)?.must_be(self.state)?;
        if lent.text("SHOW fsync").await.is_ok_and(|fsync| fsync.as_deref() == Some("off")) {
            tracing::warn!(
                database = %self.url,
                "the catalog's database runs with fsync off: what is answered may be lost"
            );
        }
        let has_steps = match lent.prepare([Sql::Steps].into_iter()).await {
            Ok(()) => true,
            Err(Failure::Lasting(error)) => {
                tracing::info!(%error, "listings go on page by page: the database takes no steps");
                false
            }
            Err(failure @ Failure::Passing(_)) => return Err(failure),
        };
        lent.give_back();
        Ok(has_steps)
    }

    pub(crate) async fn lend_reader(&self) -> Result<Lent<'_>, Failure> {
        self.readers.lend().await.inspect_err(|_| self.turn())
    }

    /// Gives a connection back after what was done over it, if it is of use still.
    pub(crate) fn give_back<T>(
        &self,
        lent: Lent<'_>,
        done: Result<T, Failure>,
    ) -> Result<T, Failure> {
        match &done {
            Ok(_) => lent.give_back(),
            Err(Failure::Passing(_)) => self.turn(),
            // It may be in the middle of a transaction.
            Err(Failure::Lasting(_)) => drop(lent),
        }
        done
    }

    /// A connection of nobody else's.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        self.writers.connect().await
    }

    /// Gives up connections that are idle.
    pub(crate) fn turn(&self) {
        self.readers.turn();
        self.writers.turn();
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("url", &self.url).finish_non_exhaustive()
    }
}

#[async_trait]
impl Catalog for Postgres {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        self.commit_all(now_ms, &changes).await
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        let mut patience = Retries::within(self.settings.patience);
        loop {
            match self.answer(query).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => patience.wait(failure).await?,
            }
        }
    }
}

#[async_trait]
impl Audited for Postgres {
    async fn audit(&self) -> Result<Audit, CatalogError> {
        let mut patience = Retries::within(self.settings.patience);
        loop {
            match self.audit_once().await {
                Ok(audit) => return Ok(audit),
                Err(failure) => patience.wait(failure).await?,
            }
        }
    }
}
