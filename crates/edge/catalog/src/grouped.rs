//! Group commit: one commit of the catalog within for all callers that wait at the same time.

mod gather;
#[cfg(test)]
mod tests;

pub use gather::{AtOnce, Gather, Gathered, LastCommit, Verdict};

use crate::{Audit, Audited, Catalog, CatalogError, Change, Outcome, Query, Reply};
use async_trait::async_trait;
use futures::FutureExt as _;
use std::collections::VecDeque;
use std::iter;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

/// Changes that wait at most, unless told otherwise; further callers wait for a place.
pub const CHANGES_WAITING_MAX: usize = 4096;
/// Longest that a caller waits for others: then its group is committed, whatever the policy says.
const GATHERING_MAX: Duration = Duration::from_secs(1);

/// A catalog whose callers share commits: while one is under way, further changes wait, and then go
/// into the next one together, as changes of one commit at the latest of their times.
///
/// Changes that were asked for are committed also if their caller gives up. One of the callers
/// commits for all: a future that was polled once must be polled until it is ready, or dropped.
/// What fails, fails for all of a group. Committing needs a tokio runtime.
#[derive(Debug)]
pub struct Grouped<C: ?Sized> {
    line: Arc<Line>,
    inner: Arc<C>,
}

impl<C: Catalog + ?Sized> Grouped<C> {
    /// Commits what waits as soon as the catalog is free.
    pub fn over(inner: Arc<C>) -> Self {
        Self::by(AtOnce::default(), CHANGES_WAITING_MAX, inner)
    }

    /// Commits when `gather` says so; at most `changes_waiting_max` changes wait for that.
    pub fn by(gather: impl Gather + 'static, changes_waiting_max: usize, inner: Arc<C>) -> Self {
        Self { line: Arc::new(Line::new(Box::new(gather), changes_waiting_max.max(1))), inner }
    }
}

/// Who waits, and for what.
#[derive(Debug)]
struct Line {
    queue: Mutex<Queue>,
    /// One for each change that waits or is being committed.
    places: Arc<Semaphore>,
    places_max: usize,
    /// Somebody came while more were waited for.
    came: Notify,
}

#[derive(Debug)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Of all that wait.
    changes: usize,
    /// Whether somebody commits what waits.
    is_driven: bool,
    gather: Box<dyn Gather>,
    last: Option<LastCommit>,
}

type Committed = Result<Vec<Outcome>, CatalogError>;

/// Changes of one caller.
#[derive(Debug)]
struct Waiting {
    now_ms: u64,
    changes: Vec<Change>,
    since: Instant,
    caller: Caller,
}

/// Who waits for an answer.
#[derive(Debug)]
struct Caller {
    changes: usize,
    answer: oneshot::Sender<Committed>,
    _places: OwnedSemaphorePermit,
}

/// What is committed together.
#[derive(Debug, Default)]
struct Group {
    now_ms: u64,
    changes: Vec<Change>,
    callers: Vec<Caller>,
}

enum Next {
    Commit(Group),
    Wait(Duration),
}

impl Line {
    fn new(gather: Box<dyn Gather>, places_max: usize) -> Self {
        let waiting = VecDeque::new();
        let queue = Queue { waiting, changes: 0, is_driven: false, gather, last: None };
        let places = Arc::new(Semaphore::new(places_max));
        Self { queue: Mutex::new(queue), places, places_max, came: Notify::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; whether nobody commits yet, so that the one who added it must.
    fn enter(&self, waiting: Waiting) -> bool {
        let mut queue = self.queue();
        queue.changes += waiting.changes.len();
        queue.waiting.push_back(waiting);
        let must_be_driven = !std::mem::replace(&mut queue.is_driven, true);
        drop(queue);
        if !must_be_driven {
            self.came.notify_one();
        }
        must_be_driven
    }

    /// The next group, once the policy says so.
    async fn next(&self) -> Group {
        loop {
            let wait = match self.queue().next(ripstop_host::now()) {
                Next::Commit(group) => return group,
                Next::Wait(wait) => wait,
            };
            // Whether somebody came in this time is the policy's to judge.
            drop(tokio::time::timeout(wait, self.came.notified()).await);
        }
    }

    /// Notes what a commit cost; whether nobody waits, and the line is no longer driven.
    fn ended(&self, last: LastCommit) -> bool {
        let mut queue = self.queue();
        queue.last = Some(last);
        queue.is_driven = !queue.waiting.is_empty();
        !queue.is_driven
    }
}

impl Queue {
    fn next(&mut self, now: Instant) -> Next {
        let since = self.waiting.front().map_or(now, |first| first.since);
        let waited = now.saturating_duration_since(since);
        let (callers, changes, last) = (self.waiting.len(), self.changes, self.last);
        let verdict = self.gather.gather(&Gathered { callers, changes, waited, last });
        match (verdict, GATHERING_MAX.saturating_sub(waited)) {
            (Verdict::Commit { changes_max }, _) => Next::Commit(self.group(changes_max)),
            (Verdict::Wait(_), Duration::ZERO) => Next::Commit(self.group(usize::MAX)),
            (Verdict::Wait(wait), left) => Next::Wait(wait.min(left)),
        }
    }

    fn group(&mut self, changes_max: usize) -> Group {
        let mut group = Group::default();
        while let Some(waiting) = self.waiting.pop_front() {
            group.now_ms = group.now_ms.max(waiting.now_ms);
            group.changes.extend(waiting.changes);
            group.callers.push(waiting.caller);
            if group.changes.len() >= changes_max {
                break;
            }
        }
        self.changes -= group.changes.len();
        group
    }
}

/// That somebody commits what waits. If that ends before its time, with its runtime perhaps, those
/// that wait are told.
struct Driving {
    line: Arc<Line>,
    is_over: bool,
}

impl Drop for Driving {
    fn drop(&mut self) {
        if !self.is_over {
            let mut queue = self.line.queue();
            (queue.is_driven, queue.changes) = (false, 0);
            queue.waiting.clear();
        }
    }
}

/// Commits group after group until nobody waits any more.
async fn drive<C: Catalog + ?Sized>(line: Arc<Line>, inner: Arc<C>) {
    let mut driving = Driving { line, is_over: false };
    loop {
        // Those that were answered together ask again together: they come before the next group is
        // closed, not one of them before all others.
        tokio::task::yield_now().await;
        let Group { now_ms, changes, callers } = driving.line.next().await;
        let (begun, count) = (ripstop_host::now(), changes.len());
        let committed = inner.commit(now_ms, changes).await;
        let took = ripstop_host::since(begun);
        driving.is_over = driving.line.ended(LastCommit { changes: count, took });
        if driving.is_over {
            // Who was answered last may drop the catalog and open its file again at once.
            drop((inner, driving));
            return answer(callers, committed);
        }
        answer(callers, committed);
    }
}

type Drive = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A caller that came while nobody committed: it does so itself, which spares it a task's waking,
/// until it has its answer or gives up. A task goes on from there.
struct Leading {
    driving: Option<Drive>,
    answered: oneshot::Receiver<Committed>,
}

impl Future for Leading {
    type Output = Committed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Committed> {
        if self.driving.as_mut().is_some_and(|driving| driving.as_mut().poll(context).is_ready()) {
            self.driving = None;
        }
        self.answered.poll_unpin(context).map(|answer| answer.map_err(broken_off)?)
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        // Without a runtime nothing goes on: those that wait are told.
        if let Some(driving) = self.driving.take()
            && Handle::try_current().is_ok()
        {
            ripstop_host::spawn(driving);
        }
    }
}

fn broken_off(_: RecvError) -> CatalogError {
    CatalogError::Unavailable("committing was broken off".into())
}

fn answer(callers: Vec<Caller>, committed: Committed) {
    // A caller that has gone needs no answer; its changes stand all the same.
    let tell = |caller: Caller, answer: Committed| drop(caller.answer.send(answer));
    match committed {
        Ok(outcomes) => {
            let mut outcomes = outcomes.into_iter();
            for caller in callers {
                let own = outcomes.by_ref().take(caller.changes).collect();
                tell(caller, Ok(own));
            }
        }
        Err(CatalogError::Corrupt { reason }) => {
            for (caller, reason) in callers.into_iter().zip(iter::repeat(reason)) {
                tell(caller, Err(CatalogError::Corrupt { reason }));
            }
        }
        Err(error) if callers.len() == 1 => {
            callers.into_iter().zip([error]).for_each(|(caller, error)| tell(caller, Err(error)));
        }
        Err(error) => {
            let error = Arc::new(error);
            for caller in callers {
                tell(caller, Err(CatalogError::Unavailable(Box::new(Arc::clone(&error)))));
            }
        }
    }
}

#[async_trait]
impl<C: Catalog + ?Sized + 'static> Catalog for Grouped<C> {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        let count = changes.len();
        let places = u32::try_from(count.clamp(1, self.line.places_max)).unwrap_or(u32::MAX);
        let places = Arc::clone(&self.line.places).acquire_many_owned(places).await;
        let _places = places.expect("the semaphore is never closed");
        let (answer, answered) = oneshot::channel();
        let caller = Caller { changes: count, answer, _places };
        let waiting = Waiting { now_ms, changes, since: ripstop_host::now(), caller };
        if !self.line.enter(waiting) {
            return answered.await.map_err(broken_off)?;
        }
        let driving: Drive = Box::pin(drive(Arc::clone(&self.line), Arc::clone(&self.inner)));
        Leading { driving: Some(driving), answered }.await
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        self.inner.read(query).await
    }
}

#[async_trait]
impl<C: Audited + ?Sized + 'static> Audited for Grouped<C> {
    async fn audit(&self) -> Result<Audit, CatalogError> {
        self.inner.audit().await
    }
}
