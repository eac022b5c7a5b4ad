//! Miser, after Lu, Varman, Doshi, "Decomposing workload bursts for efficient storage resource
//! management" (IEEE TPDS 22(5), 2011), with costs for counts and deadlines for places in a queue.
//!
//! Primary requests are due a bound R after their arrival and are served by deadline. The server is
//! trusted with `C_min` work units per second. A primary request's slack is the work that can still
//! be put before it: `C_min · (deadline − now)` less the work due before it, its own, and all that
//! is in service. A secondary request is served whenever every slack is at least its cost;
//! otherwise the first primary one is. A primary request is accepted only if that leaves no
//! accepted one without slack, which for one flow and unit costs is the paper's limit of
//! `⌊C_min·R⌋` outstanding requests. Secondary flows share by start-time fair queueing.
//!
//! What holds: as long as each of m servers does at least `C_min/m`, no accepted request is late,
//! whatever the secondary flows send. For one server: what was in service when a request came is in
//! its slack, whole, and so is all that is put before it later. For m servers a request's last
//! piece runs at `C_min/m`, for which (m−1) times its cost is kept back. The paper needs
//! `C_min + 1/R` where this needs `C_min`, because it does not count what is in service.
//!
//! What does not hold: a secondary request that uses up slack leaves less room for primary requests
//! that come after, so primary-first accepts some that Miser declines.

use super::{
    FlowId, Terms,
    backlog::{Backlog, Waiting},
    fair::{Fair, head_sequence},
    order::{Exit, Order},
    slack::SlackTree,
};
use alloc::vec::Vec;
use ripstop_model::Timestamp;

/// Slack counts in billionths of a work unit: rates are per second, clocks tick nanoseconds.
const NANO: i128 = 1_000_000_000;

#[derive(Clone, Debug)]
pub(super) struct Miser {
    rate_min: i128,
    servers: i128,
    primary: SlackTree,
    secondary: Fair,
    /// By flow: the deadline of its last primary request; none behind it is due before it.
    due: Vec<Timestamp>,
}

impl Miser {
    pub(super) fn new(rate_min: u64, servers: u32) -> Self {
        Self {
            // A rate and a time of 64 bits each would overflow the product's 127.
            rate_min: i128::from(i64::try_from(rate_min).unwrap_or(i64::MAX)),
            servers: i128::from(servers.max(1)),
            primary: SlackTree::default(),
            secondary: Fair::default(),
            due: Vec::new(),
        }
    }

    fn work_until(&self, at: Timestamp) -> i128 {
        self.rate_min * i128::from(at.as_nanos())
    }

    /// What the costs due by a request's deadline may sum to, counted from the clock's origin.
    fn limit(&self, deadline: Timestamp, cost: u64) -> i128 {
        self.work_until(deadline) - (self.servers - 1) * i128::from(cost) * NANO
    }

    /// What limits have lost to the clock and to what is in service.
    fn used(&self, now: Timestamp, backlog: &Backlog) -> i128 {
        self.work_until(now).saturating_add(i128::from(backlog.serving_cost()) * NANO)
    }

    /// When a primary request of this flow is due; none for a secondary flow.
    fn deadline(&self, backlog: &Backlog, flow: FlowId, arrived: Timestamp) -> Option<Timestamp> {
        let bound = backlog.terms(flow).reservation?.bound;
        let last = self.due.get(usize::from(flow.0)).copied();
        Some((arrived + bound).max(last.unwrap_or(Timestamp::ZERO)))
    }

    /// Queues a request among the primary or the secondary ones.
    fn place(&mut self, backlog: &Backlog, seat: u32) {
        let Waiting { flow, cost, arrived, sequence } = *backlog.waiting(seat);
        if let Some(deadline) = self.deadline(backlog, flow, arrived) {
            let limit = self.limit(deadline, cost);
            self.primary.insert(seat, (deadline, sequence), i128::from(cost) * NANO, limit);
            self.due[usize::from(flow.0)] = deadline;
        } else if backlog.head(flow) == Some(seat) {
            self.secondary.place(flow, Some(sequence));
        }
    }
}

impl Order for Miser {
    fn admits(&self, now: Timestamp, backlog: &Backlog, flow: FlowId, cost: u64) -> bool {
        let Some(deadline) = self.deadline(backlog, flow, now) else { return true };
        let (before, behind) = self.primary.around((deadline, u64::MAX));
        let used = self.used(now, backlog);
        let needed = before.saturating_add(i128::from(cost) * NANO);
        let slack = self.limit(deadline, cost).saturating_sub(used).saturating_sub(needed);
        slack >= 0 && behind.saturating_sub(used) >= i128::from(cost) * NANO
    }

    fn joined(&mut self, _: Timestamp, backlog: &Backlog, seat: u32) {
        self.place(backlog, seat);
    }

    fn choose(&mut self, now: Timestamp, backlog: &Backlog) -> Option<u32> {
        let first = self.primary.first();
        let slack = self.primary.least().map(|least| least.saturating_sub(self.used(now, backlog)));
        let secondary = self.secondary.first().and_then(|flow| backlog.head(flow));
        let lends = |&seat: &u32| {
            let cost = i128::from(backlog.waiting(seat).cost) * NANO;
            slack.is_none_or(|slack| slack >= cost)
        };
        secondary.filter(lends).or(first)
    }

    fn left(&mut self, _: Timestamp, backlog: &Backlog, seat: u32, left: &Waiting, exit: Exit) {
        if backlog.terms(left.flow).reservation.is_some() {
            self.primary.remove(seat);
            if backlog.head(left.flow).is_none() {
                self.due[usize::from(left.flow.0)] = Timestamp::ZERO;
            }
            return;
        }
        if exit == Exit::Served {
            self.secondary.charge(left.flow, left.cost, backlog.terms(left.flow).share);
        }
        self.secondary.place(left.flow, head_sequence(backlog, left.flow));
    }

    fn ended(&mut self, _: Timestamp, backlog: &Backlog, _: FlowId) {
        if backlog.len() == 0 && backlog.serving() == 0 {
            self.secondary.rest();
        }
    }

    fn terms_changed(
        &mut self,
        _: Timestamp,
        backlog: &Backlog,
        flow: FlowId,
        old: Option<&Terms>,
    ) {
        if self.due.len() <= usize::from(flow.0) {
            self.due.resize(usize::from(flow.0) + 1, Timestamp::ZERO);
        }
        let was_primary = old.is_some_and(|old| old.reservation.is_some());
        let is_primary = backlog.flow(flow).is_some_and(|flow| flow.terms.reservation.is_some());
        // What waits keeps its deadline, unless the flow has changed sides.
        if old.is_none() || was_primary == is_primary {
            return;
        }
        self.due[usize::from(flow.0)] = Timestamp::ZERO;
        if was_primary {
            backlog.queue(flow).for_each(|seat| self.primary.remove(seat));
            self.secondary.place(flow, head_sequence(backlog, flow));
        } else {
            self.secondary.place(flow, None);
            backlog.queue(flow).for_each(|seat| self.place(backlog, seat));
        }
    }
}
