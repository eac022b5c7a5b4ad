//! How nodes behave.

use crate::plan::Fault;

/// How a node behaves in one session.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Manner {
    pub(crate) slow: u32,
    pub(crate) errors: u32,
    pub(crate) lost_answers: u32,
    pub(crate) stalls: u32,
    pub(crate) flips: u32,
    pub(crate) swaps: u32,
    pub(crate) rot: u32,
    pub(crate) truncation: u32,
    pub(crate) lies: u32,
    pub(crate) is_late: bool,
    pub(crate) is_full: bool,
}

impl Manner {
    /// That of a node under these faults.
    pub(crate) fn of(node: usize, victim: usize, faults: &[(u64, Fault)]) -> Self {
        let mut manner = Self::default();
        for (_, fault) in faults {
            match *fault {
                Fault::Slow(at, factor) if at == node => manner.slow = factor,
                Fault::Errors(at, often) if at == node => manner.errors += often,
                Fault::LostAnswers(at, often) if at == node => manner.lost_answers += often,
                Fault::Stalls(at, often) if at == node => manner.stalls += often,
                Fault::Flips(at, often) if at == node => manner.flips += often,
                Fault::Swaps(at, often) if at == node => manner.swaps += often,
                Fault::LateListing(at) if at == node => manner.is_late = true,
                Fault::Full(at) if at == node => manner.is_full = true,
                Fault::Rot(often) if node == victim => manner.rot += often,
                Fault::Truncation(often) if node == victim => manner.truncation += often,
                Fault::Lies(often) if node == victim => manner.lies += often,
                Fault::Slow(..)
                | Fault::Errors(..)
                | Fault::LostAnswers(..)
                | Fault::Stalls(..)
                | Fault::Flips(..)
                | Fault::Swaps(..)
                | Fault::LateListing(_)
                | Fault::Full(_)
                | Fault::Rot(_)
                | Fault::Truncation(_)
                | Fault::Lies(_)
                | Fault::Down(..)
                | Fault::Wipe(_)
                | Fault::NodePower(..)
                | Fault::Wall(..)
                | Fault::Cuts(_)
                | Fault::Lags(_)
                | Fault::Check(_)
                | Fault::Move(..) => {}
            }
        }
        manner
    }
}
