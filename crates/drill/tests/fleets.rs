//! Drills of several gateways over one catalog. `RIPSTOP_FLEETS` says how many, `RIPSTOP_SEED`
//! where they begin; a failure prints the command that plays it again.

use ripstop_drill::{Less, Plan, Wanted, play, shrink};
use std::process::Command;

/// Drills of an everyday run.
const FLEETS: u64 = 12;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn whatever_happens_to_gateways_that_share_a_catalog_what_was_answered_holds() {
    let first = number("RIPSTOP_SEED", 1);
    for seed in first..first + number("RIPSTOP_FLEETS", FLEETS) {
        let plan = Plan::fleet(seed);
        if let Some(failure) = play(&plan, Wanted::default()).failure {
            let less = shrink(&plan, Less::default());
            panic!("{failure}\ncargo xtask drill --seed {seed}{less} --world fleet");
        }
    }
}

#[test]
fn a_fleet_is_the_same_in_every_process() {
    for seed in 1..=3 {
        let program = env!("CARGO_BIN_EXE_ripstop-drill");
        let words = ["--seed", &seed.to_string(), "--world", "fleet"];
        let told = Command::new(program).args(words).output().expect("it runs");
        let told = String::from_utf8(told.stdout).expect("text");
        let here = play(&Plan::fleet(seed), Wanted::default());
        assert!(told.contains(&format!("trace {:016x}", here.hash)), "{told}: {:016x}", here.hash);
    }
}

#[test]
fn a_fleet_is_what_a_drill_is_and_more() {
    for seed in 1..200 {
        let (one, fleet) = (Plan::draw(seed), Plan::fleet(seed));
        assert_eq!((one.fleet, one.nodes, one.code), (None, fleet.nodes, fleet.code));
        let drawn = fleet.fleet.clone().expect("it is one");
        assert!((2..=3).contains(&drawn.seats));
        let numbers: Vec<u64> = fleet.numbers().collect();
        let without = Less { without: numbers.iter().copied().collect(), ..Less::default() };
        assert!(fleet.less(&without).numbers().next().is_none(), "{numbers:?}");
    }
}
