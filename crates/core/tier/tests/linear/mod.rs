//! Whether a history of calls is linearizable for each key (Herlihy, Wing, TOPLAS 1990), by the
//! search of Wing and Gong (JPDC 1993) with Lowe's memory of what was tried (2017). It knows
//! nothing of what it checks: values and versions are numbers, times are steps.

use std::collections::{BTreeMap, BTreeSet};

/// On what a write depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Any,
    Absent,
    Present,
    Is(u64),
}

/// What was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    Read,
    /// Each put has a value of its own.
    Put {
        value: u64,
        expires: Option<u64>,
        condition: Condition,
    },
    Delete {
        condition: Condition,
    },
}

/// What was seen of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Value {
        value: u64,
        version: u64,
    },
    /// There was no value: to read, or to delete.
    Nothing,
    Written {
        version: u64,
    },
    Deleted,
    /// There is no value, whether there was one or not.
    Flushed,
    /// The condition did not hold: the version there was, if there was a value.
    Refused(Option<u64>),
    /// It may have happened, may yet happen, or may never.
    Unknown,
}

/// A call of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub key: u128,
    pub deed: Deed,
    pub outcome: Outcome,
    pub asked: u64,
    pub answered: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Value {
    number: u64,
    /// None until it is known: its write had no answer.
    version: Option<u64>,
    expires: Option<u64>,
}

/// What a key has, after the calls that were put in order so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct State {
    value: Option<Value>,
    version_max: u64,
    /// As early as the next call can have happened.
    time: u64,
}

impl State {
    /// What the key may have by the time of a call: its value may expire, or be lost.
    fn chances(self, call: &Call, lossy_from: Option<u64>) -> Vec<Self> {
        let now = Self { time: self.time.max(call.asked), ..self };
        let Some(value) = self.value else { return vec![now] };
        let ends = [value.expires, lossy_from].into_iter().flatten();
        let gone = ends.map(|end| Self { value: None, time: now.time.max(end), ..self });
        let is_there = value.expires.is_none_or(|expires| now.time < expires);
        let there = is_there.then_some(now).into_iter();
        there.chain(gone).filter(|it| it.time <= call.answered).collect()
    }

    /// With the version that the value turns out to have; none if it has another one.
    fn seen(self, version: u64) -> Option<Self> {
        let value = self.value?;
        let is_it = match value.version {
            Some(known) => known == version,
            None => version > self.version_max,
        };
        let value = Some(Value { version: Some(version), ..value });
        let version_max = self.version_max.max(version);
        is_it.then_some(Self { value, version_max, ..self })
    }

    fn meets(self, condition: Condition) -> Option<Self> {
        match condition {
            Condition::Any => Some(self),
            Condition::Absent => self.value.is_none().then_some(self),
            Condition::Present => self.value.is_some().then_some(self),
            Condition::Is(version) => self.seen(version),
        }
    }

    fn refuses(self, condition: Condition, version: Option<u64>) -> Option<Self> {
        let state = match version {
            Some(version) => self.seen(version)?,
            None if self.value.is_none() => self,
            None => return None,
        };
        state.meets(condition).is_none().then_some(state)
    }

    fn put(self, value: u64, version: Option<u64>, expires: Option<u64>) -> Option<Self> {
        let is_later = version.is_none_or(|version| version > self.version_max);
        let version_max = version.unwrap_or(self.version_max);
        let value = Some(Value { number: value, version, expires });
        is_later.then_some(Self { value, version_max, ..self })
    }

    fn apply(self, call: &Call) -> Option<Self> {
        match (call.deed, call.outcome) {
            (Deed::Read, Outcome::Nothing) => self.value.is_none().then_some(self),
            (Deed::Read, Outcome::Value { value, version }) => {
                self.seen(version).filter(|_| self.value.is_some_and(|it| it.number == value))
            }
            (Deed::Put { value, expires, condition }, Outcome::Written { version }) => {
                self.meets(condition)?.put(value, Some(version), expires)
            }
            (Deed::Put { value, expires, condition }, Outcome::Unknown) => {
                self.meets(condition)?.put(value, None, expires)
            }
            (Deed::Delete { condition }, Outcome::Deleted) => {
                let state = self.meets(condition).filter(|it| it.value.is_some())?;
                Some(Self { value: None, ..state })
            }
            (Deed::Delete { .. }, Outcome::Flushed) => Some(Self { value: None, ..self }),
            (Deed::Delete { condition }, Outcome::Unknown) => {
                Some(Self { value: None, ..self.meets(condition)? })
            }
            (Deed::Delete { condition }, Outcome::Nothing) => {
                self.meets(condition).filter(|it| it.value.is_none())
            }
            (
                Deed::Put { condition, .. } | Deed::Delete { condition },
                Outcome::Refused(version),
            ) => self.refuses(condition, version),
            (
                Deed::Read,
                Outcome::Written { .. }
                | Outcome::Deleted
                | Outcome::Flushed
                | Outcome::Refused(_)
                | Outcome::Unknown,
            )
            | (
                Deed::Put { .. },
                Outcome::Value { .. } | Outcome::Nothing | Outcome::Deleted | Outcome::Flushed,
            )
            | (Deed::Delete { .. }, Outcome::Value { .. } | Outcome::Written { .. }) => None,
        }
    }
}

/// The keys whose calls no order explains. Values may be lost from `lossy_from` on; a read
/// without outcome says nothing.
pub(crate) fn unexplained(calls: &[Call], lossy_from: Option<u64>) -> Vec<Vec<Call>> {
    let mut by_key: BTreeMap<u128, Vec<Call>> = BTreeMap::new();
    for call in calls {
        let is_silent = call.deed == Deed::Read && call.outcome == Outcome::Unknown;
        if !is_silent {
            by_key.entry(call.key).or_default().push(*call);
        }
    }
    by_key.into_values().filter(|calls| !is_explained(calls, lossy_from)).collect()
}

const fn written(call: &Call) -> Option<u64> {
    match call.outcome {
        Outcome::Written { version } => Some(version),
        Outcome::Value { .. }
        | Outcome::Nothing
        | Outcome::Deleted
        | Outcome::Flushed
        | Outcome::Refused(_)
        | Outcome::Unknown => None,
    }
}

fn is_explained(calls: &[Call], lossy_from: Option<u64>) -> bool {
    let ends = |call: &Call| match call.outcome {
        Outcome::Unknown => u64::MAX,
        Outcome::Value { .. }
        | Outcome::Nothing
        | Outcome::Written { .. }
        | Outcome::Deleted
        | Outcome::Flushed
        | Outcome::Refused(_) => call.answered,
    };
    let calls: Vec<Call> =
        calls.iter().map(|call| Call { answered: ends(call), ..*call }).collect();
    let start = State { value: None, version_max: 0, time: 0 };
    let mut tried = BTreeSet::new();
    let mut open = vec![(vec![false; calls.len()], start)];
    while let Some((done, state)) = open.pop() {
        let left = || calls.iter().zip(&done).filter(|(_, done)| !**done).map(|(call, _)| call);
        if left().all(|call| call.outcome == Outcome::Unknown) {
            return true;
        }
        let first_end = left().map(|call| call.answered).min().unwrap_or(u64::MAX);
        let first_version = left().filter_map(written).min();
        // A read that changes nothing may as well be the next: whatever order there is has it
        // somewhere.
        let same = |call: &Call| {
            let is_read = call.deed == Deed::Read && call.asked <= first_end;
            let now = State { time: state.time.max(call.asked), ..state };
            let is_there = state.value.is_none_or(|it| it.expires.is_none_or(|at| now.time < at));
            let seen = (is_read && is_there && now.time <= first_end).then(|| now.apply(call));
            seen.flatten().filter(|seen| *seen == now)
        };
        let mut calls_left = calls.iter().enumerate().filter(|(at, _)| !done[*at]);
        let next = calls_left.find_map(|(at, call)| Some((at, same(call)?)));
        if let Some((at, next)) = next {
            let mut done = done;
            done[at] = true;
            if tried.insert((done.clone(), next)) {
                open.push((done, next));
            }
            continue;
        }
        for (at, call) in calls.iter().enumerate() {
            // A write of a later version cannot be before one of an earlier.
            let is_later = written(call).is_some_and(|it| first_version.is_some_and(|at| it > at));
            if done[at] || call.asked > first_end || is_later {
                continue;
            }
            for next in state.chances(call, lossy_from).into_iter().filter_map(|it| it.apply(call))
            {
                let mut done = done.clone();
                done[at] = true;
                if next.time <= first_end && tried.insert((done.clone(), next)) {
                    open.push((done, next));
                }
            }
        }
    }
    false
}

mod seeded {
    use super::*;

    const ANY: Condition = Condition::Any;

    fn call(deed: Deed, outcome: Outcome, asked: u64, answered: u64) -> Call {
        Call { key: 1, deed, outcome, asked, answered }
    }

    fn put(value: u64, asked: u64, answered: u64) -> Call {
        let deed = Deed::Put { value, expires: None, condition: ANY };
        call(deed, Outcome::Written { version: value }, asked, answered)
    }

    fn read(value: u64, asked: u64, answered: u64) -> Call {
        call(Deed::Read, Outcome::Value { value, version: value }, asked, answered)
    }

    fn nothing(asked: u64, answered: u64) -> Call {
        call(Deed::Read, Outcome::Nothing, asked, answered)
    }

    fn holds(calls: &[Call]) -> bool {
        unexplained(calls, None).is_empty()
    }

    #[test]
    fn reads_beside_a_write_see_either_but_not_the_old_after_the_new() {
        let before = [put(1, 1, 2), put(2, 3, 10)];
        assert!(holds(&[before[0], before[1], read(1, 4, 5), read(2, 6, 7)]));
        assert!(!holds(&[before[0], before[1], read(2, 4, 5), read(1, 6, 7)]));
        assert!(!holds(&[before[0], before[1], read(1, 11, 12)]));
    }

    #[test]
    fn what_has_no_outcome_happens_once_or_never() {
        let mut unknown = put(2, 3, 4);
        unknown.outcome = Outcome::Unknown;
        let (one, two, again) = (put(1, 1, 2), read(2, 7, 8), read(1, 9, 10));
        assert!(holds(&[one, unknown, read(1, 5, 6), two]));
        assert!(holds(&[one, unknown, again]));
        assert!(!holds(&[one, unknown, two, again]));
    }

    #[test]
    fn values_are_lost_only_where_they_may_be_and_never_come_back() {
        let calls = [put(1, 1, 2), nothing(5, 6)];
        assert!(!holds(&calls));
        assert!(unexplained(&calls, Some(4)).is_empty());
        assert!(!unexplained(&calls, Some(7)).is_empty());
        assert!(!unexplained(&[calls[0], calls[1], read(1, 7, 8)], Some(4)).is_empty());
    }

    #[test]
    fn versions_grow_and_refusals_are_true() {
        let with = |condition, outcome, asked| {
            let deed = Deed::Put { value: 9, expires: None, condition };
            call(deed, outcome, asked, asked + 1)
        };
        let refused = |version| Outcome::Refused(version);
        assert!(holds(&[put(5, 1, 2), with(Condition::Is(4), refused(Some(5)), 3)]));
        assert!(!holds(&[put(5, 1, 2), with(Condition::Is(5), refused(Some(5)), 3)]));
        assert!(!holds(&[put(5, 1, 2), with(Condition::Present, refused(None), 3)]));
        assert!(!holds(&[
            put(5, 1, 2),
            with(Condition::Absent, Outcome::Written { version: 6 }, 3)
        ]));
        assert!(!holds(&[put(5, 1, 2), with(ANY, Outcome::Written { version: 4 }, 3)]));
        let other_version = call(Deed::Read, Outcome::Value { value: 5, version: 6 }, 3, 4);
        assert!(!holds(&[put(5, 1, 2), other_version]));
    }

    #[test]
    fn a_value_is_there_until_it_expires_and_not_after() {
        let deed = Deed::Put { value: 1, expires: Some(10), condition: ANY };
        let put = call(deed, Outcome::Written { version: 1 }, 1, 2);
        assert!(holds(&[put, read(1, 8, 9), nothing(10, 11)]));
        assert!(!holds(&[put, nothing(8, 9)]));
        assert!(!holds(&[put, read(1, 10, 11)]));
        assert!(!holds(&[put, nothing(9, 12), read(1, 9, 12), read(1, 13, 14)]));
    }
}
