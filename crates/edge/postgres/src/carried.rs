//! All rows of a database as they are at one moment.

use crate::connection::{Ask, Connection, Edge, Value};
use crate::failure::Failure;
use crate::fetched::{column, node_of};
use crate::number::Number;
use crate::place::{
    LAST, leftover_of, place_of, session_of, split_outlived, split_part, split_stripe,
};
use crate::postgres::Postgres;
use crate::state::State;
use crate::statement::Sql;
use crate::table::{Table, VOUCHED};
use crate::wanted::read;
use async_trait::async_trait;
use ripstop_catalog::{
    CARRIED_BYTES_MAX, CARRIED_ROWS_MAX, CatalogError, RowSource, Upload, Writes,
};
use ripstop_form::Record;
use ripstop_object::Place;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// How long the moment is kept while nothing is asked: what was read is written elsewhere first.
const IDLE_MAX: Duration = Duration::from_mins(10);
/// Rows that are asked for first, and in one statement at most.
const ROWS_FIRST: usize = 256;

/// All rows of a database as they are at one moment.
pub struct PostgresRows {
    connection: Connection,
    /// Of [`Table::ALL`].
    table: usize,
    /// The last key of the table that was read.
    after: Vec<u8>,
    /// How many rows are asked for: fewer where they are long.
    rows_max: usize,
}

impl fmt::Debug for PostgresRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresRows").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Postgres {
    /// All rows as they are now; gateways go on meanwhile. Nothing is tried again: a moment is gone
    /// with its connection.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub async fn rows(&self) -> Result<PostgresRows, CatalogError> {
        let begun = async {
            let connection = self.own_connection(Some(IDLE_MAX)).await?;
            // The moment is that of the first statement.
            let any = vec![Value::Bytes(Vec::new()), Value::Bytes(Vec::new()), Value::limit(1)];
            let ask = [Ask(Sql::After(Table::Facts), any)];
            connection.pipeline(Some(Edge::Look), &ask, None).await?;
            Ok(PostgresRows::over(connection))
        };
        begun.await.map_err(Failure::told)
    }

    /// All rows as they are now, and nobody commits until this is dropped.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub async fn leave(&self) -> Result<PostgresRows, CatalogError> {
        let begun = async {
            // What is carried elsewhere may be verified for hours.
            let connection = self.own_connection(None).await?;
            let turn = [Ask(Sql::Turn, vec![])];
            let answers = connection.pipeline(Some(Edge::Begin), &turn, None).await?;
            State::of_turn(&answers[0])?.must_be(self.state)?;
            Ok(PostgresRows::over(connection))
        };
        begun.await.map_err(Failure::told)
    }

    async fn own_connection(&self, idle_max: Option<Duration>) -> Result<Connection, Failure> {
        let connection = self.connect().await?;
        let idle_ms = idle_max.map_or(0, |max| max.as_millis());
        let idle = format!("SET idle_in_transaction_session_timeout = {idle_ms}");
        connection.simple(&idle).await?;
        Ok(connection)
    }
}

impl PostgresRows {
    fn over(connection: Connection) -> Self {
        Self { connection, table: 0, after: Vec::new(), rows_max: ROWS_FIRST }
    }

    /// Begins with the first row again.
    pub fn rewind(&mut self) {
        (self.table, self.after) = (0, Vec::new());
    }

    /// Has the database say that its catalog was moved elsewhere: no gateway commits or begins on
    /// it any more. Of rows that nobody may commit beside ([`Postgres::leave`]).
    ///
    /// # Errors
    /// If the database fails: whether it says so is unknown then.
    pub async fn left(self) -> Result<(), CatalogError> {
        let left = async {
            let set = format!("UPDATE ripstop_turn SET id = {}", State::Left.number());
            self.connection.simple(&set).await?;
            self.connection.simple("COMMIT").await
        };
        left.await.map_err(Failure::told)
    }

    /// The next rows of a table.
    async fn some_of(&mut self, table: Table) -> Result<Writes<'static>, Failure> {
        let values = vec![
            Value::Bytes(self.after.clone()),
            Value::Bytes(LAST.to_vec()),
            Value::limit(self.rows_max),
        ];
        let answers = self.connection.ask(&[Ask(Sql::After(table), values)]).await?;
        let (mut rows, mut len, mut last) = (Writes::default(), 0, Vec::new());
        for row in &answers[0] {
            let (key, bytes) = (column(row, 0)?, column(row, 1)?);
            take(&mut rows, table, &key, &bytes)?;
            len += bytes.len();
            last = key;
        }
        if answers[0].len() < self.rows_max {
            (self.table, self.after) = (self.table + 1, Vec::new());
        } else {
            self.after = last;
        }
        if len > CARRIED_BYTES_MAX {
            self.rows_max = (self.rows_max / 2).max(1);
        } else if len < CARRIED_BYTES_MAX / 4 {
            self.rows_max = (self.rows_max * 2).min(CARRIED_ROWS_MAX);
        }
        Ok(rows)
    }
}

#[async_trait]
impl RowSource for PostgresRows {
    async fn next(&mut self) -> Result<Option<Writes<'static>>, CatalogError> {
        while let Some(&table) = Table::ALL.get(self.table) {
            // They follow from others.
            if matches!(table, Table::UploadPlaces | Table::OutlivedAt) {
                self.table += 1;
                continue;
            }
            let rows = self.some_of(table).await.map_err(Failure::told)?;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

fn name(key: &[u8]) -> Result<Cow<'static, str>, CatalogError> {
    let not_utf8 = |_| CatalogError::Corrupt { reason: "a name is not UTF-8".into() };
    String::from_utf8(key.to_vec()).map(Cow::Owned).map_err(not_utf8)
}

fn owned<R: Record + Clone>(
    table: Table,
    key: &[u8],
    bytes: &[u8],
) -> Result<Option<Cow<'static, R>>, CatalogError> {
    Ok(Some(Cow::Owned(read(table, key, bytes)?)))
}

/// Adds what stands at a key.
fn take(
    to: &mut Writes<'static>,
    table: Table,
    key: &[u8],
    bytes: &[u8],
) -> Result<(), CatalogError> {
    let number = || read::<Number>(table, key, bytes);
    match table {
        Table::Facts => {
            if key == VOUCHED {
                to.vouched_before = Some(number()?.0);
            }
        }
        Table::Buckets => _ = to.buckets.insert(name(key)?, owned(table, key, bytes)?),
        Table::Objects => _ = to.objects.insert(place_of(key)?, owned(table, key, bytes)?),
        Table::Tombstones => _ = to.tombstones.insert(place_of(key)?, owned(table, key, bytes)?),
        Table::Stripes => {
            to.stripes.insert(split_stripe(key)?.0, Some(read(table, key, bytes)?));
        }
        Table::Garbage => {
            to.garbage.insert(split_stripe(key)?.0, Some(read(table, key, bytes)?));
        }
        Table::Leftovers => _ = to.leftovers.insert(leftover_of(key)?, Some(number()?.0)),
        Table::Uploads => {
            let upload: Upload = read(table, key, bytes)?;
            let (bucket, at) = (upload.bucket.clone().into(), upload.key.clone().into());
            to.upload_places.insert((Place { bucket, key: at }, name(key)?), true);
            to.uploads.insert(name(key)?, Some(Cow::Owned(upload)));
        }
        Table::Parts => {
            let (upload, number) = split_part(key)?;
            to.parts.insert((upload.into(), number), owned(table, key, bytes)?);
        }
        Table::Outlived => {
            let (stripe, at) = split_outlived(key)?;
            to.outlived.insert((at, stripe), true);
        }
        Table::Nodes => _ = to.nodes.insert(name(key)?, node_of(number()?)?),
        Table::Sessions => _ = to.sessions.insert(session_of(key)?, Some(number()?.0)),
        Table::Accounts => _ = to.accounts.insert(name(key)?, Some(read(table, key, bytes)?)),
        Table::Watermarks => {
            to.watermarks.insert(session_of(key)?, Some(read(table, key, bytes)?));
        }
        Table::Leases => _ = to.leases.insert(name(key)?, read(table, key, bytes)?),
        Table::UploadPlaces | Table::OutlivedAt | Table::Gateways => {}
    }
    Ok(())
}
