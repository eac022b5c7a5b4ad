//! A pool that plans itself gets back to its latency after a node has become slow; one that does
//! not stays slow.

use core::num::NonZero;
use ripstop_experiment::{Scenario, summary_table};
use std::path::Path;

fn scenario() -> Scenario {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/scenarios/replan.toml");
    Scenario::read(&path).unwrap()
}

#[test]
fn shown() {
    let scenario = scenario();
    let played = scenario.play(NonZero::new(2), || ());
    println!(
        "{}",
        scenario.summary_text(&summary_table(&scenario.table(&played)).unwrap()).unwrap()
    );
    println!("{}", scenario.plan_text(&played).unwrap());
    scenario.report(&played).unwrap().write(Path::new("/tmp/replan-report")).unwrap();
}
