//! What `deny.toml` says of the dependencies, as far as it can be seen without a network: licences,
//! sources, and that what keeps secrets and meets strangers is there once.

use super::none;
use crate::root::{dependencies, root};
use cargo_metadata::Package;
use std::{collections::BTreeMap, fs};
use toml::{Table, Value};

/// Where packages come from, also where another place stands in for it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn rules(section: &str, key: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().unwrap().join("deny.toml")).unwrap();
    let rules: Table = text.parse().unwrap();
    rules[section][key].as_array().unwrap().clone()
}

fn packages() -> Vec<Package> {
    let packages = dependencies().unwrap().packages;
    assert!(packages.len() > 100, "only {} packages were found", packages.len());
    packages
}

/// Whether an expression can be met with these licences. AND binds looser here than in SPDX: what
/// mixes it with OR without parentheses is judged more strictly.
fn is_met(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace(" / ", " OR ").replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        let part = part.trim().trim_matches(['(', ')']);
        part.split(" OR ").any(|licence| allowed.contains(&licence.trim()))
    })
}

#[test]
fn licences_are_those_allowed() {
    let rules = rules("licenses", "allow");
    let allowed: Vec<&str> = rules.iter().map(|rule| rule.as_str().unwrap()).collect();
    let strange = packages().into_iter().filter_map(|package| {
        let licence = package.license.clone().unwrap_or_default();
        let complaint = format!("{} {}: licence {licence:?}", package.name, package.version);
        (!is_met(&licence, &allowed)).then_some(complaint)
    });
    none(&strange.collect::<Vec<_>>());
}

#[test]
fn a_licence_is_met_by_one_choice_of_each_part() {
    let allowed = ["MIT", "ISC"];
    for met in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND ISC"] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR BSL-1.0) AND ISC", "MITX"] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}

#[test]
fn packages_come_from_the_registry_or_are_ours() {
    let strange = packages().into_iter().filter_map(|package| {
        let source = package.source.as_ref()?;
        (source.repr != REGISTRY).then(|| format!("{} comes from {}", package.name, source.repr))
    });
    none(&strange.collect::<Vec<_>>());
}

#[test]
fn what_must_stay_patched_is_there_once() {
    let mut versions = BTreeMap::<String, Vec<String>>::new();
    for package in packages() {
        versions.entry(package.name.to_string()).or_default().push(package.version.to_string());
    }
    let rules = rules("bans", "deny");
    let complaints = rules.iter().filter_map(|rule| {
        let name = rule["crate"].as_str().unwrap();
        match versions.get(name).map_or(0, Vec::len) {
            1 => None,
            0 => Some(format!("deny.toml names {name}, which is not used")),
            _ => Some(format!("{name} is there as {}", versions[name].join(", "))),
        }
    });
    none(&complaints.collect::<Vec<_>>());
}
