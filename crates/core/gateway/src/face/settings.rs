use core::{fmt, time::Duration};
use serde::{Deserialize, Serialize};

/// What happens to the tasks of a write that is answered already.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AfterAnswer {
    /// They go on as before.
    #[default]
    Continue,
    /// Those that wait go behind everything else; those that run go on.
    Background,
    /// All are cancelled.
    Cancel,
    /// Those that wait are dropped, to be made later by repair; those that run go on.
    Leave,
}

/// The machine's named limits. [`Default`] gives the documented values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MachineSettings {
    /// Most requests that wait to be started (reads, writes being encoded, writes); one more is
    /// rejected. 1024.
    pub requests_waiting_max: usize,
    /// Most mends that wait; one more is rejected. 1024.
    pub mends_waiting_max: usize,
    /// Most tasks that wait at one node; a node with this many is given no more, and a fragment
    /// that finds no other place is not stored. 256.
    pub tasks_waiting_max: usize,
    /// How long a task may be on its lane before it counts as `Unavailable`. 30 s.
    pub task_timeout: Duration,
    /// How long a request may take from arrival to answer. 60 s.
    pub request_timeout: Duration,
    /// How long a request waits for enough nodes to begin on all at once (or a range read for the
    /// nodes that hold what it wants); after that one idle lane is enough. 10 ms.
    pub patience: Duration,
    /// How long a read waits for its chunks before it fetches others too, as far as nodes are ready
    /// for them; and again as long after that. 1 s.
    pub late_after: Duration,
    /// How often one fragment is tried, the first time included. 3.
    pub tries_max: u8,
    /// f: a write is answered when K + f fragments are durable. 1.
    pub answer_extra: u8,
    /// The least f with which a write may be answered when more cannot be had. 0.
    pub answer_extra_min: u8,
    /// How long a write that has K + `answer_extra_min` fragments durable waits for more. 2 s.
    pub degraded_after: Duration,
    /// What happens to the tasks of an answered write. Continue.
    pub after_answer: AfterAnswer,
    /// Most bytes of tasks that wait although their writes are answered: what is beyond it is
    /// dropped, to be made later by repair, so that a slow node does not end up holding all memory.
    /// 64 MiB.
    pub left_bytes_max: u64,
    /// How often a node that is down is probed; a node that refused a write is chosen last for as
    /// long. 1 s.
    pub probe_every: Duration,
    /// How many tasks in a row must end `Unavailable` at a node to take it out of service. 3.
    pub failures_to_down: u32,
}

impl Default for MachineSettings {
    fn default() -> Self {
        Self {
            requests_waiting_max: 1024,
            mends_waiting_max: 1024,
            tasks_waiting_max: 256,
            task_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_mins(1),
            patience: Duration::from_millis(10),
            late_after: Duration::from_secs(1),
            tries_max: 3,
            answer_extra: 1,
            answer_extra_min: 0,
            degraded_after: Duration::from_secs(2),
            after_answer: AfterAnswer::Continue,
            left_bytes_max: 64 << 20,
            probe_every: Duration::from_secs(1),
            failures_to_down: 3,
        }
    }
}

/// Settings with which the machine could not work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingsError {
    /// This limit must be at least 1 (a duration: longer than zero).
    Zero(&'static str),
    /// This limit must be at most that.
    TooLarge(&'static str, usize),
    /// `answer_extra_min` is more than `answer_extra`.
    ExtraMin {
        /// What `answer_extra_min` is.
        min: u8,
        /// What `answer_extra` is.
        extra: u8,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(name) => write!(f, "{name} must be more than zero"),
            Self::TooLarge(name, max) => write!(f, "{name} must be at most {max}"),
            Self::ExtraMin { min, extra } => {
                write!(f, "answer_extra_min ({min}) must not exceed answer_extra ({extra})")
            }
        }
    }
}

impl core::error::Error for SettingsError {}

/// Most requests or tasks that a queue can be set to hold.
const QUEUE_MAX: usize = 1 << 20;

impl MachineSettings {
    /// Whether the machine can work with these.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let counts = [
            ("requests_waiting_max", self.requests_waiting_max),
            ("mends_waiting_max", self.mends_waiting_max),
            ("tasks_waiting_max", self.tasks_waiting_max),
            ("tries_max", usize::from(self.tries_max)),
            ("failures_to_down", self.failures_to_down as usize),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(SettingsError::Zero(name));
            }
            if count > QUEUE_MAX {
                return Err(SettingsError::TooLarge(name, QUEUE_MAX));
            }
        }
        let spans = [
            ("task_timeout", self.task_timeout),
            ("request_timeout", self.request_timeout),
            ("late_after", self.late_after),
            ("probe_every", self.probe_every),
        ];
        for (name, span) in spans {
            if span.is_zero() {
                return Err(SettingsError::Zero(name));
            }
        }
        if self.answer_extra_min > self.answer_extra {
            let (min, extra) = (self.answer_extra_min, self.answer_extra);
            return Err(SettingsError::ExtraMin { min, extra });
        }
        Ok(())
    }
}
