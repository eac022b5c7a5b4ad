//! What changes do to rows: the one copy of a catalog's rules.
//!
//! Every rule looks at all that it needs before it writes anything, so a refused change leaves no
//! trace among its neighbours.

mod bucket;
mod draft;
mod fragment;
mod gateway;
mod lease;
mod object;
mod session;
mod stop;
mod telling;
mod turnover;
mod upload;

use crate::{Change, Outcome, Rows, Writes};
use alloc::vec::Vec;
use draft::Decision;
use stop::Stop;

/// Decides what becomes of changes that are committed together at `now_ms` (milliseconds since
/// 1970): the outcome of each, and what is to be written for all of them. Later changes see what
/// earlier ones wrote. Fails only where `rows` do.
pub fn decide<'a, R: Rows>(
    rows: &R,
    now_ms: u64,
    changes: &'a [Change],
) -> Result<(Vec<Outcome>, Writes<'a>), R::Error> {
    let mut decision = Decision::new(rows);
    let mut outcomes = Vec::with_capacity(changes.len());
    for change in changes {
        outcomes.push(match decision.apply(now_ms, change) {
            Ok(applied) => Ok(applied),
            Err(Stop::Refused(refusal)) => Err(refusal),
            Err(Stop::Failed(error)) => return Err(error),
        });
    }
    Ok((outcomes, decision.writes))
}
