//! Brings versions that are due to other classes of storage, one after the other.

use super::{
    counts::Aged,
    deed::{Deeds, Outcome, note},
};
use crate::{Keeper, round::Halt};
use ripstop_catalog::{ListedVersion, Located, Object};
use ripstop_lifecycle::{Relocation, Standing, View};
use ripstop_store::StoreError;
use std::sync::Arc;

/// Removals each second at most; of versions that are moved, as many as have a second's bytes.
pub(super) const RATE_MAX: u64 = 1000;

/// A version that may be due to be moved.
pub(super) type Candidate = (ListedVersion, Standing);

impl<'a> Deeds<'a> {
    /// Where a version goes that is as a listing shows it; its tags are taken to be those asked
    /// for.
    pub(super) fn relocation_of(
        &self,
        listed: &ListedVersion,
        standing: Standing,
        classes: &[&str],
    ) -> Option<Relocation<'a>> {
        if listed.is_marker {
            return None;
        }
        let (len, modified_ms) = (listed.object.len, listed.object.modified_ms);
        let view = View { key: &listed.key, len, tags: None, modified_ms, standing };
        let when = (self.day, self.now_ms);
        self.rules.relocation(&view, &listed.object.storage_class, classes, when)
    }

    /// Moves a version to a class, once it is seen that it is due. It waits until what was moved
    /// before is paid for, and nobody waits for the nodes of the class.
    pub(super) async fn move_on(
        &self,
        (listed, standing): &Candidate,
        class: &str,
        aged: &mut Aged,
    ) -> Result<(), Halt> {
        let pool = self.round.keeper()?.keeping().pool_of_class(self.bucket, class).clone();
        self.round.give_way(&pool, |_| Ok(())).await?;
        let keeper = self.round.under_lease().await?;
        let outcome = self.move_one(&keeper, listed, *standing).await;
        let bytes = outcome.as_ref().map_or(0, |moved| moved.unwrap_or(0));
        self.round.pay(cost(bytes, keeper.settings().move_rate_max));
        aged.moved_bytes += bytes;
        let outcome =
            outcome.map(|moved| if moved.is_some() { Outcome::Done } else { Outcome::Gone });
        note(outcome, &mut aged.moved).map_or_else(|why| why.count(aged), drop);
        Ok(())
    }

    /// Answers how many bytes were moved; `None` if there was nothing to move.
    async fn move_one(
        &self,
        keeper: &Keeper,
        listed: &ListedVersion,
        standing: Standing,
    ) -> Result<Option<u64>, StoreError> {
        let Some(located) = self.seen(keeper, listed).await? else { return Ok(None) };
        let store = keeper.store();
        let classes: Vec<&str> = store.storage_classes().collect();
        let Some(to) = self.relocation(&listed.key, &located.object, standing, &classes) else {
            return Ok(None);
        };
        let located: Arc<Located> = Arc::new(located);
        let name = (self.bucket, &*listed.key, listed.version);
        store.relocate(name, &located, to.class).await?;
        let Relocation { class, rule } = to;
        tracing::debug!(bucket = self.bucket, key = listed.key, version = %listed.version, class, rule, "moved by a rule");
        Ok(Some(located.object.stored_len()))
    }

    fn relocation(
        &self,
        key: &str,
        object: &Object,
        standing: Standing,
        classes: &[&str],
    ) -> Option<Relocation<'a>> {
        let tags = Some(&*object.attributes.tags);
        let (len, modified_ms) = (object.len, object.modified_ms);
        let view = View { key, len, tags, modified_ms, standing };
        let class = &object.attributes.storage_class;
        self.rules.relocation(&view, class, classes, (self.day, self.now_ms))
    }
}

/// What a move counts for beside removals, where this many bytes may be moved each second.
fn cost(bytes: u64, bytes_per_second: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(RATE_MAX) / u128::from(bytes_per_second.max(1));
    u64::try_from(share).unwrap_or(u64::MAX).max(1)
}
