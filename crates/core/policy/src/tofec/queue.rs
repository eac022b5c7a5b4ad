/// How long the request queue is when lane time has a certain price.
///
/// With Q(u) the mean queue length under a load of u lanes, the price of lane time is dQ/du
/// (Little's law: the queueing delay of all requests together), and at the optimum it equals the gain g.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueModel {
    /// As published: one server with the rate of all lanes, Q = ρ²/(1−ρ): equations (7), (10)–(12).
    SingleServer,
    /// As many servers as requests fit on the lanes, L/n, whose times vary less than an exponential's:
    /// Q = (1 + c²)/2 · ρ^√(2(L/n + 1)) / (1−ρ), c the coefficient of variation (Sakasegawa: An
    /// approximation formula, 1977). With L/n = 1 and c = 1 it is the single server's.
    MultiServer,
}

impl QueueModel {
    /// The queue length at which the price of lane time is `gain`, with `lanes` lanes, n tasks to the
    /// request, and this squared coefficient of variation of service delays.
    pub fn length(self, gain: f64, lanes: f64, n: f64, variation: f64) -> f64 {
        match self {
            Self::SingleServer => {
                let s = libm::sqrt(1.0 + lanes * gain);
                s - 2.0 + 1.0 / s
            }
            Self::MultiServer => {
                let power = libm::sqrt(2.0 * ((lanes / n).max(1.0) + 1.0));
                let factor = f64::midpoint(1.0, variation);
                let length = |rho: f64| factor * libm::pow(rho, power) / (1.0 - rho);
                let price = |rho: f64| {
                    let slope = power / rho + 1.0 / (1.0 - rho);
                    length(rho) * slope / lanes
                };
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..100 {
                    let middle = f64::midpoint(low, high);
                    if price(middle) < gain {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                // A gain beyond every price: a queue without end.
                if high >= 1.0 { f64::INFINITY } else { length(low) }
            }
        }
    }
}
