use core::time::Duration;

/// What the controllers can be told; each reads what concerns it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ControllerSettings {
    /// `fixed`, `fixed-every`: the interval. 20 ms.
    pub interval: Duration,
    /// `stout`, `stout-10`, `modelled`: no longer interval than this. Stout: 400 ms where not told
    /// otherwise.
    pub interval_max: Option<Duration>,
    /// `stout`, `stout-10`: α, by which share the interval grows when it backs off. 0.05.
    pub back_off: f64,
    /// `stout`, `stout-10`: β, how far the interval goes towards its square root when it
    /// accelerates. 0.05.
    pub accelerate: f64,
    /// `modelled`: batchers that share the store, until it is told otherwise. 1.
    pub writers: u32,
    /// `modelled`: members with which a batch is full.
    pub batch_members_max: usize,
}

impl Default for ControllerSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(20),
            interval_max: None,
            back_off: 0.05,
            accelerate: 0.05,
            writers: 1,
            batch_members_max: crate::BatchLimits::default().batch_members_max,
        }
    }
}
