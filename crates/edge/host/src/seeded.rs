//! A host made from a seed.

use crate::now;
use ripstop_delay::Dice;
use std::{
    cell::RefCell,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Instant, SystemTime},
};
use tokio::{runtime, sync::Notify};

/// Hosts that there are. While it is 0, nobody asks which one is the caller's.
static HOSTS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The one on which this thread takes a step.
    static CURRENT: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// The caller's host; none outside a rehearsal.
#[inline]
pub(crate) fn current() -> Option<Host> {
    if HOSTS.load(Ordering::Relaxed) == 0 {
        return None;
    }
    // At the thread's very end there is none.
    CURRENT.try_with(|current| current.borrow().clone()).unwrap_or_default()
}

/// What one gateway of a rehearsal runs on. Several, each with a wall clock and dice of its own,
/// may share a runtime, and with it the steady clock.
#[derive(Clone, Debug)]
pub struct Host(Arc<Seeded>);

#[derive(Debug)]
struct Seeded {
    dice: Mutex<Dice>,
    wall: Mutex<Wall>,
    has_threads: bool,
    /// Steps taken so far, and after how many none is taken any more.
    taken: AtomicU64,
    last: AtomicU64,
    ended: Notify,
}

/// What the wall clock showed, and when.
#[derive(Clone, Copy, Debug)]
struct Wall {
    shown: SystemTime,
    at: Instant,
}

fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    /// A host whose dice are the seed's and whose wall clock shows `wall`. To be made in
    /// [`rehearse`].
    pub fn new(seed: u64, wall: SystemTime) -> Self {
        Self::made(seed, wall, false)
    }

    /// One that has threads beside the one that tasks are played on: for what one waits for while
    /// it asks the other. Only where each waits for the other is it played again from its seed.
    pub fn with_threads(seed: u64, wall: SystemTime) -> Self {
        Self::made(seed, wall, true)
    }

    fn made(seed: u64, wall: SystemTime, has_threads: bool) -> Self {
        HOSTS.fetch_add(1, Ordering::Relaxed);
        let wall = Wall { shown: wall, at: now() };
        Self(Arc::new(Seeded {
            dice: Mutex::new(Dice::new(seed)),
            wall: Mutex::new(wall),
            has_threads,
            taken: AtomicU64::new(0),
            last: AtomicU64::new(u64::MAX),
            ended: Notify::new(),
        }))
    }

    /// Ends the host as a kill does, after this many steps of tasks, counted from its beginning:
    /// none that comes later is taken.
    pub fn end_after(&self, steps: u64) {
        self.0.last.store(steps, Ordering::Relaxed);
    }

    /// Steps of tasks that were taken.
    pub fn taken(&self) -> u64 {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Waits until a step was due after the last. To be awaited elsewhere than on the host.
    pub async fn has_ended(&self) {
        self.0.ended.notified().await;
    }

    pub(crate) fn has_threads(&self) -> bool {
        self.0.has_threads
    }

    /// Counts a step; whether it is to be taken.
    pub(crate) fn steps(&self) -> bool {
        if self.taken() >= self.0.last.load(Ordering::Relaxed) {
            self.0.ended.notify_one();
            return false;
        }
        self.0.taken.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Sets the wall clock, as an operator or a time server does. The steady clock goes on.
    pub fn set_wall(&self, shown: SystemTime) {
        *lock(&self.0.wall) = Wall { shown, at: now() };
    }

    /// Runs a future on this host, and whatever it spawns.
    pub fn run<F: Future>(&self, future: F) -> crate::Carried<F> {
        self.within(|| crate::carried(future))
    }

    /// What the wall clock shows.
    pub fn wall(&self) -> SystemTime {
        let Wall { shown, at } = *lock(&self.0.wall);
        shown + now().saturating_duration_since(at)
    }

    pub(crate) fn fill(&self, bytes: &mut [u8]) {
        let mut dice = lock(&self.0.dice);
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&dice.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }

    /// Acts on this host.
    pub(crate) fn within<T>(&self, act: impl FnOnce() -> T) -> T {
        // What panics leaves the one before behind, too.
        let _before = Before(CURRENT.replace(Some(self.clone())));
        act()
    }
}

impl Drop for Seeded {
    fn drop(&mut self) {
        HOSTS.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Before(Option<Host>);

impl Drop for Before {
    fn drop(&mut self) {
        let one = CURRENT.replace(mem::take(&mut self.0));
        drop(one);
    }
}

/// Plays a future and all that it spawns on one thread, under a clock that moves only while every
/// task waits, and then at once to the earliest time that one waits for.
///
/// # Panics
///
/// Within another runtime, or if what is played panics.
pub fn rehearse<F: Future>(future: F) -> F::Output {
    let runtime = runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime of one thread takes nothing that could lack").block_on(future)
}
