use crate::{DelayModel, Luck, StorageOperation, model::milliseconds};
use core::time::Duration;

/// Time to the first byte from a mixture of lognormals, sometimes a straggler's wait, and the rest
/// at a constant rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mixture {
    /// Time to the first byte; the probabilities add up to 1.
    pub first_byte: &'static [Lognormal],
    /// What else a request may wait for; at most one of them.
    pub stragglers: &'static [Straggler],
    /// A put's first byte takes this many times a get's.
    pub put_factor: f64,
    /// Bytes per second after the first.
    pub bytes_per_s: f64,
}

/// One part of a mixture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lognormal {
    /// How often it is this part.
    pub probability: f64,
    /// Half of its delays are shorter, milliseconds.
    pub median_ms: f64,
    /// Deviation of the delay's logarithm.
    pub sigma: f64,
}

/// A wait that few requests have on top, uniform between two bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Straggler {
    /// How often.
    pub probability: f64,
    /// At least this long, milliseconds.
    pub from_ms: f64,
    /// At most this long, milliseconds.
    pub to_ms: f64,
}

impl Mixture {
    /// S3 in 2025: first byte around 28 ms (get) or 45 ms (put), then 80 MB/s.
    pub const S3_2025: Self = Self {
        first_byte: &[Lognormal { probability: 1.0, median_ms: 28.0, sigma: 0.4 }],
        stragglers: &[
            Straggler { probability: 0.01, from_ms: 100.0, to_ms: 250.0 },
            Straggler { probability: 0.001, from_ms: 1000.0, to_ms: 5000.0 },
        ],
        put_factor: 45.0 / 28.0,
        bytes_per_s: 80e6,
    };

    /// S3 seen from a busy host in 2024. Its requests without a body took 16.8 ms in the median,
    /// 107 at p90, 365 at p99 and 1343 at p99.9: medians and the second sigma solve these four
    /// equations, given the probabilities and the other sigmas.
    pub const S3_2025_BUSY: Self = Self {
        first_byte: &[
            Lognormal { probability: 0.74, median_ms: 14.0442, sigma: 0.4 },
            Lognormal { probability: 0.25, median_ms: 84.268, sigma: 0.6723 },
            Lognormal { probability: 0.01, median_ms: 480.698, sigma: 0.8 },
        ],
        stragglers: &[],
        put_factor: 45.0 / 28.0,
        bytes_per_s: 80e6,
    };
}

impl Mixture {
    fn factor(&self, operation: StorageOperation) -> f64 {
        match operation {
            StorageOperation::Put => self.put_factor,
            StorageOperation::Get
            | StorageOperation::Delete
            | StorageOperation::List
            | StorageOperation::Health => 1.0,
        }
    }

    fn rest_ms(&self, bytes: u64) -> f64 {
        bytes as f64 / self.bytes_per_s * 1000.0
    }
}

impl DelayModel for Mixture {
    fn sample(&mut self, operation: StorageOperation, bytes: u64, luck: &mut dyn Luck) -> Duration {
        // As many throws for each request, so that changing one part leaves the others' luck alone.
        let (part, normal) = (luck.uniform(), luck.normal());
        let (straggler, wait) = (luck.uniform(), luck.uniform());
        let part = chosen(self.first_byte, |part| part.probability, part);
        let part = part.or(self.first_byte.last());
        let first = part.map_or(0.0, |part| part.median_ms * libm::exp(part.sigma * normal));
        let straggler = chosen(self.stragglers, |straggler| straggler.probability, straggler);
        let wait = straggler.map_or(0.0, |s| s.from_ms + (s.to_ms - s.from_ms) * wait);
        milliseconds(first * self.factor(operation) + wait + self.rest_ms(bytes))
    }

    fn mean_ms(&self, operation: StorageOperation, bytes: u64) -> f64 {
        let part = |part: &Lognormal| {
            part.probability * part.median_ms * libm::exp(0.5 * part.sigma * part.sigma)
        };
        let wait = |straggler: &Straggler| {
            straggler.probability * 0.5 * (straggler.from_ms + straggler.to_ms)
        };
        let first: f64 = self.first_byte.iter().map(part).sum();
        let waits: f64 = self.stragglers.iter().map(wait).sum();
        first * self.factor(operation) + waits + self.rest_ms(bytes)
    }
}

/// The one whose share of the line from 0 to 1 has the point `at`.
fn chosen<T>(among: &[T], probability: impl Fn(&T) -> f64, at: f64) -> Option<&T> {
    let mut end = 0.0;
    among.iter().find(|one| {
        end += probability(one);
        at < end
    })
}
