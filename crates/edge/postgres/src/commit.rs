//! Commits: one at a time over all gateways.
//!
//! A commit's first statement locks the one row of `ripstop_turn`, and each statement after it sees
//! what was committed before: so commits follow one another as they do in the embedded catalog,
//! whatever an engine makes of rows that are not there yet. Who waits for its turn is woken by the
//! database. What is tried again, and what was done already, is the affair of
//! [`commit_in_turn`](ripstop_catalog::commit_in_turn).

use crate::connection::{Ask, Edge, Value};
use crate::failure::Failure;
use crate::fetched::Fetched;
use crate::pool::Lent;
use crate::postgres::Postgres;
use crate::state::State;
use crate::statement::Sql;
use crate::write::{signed, statements};
use async_trait::async_trait;
use ripstop_catalog::{CatalogError, Change, InTurn, Outcome, Transaction, commit_in_turn};
use ripstop_object::decide;

/// One of those that write to the database.
struct Writer<'a>(&'a Postgres);

/// A transaction that has the turn.
struct Taken<'a> {
    postgres: &'a Postgres,
    lent: Lent<'a>,
    fetched: Fetched,
    state: State,
    /// What is to be written.
    asks: Vec<Ask>,
}

impl Postgres {
    /// Commits changes, once.
    pub(crate) async fn commit_all(
        &self,
        now_ms: u64,
        changes: &[Change],
    ) -> Result<Vec<Outcome>, CatalogError> {
        let mut batches = self.batches.lock().await;
        *batches += 1;
        let number = (*batches, now_ms);
        commit_in_turn(&Writer(self), number, changes, self.settings.patience).await
    }

    fn writer(&self) -> Value {
        Value::Bytes(self.writer.clone())
    }

    /// Ends what was done over a connection, which is of use still if the server only rolled back.
    async fn ended(&self, lent: Lent<'_>, done: Result<(), Failure>) -> Result<(), Failure> {
        match &done {
            Ok(()) => lent.give_back(),
            Err(failure) if failure.is_rolled_back() => {
                if lent.simple("ROLLBACK").await.is_ok() {
                    lent.give_back();
                }
            }
            Err(_) => self.turn(),
        }
        done
    }
}

#[async_trait]
impl<'a> InTurn for Writer<'a> {
    type Transaction = Taken<'a>;
    type Failure = Failure;

    async fn begin(
        &self,
        changes: &[Change],
        asks_last: bool,
    ) -> Result<(Taken<'a>, Option<i64>), Failure> {
        let postgres = self.0;
        let lent = postgres.writers.lend().await.inspect_err(|_| postgres.turn())?;
        let begun = async {
            lent.prepare(Sql::of_commits().into_iter()).await?;
            let mut first = vec![Ask(Sql::Turn, vec![])];
            if asks_last {
                first.push(Ask(Sql::Done, vec![postgres.writer()]));
            }
            let (answers, fetched) = Fetched::begin(&lent, first, changes).await?;
            let last = answers.get(1).and_then(|rows| rows.first()).map(|row| row.try_get(0));
            Ok((fetched, State::of_turn(&answers[0])?, last.transpose()?))
        };
        match begun.await {
            Ok((fetched, state, last)) => {
                Ok((Taken { postgres, lent, fetched, state, asks: Vec::new() }, last))
            }
            Err(failure) => Err(postgres.ended(lent, Err(failure)).await.expect_err("it failed")),
        }
    }
}

#[async_trait]
impl Transaction for Taken<'_> {
    type Failure = Failure;

    fn decide(&mut self, now_ms: u64, changes: &[Change]) -> Result<(Vec<Outcome>, bool), Failure> {
        let decided = self.state.must_be(self.postgres.state).and_then(|()| {
            let (outcomes, writes) = decide(&self.fetched, now_ms, changes)?;
            self.asks = statements(&writes);
            Ok(outcomes)
        });
        let outcomes = decided.inspect_err(|_| self.postgres.turn())?;
        Ok((outcomes, !self.asks.is_empty()))
    }

    async fn commit(self, batch: i64, now_ms: u64) -> Result<(), Failure> {
        let Self { postgres, lent, mut asks, .. } = self;
        let numbers = [batch, signed(now_ms)].map(Value::Number);
        asks.push(Ask(Sql::SetDone, [postgres.writer()].into_iter().chain(numbers).collect()));
        let done = lent.pipeline(None, &asks, Some(Edge::Commit)).await.map(drop);
        postgres.ended(lent, done).await
    }

    async fn roll_back(self) -> Result<(), Failure> {
        let Self { postgres, lent, .. } = self;
        let done = lent.simple("ROLLBACK").await;
        postgres.ended(lent, done).await
    }
}
