//! One connection: statements, prepared once and sent together.

use crate::failure::Failure;
use crate::statement::Sql;
use crate::tls::Tls;
use futures::FutureExt as _;
use futures::future::{MaybeDone, maybe_done};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, SimpleQueryMessage, Statement};

/// What stands for a `$` of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bytes(Vec<u8>),
    List(Vec<Vec<u8>>),
    Number(i64),
    Numbers(Vec<i64>),
    Small(i32),
}

impl Value {
    /// A bound on rows.
    pub(crate) fn limit(max: usize) -> Self {
        Self::Number(i64::try_from(max).unwrap_or(i64::MAX))
    }

    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::List(list) => list,
            Self::Number(number) => number,
            Self::Numbers(numbers) => numbers,
            Self::Small(number) => number,
        }
    }
}

/// A statement with its values.
#[derive(Clone, Debug)]
pub(crate) struct Ask(pub(crate) Sql, pub(crate) Vec<Value>);

/// What stands before or behind statements.
pub(crate) enum Edge {
    /// A transaction that writes; each statement sees all that was committed before it.
    Begin,
    /// A transaction that sees one moment.
    Look,
    Commit,
}

impl Edge {
    const fn text(&self) -> &'static str {
        match self {
            Self::Begin => "BEGIN ISOLATION LEVEL READ COMMITTED",
            Self::Look => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
            Self::Commit => "COMMIT",
        }
    }
}

type Step<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Failure>> + Send + 'a>>;

/// A connection to the database.
pub(crate) struct Connection {
    client: Client,
    statements: Mutex<BTreeMap<Sql, Statement>>,
    statement_max: Duration,
}

impl Connection {
    /// Connects to the first server of several that takes writes.
    pub(crate) async fn open(
        config: &Config,
        tls: Option<&Tls>,
        statement_max: Duration,
    ) -> Result<Self, Failure> {
        let client = if let Some(tls) = tls {
            let (client, connection) = config.connect(tls.clone()).await?;
            drop(ripstop_host::spawn(ended(connection)));
            client
        } else {
            let (client, connection) = config.connect(NoTls).await?;
            drop(ripstop_host::spawn(ended(connection)));
            client
        };
        let connection = Self { client, statements: Mutex::default(), statement_max };
        let max_ms = statement_max.as_millis();
        let settings = format!(
            "SET statement_timeout = {max_ms}; SET lock_timeout = {max_ms}; \
             SET idle_in_transaction_session_timeout = {max_ms}"
        );
        connection.simple(&settings).await?;
        // What is answered has to be durable, whatever the database's default is.
        let durable = "SELECT setting FROM pg_settings WHERE name = 'synchronous_commit'";
        if connection.text(durable).await?.as_deref() == Some("off") {
            connection.simple("SET synchronous_commit = on").await?;
        }
        Ok(connection)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Statements without values.
    pub(crate) async fn simple(&self, text: &str) -> Result<(), Failure> {
        self.in_time(self.client.batch_execute(text)).await
    }

    /// The one value of one row, as text.
    pub(crate) async fn text(&self, text: &str) -> Result<Option<String>, Failure> {
        let found = self.in_time(self.client.simple_query(text)).await?;
        Ok(found.iter().find_map(|message| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            row.get(0).map(str::to_owned)
        }))
    }

    /// The same, as a number.
    pub(crate) async fn number(&self, text: &str) -> Result<Option<i64>, Failure> {
        Ok(self.text(text).await?.and_then(|text| text.parse().ok()))
    }

    /// Sends statements together and waits for all answers, which are in their order. Each begins
    /// when those before it have ended; what comes behind one that failed fails too.
    pub(crate) async fn ask(&self, asks: &[Ask]) -> Result<Vec<Vec<Row>>, Failure> {
        self.pipeline(None, asks, None).await
    }

    /// The same, with what stands before and behind them.
    pub(crate) async fn pipeline(
        &self,
        before: Option<Edge>,
        asks: &[Ask],
        behind: Option<Edge>,
    ) -> Result<Vec<Vec<Row>>, Failure> {
        // First, because a statement that had to be prepared would come behind those after it.
        self.prepare(asks.iter().map(|ask| ask.0)).await?;
        let edge = |edge: Edge| -> Step<'_> {
            Box::pin(async move {
                self.client.batch_execute(edge.text()).await?;
                Ok(Vec::new())
            })
        };
        let (edges_before, mut steps) = (usize::from(before.is_some()), Vec::new());
        steps.extend(before.map(edge));
        for Ask(sql, values) in asks {
            let statement = self.prepared(*sql).expect("it was prepared just now");
            steps.push(Box::pin(async move {
                let values: Vec<_> = values.iter().map(Value::as_sql).collect();
                Ok(self.client.query(&statement, &values).await?)
            }));
        }
        steps.extend(behind.map(edge));
        let answers = self.in_time(in_order(steps).map(Ok)).await?;
        let answers = answers.into_iter().collect::<Result<Vec<_>, Failure>>()?;
        Ok(answers.into_iter().skip(edges_before).take(asks.len()).collect())
    }

    /// Ends what only read, without waiting for it.
    pub(crate) fn end_look(&self) {
        // Sent once it is polled; what follows on this connection comes behind it.
        drop(self.client.batch_execute(Edge::Commit.text()).now_or_never());
    }

    fn prepared(&self, sql: Sql) -> Option<Statement> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(&sql).cloned()
    }

    /// Prepares those that are not yet.
    pub(crate) async fn prepare(&self, of: impl Iterator<Item = Sql>) -> Result<(), Failure> {
        let mut missing: Vec<Sql> = of.filter(|sql| self.prepared(*sql).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = missing.iter().map(|sql| sql.text()).collect();
        let preparing = texts.iter().map(|text| self.client.prepare(text));
        let prepared = self.in_time(futures::future::try_join_all(preparing)).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.extend(missing.into_iter().zip(prepared));
        Ok(())
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        // The server's own limit comes first, if the server is there.
        let max = self.statement_max + self.statement_max / 4;
        match tokio::time::timeout(max, work).await {
            Ok(done) => Ok(done?),
            Err(_) => Err(Failure::passing(format!("no answer within {} ms", max.as_millis()))),
        }
    }
}

/// Runs a connection to its end; who uses it is told of errors.
async fn ended<S, T>(connection: tokio_postgres::Connection<S, T>)
where
    tokio_postgres::Connection<S, T>: Future<Output = Result<(), tokio_postgres::Error>>,
{
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to the catalog's database broke");
    }
}

/// Begins each in its order, and waits for all.
async fn in_order<T>(steps: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut steps: Vec<MaybeDone<_>> = steps.into_iter().map(maybe_done).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for step in &mut steps {
            is_done &= Pin::new(step).poll(context).is_ready();
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let take = |step: &mut MaybeDone<_>| Pin::new(step).take_output().expect("it is done");
    steps.iter_mut().map(take).collect()
}
