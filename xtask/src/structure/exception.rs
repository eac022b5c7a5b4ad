//! What breaks a rule since before there was one: a line each in a file of the folder `exceptions`,
//! in order. The lists may only become shorter, so one that breaks the rule no longer fails the
//! test like one that began to.

use std::collections::{BTreeMap, BTreeSet};

/// What breaks a rule, by what an exception would name, with what is told of it.
pub(super) type Offences = BTreeMap<String, Vec<String>>;

/// Adds what is told of one.
pub(super) fn add(offences: &mut Offences, name: &str, told: String) {
    offences.entry(name.to_owned()).or_default().push(told);
}

/// The names in a list.
pub(super) fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Offences that are no exceptions, and exceptions that are no offences.
pub(super) fn complaints(offences: &Offences, list: &str) -> Vec<String> {
    let excepted: BTreeSet<&str> = names(list).collect();
    let new = offences.iter().filter(|(name, _)| !excepted.contains(name.as_str()));
    let mut complaints: Vec<String> = new.flat_map(|(_, told)| told.clone()).collect();
    let gone = excepted.iter().filter(|name| !offences.contains_key(**name));
    complaints.extend(gone.map(|name| format!("{name}: is no exception any more: off the list")));
    if !names(list).is_sorted_by(|a, b| a < b) {
        complaints.push("the list of exceptions is not in order".into());
    }
    complaints
}

#[test]
fn exceptions_may_only_become_fewer() {
    let mut offences = Offences::new();
    add(&mut offences, "a.rs", "a.rs:7: it is long".into());
    assert_eq!(complaints(&offences, ""), ["a.rs:7: it is long"]);
    assert!(complaints(&offences, "# why\na.rs\n").is_empty());
    assert_eq!(complaints(&offences, "a.rs\nb.rs\n").len(), 1);
    add(&mut offences, "b.rs", "b.rs:9: it is long".into());
    assert!(complaints(&offences, "a.rs\nb.rs\n").is_empty());
    assert_eq!(complaints(&offences, "b.rs\na.rs\n").len(), 1);
}
