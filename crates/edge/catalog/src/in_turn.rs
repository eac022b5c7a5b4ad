//! Commits of several programs over one catalog, each a transaction that has its turn: what is
//! tried again, and what was done already though nobody heard of it.

use crate::{CatalogError, Change, Outcome};
use async_trait::async_trait;
use std::fmt;
use std::time::{Duration, Instant};

/// First wait before something is tried again, and the longest.
const WAIT_MIN: Duration = Duration::from_millis(2);
const WAIT_MAX: Duration = Duration::from_millis(500);

/// Why something did not go through, which may pass.
pub trait MayPass: fmt::Debug + Send {
    /// Whether it may go through when it is tried again.
    fn is_passing(&self) -> bool;

    /// For callers, once it is not tried again.
    fn told(self) -> CatalogError;
}

/// What changes are committed to in turn, by one writer of several.
#[async_trait]
pub trait InTurn: Sync {
    /// A transaction that has its turn.
    type Transaction: Transaction<Failure = Self::Failure>;
    /// Why something did not go through.
    type Failure: MayPass;

    /// Begins a transaction and waits for its turn: then all before it have ended, and what they
    /// committed is seen. With it comes, if that is asked, the number of this writer's last commit
    /// that is in force.
    async fn begin(
        &self,
        changes: &[Change],
        asks_last: bool,
    ) -> Result<(Self::Transaction, Option<i64>), Self::Failure>;
}

/// A transaction that has its turn until it is committed, rolled back or dropped.
#[async_trait]
pub trait Transaction: Send {
    /// Why something did not go through.
    type Failure;

    /// What changes come to on top of what is committed, and whether that is anything to write.
    fn decide(
        &mut self,
        now_ms: u64,
        changes: &[Change],
    ) -> Result<(Vec<Outcome>, bool), Self::Failure>;

    /// Writes what was decided, and that it is this writer's commit of this number, and commits. If
    /// that fails it may have been done.
    async fn commit(self, batch: i64, now_ms: u64) -> Result<(), Self::Failure>;

    /// Ends it without effect.
    async fn roll_back(self) -> Result<(), Self::Failure>;
}

/// How long, and how often, something is tried again.
#[derive(Debug)]
pub struct Retries {
    until: Instant,
    wait: Duration,
}

impl Retries {
    /// From now on for so long.
    pub fn within(max: Duration) -> Self {
        Self { until: ripstop_host::now() + max, wait: WAIT_MIN }
    }

    /// Waits for the next try.
    ///
    /// # Errors
    /// The failure, if there is to be none.
    pub async fn wait<F: MayPass>(&mut self, failure: F) -> Result<(), CatalogError> {
        if !failure.is_passing() || ripstop_host::now() >= self.until {
            return Err(failure.told());
        }
        tracing::debug!(?failure, "the catalog's database is asked again");
        // Between half of it and all: those that failed together do not come together again.
        let half_us = self.wait.as_micros() as u64 / 2;
        let jitter_us = ripstop_host::random_u64() % (half_us + 1);
        tokio::time::sleep(Duration::from_micros(half_us + jitter_us)).await;
        self.wait = (self.wait * 2).min(WAIT_MAX);
        Ok(())
    }
}

/// Commits changes, once, under a number that is this writer's next. A commit without an answer is
/// looked up before anything is done again: by then the transaction that it belonged to has ended,
/// for it had the turn.
///
/// # Errors
/// What the last failure is told as. Whether the changes are in force is then unknown.
pub async fn commit_in_turn<T: InTurn>(
    to: &T,
    (batch, now_ms): (i64, u64),
    changes: &[Change],
    patience: Duration,
) -> Result<Vec<Outcome>, CatalogError> {
    let (mut retries, mut unanswered) = (Retries::within(patience), None);
    loop {
        match attempt(to, (batch, now_ms), changes, &mut unanswered).await {
            Ok(outcomes) => return Ok(outcomes),
            Err(failure) => retries.wait(failure).await?,
        }
    }
}

/// Tries once. `unanswered` is what was decided when a commit was sent that was not answered.
async fn attempt<T: InTurn>(
    to: &T,
    (batch, now_ms): (i64, u64),
    changes: &[Change],
    unanswered: &mut Option<Vec<Outcome>>,
) -> Result<Vec<Outcome>, T::Failure> {
    let (mut transaction, last) = to.begin(changes, unanswered.is_some()).await?;
    if let Some(outcomes) = &*unanswered
        && last == Some(batch)
    {
        // It may not be at a synchronous standby yet; what is committed behind it ends when it is.
        transaction.commit(batch, now_ms).await?;
        return Ok(outcomes.clone());
    }
    *unanswered = None;
    let (outcomes, writes) = transaction.decide(now_ms, changes)?;
    if !writes {
        transaction.roll_back().await?;
        return Ok(outcomes);
    }
    *unanswered = Some(outcomes.clone());
    transaction.commit(batch, now_ms).await?;
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog as _, Model, Session};
    use std::sync::{Mutex, PoisonError};

    /// What becomes of a commit that is sent.
    #[derive(Clone, Copy, Debug)]
    enum Fate {
        Answered,
        Refused,
        LostDone,
        LostUndone,
    }

    #[derive(Debug)]
    struct Missed;

    impl MayPass for Missed {
        fn is_passing(&self) -> bool {
            true
        }

        fn told(self) -> CatalogError {
            CatalogError::Unavailable("missed".into())
        }
    }

    /// A database of one writer; fates of its commits, the next one last.
    #[derive(Default)]
    struct Database {
        model: Model,
        last: Mutex<Option<i64>>,
        fates: Mutex<Vec<Fate>>,
    }

    struct Open<'a>(&'a Database, Option<Model>);

    #[async_trait]
    impl<'a> InTurn for &'a Database {
        type Transaction = Open<'a>;
        type Failure = Missed;

        async fn begin(
            &self,
            _: &[Change],
            asks_last: bool,
        ) -> Result<(Open<'a>, Option<i64>), Missed> {
            let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
            Ok((Open(self, None), last.filter(|_| asks_last)))
        }
    }

    #[async_trait]
    impl Transaction for Open<'_> {
        type Failure = Missed;

        fn decide(
            &mut self,
            now_ms: u64,
            changes: &[Change],
        ) -> Result<(Vec<Outcome>, bool), Missed> {
            let next = Model::of(self.0.model.state().clone());
            let outcomes = next.apply_all(now_ms, changes).map_err(|_| Missed)?;
            self.1 = Some(next);
            Ok((outcomes, true))
        }

        async fn commit(self, batch: i64, _: u64) -> Result<(), Missed> {
            let Self(database, next) = self;
            let fate = database.fates.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let fate = fate.unwrap_or(Fate::Answered);
            if matches!(fate, Fate::Answered | Fate::LostDone) {
                if let Some(next) = next {
                    *database.model.state() = next.state().clone();
                }
                *database.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(batch);
            }
            if matches!(fate, Fate::Answered) { Ok(()) } else { Err(Missed) }
        }

        async fn roll_back(self) -> Result<(), Missed> {
            Ok(())
        }
    }

    /// Each holder that takes a lease over has the next epoch: it counts how often.
    async fn epochs(fates: &[Fate], patience: Duration) -> (Result<u64, CatalogError>, u64) {
        let database = Database::default();
        *database.fates.lock().unwrap_or_else(PoisonError::into_inner) =
            fates.iter().rev().copied().collect();
        let lease = Change::Lease { name: "l".into(), holder: Session(7), until_ms: 5 };
        let release = Change::Release { name: "l".into(), holder: Session(7) };
        let changes = [lease, release];
        let done = commit_in_turn(&&database, (1, 1), &changes, patience).await;
        let told = done.map(|outcomes| {
            let first = outcomes.into_iter().next().expect("an outcome for each");
            first.expect("taken").epoch.expect("it has one")
        });
        let kept = database.model.lease("l").await.expect("read");
        (told, kept.map_or(0, |lease| lease.epoch))
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_becomes_of_answers_it_is_done_once() {
        use Fate::{Answered, LostDone, LostUndone, Refused};
        let long = Duration::from_secs(30);
        let all: [&[Fate]; 7] = [
            &[Answered],
            &[Refused, Refused, Answered],
            &[LostDone],
            &[LostUndone, Answered],
            &[LostDone, LostUndone, LostUndone, Answered],
            &[Refused, LostUndone, Refused, LostDone],
            &[LostUndone, LostDone, LostDone],
        ];
        for fates in all {
            let (told, kept) = epochs(fates, long).await;
            assert_eq!((told.expect("done"), kept), (1, 1), "{fates:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_given_up_once_patience_is_over() {
        let (told, kept) = epochs(&[Fate::LostUndone; 4], Duration::ZERO).await;
        assert!(matches!(told, Err(CatalogError::Unavailable(_))), "{told:?}");
        assert_eq!(kept, 0);
    }
}
