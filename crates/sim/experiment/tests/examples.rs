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
            assert!(one.delays[0].count >= 100, "{path:?}: {}", one.policy);
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

/// A scenario that is played, with one line replaced by another.
fn with(line: &str, other: &str) -> Result<Scenario, String> {
    let text = "name = \"x\"\npolicies = [\"fixed\", \"tofec\"]\nrates_per_s = [1, 2]\nseeds = 2\nk_max = 3\n\
        r_max = 2\nrequests = 9\n[[node]]\nlanes = 8\nshifted_exponential = [1, 1, 1, 1]\nscale = 1\n\
        [[class]]\noperation = \"read\"\nbytes = 1\n";
    assert!(text.contains(line), "{line}");
    Scenario::parse(&text.replace(line, other)).map_err(|error| error.to_string())
}

#[test]
fn numbers_that_cannot_be_are_refused_and_named() {
    assert!(with("seeds = 2", "seeds = 2").is_ok());
    for (line, other, word) in [
        ("seeds = 2", "seeds = 0", "0 runs"),
        ("seeds = 2", "seeds = 9000000000000000000", "seeds is 9000000000000000000"),
        ("seeds = 2", "seeds = [1, 2, 1]", "seeds: 1 is given twice"),
        ("\"tofec\"", "\"fixed\"", "policies: fixed is given twice"),
        ("\"tofec\"", "\"fixed(5,5)\"", "fixed(5,5): the code (n,k) is not possible"),
        (
            "rates_per_s = [1, 2]",
            "rates_per_s = [1, 1.0000001]",
            "requests per second: 1 is given twice",
        ),
        ("rates_per_s = [1, 2]", "rates_per_s = [nan]", "rate must be more than 0, not NaN"),
        ("rates_per_s = [1, 2]", "rates_per_s = [1e-12]", "seconds"),
        ("requests = 9", "requests = 0", "no request would arrive"),
        ("requests = 9", "requests = 9000000000000", "too long"),
        ("requests = 9", "requests = 20000000", "GiB"),
        ("requests = 9", "bursts = { high = 2, low = 0, seconds = 1 }", "[bursts] is for"),
        ("k_max = 3", "k_max = 0", "k_max must be at least 1"),
        ("r_max = 2", "r_max = 0.5", "r_max must be a number from 1"),
        ("[1, 1, 1, 1]", "[1, nan, 1, 1]", "node 1: shifted_exponential"),
        ("[1, 1, 1, 1]", "[1, -1, 1, 1]", "node 1: shifted_exponential"),
        ("[1, 1, 1, 1]", "[0, 0, 0, 0]", "one more than 0"),
        ("scale = 1", "scale = 1e300", "scale is at most"),
        (
            "scale = 1",
            "change = [{ from_s = 2, until_s = 1, lost = true }]",
            "ends after it begins",
        ),
        (
            "scale = 1",
            "change = [{ from_s = 0, until_s = 1, slow = inf }]",
            "slow must be more than 0",
        ),
        ("seeds = 2", "coding_mb_per_s = 1e-300", "coding_mb_per_s is at least"),
        ("seeds = 2", "cancellation_ms = 1e300", "cancellation_ms must be a time"),
    ] {
        let refusal = with(line, other).expect_err(other);
        assert!(refusal.contains(word), "{other}: {refusal}");
    }
}

#[test]
fn more_seeds_than_memory_has_room_for_are_refused() {
    let mut scenario = with("requests = 9", "requests = 10000000").unwrap();
    let refusal = scenario.set_seeds(9).unwrap_err().to_string();
    assert!(refusal.contains("GiB of delays"), "{refusal}");
}

#[test]
fn classes_alike_are_told_apart_by_their_tenant_or_by_number() {
    let class = |tenant: &str, rate| {
        format!("[[class]]\noperation = \"read\"\nbytes = 1\nrate_per_s = {rate}\n{tenant}")
    };
    let text = [
        "name = \"x\"\npolicies = [\"fixed\"]\nseeds = 2\nseconds = 30\n",
        "[[tenant]]\nname = \"a\"\n[[tenant]]\nname = \"b\"\n",
        "[[node]]\nlanes = 8\nshifted_exponential = [1, 1, 1, 1]\n",
        &class("tenant = \"a\"\n", 9),
        &class("tenant = \"b\"\n", 3),
        &class("", 1),
        &class("", 1),
    ];
    let scenario = Scenario::parse(&text.concat()).unwrap();
    let summary = summary_table(&scenario.table(&scenario.play(None, || ()))).unwrap();
    let at = |column: &str| summary.index(column).unwrap();
    let rows: Vec<_> = summary
        .rows()
        .iter()
        .map(|row| (row[at("class")].shown(), row[at("seeds")].shown(), row[at("failed")].shown()))
        .collect();
    let names = rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["all", "read 1 a", "read 1 b", "read 1 #1", "read 1 #2"]);
    assert!(
        rows.iter().all(|row| row.1 == "2"),
        "a row is of as many runs as there are seeds: {rows:?}"
    );
    // Of a class alone nothing is known but its delays.
    assert_eq!((rows[0].2.as_str(), rows[1].2.as_str()), ("0", ""));
    let requests = summary.numbers("requests").unwrap();
    assert!((requests[0] - requests[1..].iter().sum::<f64>()).abs() < 1e-9, "{requests:?}");
}
