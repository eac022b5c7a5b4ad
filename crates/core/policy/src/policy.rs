use crate::Redundancy;
use core::{fmt::Debug, time::Duration};
use ripstop_delay::ShiftedExponential;
use ripstop_estimator::Sample;
use ripstop_model::{Code, Operation, Timestamp};

/// Chooses the code of each request when it arrives.
pub trait Policy: Send + Debug {
    /// The code for a request of `class` that arrives `now` and sees `load`.
    fn choose(&mut self, now: Timestamp, class: &RequestClass, load: Load) -> Choice;

    /// Takes note of how long a task took; most policies need not know.
    fn learn(&mut self, _now: Timestamp, _sample: &Sample) {}

    /// Takes note of how long a task that was told to stop kept its lane all the same.
    fn learn_stopping(&mut self, _took: Duration) {}

    /// The delay model that it goes by, given or learned; most have none.
    fn delay_model(&self, _operation: Operation) -> Option<ShiftedExponential> {
        None
    }
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestClass {
    /// Read or write.
    pub operation: Operation,
    /// Bytes that a task moves for one strip.
    pub strip_bytes: u32,
    /// The storage code (N,K) of the stripe.
    pub code: Code,
    /// What a task may move.
    pub chunking: Chunking,
}

/// What one task may move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Chunking {
    /// One strip: each is somewhere else, so k is the storage code's K.
    #[default]
    Strip,
    /// A run of K/k strips, for any k that divides K: the strips lie beside one another.
    Run,
}

impl Chunking {
    /// Whether tasks with this code can serve a stripe stored with that one.
    pub fn serves(self, stored: Code, code: Code) -> bool {
        let is_k = match self {
            Self::Strip => code.k() == stored.k(),
            Self::Run => stored.k().is_multiple_of(code.k()),
        };
        is_k && code.n() <= stored.n() * code.k() / stored.k()
    }
}

impl RequestClass {
    /// Bytes of the K strips together: J in TOFEC.
    pub fn bytes(&self) -> u64 {
        u64::from(self.strip_bytes) * self.code.k() as u64
    }

    /// Sizes that agree in the first five binary digits, and so are within 6 % of each other, have
    /// the same number.
    pub(crate) fn size_kind(&self) -> u64 {
        (self.bytes() as f64).to_bits() >> 48
    }

    /// Bytes of a chunk under a code with this k.
    pub fn chunk_bytes(&self, k: usize) -> u64 {
        self.bytes() / k as u64
    }

    /// The largest possible k that is not above this one (the smallest possible, if all are).
    pub fn k_below(&self, k: usize) -> usize {
        match self.chunking {
            Chunking::Strip => self.code.k(),
            Chunking::Run => {
                let all = self.code.k();
                (1..=k.clamp(1, all)).rev().find(|&k| all.is_multiple_of(k)).unwrap_or(1)
            }
        }
    }

    /// Each possible k, ascending.
    pub fn ks(&self) -> impl Iterator<Item = usize> + use<> {
        let (all, chunking) = (self.code.k(), self.chunking);
        (1..=all).filter(move |&k| match chunking {
            Chunking::Strip => k == all,
            Chunking::Run => all.is_multiple_of(k),
        })
    }

    /// Chunks there are under a code with this possible k: the most that can be asked for.
    pub fn n_max(&self, k: usize) -> usize {
        self.code.n() * k / self.code.k()
    }

    /// The possible code nearest to (n,k): k as in [`Self::k_below`], n then between k and what
    /// there is.
    pub fn nearest(&self, n: usize, k: usize) -> Code {
        let k = self.k_below(k);
        Code::new(n.clamp(k, self.n_max(k)), k).expect("k ≤ n ≤ 255, as N is")
    }
}

/// What a request sees when it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Load {
    /// Requests in the request queue, this one not counted.
    pub backlog: usize,
    /// Lanes of the nodes that are up.
    pub lanes: usize,
    /// Those of them that are idle.
    pub lanes_idle: usize,
    /// Those of them on which a redundant task runs.
    pub lanes_redundant: usize,
    /// Tasks that wait for a lane and are needed.
    pub tasks_waiting: usize,
    /// Requests that have left the queue and are not answered yet.
    pub serving: usize,
}

/// How a request is to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// n tasks, any k of which suffice.
    pub code: Code,
    /// How the n − k tasks beyond the needed ones run.
    pub redundancy: Redundancy,
}
