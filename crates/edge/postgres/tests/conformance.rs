//! The catalog in a real PostgreSQL, against what every implementation must pass.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which say what they skip")]

mod support;

use proptest::prelude::*;
use ripstop_catalog::conformance::{Step, cases, compare, follow, script};
use ripstop_catalog::{AtOnce, Grouped};
use std::sync::Arc;
use support::server::Server;
use support::{fresh, opened, run, server};

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "an hour: the same over many more scripts"]
    fn any_of_many_scripts_gives_what_the_model_gives(
        steps in script(200), together in 1..60usize,
    ) {
        let Some(server) = server() else { return Ok(()) };
        follow_on(&server, &steps, together);
    }
}
