use ripstop_estimator::Sketch;
use ripstop_model::Timestamp;
use ripstop_shaping::Fraction;
use std::{iter::zip, time::Duration};

/// Slots of the window in which it is measured whether promises are kept.
pub const TENANT_SLOTS: usize = 30;
/// How much time a slot covers: the window is the slot under way and those before it, so 5 minutes
/// less what the slot under way lacks.
pub const TENANT_SLOT: Duration = Duration::from_secs(10);

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// As asked, in this time.
    Done(Duration),
    Failed,
    Refused,
}

/// Requests of one tenant that ended in some time.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tally {
    pub requests: u64,
    pub refused: u64,
    /// By tier of the promise.
    pub within: Vec<Within>,
    /// Of what was done as asked, by the place of the tier that took it in (see [`super::place`]).
    pub took: Vec<Sketch>,
}

/// All requests of a tenant against one bound, since that bound was promised.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Within {
    pub requests: u64,
    /// Those that were done as asked, within the bound, whichever tier took them in.
    pub within: u64,
}

impl Within {
    /// The share that was within; all of no requests.
    pub(crate) fn fraction(self) -> f64 {
        if self.requests == 0 { 1.0 } else { self.within as f64 / self.requests as f64 }
    }

    /// Whether at least the fraction was within.
    pub(crate) fn keeps(self, fraction: Fraction) -> bool {
        self.within >= fraction.of(self.requests)
    }
}

impl Tally {
    fn record(&mut self, promise: &[(Fraction, Duration)], place: usize, end: End) {
        self.requests += 1;
        self.refused += u64::from(matches!(end, End::Refused));
        for (counts, (_, bound)) in zip(&mut self.within, promise) {
            counts.requests += 1;
            counts.within += u64::from(matches!(end, End::Done(took) if took <= *bound));
        }
        if let End::Done(took) = end {
            self.took[place].add(took);
        }
    }

    fn subtract(&mut self, other: &Self) {
        self.requests -= other.requests;
        self.refused -= other.refused;
        for (counts, less) in zip(&mut self.within, &other.within) {
            counts.requests -= less.requests;
            counts.within -= less.within;
        }
        zip(&mut self.took, &other.took).for_each(|(took, less)| took.subtract(less));
    }

    fn clear(&mut self) {
        (self.requests, self.refused) = (0, 0);
        self.within.fill(Within::default());
        self.took.iter_mut().for_each(Sketch::clear);
    }

    /// How long requests took, of whatever tier.
    pub(crate) fn took_all(&self) -> Sketch {
        let mut all = Sketch::default();
        self.took.iter().for_each(|took| all.merge(took));
        all
    }
}

/// A ring of slots, and what they sum up to.
#[derive(Debug)]
pub(super) struct Window {
    slots: Vec<Tally>,
    sum: Tally,
    /// Number of the slot under way.
    number: u64,
}

impl Window {
    /// With no tiers, and a place for what no tier takes in.
    pub(super) fn new() -> Self {
        let tally = Tally { took: vec![Sketch::default()], ..Tally::default() };
        Self { slots: vec![tally.clone(); TENANT_SLOTS], sum: tally, number: 0 }
    }

    /// From now on these are the tiers. `former` says which of the tiers so far had the same bound:
    /// its counts go on. What came in by a tier is known by the tier's place, and stays.
    pub(super) fn set_tiers(&mut self, former: &[Option<usize>]) {
        for tally in self.slots.iter_mut().chain([&mut self.sum]) {
            let counts = |at: &Option<usize>| at.map(|at| tally.within[at]).unwrap_or_default();
            tally.within = former.iter().map(counts).collect();
            let places = tally.took.len().max(former.len() + 1);
            tally.took.resize_with(places, Sketch::default);
        }
    }

    /// Lets go of what is too old.
    pub(super) fn advance(&mut self, now: Timestamp) {
        let number = now.as_nanos() / TENANT_SLOT.as_nanos() as u64;
        let steps = number.saturating_sub(self.number).min(TENANT_SLOTS as u64);
        for at in self.number + 1..=self.number + steps {
            let slot = &mut self.slots[at as usize % TENANT_SLOTS];
            if slot.requests > 0 {
                self.sum.subtract(slot);
                slot.clear();
            }
        }
        self.number = self.number.max(number);
    }

    /// Counts a request in the slot under way.
    pub(super) fn record(
        &mut self,
        now: Timestamp,
        promise: &[(Fraction, Duration)],
        place: usize,
        end: End,
    ) {
        self.advance(now);
        self.slots[self.number as usize % TENANT_SLOTS].record(promise, place, end);
        self.sum.record(promise, place, end);
    }

    /// What is in the window.
    pub(super) fn sum(&self) -> &Tally {
        &self.sum
    }
}
