#[cfg(test)]
mod tests;

use crate::{
    Arrivals, Rule,
    backlog::SCALE,
    kernel::{Server, taken},
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;

/// Capacities tried in one walk along the arrivals.
const WIDTH: usize = 32;
/// Brackets wider than this are divided by equal ratios, others by equal differences.
const RATIO_MAX: u64 = 4;

/// How much capacity does it take for this many requests to be taken, each within the bound?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// By which rule requests are taken.
    pub rule: Rule,
    /// How long a request may take from its arrival to its end.
    pub bound: Duration,
    /// How many requests must be taken; more than there are counts as all.
    pub need: u64,
}

/// How many requests, of one unit of work each, a server of this capacity takes within a bound.
///
/// Does not fall as capacity or bound rise, whatever the rule: the n-th request that the better
/// server takes comes no later than the n-th that the other takes, because by then it has finished
/// no fewer of those before it. (With unequal costs that does not hold.)
pub fn admitted(arrivals: Arrivals<'_>, rule: Rule, bound: Duration, capacity: u64) -> u64 {
    taken(arrivals, &[Server { rule, bound_ns: nanos(bound), capacity }])[0]
}

/// The smallest capacities, in requests a second, that answer the questions.
///
/// The smallest whole number S for which [`admitted`] is not below what is needed, exactly: one
/// less is too little and, as admission does not fall with capacity, anything more is enough.
/// Nothing needed takes no capacity.
///
/// Many questions cost little more than one, because they are answered together: see [`Search`].
pub fn capacities(arrivals: Arrivals<'_>, questions: &[Question]) -> Vec<u64> {
    let mut search = Search::new(arrivals, questions);
    while search.step() {}
    search.capacities()
}

/// The search for [`capacities`], walk by walk, for who wants to see it progress.
///
/// Each question has a bracket of two capacities, too little and enough. A walk along the arrivals
/// tries some capacities within all brackets that are still open, side by side, and what it finds
/// about a rule and a bound closes in on every question about them.
#[derive(Clone, Debug)]
pub struct Search<'times> {
    arrivals: Arrivals<'times>,
    brackets: Vec<Bracket>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Bracket {
    rule: Rule,
    bound_ns: u64,
    /// Too little, or nothing at all.
    low: u64,
    /// Enough.
    high: u64,
    need: u64,
}

impl<'times> Search<'times> {
    /// A search that has not begun.
    pub fn new(arrivals: Arrivals<'times>, questions: &[Question]) -> Self {
        let mut brackets: Vec<_> =
            questions.iter().map(|one| Bracket::new(arrivals, one)).collect();
        // Questions that differ in nothing but their number begin with the same bracket, so that
        // the first walks serve them all.
        let mut lows = BTreeMap::new();
        for Bracket { rule, bound_ns, low, .. } in brackets.iter().filter(|one| one.need > 0) {
            let least = lows.entry((*rule, *bound_ns)).or_insert(*low);
            *least = (*low).min(*least);
        }
        for bracket in &mut brackets {
            bracket.low = lows.get(&(bracket.rule, bracket.bound_ns)).map_or(0, |low| *low);
        }
        Self { arrivals, brackets }
    }

    /// Walks along the arrivals once; false if nothing was left to find out.
    pub fn step(&mut self) -> bool {
        let mut open: Vec<Bracket> =
            self.brackets.iter().filter(|one| one.is_open()).copied().collect();
        for bracket in &mut open {
            bracket.need = 0;
        }
        open.sort_unstable();
        open.dedup();
        if open.is_empty() {
            return false;
        }
        let share = (WIDTH / open.len()).max(1);
        let mut servers: Vec<Server> = open.iter().flat_map(|one| one.divide(share)).collect();
        servers.sort_unstable();
        servers.dedup();
        for (server, count) in servers.iter().zip(taken(self.arrivals, &servers)) {
            for bracket in &mut self.brackets {
                bracket.close(server, count);
            }
        }
        true
    }

    /// How much is left to find out, in bits; each walk takes some of it away.
    pub fn bits_left(&self) -> u32 {
        let bits = |bracket: &Bracket| u64::BITS - (bracket.high - bracket.low - 1).leading_zeros();
        self.brackets.iter().filter(|one| one.is_open()).map(bits).sum()
    }

    /// The smallest capacities known to be enough; the answers once [`step`](Self::step) has said
    /// false.
    pub fn capacities(&self) -> Vec<u64> {
        self.brackets.iter().map(|bracket| bracket.high).collect()
    }
}

impl Bracket {
    fn new(arrivals: Arrivals<'_>, question: &Question) -> Self {
        let Question { rule, bound, .. } = *question;
        let bound_ns = nanos(bound);
        let need = question.need.min(arrivals.count());
        if need == 0 {
            return Self { rule, bound_ns, low: 0, high: 0, need };
        }
        // What is taken fits into the time from the first arrival to the last deadline, except for
        // one request that count may take too many.
        let time = u128::from(nanos(arrivals.span())) + u128::from(bound_ns);
        let least = (u128::from(need - 1) * SCALE).div_ceil(time);
        // All requests at once within the bound.
        let most = (u128::from(arrivals.count()) * SCALE).div_ceil(bound_ns.into());
        let whole = |capacity: u128| u64::try_from(capacity).unwrap_or(u64::MAX);
        Self { rule, bound_ns, low: whole(least.saturating_sub(1)), high: whole(most), need }
    }

    const fn is_open(&self) -> bool {
        self.high - self.low > 1
    }

    /// At most this many capacities inside.
    fn divide(self, share: usize) -> impl Iterator<Item = Server> {
        let Self { rule, bound_ns, low, high, .. } = self;
        let inside = high - low - 1;
        let parts = inside.min(share as u64) + 1;
        let by_ratio = inside > share as u64 && high / low.max(1) > RATIO_MAX;
        (1..parts).map(move |part| {
            let capacity = if by_ratio {
                let (from, share) = (low.max(1) as f64, part as f64 / parts as f64);
                (from * libm::pow(high as f64 / from, share)) as u64
            } else {
                low + (u128::from(high - low) * u128::from(part) / u128::from(parts)) as u64
            };
            Server { rule, bound_ns, capacity: capacity.clamp(low + 1, high - 1) }
        })
    }

    /// Takes note that this server takes this many.
    fn close(&mut self, server: &Server, taken: u64) {
        let Server { rule, bound_ns, capacity } = *server;
        if (rule, bound_ns) != (self.rule, self.bound_ns) || self.need == 0 {
            return;
        }
        if taken >= self.need {
            self.high = self.high.min(capacity);
        } else {
            self.low = self.low.max(capacity);
        }
    }
}

/// The nanoseconds of a span, at least one.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).max(1)
}
