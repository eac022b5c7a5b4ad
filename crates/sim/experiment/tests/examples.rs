//! The scenarios that are shipped as examples can be played, and so can logs.

use core::{num::NonZero, time::Duration};
use ripstop_experiment::{Load, Scenario, summary_table};
use std::{fmt::Write as _, fs, path::Path};

/// The same scenario with one seed and few requests.
fn briefly(mut scenario: Scenario) -> Scenario {
    scenario.seeds.truncate(1);
    for (_, load) in &mut scenario.loads {
        match load {
            Load::Requests { count, .. } => *count = 150,
            Load::Phases(phases) => {
                for phase in phases {
                    phase.0 = Duration::from_secs(2);
                }
            }
            Load::ByClass(classes) => {
                for phase in classes.iter_mut().flatten() {
                    phase.0 = Duration::from_secs(2);
                }
            }
            Load::Trace(_) => {}
        }
    }
    scenario
}

#[test]
fn every_example_is_a_scenario_and_every_policy_of_it_serves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/scenarios");
    let mut found = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        found += 1;
        let scenario = Scenario::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let scenario = briefly(scenario);
        let played = scenario.play(NonZero::new(2), || ());
        assert_eq!(played.len(), scenario.runs());
        for one in &played {
            let refused: u64 = one.outcome.tenants.iter().map(|tenant| tenant.refused).sum();
            assert_eq!(one.outcome.failed, refused, "{path:?}: {}", one.policy);
            assert!(one.outcome.took_ns.len() >= 100, "{path:?}: {}", one.policy);
        }
        let text =
            scenario.summary_text(&summary_table(&scenario.table(&played)).unwrap()).unwrap();
        for policy in &scenario.policies {
            assert!(text.contains(&policy.to_string()), "{path:?}: {policy} is not in\n{text}");
        }
        let report = scenario.report(&played).unwrap().html();
        assert!(report.contains("<svg") && report.contains("<table"), "{path:?}");
    }
    assert!(found >= 8, "there are {found} examples");
}

const POOL: &str = "[[node]]\nlanes = 8\ndelay = \"s3-2025\"\n";

#[test]
fn a_log_can_be_the_load_at_several_speeds() {
    let folder = std::env::temp_dir().join(format!("ripstop-scenario-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut log = String::from("time_ms,operation,bytes\n");
    (0..400).for_each(|at| writeln!(log, "{},get,{}", at * 20, 9000 + at % 3).unwrap());
    fs::write(folder.join("log.csv"), log).unwrap();
    let text = format!(
        "name = \"log\"\npolicies = [\"backfill\"]\nwarmup = 0.0\n\
         [trace]\nfile = \"log.csv\"\nspeeds = [1, 4]\nrequests_max = 300\n{POOL}"
    );
    fs::write(folder.join("log.toml"), text).unwrap();
    let scenario = Scenario::read(&folder.join("log.toml")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(scenario.setting.classes.len(), 3);
    let rates: Vec<f64> = scenario.loads.iter().map(|load| load.0.round()).collect();
    assert_eq!(rates, [50.0, 200.0]);
    for one in briefly(scenario).play(None, || ()) {
        assert_eq!(one.outcome.took_ns.len(), 300);
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let refusal = |text: &str| Scenario::parse(text).expect_err("must be refused").to_string();
    let head = "name = \"x\"\npolicies = [\"fixed\"]\n";
    let class = "[[class]]\noperation = \"read\"\nbytes = 1\n";
    let none = refusal(&format!("{head}rates_per_s = [1]\n{POOL}"));
    assert_eq!(none, "there is no [[class]], nor a [trace]");
    let missing = refusal(&format!("{head}[trace]\nfile = \"not there\"\n{POOL}{class}"));
    assert!(missing.starts_with("\"not there\": cannot open"), "{missing}");
    let twice = refusal(&format!("{head}rates_per_s = [1]\nloads = [0.5]\n{POOL}{class}"));
    assert!(twice.starts_with("give rates_per_s, or loads"), "{twice}");
    let unknown = refusal(&format!("{head}speed = 1\nrates_per_s = [1]\n{POOL}{class}"));
    assert!(unknown.contains("unknown field `speed`"), "{unknown}");
}
