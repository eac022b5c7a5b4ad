//! How many requests servers of different capacity take, found in one walk along the arrivals.
//!
//! With equal costs all rules are thresholds on the backlog, so that a server is three numbers and
//! a step is a product, a difference, two comparisons and a sum: the same for all, without
//! branches. All quantities are whole numbers that a 64-bit float holds exactly; a server for which
//! that does not hold is walked in 128-bit integers instead.

use crate::{
    Arrivals, Rule,
    backlog::{Backlog, SCALE},
};
use alloc::{vec, vec::Vec};

/// Lanes walked at once: enough that the steps of one hide the latency of the others.
const LANES: usize = 8;
/// Arrivals between changes of lanes.
const BLOCK: usize = 512;
/// Whole numbers up to this are exact as 64-bit floats.
const EXACT: u128 = 1 << 53;

/// A server of requests that cost one unit of work each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Server {
    pub(crate) rule: Rule,
    pub(crate) bound_ns: u64,
    /// Units of work a second.
    pub(crate) capacity: u64,
}

impl Server {
    pub(crate) const fn limit(&self) -> Option<u128> {
        self.rule.limit(self.capacity, self.bound_ns, 1)
    }

    /// Whether each request is taken, in the order of arrival: the plain rule.
    pub(crate) fn takes(self, arrivals: Arrivals<'_>) -> impl Iterator<Item = bool> {
        let limit = self.limit();
        let mut backlog = Backlog::default();
        arrivals.times().iter().map(move |now| {
            backlog.drain(*now, self.capacity);
            let takes = limit.is_some_and(|limit| backlog.work <= limit);
            if takes {
                backlog.add(1);
            }
            takes
        })
    }
}

/// How many requests each server takes.
pub(crate) fn taken(arrivals: Arrivals<'_>, servers: &[Server]) -> Vec<u64> {
    let mut taken = vec![0; servers.len()];
    let mut lanes = Vec::new();
    let backlog_max = u128::from(arrivals.count().saturating_sub(1)) * SCALE;
    for (at, server) in servers.iter().enumerate() {
        let Some(limit) = server.limit() else { continue };
        if limit >= backlog_max {
            taken[at] = arrivals.count();
        } else if limit + SCALE <= EXACT {
            lanes.push((at, server.capacity as f64, limit as f64));
        } else {
            taken[at] = server.takes(arrivals).filter(|takes| *takes).count() as u64;
        }
    }
    let mut groups: Vec<Group> = lanes.chunks(LANES).map(Group::new).collect();
    walk(arrivals, &mut groups);
    for (group, lanes) in groups.iter().zip(lanes.chunks(LANES)) {
        for (work, (at, ..)) in group.taken.iter().zip(lanes) {
            taken[*at] = (work / SCALE as f64) as u64;
        }
    }
    taken
}

/// Some servers side by side.
struct Group {
    rate: [f64; LANES],
    limit: [f64; LANES],
    backlog: [f64; LANES],
    /// The work taken; exact as long as the number of requests is, because its factor 2⁹ is free.
    taken: [f64; LANES],
}

impl Group {
    fn new(servers: &[(usize, f64, f64)]) -> Self {
        let (rate, backlog) = ([0.0; LANES], [0.0; LANES]);
        let mut group = Self { rate, limit: [-1.0; LANES], backlog, taken: [0.0; LANES] };
        for (lane, (_, rate, limit)) in servers.iter().enumerate() {
            (group.rate[lane], group.limit[lane]) = (*rate, *limit);
        }
        group
    }

    /// Walks on by arrivals that come this many nanoseconds after each other.
    ///
    /// Where a product is too large to be exact it is larger than any backlog, and the difference
    /// counts as nothing all the same.
    fn advance(&mut self, gaps: &[f64]) {
        let Self { rate, limit, mut backlog, mut taken } = *self;
        for gap in gaps {
            for lane in 0..LANES {
                let left = backlog[lane] - gap * rate[lane];
                let left = if left > 0.0 { left } else { 0.0 };
                let work = if left <= limit[lane] { SCALE as f64 } else { 0.0 };
                backlog[lane] = left + work;
                taken[lane] += work;
            }
        }
        (self.backlog, self.taken) = (backlog, taken);
    }
}

fn walk(arrivals: Arrivals<'_>, groups: &mut [Group]) {
    if groups.is_empty() {
        return;
    }
    let mut last = arrivals.first().as_nanos();
    let mut gaps = [0.0; BLOCK];
    for block in arrivals.times().chunks(BLOCK) {
        for (gap, now) in gaps.iter_mut().zip(block) {
            *gap = (now.as_nanos() - last).min(i64::MAX as u64).cast_signed() as f64;
            last = now.as_nanos();
        }
        for group in &mut *groups {
            group.advance(&gaps[..block.len()]);
        }
    }
}
