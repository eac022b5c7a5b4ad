//! What is written about the metrics is true of them.

use ripstop_telemetry::{FAMILIES, Family, Kind};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of rows that queries can ask for.
fn rows() -> BTreeSet<String> {
    let suffixes = |family: &Family| match family.kind {
        Kind::Histogram => vec!["_bucket", "_sum", "_count"],
        Kind::Counter | Kind::Gauge | Kind::Info => vec![""],
    };
    let each = FAMILIES.iter();
    each.flat_map(|at| suffixes(at).into_iter().map(|suffix| at.name() + suffix)).collect()
}

/// Every word of a text that begins like a metric.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("ripstop_"))
}

fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn the_dashboard_asks_for_rows_that_exist_and_shows_every_family() {
    let dashboard: Value = serde_json::from_str(&document("grafana/ripstop.json")).unwrap();
    let mut texts = Vec::new();
    strings(&dashboard, &mut texts);
    let rows = rows();
    let asked: BTreeSet<&str> = texts.into_iter().flat_map(mentioned).collect();
    for row in &asked {
        assert!(rows.contains(*row), "no metric is named {row}");
    }
    for family in FAMILIES {
        let name = family.name();
        assert!(asked.iter().any(|row| row.starts_with(&name)), "{name} is not shown");
    }
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
}

#[test]
fn every_family_is_documented_with_its_type_and_no_other_is() {
    let text = document("operations.md");
    for family in FAMILIES {
        let kind = format!("{:?}", family.kind).to_lowercase();
        let row = format!("| `{}` | {kind} |", family.name());
        assert_eq!(text.matches(&row).count(), 1, "{row}");
    }
    let rows = rows();
    let names: BTreeSet<String> = FAMILIES.iter().map(|family| family.name()).collect();
    let modules = ["ripstop_store", "ripstop_keeper", "ripstop_runtime"];
    for word in mentioned(&text).filter(|word| !modules.contains(word)) {
        assert!(rows.contains(word) || names.contains(word), "no metric is named {word}");
    }
}
