use ripstop_batching::{Controller, ControllerSettings, UnknownController, by_name};
use std::time::Duration;

/// How a pool gathers small writes.
#[derive(Clone, PartialEq, Debug)]
pub struct PackSettings {
    /// Objects shorter than this are gathered, and deletions with them; 0: nothing is. Default 0.
    pub below: u32,
    /// How long a batch waits for company, by name; see [`ripstop_batching::descriptions`]. Default
    /// `natural`.
    pub batching: String,
    /// The interval of those that are told one. Default 20 ms.
    pub interval: Duration,
    /// Batches that depart in a second, at most: what a budget for puts buys. Default: any number.
    pub puts_per_second_max: Option<f64>,
}

impl Default for PackSettings {
    fn default() -> Self {
        Self {
            below: 0,
            batching: "natural".into(),
            interval: Duration::from_millis(20),
            puts_per_second_max: None,
        }
    }
}

impl PackSettings {
    /// How such a pool decides how long to wait, if there is one of the name.
    pub fn controller(&self) -> Result<Box<dyn Controller>, UnknownController> {
        let settings =
            ControllerSettings { interval: self.interval, ..ControllerSettings::default() };
        by_name(&self.batching, &settings)
    }
}
