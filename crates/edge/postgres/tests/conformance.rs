//! The catalog in a real PostgreSQL, against what every implementation must pass.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which say what they skip")]

mod support;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use ripstop_catalog::conformance::{Step, cases, compare, follow, script};
use ripstop_catalog::{AtOnce, Grouped};
use std::sync::Arc;
use support::server::Server;
use support::{Played, fresh, opened, run, scripts, server};

#[test]
fn it_passes_every_case() {
    let Some(server) = server() else { return };
    for (name, case) in cases() {
        println!("{name}");
        run(async { case(&fresh(&server).await).await });
    }
}

#[test]
fn grouped_it_passes_every_case() {
    let Some(server) = server() else { return };
    for (name, case) in cases() {
        println!("{name}");
        run(async {
            let catalog = Arc::new(fresh(&server).await);
            let gather = AtOnce { changes_max: 3 };
            case(&Grouped::by(gather, 10, catalog)).await;
        });
    }
}

fn follow_on(server: &Server, steps: &[Step], together: usize) {
    run(async {
        let url = server.fresh_url().await;
        let model = follow(&opened(&url).await, steps, together).await;
        // Opened again it is the same.
        compare(&opened(&url).await, &model).await;
        server.forget(&url).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_script_gives_what_the_model_gives(steps in script(80), together in 1..30usize) {
        let Some(server) = server() else { return Ok(()) };
        follow_on(&server, &steps, together);
    }
}

#[test]
#[ignore = "the same over many more scripts: as many as RIPSTOP_SCRIPTS says"]
fn any_of_many_scripts_gives_what_the_model_gives() {
    let Some(server) = server() else { return };
    let (cases, steps_max) = scripts(2_000);
    let config = ProptestConfig { cases, ..ProptestConfig::default() };
    let (played, drawn) = (Played::default(), (script(steps_max), 1..60usize));
    let many = TestRunner::new(config).run(&drawn, |(steps, together)| {
        follow_on(&server, &steps, together);
        played.one_more();
        Ok(())
    });
    many.unwrap();
}
