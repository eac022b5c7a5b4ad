//! Connections that are used by one at a time, and again.

use crate::connection::Connection;
use crate::failure::Failure;
use crate::settings::PostgresSettings;
use crate::tls::Tls;
use crate::url::PostgresUrl;
use ripstop_catalog::CatalogError;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections for one purpose, a bounded number of them, each made when it is first needed.
pub(crate) struct Pool {
    url: PostgresUrl,
    tls: Option<Tls>,
    settings: PostgresSettings,
    places: Semaphore,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    connections: Vec<Connection>,
    /// How often the connections of a moment were given up together.
    turned: u64,
}

impl Pool {
    pub(crate) fn new(
        url: &PostgresUrl,
        places: usize,
        settings: &PostgresSettings,
    ) -> Result<Self, CatalogError> {
        let tls = url.tls().map_err(|error| CatalogError::Unavailable(Box::new(error)))?;
        let (url, settings) = (url.clone(), settings.clone());
        let places = Semaphore::new(places.max(1));
        Ok(Self { url, tls, settings, places, idle: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection, once there is a place.
    pub(crate) async fn lend(&self) -> Result<Lent<'_>, Failure> {
        let place = self.places.acquire().await.expect("the semaphore is never closed");
        let (kept, turned) = {
            let mut idle = self.idle();
            idle.connections.retain(|connection| !connection.is_closed());
            (idle.connections.pop(), idle.turned)
        };
        let connection = if let Some(kept) = kept { kept } else { self.connect().await? };
        Ok(Lent { pool: self, connection, turned, _place: place })
    }

    /// One besides.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let max = self.settings.statement_max;
        Connection::open(self.url.config(), self.tls.as_ref(), max).await
    }

    /// Closes what is idle: a server that failed one failed all.
    pub(crate) fn turn(&self) {
        let mut idle = self.idle();
        idle.turned += 1;
        idle.connections.clear();
    }
}

/// A connection that nobody else uses. Closed when it is dropped, unless it is given back: in the
/// middle of something it is of no use to others.
pub(crate) struct Lent<'a> {
    pool: &'a Pool,
    connection: Connection,
    turned: u64,
    _place: SemaphorePermit<'a>,
}

impl Lent<'_> {
    /// Gives it back, between statements.
    pub(crate) fn give_back(self) {
        let Lent { pool, connection, turned, _place } = self;
        let mut idle = pool.idle();
        if idle.turned == turned && !connection.is_closed() {
            idle.connections.push(connection);
        }
    }
}

impl Deref for Lent<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}
