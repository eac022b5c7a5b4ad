use super::{
    none,
    source::{Source, sources},
};

/// The lines of a manifest's section.
fn section<'a>(manifest: &'a Source, name: &str) -> Vec<&'a str> {
    let lines = manifest.text.lines().skip_while(|line| *line != name).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let manifests = sources(&["Cargo.toml"]);
    let root = manifests.iter().find(|manifest| manifest.path == "Cargo.toml").unwrap();
    let lines = section(root, "[workspace.dependencies]");
    assert!(lines.len() > 10, "the section was not found");
    let unexplained = lines.iter().filter(|line| {
        let ours = line.contains("{ path = ") || line.starts_with('#');
        !ours && line.rsplit_once(" # ").is_none_or(|(_, reason)| reason.trim().len() < 3)
    });
    none(&unexplained.map(|line| format!("no reason: {line}")).collect::<Vec<_>>());
}

#[test]
fn every_dependency_is_used_by_somebody() {
    let manifests = sources(&["Cargo.toml"]);
    let root = manifests.iter().find(|manifest| manifest.path == "Cargo.toml").unwrap();
    let is_used = |name: &str| {
        let uses = |line: &&str| {
            let rest = line.strip_prefix(name).unwrap_or_default().trim_start();
            rest.starts_with(".workspace") || rest.starts_with("= {")
        };
        manifests.iter().filter(|manifest| manifest.path != "Cargo.toml").any(|manifest| {
            ["[dependencies]", "[dev-dependencies]", "[build-dependencies]"]
                .iter()
                .any(|table| section(manifest, table).iter().any(uses))
        })
    };
    let names = section(root, "[workspace.dependencies]").into_iter();
    let names = names.filter_map(|line| line.split([' ', '=']).next().filter(|name| *name != "#"));
    let unused = names.filter(|name| !is_used(name));
    none(&unused.map(|name| format!("nobody uses {name}")).collect::<Vec<_>>());
}

#[test]
fn members_take_their_dependencies_from_the_workspace() {
    let mut complaints = Vec::new();
    for manifest in sources(&["Cargo.toml"]) {
        if !["crates/", "lab/", "xtask/"].iter().any(|at| manifest.path.starts_with(at)) {
            continue;
        }
        for name in ["[dependencies]", "[dev-dependencies]", "[build-dependencies]"] {
            for line in section(&manifest, name) {
                // A crate may name itself, to be tested with a feature of its own on.
                let shared = line.contains("workspace = true") || line.contains("path = \".\"");
                if !shared && !line.starts_with('#') {
                    complaints.push(format!("{}: {line}", manifest.path));
                }
            }
        }
        for line in ["version.workspace = true", "license.workspace = true", "[lints]"] {
            if !manifest.text.lines().any(|found| found == line) {
                complaints.push(format!("{} lacks `{line}`", manifest.path));
            }
        }
    }
    none(&complaints);
}
