use ripstop_lifecycle::Day;
use ripstop_placement::moving::{HOME_AFTER, MOVE_RATE_MAX};
use std::time::Duration;

/// Bytes of small objects that are written again each second at most, unless it is said how many.
const CLEAN_RATE_MAX: u64 = 8 << 20;

/// What an operator may set.
#[derive(Clone, PartialEq, Debug)]
pub struct KeeperSettings {
    /// How long garbage, and fragments that nothing claims, are kept. Default 15 minutes. Reads
    /// that take longer than this on an object that was removed meanwhile break off.
    pub grace: Duration,
    /// How often garbage is swept. Default 1 minute.
    pub sweep_every: Duration,
    /// How often nodes are listed for fragments that nothing claims; the first time one grace after
    /// the start. Default 6 hours.
    pub list_every: Duration,
    /// How old an upload in parts may become before it is aborted; 0: any age. Default 7 days.
    pub uploads_expire_after: Duration,
    /// Most bytes that are moved each second to bring stripes to where their pool's plan wants
    /// them; 0: none are moved. Default 8 MiB.
    pub move_rate_max: u64,
    /// How often packs are looked through for what is dead of them, and short stripes for company;
    /// what is younger than this is left. After a look that took long, the next one waits longer.
    /// Default 1 minute.
    pub clean_every: Duration,
    /// Most bytes of small objects that are written again each second; 0: none are. Default 8 MiB.
    pub clean_rate_max: u64,
    /// How long the nodes of a plan must have been as they are, and the last walk through its
    /// pool's stripes over, before stripes that others stood in for are brought home. Default 1
    /// minute.
    pub home_after: Duration,
    /// How often it is looked which inventories of buckets are due; 0: none are made. Default 1
    /// hour.
    pub inventory_every: Duration,
    /// How often buckets are gone through for what is due by their rules; 0: never. Default 1 hour.
    pub lifecycle_every: Duration,
    /// How long a day of these rules is. Default: that of the calendar; shorter ones are for tests.
    pub lifecycle_day: Day,
}

impl Default for KeeperSettings {
    fn default() -> Self {
        Self {
            grace: Duration::from_mins(15),
            sweep_every: Duration::from_mins(1),
            list_every: Duration::from_hours(6),
            uploads_expire_after: Duration::from_hours(7 * 24),
            move_rate_max: MOVE_RATE_MAX,
            clean_every: Duration::from_mins(1),
            clean_rate_max: CLEAN_RATE_MAX,
            home_after: HOME_AFTER,
            inventory_every: Duration::from_hours(1),
            lifecycle_every: Duration::from_hours(1),
            lifecycle_day: Day::STANDARD,
        }
    }
}
