//! `capacity` as it is used: a session.

mod session;

use flate2::{Compression, write::GzEncoder};
use ripstop_delay::Dice;
use ripstop_figure::Table;
use session::{complaint, printed};
use std::{fmt::Write as _, fs, io::Write as _};
use tempfile::TempDir;

/// A second of quiet, a burst of twenty at once, and a second of quiet.
fn burst() -> String {
    let mut log = String::from("time_ms,operation,bytes\n");
    for at in 0..200u32 {
        let copies = if at == 100 { 20 } else { 1 };
        (0..copies)
            .for_each(|_| writeln!(log, "{}.001,get,4096", at * 10).expect("a string takes all"));
    }
    log
}

/// Bursts of all kinds, as a block trace: seconds, to the microsecond.
fn block_trace(requests: u64) -> String {
    let (mut dice, mut now, mut mean, mut log) = (Dice::new(4), 0.0, 0.0, String::new());
    for at in 0..requests {
        if at % 50 == 0 {
            mean = 3e-4 * 40f64.powf(dice.uniform());
        }
        now += mean * dice.exponential();
        writeln!(log, "0,{},8192,r,{now:.6}", at * 16).expect("a string takes all");
    }
    log
}

#[test]
fn a_promise_has_its_price() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("log.csv"), burst()).unwrap();
    let text = printed(folder, "capacity log.csv --promise 0.9:10ms --promise 1:200ms");
    assert!(text.starts_with("219 requests in 1.990 s, 110.1 a second (csv, plain)\n"), "{text}");
    // 19 of the 20 at once go on to the second tier, which has 200 ms for them.
    for line in [
        "promise 0.9:10ms,1:200ms",
        "exact  0.9:10ms         100    200  91.32%     0",
        "exact   1:200ms          95     19   8.68%     0",
        "exact     total         195",
        "with 195 requests/s in all, by rule exact",
        "tiers with a server each               195",
        "10ms   100  1000  1800   1900   2000  2000",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let one = printed(folder, "capacity log.csv --promise 0.9:10ms,1:200ms --rule floor");
    assert!(one.contains("floor") && !one.contains("exact"), "{one}");
}

#[test]
fn the_sweep_and_its_figures_are_written() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("trace.spc"), block_trace(5000)).unwrap();
    let ask = "capacity trace.spc --fractions 90%,99%,1 --bounds 5ms,20ms --promise 0.95:10ms";
    let text = printed(folder, &format!("{ask} --out out"));
    let header = text.lines().find(|line| line.starts_with("bound")).unwrap();
    assert!(header.split_whitespace().eq(["bound", "90%", "99%", "100%"]), "{text}");
    assert!(text.contains("refused"), "nothing is promised for the last of them:\n{text}");
    let out = folder.join("out");
    for file in ["arrivals", "curves", "mml", "fractions", "fcfs", "tiers"] {
        for ending in ["svg", "csv"] {
            let length =
                fs::metadata(out.join(format!("{file}.{ending}"))).map(|found| found.len());
            assert!(length.is_ok_and(|length| length > 60), "{file}.{ending}");
        }
    }
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("<svg"));
    let sweep = Table::read(out.join("capacity.csv")).unwrap();
    let bounds = ["rule", "bound", "bound_ms", "fraction_percent", "capacity_per_s"];
    assert_eq!(sweep.columns(), bounds);
    let capacities = sweep.numbers("capacity_per_s").unwrap();
    assert_eq!(capacities.len(), 6);
    assert!(capacities[..3].is_sorted() && capacities[3..].is_sorted(), "{capacities:?}");
    let shown = capacities.iter().all(|capacity| text.contains(&capacity.to_string()));
    assert!(shown, "{capacities:?}\n{text}");

    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(block_trace(5000).as_bytes()).unwrap();
    fs::write(folder.join("trace.gz"), packed.finish().unwrap()).unwrap();
    let again = printed(folder, &ask.replace("trace.spc", "trace.gz"));
    let tables = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert!(tables(&text).starts_with(&tables(&again)), "packed or not, it says the same");
}

#[test]
fn a_trace_that_cannot_tell_is_refused_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let none = complaint(folder, "capacity none.csv");
    assert!(none.contains("trace none.csv: cannot open"), "{none}");

    let back = "time_ms,operation,bytes\n1.5,get,1\n7.5,get,1\n3,get,1\n";
    fs::write(folder.join("back.csv"), back).unwrap();
    let said = complaint(folder, "capacity back.csv");
    assert!(said.contains("line 4 goes back in time by 4.5ms"), "{said}");
    assert!(said.contains("--sort"), "{said}");
    let sorted = printed(folder, "capacity back.csv --sort");
    assert!(sorted.contains("1 were out of order and have been sorted"), "{sorted}");

    let coarse = "time_s,operation,bytes\n1,get,1\n1,get,1\n4,get,1\n";
    fs::write(folder.join("coarse.csv"), coarse).unwrap();
    let said = complaint(folder, "capacity coarse.csv --promise 0.95:10ms");
    assert!(said.contains("times are known to 1s only, and the bound is 10ms"), "{said}");
    assert!(said.contains("--spread") && said.contains("--trust-times"), "{said}");
    let spread = printed(folder, "capacity coarse.csv --promise 0.95:10ms --spread");
    assert!(spread.contains("careful: times within a second are made up"), "{spread}");
    let whole = printed(folder, "capacity coarse.csv --promise 0.95:5s");
    assert!(whole.contains("careful: times are known to 1s only"), "{whole}");

    let bad = "time_ms,operation,bytes\n1.5,get,1\nnoon,get,1\n2.5,get,1\n";
    fs::write(folder.join("bad.csv"), bad).unwrap();
    let said = complaint(folder, "capacity bad.csv");
    assert!(said.contains("line 3: ") && said.contains("noon"), "{said}");
    assert!(said.contains("--on-bad-line skip"), "{said}");
    let skipped = printed(folder, "capacity bad.csv --on-bad-line skip");
    assert!(
        skipped.contains("1 lines could not be read and were skipped:\n  line 3: "),
        "{skipped}"
    );
}

#[test]
fn a_promise_that_is_none_is_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("log.csv"), burst()).unwrap();
    for (arguments, said) in [
        ("--promise 1.5:10ms", "\"1.5\" is no fraction"),
        ("--promise 0.9:10", "\"10\" is no bound"),
        ("--promise 0.9", "\"0.9\" is no tier"),
        ("--promise 1:10ms --promise 0.9:20ms", "tier 0.9:20ms must promise more requests"),
        ("--rule best", "no rule is named \"best\"; there are: exact, count, floor"),
        ("--fractions 0", "\"0\" is no fraction"),
        ("--bounds 0ms", "a bound must be above 0"),
        ("--window 0s", "--window must be above 0"),
        ("--format tape", "no trace format is named \"tape\""),
    ] {
        let complained = complaint(folder, &format!("capacity log.csv {arguments}"));
        assert!(complained.contains(said), "{arguments}: {complained}");
    }
}

#[test]
fn the_reference_of_the_search_engine_trace() {
    let Some(path) = std::env::var_os("RIPSTOP_WSRCH_TRACE") else {
        eprintln!(
            "skipped: RIPSTOP_WSRCH_TRACE does not name the trace of WebSearch1, first minute"
        );
        return;
    };
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::copy(path, folder.join("wsrch.trace")).unwrap();
    for (rule, capacities) in [
        ("exact", "486  559  720    794    966  1520"),
        ("count", "478  529  700    766    900  1500"),
        ("floor", "500  600  766    800   1000  1564"),
    ] {
        let ask = format!("capacity wsrch.trace --bounds 10ms --rule {rule} --promise 0.9:10ms");
        let text = printed(folder, &ask);
        assert!(text.contains(&format!("\n10ms   {capacities}\n")), "{text}");
        assert!(text.contains("MML (100ms) for 0.9:10ms alone        1520\n"), "{text}");
    }
}
