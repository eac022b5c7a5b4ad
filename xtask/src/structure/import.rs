use super::none;
use crate::root::{metadata, root};
use cargo_metadata::{DependencyKind, Package};
use std::{collections::BTreeMap, fs, path::Path};

/// A folder below `crates` is a layer; of the app, each house is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layer {
    Core,
    Codec,
    Edge,
    Sim,
    /// What serves, and the client of servers.
    Gateway,
    Client,
    Planner,
    Program,
    /// At the root: it measures, and nothing rests on it.
    Lab,
    /// Plays what serves; nothing rests on it.
    Drill,
}

/// Crates from outside that core may use: arithmetic, names for its values, and nothing that acts.
const CORE_MAY_USE: [&str; 2] = ["libm", "serde"];

impl Layer {
    fn of(folder: &str) -> Option<Self> {
        let mut parts = folder.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some("core")) => Some(Self::Core),
            (Some("crates"), Some("codec")) => Some(Self::Codec),
            (Some("crates"), Some("edge")) => Some(Self::Edge),
            (Some("crates"), Some("sim")) => Some(Self::Sim),
            (Some("crates"), Some("drill")) => Some(Self::Drill),
            (Some("crates"), Some("app")) => match parts.next() {
                Some("gateway") => Some(Self::Gateway),
                Some("client") => Some(Self::Client),
                Some("planner") => Some(Self::Planner),
                Some("cli") => Some(Self::Program),
                _ => None,
            },
            (Some("lab"), None) => Some(Self::Lab),
            _ => None,
        }
    }

    fn may_import(self, other: Self, name: &str) -> bool {
        match self {
            Self::Core => other == Self::Core,
            Self::Codec => name == "ripstop-model",
            Self::Edge => matches!(other, Self::Core | Self::Codec | Self::Edge),
            Self::Sim => matches!(other, Self::Core | Self::Sim),
            // Who serves knows neither the planner nor the simulator.
            Self::Gateway => matches!(other, Self::Core | Self::Codec | Self::Edge),
            // A plan is no matter of metrics.
            Self::Planner => {
                matches!(other, Self::Core | Self::Edge | Self::Sim | Self::Gateway)
                    && name != "ripstop-telemetry"
            }
            // Nothing of what serves but its clock and tasks.
            Self::Client => name == "ripstop-host",
            Self::Program => !matches!(other, Self::Program | Self::Lab | Self::Drill),
            Self::Lab => !matches!(other, Self::Program | Self::Drill),
            Self::Drill => {
                matches!(other, Self::Core | Self::Codec | Self::Edge | Self::Sim | Self::Gateway)
            }
        }
    }
}

/// Folder relative to the root.
fn folder(package: &Package, root: &Path) -> String {
    let folder = package.manifest_path.parent().unwrap();
    folder.as_std_path().strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/")
}

fn packages() -> Vec<(String, Package)> {
    let root = root().unwrap();
    metadata().unwrap().packages.into_iter().map(|p| (folder(&p, &root), p)).collect()
}

#[test]
fn every_crate_lies_in_a_layer() {
    let lost = packages().into_iter().map(|(folder, _)| folder);
    let lost = lost.filter(|folder| folder != "xtask" && Layer::of(folder).is_none());
    none(&lost.collect::<Vec<_>>());
}

#[test]
fn layers_import_only_what_they_may() {
    let packages = packages();
    let layers: BTreeMap<&str, Option<Layer>> =
        packages.iter().map(|(folder, p)| (p.name.as_str(), Layer::of(folder))).collect();
    let mut complaints = Vec::new();
    for (folder, package) in &packages {
        let Some(layer) = Layer::of(folder) else { continue };
        for dependency in &package.dependencies {
            let Some(other) = layers.get(dependency.name.as_str()) else { continue };
            // Tests of what serves are clients of it.
            let is_test = dependency.kind == DependencyKind::Development;
            let serves = matches!(layer, Layer::Gateway | Layer::Planner);
            let is_client = serves && *other == Some(Layer::Client);
            // Tests of what decides where coded bytes lie compute them.
            let is_code = layer == Layer::Core && *other == Some(Layer::Codec);
            if is_test && (is_client || is_code) {
                continue;
            }
            if !other.is_some_and(|other| layer.may_import(other, &dependency.name)) {
                complaints.push(format!("{} must not import {}", package.name, dependency.name));
            }
        }
    }
    none(&complaints);
}

#[test]
fn core_uses_nothing_that_acts() {
    let packages = packages();
    let ours: Vec<&str> = packages.iter().map(|(_, package)| package.name.as_str()).collect();
    let mut complaints = Vec::new();
    for (folder, package) in &packages {
        if Layer::of(folder) != Some(Layer::Core) {
            continue;
        }
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let normal = dependency.kind != DependencyKind::Development;
            if normal && !ours.contains(&name) && !CORE_MAY_USE.contains(&name) {
                complaints.push(format!("{} must not depend on {name}", package.name));
            }
        }
        let library = root().unwrap().join(folder).join("src/lib.rs");
        if !fs::read_to_string(&library).unwrap().lines().any(|line| line == "#![no_std]") {
            complaints.push(format!("{folder}/src/lib.rs lacks #![no_std]"));
        }
    }
    none(&complaints);
}

#[test]
fn the_runtime_and_the_simulator_do_not_know_each_other() {
    let packages = packages();
    let mut complaints = Vec::new();
    for (folder, package) in &packages {
        for dependency in &package.dependencies {
            let acts = dependency.name.starts_with("tokio") || dependency.name == "hyper";
            if Layer::of(folder) == Some(Layer::Sim) && acts {
                complaints.push(format!("{} must not use {}", package.name, dependency.name));
            }
        }
    }
    none(&complaints);
}

#[test]
fn the_rules_refuse_what_they_should() {
    assert_eq!(Layer::of("crates/edge/node"), Some(Layer::Edge));
    assert_eq!(Layer::of("crates/codec"), Some(Layer::Codec));
    assert_eq!(Layer::of("crates/elsewhere"), None);
    assert!(!Layer::Core.may_import(Layer::Edge, "ripstop-node"));
    assert!(!Layer::Codec.may_import(Layer::Core, "ripstop-policy"));
    assert!(!Layer::Sim.may_import(Layer::Edge, "ripstop-runtime"));
    assert!(!Layer::Edge.may_import(Layer::Program, "ripstop"));
    assert_eq!(Layer::of("crates/app/gateway"), Some(Layer::Gateway));
    assert_eq!(Layer::of("crates/app/elsewhere"), None);
    assert_eq!(Layer::of("lab"), Some(Layer::Lab));
    assert!(!Layer::Gateway.may_import(Layer::Planner, "ripstop-planner"));
    assert!(!Layer::Gateway.may_import(Layer::Sim, "ripstop-engine"));
    assert!(!Layer::Planner.may_import(Layer::Edge, "ripstop-telemetry"));
    assert!(Layer::Planner.may_import(Layer::Gateway, "ripstop-assembly"));
    assert!(!Layer::Program.may_import(Layer::Lab, "ripstop-lab"));
    assert_eq!(Layer::of("crates/drill"), Some(Layer::Drill));
    assert!(Layer::Drill.may_import(Layer::Gateway, "ripstop-assembly"));
    assert!(!Layer::Drill.may_import(Layer::Planner, "ripstop-planner"));
    assert!(!Layer::Lab.may_import(Layer::Drill, "ripstop-drill"));
    assert!(!Layer::Edge.may_import(Layer::Drill, "ripstop-drill"));
    assert!(Layer::Lab.may_import(Layer::Planner, "ripstop-planner"));
    assert!(Layer::Edge.may_import(Layer::Codec, "ripstop-codec"));
}
