//! TOFEC: code and chunk size of each request from the backlog (Liang and Kozat, Algorithm 1).

mod load_thresholds;
mod multi_server;
mod optimum;
mod queue;
mod tables;
mod thresholds;

pub use load_thresholds::LoadThresholds;
pub use multi_server::MultiServerTofec;
pub use optimum::Demand;
pub use thresholds::Thresholds;

use crate::{Choice, Limits, Load, Policy, PolicySettings, RequestClass, Sample, eager::eager};
use ripstop_delay::ShiftedExponential;
use ripstop_estimator::MovingAverage;
use ripstop_model::{Operation, Timestamp};
use tables::Tables;

/// The code that the smoothed length of the request queue asks for, all its tasks at once.
///
/// Without a delay model, and until one is learned, it serves like [`Greedy`](crate::Greedy), whose
/// codes of all sizes are what a model is learned from.
#[derive(Debug)]
pub struct Tofec {
    limits: Limits,
    /// The weight of the old average: a.
    memory: f64,
    /// Smoothed length of the request queue.
    queue: MovingAverage,
    /// Set where k is: the authors' earlier FAST CLOUD.
    dimension: Option<u8>,
    greedy: crate::Greedy,
    tables: Tables<Thresholds>,
}

impl Tofec {
    /// As published: thresholds from the queue of a single server.
    pub fn published(settings: &PolicySettings) -> Self {
        Self::new(settings, None)
    }

    /// With a set k (that of `settings.code`, or the largest allowed) and n by the backlog: *fixed
    /// dimension*.
    pub fn fixed_dimension(settings: &PolicySettings) -> Self {
        let k = settings.code.map_or(settings.limits.k_max, |code| code.k() as u8);
        Self::new(settings, Some(k))
    }

    fn new(settings: &PolicySettings, dimension: Option<u8>) -> Self {
        Self {
            limits: settings.limits,
            memory: settings.memory,
            queue: MovingAverage::default(),
            dimension,
            greedy: crate::Greedy::new(settings),
            tables: Tables::new(settings),
        }
    }

    fn table(&mut self, now: Timestamp, class: &RequestClass, lanes: usize) -> Option<&Thresholds> {
        let (limits, dimension) = (self.limits, self.dimension);
        self.tables.table(now, class, lanes, |demand| match dimension {
            Some(k) => {
                let k = class.k_below(usize::from(k));
                Thresholds::of_dimension(demand, lanes, class, limits, k)
            }
            None => Thresholds::new(demand, lanes, class, limits),
        })
    }
}

impl Policy for Tofec {
    fn choose(&mut self, now: Timestamp, class: &RequestClass, load: Load) -> Choice {
        self.queue.fade(self.memory, load.backlog as f64);
        let (queue, limits) = (self.queue.get(), self.limits);
        match self.table(now, class, load.lanes.max(1)) {
            Some(table) => eager(table.code(queue, class, limits)),
            None => self.greedy.choose(now, class, load),
        }
    }

    fn learn(&mut self, now: Timestamp, sample: &Sample) {
        self.tables.learn(now, sample);
    }

    fn delay_model(&self, operation: Operation) -> Option<ShiftedExponential> {
        self.tables.delay_model(operation)
    }
}

#[cfg(test)]
mod tests;
