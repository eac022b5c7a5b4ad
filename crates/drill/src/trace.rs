//! Everything that happens in a drill, in its order, as one number.

use std::{
    fmt::{self, Write as _},
    hash::Hasher as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use twox_hash::XxHash3_64;

/// What a drill wrote down. Two runs of one seed write the same.
pub(crate) struct Trace {
    state: Mutex<State>,
}

struct State {
    hash: XxHash3_64,
    steps: u64,
    until: u64,
    /// Since when times are told.
    begun: Option<Instant>,
    /// The latest line; its room is used again.
    line: String,
    lines: Option<Vec<String>>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Trace {
    /// An empty one, which ends with step number `until`; it keeps its lines if told to.
    pub(crate) fn new(until: Option<u64>, keeps: bool) -> Self {
        let state = State {
            hash: XxHash3_64::new(),
            steps: 0,
            until: until.unwrap_or(u64::MAX),
            begun: None,
            line: String::new(),
            lines: keeps.then(Vec::new),
        };
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on times are told since now.
    pub(crate) fn begin(&self) {
        self.state().begun = Some(ripstop_host::now());
    }

    /// Writes down what happened now.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        let mut state = self.state();
        if state.steps >= state.until {
            return;
        }
        let at = state.begun.map_or(0, |begun| ripstop_host::since(begun).as_micros());
        let State { hash, line, lines, steps, .. } = &mut *state;
        line.clear();
        write!(line, "{at} {what}").expect("a string takes whatever is written");
        hash.write(line.as_bytes());
        hash.write(b"\n");
        *steps += 1;
        if let Some(lines) = lines {
            lines.push(line.clone());
        }
    }

    /// What was written down so far, as a number, and how many lines it is.
    pub(crate) fn sum(&self) -> (u64, u64) {
        let state = self.state();
        (state.hash.finish(), state.steps)
    }

    /// Its lines, if it kept them.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.state().lines.take().unwrap_or_default()
    }
}
