//! Queues in a few lines: every node serves first come, first served.

use ripstop_delay::Dice;
use ripstop_placement::{Service, selection};

/// A service time that can be drawn and whose moments are known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    /// The sum of this many exponentials.
    Erlang(u32, f64),
    /// One of two values, the first with a probability.
    Two(f64, f64, f64),
    /// A constant plus an exponential.
    Shifted(f64, f64),
    /// Normal, never below a tenth of the mean.
    Normal(f64, f64),
}

impl Law {
    pub(crate) fn draw(&self, dice: &mut Dice) -> f64 {
        match *self {
            Self::Erlang(shape, scale) => (0..shape).map(|_| scale * dice.exponential()).sum(),
            Self::Two(p, a, b) => {
                if dice.uniform() < p {
                    a
                } else {
                    b
                }
            }
            Self::Shifted(fixed, scale) => fixed + scale * dice.exponential(),
            Self::Normal(mean, sd) => (mean + sd * dice.normal()).max(0.1 * mean),
        }
    }

    pub(crate) fn service(&self) -> Service {
        match *self {
            Self::Erlang(shape, s) => {
                let n = f64::from(shape);
                Service::new(n * s, n * (n + 1.0) * s * s, n * (n + 1.0) * (n + 2.0) * s * s * s)
            }
            Self::Two(p, a, b) => {
                let mean = |power: i32| p * a.powi(power) + (1.0 - p) * b.powi(power);
                Service::new(mean(1), mean(2), mean(3))
            }
            Self::Shifted(c, s) => Service::new(
                c + s,
                c * c + 2.0 * c * s + 2.0 * s * s,
                c.powi(3) + 3.0 * c * c * s + 6.0 * c * s * s + 6.0 * s.powi(3),
            ),
            Self::Normal(m, sd) => Service::new(m, m * m + sd * sd, m.powi(3) + 3.0 * m * sd * sd),
        }
        .expect("moments of a law")
    }

    pub(crate) fn any(dice: &mut Dice) -> Self {
        let scale = 0.5 + dice.uniform();
        match dice.below(4) {
            0 => Self::Erlang(1 + dice.below(6) as u32, scale / 3.0),
            1 => Self::Two(0.8 + 0.15 * dice.uniform(), 0.5 * scale, 3.0 * scale),
            2 => Self::Shifted(scale * dice.uniform(), scale),
            _ => Self::Normal(scale, 0.3 * scale),
        }
    }
}

/// Who serves a request.
pub(crate) enum Policy<'a> {
    /// Systematic sampling with these probabilities.
    Probabilities(&'a [f64]),
    /// The k nodes with least work.
    LeastWork(usize),
}

/// Latencies of requests that come at a rate to nodes; a tenth is left out first.
pub(crate) fn simulate(
    laws: &[Law],
    rate: f64,
    policy: &Policy<'_>,
    requests: usize,
    seed: u64,
) -> Vec<f64> {
    let mut dice = Dice::new(seed);
    let mut free_at = vec![0.0f64; laws.len()];
    let mut now = 0.0;
    let mut latencies = Vec::with_capacity(requests);
    for request in 0..requests + requests / 10 {
        now += dice.exponential() / rate;
        let chosen = match policy {
            Policy::Probabilities(p) => selection::systematic(p, dice.next_u64()),
            Policy::LeastWork(k) => {
                let work: Vec<f64> = free_at.iter().map(|free| (free - now).max(0.0)).collect();
                selection::least_work(&work, *k, dice.next_u64())
            }
        };
        let mut end = now;
        for &node in chosen.positions() {
            let node = usize::from(node);
            free_at[node] = free_at[node].max(now) + laws[node].draw(&mut dice);
            end = end.max(free_at[node]);
        }
        if request >= requests / 10 {
            latencies.push(end - now);
        }
    }
    latencies
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
