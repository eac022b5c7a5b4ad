//! When versions and uploads become due.

use crate::{Day, Expiration, Filter, Noncurrent, Rule, Rules, Standing, View, When};

/// That something is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Removal<'a> {
    /// From when on, in milliseconds since 1970.
    pub at_ms: u64,
    /// By which rule: its name.
    pub rule: &'a str,
}

impl Rules {
    /// When a version is removed, and by which rule: of several the one that does it first, and of
    /// these the first.
    pub fn removal(&self, view: &View<'_>, day: Day) -> Option<Removal<'_>> {
        earliest(self.followed(), |rule| rule.removal_at(view, day))
    }

    /// When an upload ends that nobody completed. It has no length and no tags yet, so only rules
    /// that do not ask for any are about it.
    pub fn upload_end(&self, key: &str, created_ms: u64, day: Day) -> Option<Removal<'_>> {
        earliest(self.followed(), |rule| {
            let days = rule.uploads_after_days?;
            let is_about = rule.filter.asks_prefix_alone() && key.starts_with(&*rule.filter.prefix);
            is_about.then(|| day.ends_after(created_ms, days))
        })
    }
}

fn earliest<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    at: impl Fn(&Rule) -> Option<u64>,
) -> Option<Removal<'a>> {
    let removals = rules.filter_map(|rule| Some(Removal { at_ms: at(rule)?, rule: &rule.id }));
    removals.min_by_key(|removal| removal.at_ms)
}

impl Rule {
    fn removal_at(&self, view: &View<'_>, day: Day) -> Option<u64> {
        let View { modified_ms, .. } = *view;
        let since = |when| match when {
            When::AfterDays(days) => day.ends_after(modified_ms, days),
            When::At(ms) => ms,
        };
        match view.standing {
            Standing::Latest => match self.expiration? {
                Expiration::Objects(when) => self.filter.fits(view).then(|| since(when)),
                Expiration::LoneMarkers => None,
            },
            Standing::LoneMarker => {
                let Filter { prefix, .. } = &self.filter;
                if !self.filter.asks_prefix_alone() || !view.key.starts_with(&**prefix) {
                    return None;
                }
                match self.expiration? {
                    Expiration::Objects(when) => Some(since(when)),
                    Expiration::LoneMarkers => Some(modified_ms),
                }
            }
            Standing::Noncurrent { since_ms, later } => {
                let Noncurrent { after_days, kept } = self.noncurrent?;
                let is_about = later >= kept && self.filter.fits(view);
                is_about.then(|| day.ends_after(since_ms, after_days))
            }
        }
    }
}
