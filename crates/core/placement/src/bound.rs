use crate::Sojourn;
use libm::sqrt;

/// The bound (5) on the mean latency of a request, and where it is attained.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LatencyBound {
    /// Seconds.
    pub seconds: f64,
    /// The z of (5), seconds; −∞ where every request needs one chunk only and the bound is exact.
    pub z: f64,
}

impl LatencyBound {
    /// Equation (5): the least over z of z + Σ π E max(Q − z, 0), of a request that goes to each
    /// node with probability π and ends when all its chunks are there. `branches` are (π, sojourn).
    /// Probabilities that sum to less than 1 are taken as if they summed to 1.
    pub fn new(branches: &[(f64, Sojourn)]) -> Self {
        let total: f64 = branches.iter().map(|&(p, _)| p).sum();
        if total <= 1.0 + 1e-12 {
            let mean = branches.iter().map(|&(p, q)| p * q.mean).sum::<f64>();
            return Self { seconds: mean / total, z: f64::NEG_INFINITY };
        }
        let z = minimiser(
            |z| {
                let (mut slope, mut curvature) = (1.0, 0.0);
                for &(p, q) in branches {
                    let x = q.mean - z;
                    let root = sqrt(x * x + q.variance).max(f64::MIN_POSITIVE);
                    slope -= 0.5 * p * (1.0 + x / root);
                    curvature += 0.5 * p * q.variance / (root * root * root);
                }
                (slope, curvature)
            },
            bracket(branches, total),
        );
        Self::at(branches, z)
    }

    /// The bound with a given z, as when several classes share one.
    pub fn at(branches: &[(f64, Sojourn)], z: f64) -> Self {
        Self { seconds: z + branches.iter().map(|&(p, q)| p * q.excess(z)).sum::<f64>(), z }
    }

    /// Equation (8): `k` chunks from equal nodes. The seed prints the root without the variance in
    /// it.
    pub fn of_equal_nodes(sojourn: Sojourn, k: u32) -> f64 {
        sojourn.mean + sqrt(f64::from(k.saturating_sub(1)) * sojourn.variance)
    }

    /// A bound on the probability that the request takes longer than `seconds`: the sum of its
    /// chunks' probabilities (union bound), each bounded by [`Sojourn::tail`]. Needs no moments
    /// beyond the third of the service, so no generating function.
    pub fn tail(branches: &[(f64, Sojourn)], seconds: f64) -> f64 {
        branches.iter().map(|&(p, q)| p * q.tail(seconds)).sum::<f64>().min(1.0)
    }
}

/// Where the least z of (5) must be, given the sum of the probabilities, which is above 1.
///
/// Below `mean − sd·a` a branch's slope −π/2·(1 + x/√(x²+Y)) is within π/(4a²) of −π.
fn bracket(branches: &[(f64, Sojourn)], total: f64) -> (f64, f64) {
    let reach = sqrt(0.25 * total / (total - 1.0)) + sqrt(0.25 * total) + 1.0;
    let used = branches.iter().filter(|&&(p, _)| p > 0.0);
    used.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, q)| {
        let sd = reach * sqrt(q.variance);
        (low.min(q.mean - sd), high.max(q.mean + sd))
    })
}

/// The zero of a rising function that gives (value, slope): Newton's steps, kept in the bracket.
pub(crate) fn minimiser(f: impl Fn(f64) -> (f64, f64), (mut low, mut high): (f64, f64)) -> f64 {
    let mut z = 0.5 * (low + high);
    for _ in 0..200 {
        let (value, slope) = f(z);
        if value == 0.0 {
            break;
        }
        if value > 0.0 {
            high = z;
        } else {
            low = z;
        }
        let newton = z - value / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - z).abs() <= 1e-13 * z.abs().max(1e-300) || high - low <= 1e-14 * high.abs() {
            return next;
        }
        z = next;
    }
    z
}
