//! Where an inventory goes, and when the next is due.

use super::document::Order;
use crate::date;
use sha2::{Digest as _, Sha256};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Which day of the week 1970 began on, Sunday being 0.
const FIRST_WEEKDAY: u64 = 4;

/// When the period began that a time is in, in milliseconds since 1970: the day, or the week from
/// Sunday, in UTC.
pub(super) const fn began_ms(is_weekly: bool, now_ms: u64) -> u64 {
    let day = now_ms / DAY_MS;
    let since_sunday = if is_weekly { (day + FIRST_WEEKDAY) % 7 } else { 0 };
    day.saturating_sub(since_sunday) * DAY_MS
}

/// Keys of one inventory.
#[derive(Debug)]
pub(super) struct Place {
    /// Of all inventories of its configuration.
    folder: String,
    /// The period: `2026-01-31T00-00Z`.
    period: String,
}

impl Place {
    pub(super) fn of(order: &Order, source: &str, began_ms: u64) -> Self {
        let prefix = order.target_prefix.as_str();
        let slash = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
        let folder = format!("{prefix}{slash}{source}/{}", order.id);
        let minutes = date::document(began_ms).chars().take(16).collect::<String>();
        Self { folder, period: format!("{}Z", minutes.replace(':', "-")) }
    }

    pub(super) fn manifest(&self) -> String {
        format!("{}/{}/manifest.json", self.folder, self.period)
    }

    /// What is put last: where it is, the inventory is whole.
    pub(super) fn checksum(&self) -> String {
        format!("{}/{}/manifest.checksum", self.folder, self.period)
    }

    /// One of the files: the same whenever the inventory is made again, so that what an attempt
    /// left that broke off is replaced.
    pub(super) fn data(&self, number: usize) -> String {
        let digest = Sha256::digest(format!("{} {} {number}", self.folder, self.period));
        let name = hex::encode(&digest[..16]);
        let groups = [&name[..8], &name[8..12], &name[12..16], &name[16..20], &name[20..]];
        format!("{}/data/{}.csv.gz", self.folder, groups.join("-"))
    }
}
