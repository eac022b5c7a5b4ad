//! Commits: one at a time over all gateways.
//!
//! A commit's first statement locks the one row of `ripstop_turn`, and each statement after it sees
//! what was committed before: so commits follow one another as they do in the embedded catalog,
//! whatever an engine makes of rows that are not there yet. Who waits for its turn is woken by the
//! database.

use crate::connection::{Ask, Edge, Value};
use crate::failure::Failure;
use crate::fetched::Fetched;
use crate::patience::Patience;
use crate::postgres::Postgres;
use crate::state::State;
use crate::statement::Sql;
use crate::write::{signed, statements};
use ripstop_catalog::{CatalogError, Change, Outcome};
use ripstop_object::decide;

impl Postgres {
    /// Commits changes, once. A `COMMIT` without an answer is looked up before anything is done
    /// again: by then the transaction that it belonged to has ended, for it had the turn.
    pub(crate) async fn commit_all(
        &self,
        now_ms: u64,
        changes: &[Change],
    ) -> Result<Vec<Outcome>, CatalogError> {
        let mut batches = self.batches.lock().await;
        *batches += 1;
        let (batch, mut unanswered) = (*batches, None);
        let mut patience = Patience::of(self.settings.patience);
        loop {
            match self.attempt(batch, now_ms, changes, &mut unanswered).await {
                Ok(outcomes) => return Ok(outcomes),
                Err(failure) => patience.wait(failure).await?,
            }
        }
    }

    /// Tries once. `unanswered` is what was decided when a `COMMIT` was sent that was not answered.
    async fn attempt(
        &self,
        batch: i64,
        now_ms: u64,
        changes: &[Change],
        unanswered: &mut Option<Vec<Outcome>>,
    ) -> Result<Vec<Outcome>, Failure> {
        let lent = self.writers.lend().await.inspect_err(|_| self.turn())?;
        let writer = || Value::Bytes(self.writer.clone());
        let tried = async {
            lent.prepare(Sql::of_commits().into_iter()).await?;
            let mut first = vec![Ask(Sql::Turn, vec![])];
            if unanswered.is_some() {
                first.push(Ask(Sql::Done, vec![writer()]));
            }
            let (answers, fetched) = Fetched::begin(&lent, first, changes).await?;
            let last = answers.get(1).and_then(|rows| rows.first()).map(|row| row.try_get(0));
            let asks_done = |at| Ask(Sql::SetDone, vec![writer(), Value::Number(batch), at]);
            let at = Value::Number(signed(now_ms));
            if let Some(outcomes) = unanswered.as_ref()
                && last.transpose()? == Some(batch)
            {
                // It may not be at a synchronous standby yet; what is committed behind it ends when
                // it is.
                lent.pipeline(None, &[asks_done(at)], Some(Edge::Commit)).await?;
                return Ok(outcomes.clone());
            }
            *unanswered = None;
            State::of_turn(&answers[0])?.must_be(self.state)?;
            let (outcomes, writes) = decide(&fetched, now_ms, changes)?;
            let mut asks = statements(&writes);
            if asks.is_empty() {
                lent.simple("ROLLBACK").await?;
                return Ok(outcomes);
            }
            asks.push(asks_done(at));
            *unanswered = Some(outcomes.clone());
            lent.pipeline(None, &asks, Some(Edge::Commit)).await?;
            Ok(outcomes)
        };
        let tried: Result<_, Failure> = tried.await;
        match &tried {
            Ok(_) => lent.give_back(),
            Err(failure) if failure.is_rolled_back() => {
                if lent.simple("ROLLBACK").await.is_ok() {
                    lent.give_back();
                }
            }
            Err(_) => self.turn(),
        }
        tried
    }
}
