//! A host made from a seed.

use crate::now;
use ripstop_delay::Dice;
use std::{
    cell::RefCell,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Instant, SystemTime},
};
use tokio::runtime;

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
        HOSTS.fetch_add(1, Ordering::Relaxed);
        let wall = Wall { shown: wall, at: now() };
        Self(Arc::new(Seeded { dice: Mutex::new(Dice::new(seed)), wall: Mutex::new(wall) }))
    }

    /// Sets the wall clock, as an operator or a time server does. The steady clock goes on.
    pub fn set_wall(&self, shown: SystemTime) {
        *lock(&self.0.wall) = Wall { shown, at: now() };
    }

    /// Runs a future on this host, and whatever it spawns.
    pub fn run<F: Future>(&self, future: F) -> crate::Carried<F> {
        self.within(|| crate::carried(future))
    }

    pub(crate) fn wall(&self) -> SystemTime {
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
