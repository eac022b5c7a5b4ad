#[cfg(test)]
mod tests;

use crate::NodeError;
use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// How long a thread without work waits for some before it ends.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// A job that a thread has had for longer is stuck.
pub(super) const STUCK_AFTER: Duration = Duration::from_secs(10);

/// With every thread at one job for longer, no more are taken: a slow disk is given this long.
const REFUSED_AFTER: Duration = Duration::from_secs(30);

/// Threads that may block, for one purpose of one node: a disk that hangs takes these and no
/// others.
///
/// They are started as work comes and end when there is none. Nobody waits for them: those that a
/// disk holds when the process ends, end with it.
pub(super) struct Threads {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    threads_max: usize,
    waiting_max: usize,
    state: Mutex<State>,
    work: Condvar,
}

type Job = Box<dyn FnOnce() + Send>;

/// Which job, in the order in which they were handed in.
type Ticket = u64;

#[derive(Default)]
struct State {
    handed_in: Ticket,
    /// By ticket, ascending.
    waiting: VecDeque<(Ticket, Job)>,
    running: Vec<(Ticket, Instant)>,
    threads: usize,
    /// Threads that wait for work, those included that were woken and have not come yet.
    idle: usize,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_thread(self: &Arc<Self>) -> Result<(), NodeError> {
        let shared = Arc::clone(self);
        let started = ripstop_host::thread(self.name, move || shared.serve());
        let Err(error) = started else { return Ok(()) };
        let mut state = self.state();
        state.threads -= 1;
        // Those that run take up what waits; without any, nobody would.
        if state.threads > 0 {
            return Ok(());
        }
        drop(state);
        Err(NodeError::Unavailable { reason: format!("no thread for the node's disk: {error}") })
    }

    /// The life of a thread.
    fn serve(&self) {
        let mut state = self.state();
        loop {
            if let Some((ticket, job)) = state.waiting.pop_front() {
                state.running.push((ticket, ripstop_host::now()));
                drop(state);
                // A panic ends the job, not the thread.
                let _ = panic::catch_unwind(AssertUnwindSafe(job));
                state = self.state();
                state.running.retain(|(at, _)| *at != ticket);
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, IDLE_MAX);
            let (woken, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.waiting.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }
}

impl State {
    /// Jobs that have been under way for longer than `time`, and for how long the first of them
    /// has.
    fn stuck(&self, time: Duration) -> (usize, Option<Duration>) {
        let ages = self.running.iter().map(|(_, start)| ripstop_host::since(*start));
        let stuck = ages.filter(|age| *age > time);
        stuck.fold((0, None), |(count, oldest), age| (count + 1, oldest.max(Some(age))))
    }

    fn all_stuck(&self, threads_max: usize) -> Result<(), NodeError> {
        if self.running.len() < threads_max {
            return Ok(());
        }
        match self.stuck(REFUSED_AFTER) {
            (stuck, Some(oldest)) if stuck >= threads_max => {
                let for_s = oldest.as_secs();
                let reason = format!("all {stuck} threads have been stuck for {for_s} s");
                Err(NodeError::Unavailable { reason })
            }
            (_, Some(_) | None) => Ok(()),
        }
    }
}

impl Threads {
    /// At most `threads_max` threads of this name; beyond `waiting_max` jobs that wait for one, a
    /// job is refused.
    pub(super) fn new(name: &'static str, threads_max: usize, waiting_max: usize) -> Self {
        let state = Mutex::default();
        let shared = Shared { name, threads_max, waiting_max, state, work: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Runs a job and answers what it does; [`NodeError::Unavailable`] if it is not done `within`
    /// this time, at once if every thread is stuck. Dropped before a thread took it up, the job
    /// never runs; afterwards it runs to its end.
    ///
    /// # Panics
    /// If the job does.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        within: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NodeError> {
        let (answer, answered) = oneshot::channel::<Result<T, Box<dyn Any + Send>>>();
        let job = move || {
            let outcome = panic::catch_unwind(AssertUnwindSafe(job));
            // The caller may have gone.
            let _ = answer.send(outcome);
        };
        let handed_in = self.begin(job, true)?;
        let unavailable = |reason| Err(NodeError::Unavailable { reason });
        let ended = tokio::time::timeout(within, answered).await;
        if ended.is_ok() {
            handed_in.keep();
        }
        match ended {
            Ok(Ok(Ok(done))) => Ok(done),
            Ok(Ok(Err(panic))) => panic::resume_unwind(panic),
            Ok(Err(_)) => unavailable("the node is being closed".into()),
            Err(_) => unavailable(format!("no answer within {} s", within.as_secs())),
        }
    }

    /// Has a job done as soon as a thread is free. Dropping what is returned withdraws it if it has
    /// not begun.
    pub(super) fn hand_in(
        &self,
        job: impl FnOnce() + Send + 'static,
    ) -> Result<HandedIn<'_>, NodeError> {
        self.begin(job, false)
    }

    fn begin(
        &self,
        job: impl FnOnce() + Send + 'static,
        refuse_if_stuck: bool,
    ) -> Result<HandedIn<'_>, NodeError> {
        let shared = &self.shared;
        let mut state = shared.state();
        if refuse_if_stuck {
            state.all_stuck(shared.threads_max)?;
        }
        if state.waiting.len() >= shared.waiting_max {
            let waiting = state.waiting.len();
            return Err(NodeError::Unavailable { reason: self.overrun(&state, waiting) });
        }
        let ticket = state.handed_in;
        state.handed_in += 1;
        state.waiting.push_back((ticket, Box::new(job)));
        let handed_in = HandedIn { shared, ticket };
        if state.waiting.len() <= state.idle {
            drop(state);
            shared.work.notify_one();
        } else if state.threads < shared.threads_max {
            state.threads += 1;
            drop(state);
            shared.start_thread()?;
        }
        Ok(handed_in)
    }

    fn overrun(&self, state: &State, waiting: usize) -> String {
        let (threads, (stuck, oldest)) = (self.shared.threads_max, state.stuck(STUCK_AFTER));
        let for_s = oldest.map_or(0, |oldest| oldest.as_secs());
        format!("{waiting} wait for {threads} threads, of which {stuck} are stuck, for {for_s} s")
    }

    /// Jobs that threads have had for longer than [`STUCK_AFTER`].
    pub(super) fn stuck(&self) -> usize {
        self.shared.state().stuck(STUCK_AFTER).0
    }

    /// Why no job will be done soon, if every thread there may be is stuck.
    pub(super) fn all_stuck(&self) -> Result<(), NodeError> {
        self.shared.state().all_stuck(self.shared.threads_max)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        // Dropped without the lock: what they hold may be large.
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
        self.shared.work.notify_all();
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").field("max", &self.shared.threads_max).finish_non_exhaustive()
    }
}

/// A job that was handed in; dropped, it is withdrawn if it has not begun.
pub(super) struct HandedIn<'a> {
    shared: &'a Shared,
    ticket: Ticket,
}

impl HandedIn<'_> {
    /// Lets the job be done whether or not anybody waits for it.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for HandedIn<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let found = state.waiting.binary_search_by_key(&self.ticket, |(ticket, _)| *ticket);
        let job = found.ok().and_then(|at| state.waiting.remove(at));
        drop(state);
        drop(job);
    }
}
