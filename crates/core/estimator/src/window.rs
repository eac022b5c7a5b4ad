use crate::{Fit, Sample, sizes::TimesBySize};
use alloc::collections::VecDeque;
use core::time::Duration;
use ripstop_delay::ShiftedExponential;
use ripstop_model::{NodeId, Operation, Timestamp};

/// A fit is kept until at least this many samples have come or gone.
pub const REFIT_MIN: usize = 32;

/// How much a [`Window`] remembers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowSettings {
    /// Samples, of both operations together; the oldest go first. Each takes 40 bytes, and 16 more
    /// while a fit is made. At least 1.
    pub samples_max: usize,
    /// Samples older than this go.
    pub age_max: Option<Duration>,
    /// What to make of a window that has seen one chunk size only: see [`Fit::sizes`].
    pub prior: Option<ShiftedExponential>,
}

impl Default for WindowSettings {
    /// 8192 samples of any age, no prior.
    fn default() -> Self {
        Self { samples_max: 8192, age_max: None, prior: None }
    }
}

/// Recent samples, in bounded memory, and their fits.
///
/// Adding is cheap. The fit of an operation is made when it is asked for, and made again only when
/// half as many samples of it have come or gone as there were (and at least [`REFIT_MIN`]): its
/// cost, spread over the samples, is that of sorting them about twice.
#[derive(Clone, Debug)]
pub struct Window {
    settings: WindowSettings,
    /// By age.
    samples: VecDeque<(Timestamp, Sample)>,
    operations: [OperationFit; Operation::ALL.len()],
    buffer: TimesBySize,
}

#[derive(Clone, Copy, Default, Debug)]
struct OperationFit {
    /// Samples in the window.
    count: usize,
    /// That came or went since the fit.
    changed: usize,
    /// Changes that make the fit out of date.
    changed_max: usize,
    fit: Option<Fit>,
}

impl Window {
    /// An empty window.
    pub fn new(settings: WindowSettings) -> Self {
        let settings = WindowSettings { samples_max: settings.samples_max.max(1), ..settings };
        Self {
            settings,
            samples: VecDeque::new(),
            operations: Default::default(),
            buffer: TimesBySize::default(),
        }
    }

    /// Takes in a sample. Time does not run backwards: an earlier `now` than before counts as that.
    pub fn add(&mut self, now: Timestamp, sample: Sample) {
        let now = self.samples.back().map_or(now, |(last, _)| now.max(*last));
        if self.samples.len() == self.settings.samples_max {
            self.remove_oldest();
        }
        self.forget(now);
        self.samples.push_back((now, sample));
        let operation = &mut self.operations[sample.operation as usize];
        operation.count += 1;
        operation.changed += 1;
    }

    fn forget(&mut self, now: Timestamp) {
        let Some(age_max) = self.settings.age_max else { return };
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > age_max) {
            self.remove_oldest();
        }
    }

    fn remove_oldest(&mut self) {
        if let Some((_, sample)) = self.samples.pop_front() {
            let operation = &mut self.operations[sample.operation as usize];
            operation.count -= 1;
            operation.changed += 1;
        }
    }

    /// The samples, oldest first, and when they came.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = &(Timestamp, Sample)> {
        self.samples.iter()
    }

    /// The fit of all nodes' samples of an operation, as of `now` or a little before; none if they
    /// say too little.
    pub fn fit(&mut self, now: Timestamp, operation: Operation) -> Option<Fit> {
        self.forget(now);
        let place = operation as usize;
        let OperationFit { count, changed, changed_max, .. } = self.operations[place];
        if changed > 0 && (changed >= changed_max || count == 0) {
            let fit = self.fit_where(|sample| sample.operation == operation);
            let changed_max = (count / 2).max(REFIT_MIN);
            self.operations[place] = OperationFit { count, changed: 0, changed_max, fit };
        }
        self.operations[place].fit
    }

    /// The fit of one node's samples of an operation as of `now`; none if they say too little. It
    /// is not kept: every call goes through the window.
    pub fn fit_node(&mut self, now: Timestamp, operation: Operation, node: NodeId) -> Option<Fit> {
        self.forget(now);
        self.fit_where(|sample| sample.operation == operation && sample.node == node)
    }

    fn fit_where(&mut self, wanted: impl Fn(&Sample) -> bool) -> Option<Fit> {
        let samples = self.samples.iter().map(|(_, sample)| *sample);
        self.buffer.fill(samples.filter(wanted));
        Fit::of_times(&self.buffer, self.settings.prior.as_ref())
    }
}
