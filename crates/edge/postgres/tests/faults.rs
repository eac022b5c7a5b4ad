//! The same conformance while statements fail, commits lose their answers, and servers go away.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which say what they skip")]

mod support;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use ripstop_catalog::conformance::{Step, bucket, cases, follow, script, stripe};
use ripstop_catalog::{Catalog as _, Change};
use ripstop_model::StripeId;
use ripstop_postgres::{Postgres, PostgresSettings};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use support::proxy::{CONFLICT, Faults, Proxy};
use support::server::Server;
use support::{Played, run, scripts, server};

/// Of a thousand each.
const FAULTS: Faults =
    Faults { conflicts: 8, commits_lost: 30, answers_lost: 60, shutdowns: 4, stalls: 4 };

/// An empty catalog behind a proxy, which does nothing yet.
async fn behind(server: &Server, faults: Faults, seed: u64) -> (Proxy, Postgres) {
    behind_at(server, &server.fresh_url().await, faults, seed).await
}

/// The same, in that schema.
async fn behind_at(server: &Server, url: &str, faults: Faults, seed: u64) -> (Proxy, Postgres) {
    let exists = "SELECT proname FROM pg_proc WHERE proname = 'ripstop_conflict'";
    if server.simple(exists).await.is_empty() {
        // Another test may be making it.
        let quiet = format!("DO $do$ BEGIN {CONFLICT}; EXCEPTION WHEN others THEN NULL; END $do$");
        server.simple(&quiet).await;
    }
    let proxy = Proxy::start(server.port, faults, seed).await;
    let url = url.replace(&server.port.to_string(), &proxy.port.to_string());
    // An audit begins again at each fault, and a machine may have other work.
    let patience = Duration::from_mins(5);
    let settings = PostgresSettings { patience, ..PostgresSettings::default() };
    let catalog = Postgres::open(&url.parse().unwrap(), settings).await;
    (proxy, catalog.unwrap())
}

#[test]
fn it_passes_every_case_through_faults() {
    let Some(server) = server() else { return };
    for (seed, (name, case)) in (1..).zip(cases()) {
        println!("{name}");
        run(async {
            let (proxy, catalog) = behind(&server, FAULTS, seed).await;
            proxy.set(true);
            case(&catalog).await;
        });
    }
}

fn follow_through(server: &Server, steps: &[Step], together: usize, seed: u64) {
    run(async {
        let url = server.fresh_url().await;
        let (proxy, catalog) = behind_at(server, &url, FAULTS, seed).await;
        proxy.set(true);
        follow(&catalog, steps, together).await;
        println!("{:?}", proxy.counts());
        drop(catalog);
        server.forget(&url).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn any_script_gives_what_the_model_gives_through_faults(
        steps in script(80), together in 1..10usize, seed: u64,
    ) {
        let Some(server) = server() else { return Ok(()) };
        follow_through(&server, &steps, together, seed);
    }
}

#[test]
#[ignore = "the same over many more scripts: as many as RIPSTOP_SCRIPTS says"]
fn any_of_many_scripts_gives_what_the_model_gives_through_faults() {
    let Some(server) = server() else { return };
    let (cases, steps_max) = scripts(500);
    let config = ProptestConfig { cases, max_shrink_iters: 50, ..ProptestConfig::default() };
    let (played, drawn) = (Played::default(), (script(steps_max), 1..60usize, any::<u64>()));
    let many = TestRunner::new(config).run(&drawn, |(steps, together, seed)| {
        follow_through(&server, &steps, together, seed);
        played.one_more();
        Ok(())
    });
    many.unwrap();
}

fn create(name: &str, told_by: u128) -> Change {
    let stripes = vec![(StripeId(told_by), stripe())];
    Change::CreateBucket { bucket: bucket(name, told_by), stripes }
}

/// A bucket that is made twice is refused the second time: so a commit that was applied twice
/// would show.
#[test]
fn a_commit_whose_answer_is_lost_is_looked_up_and_not_applied_again() {
    let Some(server) = server() else { return };
    run(async {
        let (faults, none) = (Faults { answers_lost: 500, ..Faults::default() }, Faults::default());
        for faults in [faults, Faults { commits_lost: 500, ..none }] {
            let (proxy, catalog) = behind(&server, faults, 7).await;
            proxy.set(true);
            for at in 1..=30 {
                catalog.commit_one(at, create(&format!("b{at}"), at.into())).await.unwrap();
            }
            proxy.set(false);
            assert_eq!(catalog.buckets("", 100).await.unwrap().len(), 30);
            let counts = proxy.counts();
            let lost = counts.answers_lost.load(Relaxed) + counts.commits_lost.load(Relaxed);
            assert!(lost > 5, "{counts:?}");
        }
    });
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_waited_for_and_nothing_answered_is_lost() {
    let own = match Server::start(&["fsync=on"]) {
        Ok(own) => own,
        Err(reason) => return println!("skipped: {reason}"),
    };
    run(async {
        let url = own.fresh_url().await.parse().unwrap();
        let catalog = Postgres::open(&url, PostgresSettings::default()).await.unwrap();
        for at in 1..=3 {
            catalog.commit_one(at, create(&format!("b{at}"), at.into())).await.unwrap();
            own.kill();
            let change = create(&format!("c{at}"), (at + 100).into());
            let meanwhile = catalog.commit_one(at, change);
            tokio::pin!(meanwhile);
            tokio::select! {
                answer = &mut meanwhile => panic!("answered by nobody: {answer:?}"),
                () = tokio::time::sleep(Duration::from_millis(300)) => own.run(),
            }
            meanwhile.await.unwrap();
        }
        let names: Vec<String> =
            catalog.buckets("", 10).await.unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["b1", "b2", "b3", "c1", "c2", "c3"]);
    });
}

#[test]
fn who_waits_longer_than_it_may_is_told_that_the_catalog_is_unavailable() {
    let own = match Server::start(&[]) {
        Ok(own) => own,
        Err(reason) => return println!("skipped: {reason}"),
    };
    run(async {
        let patience = Duration::from_millis(300);
        let settings = PostgresSettings { patience, ..PostgresSettings::default() };
        let catalog = Postgres::open(&own.url().parse().unwrap(), settings).await.unwrap();
        own.kill();
        let error = catalog.bucket("b").await.unwrap_err();
        assert_eq!(error.to_string(), "catalog unavailable");
        let error = catalog.commit_one(1, create("b", 1)).await.unwrap_err();
        assert_eq!(error.to_string(), "catalog unavailable");
    });
}
