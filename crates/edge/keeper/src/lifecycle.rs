//! Removes what is due by buckets' rules: objects, versions, delete markers, uploads; and brings
//! versions to other classes of storage.
//!
//! Whatever is removed is removed on the condition that it is what was seen, and how it was seen:
//! what was written since stays, and a version that became what its key stands for does too.
//! Whatever is moved is moved on the condition that nobody wrote it since.

mod counts;
mod deed;
mod moves;
mod reader;
mod walk;

pub use counts::{Aged, AgedCounts};
pub use reader::LifecycleReader;

use crate::{
    Keeper,
    round::{self, Halt, Job, Pace, Round},
};
use moves::RATE_MAX;
use ripstop_host::unix_ms;
use ripstop_lifecycle::Day;
use ripstop_store::StoreError;
use std::{sync::Arc, time::Duration};
use walk::Walk;

/// How soon after the start rules are followed for the first time, at the latest.
const FIRST_AFTER_MAX: Duration = Duration::from_mins(1);

/// Follows the rules of all buckets, again and again.
struct Following {
    /// How long it rests: at first not for long, or who starts often would never follow them.
    rest: Duration,
    every: Duration,
    day: Day,
    /// Where the last turn broke off, if it did.
    walk: Walk,
}

impl Job for Following {
    const NAME: &'static str = "lifecycle";
    const IS_UPKEEP: bool = true;

    fn pause(&mut self) -> Duration {
        let rest = std::mem::replace(&mut self.rest, self.every);
        if self.walk.is_under_way() { Duration::ZERO } else { rest }
    }

    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        let mut aged = Aged::default();
        let done = self.walk.go_on(round, (self.day, unix_ms()), &mut aged).await;
        let keeper = round.keeper()?;
        keeper.ages().add(&aged);
        if aged != Aged::default() {
            let Aged { objects, versions, markers, uploads, moved, .. } = aged;
            let Aged { moved_bytes, skipped, failed, .. } = aged;
            tracing::info!(
                objects,
                versions,
                markers,
                uploads,
                moved,
                moved_bytes,
                skipped,
                failed,
                "removed and moved what was due by buckets' rules"
            );
        }
        done
    }
}

impl Keeper {
    /// Follows the rules of buckets from now on, as the keeper's settings say.
    pub fn follow_rules(&self, reader: LifecycleReader) {
        let settings = self.settings();
        if settings.lifecycle_every.is_zero() {
            return;
        }
        let (every, day) = (settings.lifecycle_every, settings.lifecycle_day);
        let (rest, walk) = (every.min(FIRST_AFTER_MAX), Walk::new(reader));
        round::begin_at(self, Pace::of(RATE_MAX), Following { rest, every, day, walk });
    }

    /// Removes and moves what is due at a time, in milliseconds since 1970, as fast as it goes;
    /// answers what that was.
    pub async fn remove_due(
        &self,
        reader: LifecycleReader,
        day: Day,
        now_ms: u64,
    ) -> Result<Aged, StoreError> {
        let mut aged = Aged::default();
        let mut walk = Walk::new(reader);
        walk.go_on(&Round::by_hand(self), (day, now_ms), &mut aged).await?;
        Ok(aged)
    }

    /// What was done by buckets' rules since the start.
    pub fn aged_counts(&self) -> Arc<AgedCounts> {
        self.ages().clone()
    }
}
