//! Whether what clients were told of one key can be explained by one order (Wing and Gong 1993,
//! with Lowe's memory of what was tried). What nobody knows the outcome of may happen at any time
//! after it was asked for, or never.

use crate::history::{Call, Came, Deed, When};
use std::{collections::BTreeSet, hash::Hasher as _};
use twox_hash::XxHash3_64;

/// After this many states a search is given up: it would take longer, and more memory, than anybody
/// has. Where there is an order one is found long before.
const STATES_MAX: usize = 200_000;

/// What a key stands for: its versions from the first on; without versioning, one at most.
type Versions = Vec<Version>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Version {
    /// None of a delete marker.
    etag: Option<String>,
    tag: Option<String>,
    id: Option<String>,
}

fn current(state: &Versions) -> Option<&str> {
    state.last()?.etag.as_deref()
}

fn holds(state: &Versions, when: &When) -> bool {
    match when {
        When::Always => true,
        When::Absent => current(state).is_none(),
        When::Matches { etag } => current(state) == Some(etag),
    }
}

/// The state after a deed with this outcome; nothing if it cannot have had that.
fn apply(state: &Versions, deed: &Deed, came: &Came, keeps: bool) -> Option<Versions> {
    let mut next = state.clone();
    match (deed, came) {
        (Deed::Put { etag, when }, came) => {
            let holds = holds(state, when);
            let id = match came {
                Came::Unknown if holds => None,
                Came::Done { version } if holds => version.clone(),
                Came::Refused if !holds => return Some(next),
                Came::Missing if current(state).is_none() => return Some(next),
                Came::Unknown
                | Came::Done { .. }
                | Came::Refused
                | Came::Missing
                | Came::Found { .. }
                | Came::Tagged { .. } => return None,
            };
            if !keeps {
                next.clear();
            }
            next.push(Version { etag: Some(etag.clone()), tag: None, id });
        }
        (Deed::Delete, Came::Unknown) if keeps => {
            next.push(Version { etag: None, tag: None, id: None });
        }
        (Deed::Delete, Came::Done { version: Some(id) }) if keeps => {
            next.push(Version { etag: None, tag: None, id: Some(id.clone()) });
        }
        // There was nothing to delete.
        (Deed::Delete, Came::Done { version: None }) if keeps => {
            return current(state).is_none().then_some(next);
        }
        (Deed::Delete, Came::Done { .. } | Came::Unknown) => next.clear(),
        (Deed::DeleteVersion { version }, Came::Done { .. } | Came::Unknown) => {
            next.retain(|one| one.id.as_ref() != Some(version));
        }
        // What a key stands for goes where there are no versions; elsewhere what it does not.
        (Deed::Expire { etag, version }, Came::Unknown) => {
            let is_it = |one: &Version| one.etag == *etag && (!keeps || one.id == *version);
            let at = next.iter().position(is_it)?;
            if keeps && at + 1 == next.len() {
                return None;
            }
            next.remove(at);
        }
        (Deed::Tag { tag }, Came::Done { .. } | Came::Unknown) => {
            let last = next.last_mut().filter(|last| last.etag.is_some())?;
            last.tag = Some(tag.clone());
        }
        (Deed::Tag { .. } | Deed::See | Deed::SeeTag, Came::Missing) => {
            return current(state).is_none().then_some(next);
        }
        (Deed::See, Came::Found { etag }) => {
            return (current(state) == Some(etag)).then_some(next);
        }
        (Deed::SeeTag, Came::Tagged { tag }) => {
            let last = next.last().filter(|last| last.etag.is_some())?;
            return (last.tag == *tag).then_some(next);
        }
        (Deed::SeeVersion { version }, Came::Found { etag }) => {
            let one = next.iter().find(|one| one.id.as_ref() == Some(version))?;
            return (one.etag.as_ref() == Some(etag)).then_some(next);
        }
        (Deed::SeeVersion { version }, Came::Missing) => {
            let mut all = next.iter().filter(|one| one.etag.is_some());
            return all.all(|one| one.id.as_ref() != Some(version)).then_some(next);
        }
        _ => return None,
    }
    Some(next)
}

/// Whether a deed with this outcome leaves everything as it is.
fn is_look(call: &Call) -> bool {
    matches!(call.deed, Deed::See | Deed::SeeTag | Deed::SeeVersion { .. })
        || matches!(call.came, Came::Refused | Came::Missing)
}

struct Search<'a> {
    calls: &'a [Call],
    keeps: bool,
    states_max: usize,
    /// What was tried, as sums of it: that of two of them are the same is less likely than a fault
    /// of the machine.
    tried: BTreeSet<[u64; 2]>,
    /// How far it came at most, and from where.
    most: (usize, Versions),
}

impl Search<'_> {
    /// Whether what is left can be ordered after what is done.
    fn goes_on(&mut self, mut done: Vec<bool>, state: &Versions) -> bool {
        let calls = self.calls;
        // Whatever looks and is right now may as well be now.
        loop {
            let first = first_end(calls, &done);
            let look = (0..calls.len()).find(|&at| {
                let call = &calls[at];
                let fits = || apply(state, &call.deed, &call.came, self.keeps).is_some();
                !done[at] && call.begun < first && is_look(call) && fits()
            });
            let Some(look) = look else { break };
            done[look] = true;
        }
        let settled = done.iter().zip(calls).filter(|(done, call)| **done && call.ended.is_some());
        let settled = settled.count();
        if settled >= self.most.0 {
            self.most = (settled, state.clone());
        }
        if calls.iter().zip(&done).all(|(call, done)| *done || call.came == Came::Unknown) {
            return true;
        }
        if self.tried.len() >= self.states_max || !self.tried.insert(sum(&done, state)) {
            return false;
        }
        let first = first_end(calls, &done);
        let open = |at: &usize| !done[*at] && calls[*at].begun < first;
        let (looks, deeds): (Vec<usize>, Vec<usize>) =
            (0..calls.len()).filter(open).partition(|at| is_look(&calls[*at]));
        let after = |state: &Versions, at: usize| {
            apply(state, &calls[at].deed, &calls[at].came, self.keeps)
        };
        let mut next = Vec::new();
        for at in deeds {
            let Some(state) = after(state, at) else { continue };
            // What nobody knows of is tried last: it is of use only where something cannot be
            // explained without it, and then just before that.
            let explains = || looks.iter().any(|look| after(&state, *look).is_some());
            let rank = calls[at].ended.map_or_else(|| (u64::MAX, !explains()), |end| (end, false));
            next.push((rank, at, state));
        }
        next.sort_by_key(|(rank, at, _)| (*rank, *at));
        for (_, at, state) in next {
            let mut more = done.clone();
            more[at] = true;
            if self.goes_on(more, &state) {
                return true;
            }
        }
        false
    }
}

/// A number for what is done and what that leaves.
fn sum(done: &[bool], state: &Versions) -> [u64; 2] {
    let sum = |seed| {
        let mut hash = XxHash3_64::with_seed(seed);
        for done in done {
            hash.write_u8(u8::from(*done));
        }
        for Version { etag, tag, id } in state {
            for part in [etag, tag, id] {
                hash.write_u8(u8::from(part.is_some()));
                hash.write(part.as_deref().unwrap_or_default().as_bytes());
                hash.write_u8(b'/');
            }
        }
        hash.finish()
    };
    [sum(0), sum(1)]
}

/// When the first of those that are not done was answered.
fn first_end(calls: &[Call], done: &[bool]) -> u64 {
    let open = calls.iter().zip(done).filter(|(_, done)| !**done);
    open.filter_map(|(call, _)| call.ended).min().unwrap_or(u64::MAX)
}

/// What is known of the calls of one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// There is one that explains them.
    Found,
    /// Whether there is would take too long to find out.
    Unknown,
}

/// Complains if the calls of one key cannot be explained. `keeps` says whether its bucket keeps
/// versions.
pub(crate) fn check(calls: &[Call], keeps: bool) -> Result<Order, String> {
    check_within(calls, keeps, STATES_MAX)
}

/// The same, given up after this many states.
fn check_within(calls: &[Call], keeps: bool, states_max: usize) -> Result<Order, String> {
    let (tried, most) = (BTreeSet::new(), (0, Versions::new()));
    let mut search = Search { calls, keeps, states_max, tried, most };
    if search.goes_on(vec![false; calls.len()], &Versions::new()) {
        return Ok(Order::Found);
    }
    if search.tried.len() >= states_max {
        return Ok(Order::Unknown);
    }
    let lines: Vec<String> = calls.iter().map(|call| format!("  {call:?}")).collect();
    let (settled, state) = search.most;
    Err(format!(
        "no order explains what was told of a key; {settled} calls have one, which leaves \
         {state:?}\n{}",
        lines.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(deed: Deed, came: Came, begun: u64, ended: u64) -> Call {
        let ended = (came != Came::Unknown).then_some(ended);
        Call { client: 0, bucket: "b", key: "k".into(), deed, came, begun, ended }
    }

    fn put(etag: &str) -> Deed {
        Deed::Put { etag: etag.into(), when: When::Always }
    }

    fn found(etag: &str) -> Came {
        Came::Found { etag: etag.into() }
    }

    const DONE: Came = Came::Done { version: None };

    #[test]
    fn what_was_answered_is_seen_and_what_is_unknown_may_be() {
        let mut calls = vec![
            call(put("a"), DONE, 1, 2),
            call(put("b"), Came::Unknown, 3, 0),
            call(Deed::See, found("a"), 4, 5),
            call(Deed::See, found("b"), 6, 7),
        ];
        check(&calls, false).expect("it comes late");
        calls.push(call(Deed::See, found("a"), 8, 9));
        check(&calls, false).expect_err("it does not go away");
    }

    #[test]
    fn an_answered_write_is_not_lost_and_a_read_is_not_old() {
        let lost = [call(put("a"), DONE, 1, 2), call(Deed::See, Came::Missing, 3, 4)];
        check(&lost, false).expect_err("lost");
        let beside = [call(put("a"), DONE, 1, 4), call(Deed::See, Came::Missing, 2, 3)];
        check(&beside, false).expect("read before it was written");
        let old = [
            call(put("a"), DONE, 1, 2),
            call(put("b"), DONE, 3, 4),
            call(Deed::See, found("a"), 5, 6),
        ];
        check(&old, false).expect_err("old");
    }

    #[test]
    fn conditions_and_tags_and_versions_are_followed() {
        let absent = Deed::Put { etag: "b".into(), when: When::Absent };
        let two = [
            call(put("a"), DONE, 1, 2),
            call(absent.clone(), Came::Refused, 3, 4),
            call(Deed::Tag { tag: "t".into() }, DONE, 5, 6),
            call(Deed::SeeTag, Came::Tagged { tag: Some("t".into()) }, 7, 8),
        ];
        check(&two, false).expect("refused, and tagged");
        let both = [call(put("a"), DONE, 1, 2), call(absent, DONE, 3, 4)];
        check(&both, false).expect_err("it was there");
        let version = |id: &str| Came::Done { version: Some(id.into()) };
        let kept = [
            call(put("a"), version("1"), 1, 2),
            call(Deed::Delete, version("2"), 3, 4),
            call(Deed::See, Came::Missing, 5, 6),
            call(Deed::SeeVersion { version: "1".into() }, found("a"), 7, 8),
            call(Deed::DeleteVersion { version: "2".into() }, DONE, 9, 10),
            call(Deed::See, found("a"), 11, 12),
        ];
        check(&kept, true).expect("the marker is gone");
    }

    #[test]
    fn what_nobody_knows_of_is_used_where_it_is_needed_and_not_tried_without_end() {
        let etag = |at: u64| format!("{at:02}");
        let mut calls: Vec<Call> =
            (0..16).map(|at| call(put(&etag(at)), Came::Unknown, at, 0)).collect();
        calls.extend((0..16).map(|at| call(Deed::See, found(&etag(15 - at)), 20 + at, 21 + at)));
        assert_eq!(check_within(&calls, true, 100), Ok(Order::Found), "each just before its look");
        calls.push(call(Deed::See, found("nobody's"), 50, 51));
        assert_eq!(check_within(&calls, true, 1000), Ok(Order::Unknown), "there are many orders");
        let few = [&calls[..3], &calls[32..]].concat();
        check_within(&few, true, 1000).expect_err("there are few orders, and none is one");
    }

    #[test]
    fn a_rule_takes_what_is_old_and_nothing_else() {
        let expire = |etag: Option<&str>, version: Option<&str>| Deed::Expire {
            etag: etag.map(str::to_owned),
            version: version.map(str::to_owned),
        };
        let gone = [
            call(put("a"), DONE, 1, 2),
            call(Deed::See, Came::Missing, 3, 4),
            call(expire(Some("a"), None), Came::Unknown, 1, 0),
        ];
        check(&gone, false).expect("it was due");
        check(&gone[..2], false).expect_err("there was no rule");
        let version = |id: &str| Came::Done { version: Some(id.into()) };
        let kept = [
            call(put("a"), version("1"), 1, 2),
            call(Deed::See, Came::Missing, 3, 4),
            call(expire(Some("a"), Some("1")), Came::Unknown, 1, 0),
        ];
        check(&kept, true).expect_err("it is what the key stands for");
    }
}
