//! Deletions that wait: while one stripe tells of some, the next gather.

use crate::{StoreError, error::RETRY_AFTER};
use ripstop_catalog::{Change, Condition, Object, Release, Stripe, Tombstone};
use ripstop_model::{PoolId, StripeId, TenantId};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};
use tokio::sync::oneshot;

/// Bytes of names, about, that one stripe tells the deletion of: a record of this length needs no
/// memory beside the stripe's.
pub(crate) const NAMES_LEN_MAX: usize = 12 << 10;
/// What a deletion takes besides its name.
const DELETION_LEN: usize = 32;
/// Deletions that wait for one pool on behalf of one tenant; further ones are told to come back.
const WAITING_MAX: usize = 8192;
/// Deletions that wait to be told, by the pool that is to tell them and on whose behalf.
#[derive(Debug, Default)]
pub(crate) struct Deletions(Mutex<BTreeMap<(PoolId, TenantId), Line>>);

/// There as long as some are under way.
type Line = VecDeque<Waiting>;

#[derive(Debug)]
pub(crate) struct Waiting {
    pub bucket: String,
    pub key: String,
    pub condition: Condition,
    /// Whether a retention in governance mode is passed by.
    pub bypass: bool,
    /// Whether there was nothing to delete but what nobody was answered.
    pub found_nothing: bool,
    /// How often it was told.
    pub told: usize,
    pub answer: oneshot::Sender<Result<Option<Object>, StoreError>>,
}

impl Waiting {
    pub(crate) fn len(&self) -> usize {
        self.bucket.len() + self.key.len() + DELETION_LEN
    }

    pub(crate) fn change(
        &self,
        as_of_ms: u64,
        tombstone: Option<Tombstone>,
        stripes: Vec<(StripeId, Stripe)>,
    ) -> Change {
        Change::DeleteObject {
            bucket: self.bucket.clone(),
            key: self.key.clone(),
            condition: self.condition.clone(),
            release: Release::Judged { as_of_ms, bypass: self.bypass },
            tombstone,
            stripes,
        }
    }
}

impl Deletions {
    /// Adds one; true if nobody works on its line yet.
    pub(crate) fn add(
        &self,
        line: (PoolId, TenantId),
        waiting: Waiting,
    ) -> Result<bool, StoreError> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !lines.contains_key(&line);
        let line = lines.entry(line).or_default();
        if line.len() >= WAITING_MAX {
            return Err(StoreError::Busy { retry_after: RETRY_AFTER });
        }
        line.push_back(waiting);
        Ok(is_new)
    }

    /// Those that are told together next; where none wait the line ends.
    pub(crate) fn take(&self, line: (PoolId, TenantId)) -> Option<Vec<Waiting>> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = lines.get_mut(&line)?;
        let (mut taken, mut len) = (Vec::new(), 0);
        while let Some(next) = waiting.front() {
            len += next.len();
            if len > NAMES_LEN_MAX && !taken.is_empty() {
                break;
            }
            taken.extend(waiting.pop_front());
        }
        if taken.is_empty() {
            lines.remove(&line);
        }
        (!taken.is_empty()).then_some(taken)
    }

    pub(crate) fn put_back(&self, line: (PoolId, TenantId), again: Vec<Waiting>) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = lines.entry(line).or_default();
        again.into_iter().rev().for_each(|one| waiting.push_front(one));
    }
}

/// Ends a line whatever becomes of the task that works on it: nothing waits for a task that is
/// gone.
pub(crate) struct EndOfLine<'a> {
    pub deletions: &'a Deletions,
    pub line: (PoolId, TenantId),
}

impl Drop for EndOfLine<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut lines = self.deletions.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.remove(&self.line);
        }
    }
}
