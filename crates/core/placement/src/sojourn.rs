use crate::Service;
use libm::sqrt;

/// How long a chunk request is at a node, waiting and served: mean in seconds, variance in s².
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sojourn {
    /// E Q, seconds.
    pub mean: f64,
    /// Var Q, s².
    pub variance: f64,
}

impl Sojourn {
    /// Of one node that chunk requests reach as a Poisson stream of `rate` per second: equations
    /// (6) and (7), from the transform of Pollaczek and Khinchin. None if the node is overloaded.
    ///
    /// The seed prints Γ⁴ for the square of the second moment in (7).
    pub fn new(service: &Service, rate: f64) -> Option<Self> {
        let waiting = Waiting::new(service, rate)?;
        Some(Self {
            mean: service.mean() + waiting.mean,
            variance: service.variance() + waiting.variance,
        })
    }

    /// Of a request for `chunks` chunks of one node, served as one: equations (10) and (11).
    /// `batches` are all the requests the node gets, as (batches per second, chunks in each). None
    /// if the node is overloaded.
    ///
    /// The seed counts chunks in its rate Λ′ of (10), (11); as its moments are those of a batch, it
    /// must be the rate of batches.
    pub fn of_batch(service: &Service, batches: &[(f64, u32)], chunks: u32) -> Option<Self> {
        let used = batches.iter().filter(|&&(rate, chunks)| rate > 0.0 && chunks > 0);
        let parts = used.clone().map(|&(rate, chunks)| (rate, service.repeated(chunks)));
        let rate = used.map(|&(rate, _)| rate).sum();
        let waiting = match Service::mixture(parts) {
            Some(batch) => Waiting::new(&batch, rate)?,
            None => Waiting { mean: 0.0, variance: 0.0 },
        };
        let own = service.repeated(chunks);
        Some(Self { mean: own.mean() + waiting.mean, variance: own.variance() + waiting.variance })
    }

    /// A bound on the probability that it takes longer than `seconds`, which is the best one from
    /// mean and variance alone: Cantelli's one-sided form of Chebyshev's inequality.
    pub fn tail(&self, seconds: f64) -> f64 {
        let beyond = seconds - self.mean;
        if beyond <= 0.0 { 1.0 } else { self.variance / (self.variance + beyond * beyond) }
    }

    /// A bound on E max(Q − z, 0), the best one from mean and variance alone.
    pub fn excess(&self, z: f64) -> f64 {
        let x = self.mean - z;
        let root = sqrt(x * x + self.variance);
        if x >= 0.0 { 0.5 * (x + root) } else { 0.5 * self.variance / (root - x) }
    }
}

/// Time in the queue before service.
struct Waiting {
    mean: f64,
    variance: f64,
}

impl Waiting {
    fn new(service: &Service, rate: f64) -> Option<Self> {
        let lanes = service.lanes();
        let idle = 1.0 - rate / service.rate();
        if !(rate >= 0.0 && idle > 0.0) {
            return None;
        }
        let mean = 0.5 * rate * service.second() / (lanes * lanes * idle);
        Some(Self {
            mean,
            variance: rate * service.third() / (3.0 * lanes * lanes * lanes * idle) + mean * mean,
        })
    }
}
