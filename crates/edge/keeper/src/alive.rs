use crate::round::{Halt, Job, Round};
use std::time::Duration;

/// How often it is looked whether something is being written of which the catalog should know.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Has the catalog know of what is being written that its session is alive.
pub(crate) struct Alive;

impl Job for Alive {
    const NAME: &'static str = "telling the catalog that this gateway is alive";
    const IS_UPKEEP: bool = false;

    fn pause(&mut self) -> Duration {
        LOOK_EVERY
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        Ok(round.keeper()?.keeping().lineage().stay_alive().await?)
    }
}
