use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// What is asked of a key service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KmsCall {
    /// To seal a wrapping key.
    Encrypt,
    /// To open one.
    Decrypt,
    /// What a key is.
    LookUp,
    /// To be let in.
    LogIn,
}

impl KmsCall {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Encrypt, Self::Decrypt, Self::LookUp, Self::LogIn];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
            Self::LookUp => "look_up",
            Self::LogIn => "log_in",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    Done,
    Refused,
    Unavailable,
}

#[derive(Debug, Default)]
struct OfCall {
    done: AtomicU64,
    refused: AtomicU64,
    unavailable: AtomicU64,
    ns: AtomicU64,
}

/// What was asked, and how it ended.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    calls: [OfCall; 4],
    pub(crate) found: AtomicU64,
    pub(crate) turned_away: AtomicU64,
}

/// What was asked of a key service since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KmsReading {
    /// Of each call: how often it was answered, refused, or not answered; and how long all took.
    pub calls: Vec<(KmsCall, [u64; 3], Duration)>,
    /// Keys that were in memory, and so not asked for.
    pub found: u64,
    /// What was not asked since the service had not answered just before, or too much waited.
    pub turned_away: u64,
    /// Opened keys in memory now.
    pub cached: usize,
}

impl Counts {
    pub(crate) fn count(&self, call: KmsCall, ended: Ended, took: Duration) {
        let of_call = &self.calls[call as usize];
        let count = match ended {
            Ended::Done => &of_call.done,
            Ended::Refused => &of_call.refused,
            Ended::Unavailable => &of_call.unavailable,
        };
        count.fetch_add(1, Relaxed);
        of_call.ns.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    pub(crate) fn read(&self, cached: usize) -> KmsReading {
        let calls = KmsCall::ALL.map(|call| {
            let OfCall { done, refused, unavailable, ns } = &self.calls[call as usize];
            let ends = [done, refused, unavailable].map(|count| count.load(Relaxed));
            (call, ends, Duration::from_nanos(ns.load(Relaxed)))
        });
        KmsReading {
            calls: calls.into(),
            found: self.found.load(Relaxed),
            turned_away: self.turned_away.load(Relaxed),
            cached,
        }
    }
}
