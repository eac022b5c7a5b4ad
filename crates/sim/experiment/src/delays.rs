/// How long requests took, milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Delays {
    /// How many.
    pub count: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Standard deviation.
    pub deviation_ms: f64,
    /// Half took at most this long (nearest rank, as all percentiles here).
    pub p50_ms: f64,
    /// 90 % did.
    pub p90_ms: f64,
    /// 95 % did.
    pub p95_ms: f64,
    /// 99 % did.
    pub p99_ms: f64,
    /// 99.9 % did.
    pub p999_ms: f64,
}

impl Delays {
    /// Of these nanoseconds, in whatever order; sorts them.
    pub fn of(took_ns: &mut [u64]) -> Self {
        if took_ns.is_empty() {
            return Self::default();
        }
        let count = took_ns.len();
        let (mut sum, mut squares) = (0.0, 0.0);
        for &took in &*took_ns {
            let ms = took as f64 / 1e6;
            sum += ms;
            squares += ms * ms;
        }
        let mean_ms = sum / count as f64;
        took_ns.sort_unstable();
        let rank = |share: f64| {
            let rank = (share * count as f64).ceil() as usize;
            took_ns[rank.clamp(1, count) - 1] as f64 / 1e6
        };
        Self {
            count: count as u64,
            mean_ms,
            deviation_ms: (squares / count as f64 - mean_ms * mean_ms).max(0.0).sqrt(),
            p50_ms: rank(0.5),
            p90_ms: rank(0.9),
            p95_ms: rank(0.95),
            p99_ms: rank(0.99),
            p999_ms: rank(0.999),
        }
    }
}
