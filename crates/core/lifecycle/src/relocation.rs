//! When versions are moved to another class of storage, and to which.

use crate::{Day, Due, Filter, LifecycleRule, Noncurrent, Rules, Sizes, Standing, View};

/// That something is moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation<'a> {
    /// To which class.
    pub class: &'a str,
    /// By which rule: its name.
    pub rule: &'a str,
}

impl Rules {
    /// Where a version of this class is to be moved that is due by `now_ms`, milliseconds since
    /// 1970. `classes` are those that there are, beside the standard one, in the order in which
    /// objects may be moved on: never back. Of several the last is meant.
    pub fn relocation<'a>(
        &'a self,
        view: &View<'_>,
        class: &str,
        classes: &[&str],
        (day, now_ms): (Day, u64),
    ) -> Option<Relocation<'a>> {
        let rank = |class: &str| classes.iter().position(|known| *known == class);
        let (own, mut best) = (rank(class), None);
        for rule in self.followed() {
            for target in rule.due_classes(view, self.sizes(), (day, now_ms)) {
                let found = rank(target);
                // Of two that are alike the first rule's name is told.
                if found > own && best.is_none_or(|(most, _)| found > most) {
                    best = Some((found, Relocation { class: target, rule: &rule.id }));
                }
            }
        }
        best.map(|(_, relocation)| relocation)
    }
}

impl LifecycleRule {
    /// The classes to which a version is to go by now.
    fn due_classes<'a>(
        &'a self,
        view: &View<'_>,
        sizes: Sizes,
        (day, now_ms): (Day, u64),
    ) -> impl Iterator<Item = &'a str> {
        let View { standing, modified_ms, len, .. } = *view;
        let is_about = self.filter.fits(view);
        let fits =
            move |class: &str| is_about && (self.filter.asks_size() || sizes.fit(len, class));
        let latest = self.transitions.iter().filter_map(move |it| {
            let at_ms = match it.when {
                Due::AfterDays(days) => day.ends_after(modified_ms, days),
                Due::At(ms) => ms,
            };
            let is_due = standing == Standing::Latest && at_ms <= now_ms;
            (is_due && fits(&it.class)).then_some(&*it.class)
        });
        let others = self.noncurrent_transitions.iter().filter_map(move |it| {
            let Standing::Noncurrent { since_ms, later } = standing else { return None };
            let Noncurrent { after_days, kept } = it.when;
            let is_due = later >= kept && day.ends_after(since_ms, after_days) <= now_ms;
            (is_due && fits(&it.class)).then_some(&*it.class)
        });
        latest.chain(others)
    }
}

impl Filter {
    /// Whether it asks for sizes.
    fn asks_size(&self) -> bool {
        self.longer_than.is_some() || self.shorter_than.is_some()
    }
}
