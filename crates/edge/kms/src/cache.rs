//! Opened keys, for a while.

use ripstop_envelope::{KeyUse, WrappingKey};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

/// What a key is found by.
type Id = [u8; 32];

/// What is found by it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) key: WrappingKey,
    pub(crate) sealed: Arc<[u8]>,
}

/// Keys that are wiped once they are too old, or others need their places.
#[derive(Debug, Default)]
pub(crate) struct KeyCache {
    kept: BTreeMap<Id, (Instant, Kept)>,
    /// When each comes to its end, the first first.
    ends: VecDeque<(Instant, Id)>,
}

/// By what an opened key is found: all that opening it depends on.
pub(crate) fn opened(of: &KeyUse<'_>, sealed: &[u8]) -> Id {
    id(of, b"opened", sealed)
}

/// By what the key is found that objects of a bucket share.
pub(crate) fn shared(of: &KeyUse<'_>) -> Id {
    id(of, b"shared", b"")
}

fn id(of: &KeyUse<'_>, kind: &[u8], sealed: &[u8]) -> Id {
    let mut hash = Sha256::new();
    for part in [kind, of.key.as_bytes(), of.arn.as_bytes(), of.context.as_bytes(), sealed] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

impl KeyCache {
    /// The key, if it is there and not too old.
    pub(crate) fn find(&mut self, id: &Id, now: Instant) -> Option<Kept> {
        self.end(now);
        self.kept.get(id).map(|(_, kept)| kept.clone())
    }

    /// Keeps a key until `now + lasts`, and no more than `max` of them.
    pub(crate) fn keep(
        &mut self,
        id: Id,
        kept: Kept,
        now: Instant,
        (lasts, max): (Duration, usize),
    ) {
        self.end(now);
        while self.kept.len() >= max.max(1) && !self.kept.contains_key(&id) {
            let Some((until, oldest)) = self.ends.pop_front() else { break };
            self.remove(&oldest, until);
        }
        let until = now + lasts;
        if let Some((former, _)) = self.kept.insert(id, (until, kept)) {
            self.ends.retain(|end| *end != (former, id));
        }
        // Of a shorter time than those before it, after a reload: it is looked for from the end.
        let at = self.ends.iter().rposition(|(end, _)| *end <= until).map_or(0, |at| at + 1);
        self.ends.insert(at, (until, id));
    }

    /// How many there are.
    pub(crate) fn len(&mut self, now: Instant) -> usize {
        self.end(now);
        self.kept.len()
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn end(&mut self, now: Instant) {
        while let Some((until, id)) = self.ends.front().copied().filter(|(until, _)| *until <= now)
        {
            self.ends.pop_front();
            self.remove(&id, until);
        }
    }

    fn remove(&mut self, id: &Id, until: Instant) {
        if self.kept.get(id).is_some_and(|(end, _)| *end == until) {
            self.kept.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(key: &'a str, arn: &'a str) -> KeyUse<'a> {
        KeyUse { key, arn, context: "", is_shared: false }
    }

    fn kept(byte: u8) -> Kept {
        Kept { key: WrappingKey::from_bytes(&[byte; 32]), sealed: [byte].into() }
    }

    #[test]
    fn a_key_is_kept_for_its_time_and_the_oldest_goes_first() {
        let (mut cache, start, second) =
            (KeyCache::default(), ripstop_host::now(), Duration::from_secs(1));
        let bounds = (second * 10, 2);
        let ids: Vec<Id> = ["a", "b", "c"].map(|key| opened(&of(key, ""), b"")).into();
        for (at, id) in (0..).zip(&ids[..2]) {
            cache.keep(*id, kept(at), start + second * u32::from(at), bounds);
        }
        // Kept again, the first is the younger one.
        cache.keep(ids[0], kept(7), start + second * 2, bounds);
        cache.keep(ids[2], kept(2), start + second * 3, bounds);
        let now = start + second * 3;
        assert!(cache.find(&ids[1], now).is_none());
        assert_eq!(cache.find(&ids[0], now).unwrap().key.bytes(), &[7; 32]);
        assert_eq!((cache.len(now), cache.len(start + second * 12)), (2, 1));
        assert!(cache.find(&ids[2], start + second * 13).is_none());
        assert!(cache.kept.is_empty() && cache.ends.is_empty());
    }

    #[test]
    fn a_shorter_time_ends_before_those_that_were_kept_before() {
        let (mut cache, start, second) =
            (KeyCache::default(), ripstop_host::now(), Duration::from_secs(1));
        let (a, b) = (opened(&of("a", ""), b""), opened(&of("b", ""), b""));
        cache.keep(a, kept(1), start, (second * 10, 9));
        cache.keep(b, kept(2), start, (second, 9));
        assert!(cache.find(&b, start + second).is_none());
        assert!(cache.find(&a, start + second * 9).is_some());
    }

    #[test]
    fn what_a_key_is_found_by_is_all_that_it_depends_on() {
        let ids = [
            opened(&of("k", "a"), b"s"),
            opened(&of("k", "a"), b"t"),
            opened(&of("k", "b"), b"s"),
            opened(&of("ka", ""), b"s"),
            opened(&KeyUse { context: "c", ..of("k", "a") }, b"s"),
            shared(&of("k", "a")),
        ];
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[..at].contains(id));
        }
    }
}
