//! Sweeps: garbage and leftovers often, what nothing claims now and then.

use crate::{
    KeeperSettings, garbage, leftovers,
    round::{Halt, Job, Round},
    unclaimed,
};
use std::{
    fmt::Display,
    time::{Duration, Instant},
};

/// How often garbage is swept at most where there is no grace.
const EVERY_MAX: Duration = Duration::from_secs(1);

pub(crate) struct Sweep {
    every: Duration,
    list_every: Duration,
    /// When the nodes are listed next.
    list_at: Instant,
}

impl Sweep {
    pub(crate) fn new(settings: &KeeperSettings) -> Self {
        Self {
            every: settings.sweep_every.min(settings.grace.max(EVERY_MAX)),
            list_every: settings.list_every,
            list_at: ripstop_host::now() + settings.grace,
        }
    }
}

/// What a part of a sweep came to; the others go on if it failed.
fn told<T: Display>(came_to: Result<T, Halt>, what: &'static str) -> Result<Option<T>, Halt> {
    match came_to {
        Ok(count) => Ok(Some(count)),
        Err(Halt::Unwanted) => Err(Halt::Unwanted),
        Err(Halt::Failed(error)) => {
            tracing::warn!(%error, "{what} not swept");
            Ok(None)
        }
    }
}

impl Job for Sweep {
    const NAME: &'static str = "sweep";
    const IS_UPKEEP: bool = true;

    fn pause(&mut self) -> Duration {
        self.every
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        // First, since what tells of deletions is garbage: it goes after what it contradicts.
        if ripstop_host::now() >= self.list_at {
            self.list_at = ripstop_host::now() + self.list_every;
            if let Some(fragments) = told(unclaimed::sweep(round).await, "nodes")? {
                tracing::info!(fragments, "swept unclaimed fragments");
            }
        }
        if let Some(stripes) = told(garbage::sweep(round).await, "garbage")?
            && stripes > 0
        {
            tracing::info!(stripes, "swept garbage");
        }
        leftovers::free(round).await?;
        Ok(())
    }
}
