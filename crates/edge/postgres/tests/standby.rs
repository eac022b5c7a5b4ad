//! Two real servers, one of which follows the other synchronously, and takes over when it dies.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which say what they skip")]

mod support;

use ripstop_catalog::conformance::{bucket, object, stripe};
use ripstop_catalog::{Audited as _, Catalog, CatalogError, Change, Condition, Grouped, Quota};
use ripstop_model::StripeId;
use ripstop_postgres::{Postgres, PostgresSettings};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use support::run;
use support::server::Server;

/// How often a primary dies.
const DEATHS: usize = 3;
/// Writers of each gateway.
const WRITERS: u64 = 8;
/// How long each pauses after an answer: what is read again in the end takes its time.
const PAUSE: Duration = Duration::from_millis(20);
/// How soon writes go on at the latest once a standby was promoted: a machine that does other work
/// gets four times what is promised.
const RESUMED_MAX: Duration = Duration::from_secs(20);
/// How long something is waited for.
const WAITED_MAX: Duration = Duration::from_mins(1);

/// A primary, and a standby that has what is answered; `None`, having said why, where there are
/// none.
async fn pair() -> Option<(Arc<Server>, Arc<Server>)> {
    let made = tokio::task::spawn_blocking(|| {
        let primary = Server::start_group()?;
        let standby = primary.standby(None)?;
        Ok::<_, String>((Arc::new(primary), Arc::new(standby)))
    });
    match made.await.unwrap() {
        Ok((primary, standby)) => {
            follow(&primary).await;
            Some((primary, standby))
        }
        Err(reason) if std::env::var_os("RIPSTOP_POSTGRES").is_none() => {
            println!("skipped: {reason}");
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// Has a primary answer only what its standby has.
async fn follow(primary: &Server) {
    primary.simple("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
    primary.simple("SELECT pg_reload_conf()").await;
    let until = Instant::now() + WAITED_MAX;
    while primary.simple("SELECT sync_state FROM pg_stat_replication").await != ["sync"] {
        assert!(Instant::now() < until, "the standby does not follow");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn url_of(servers: [&Server; 2]) -> String {
    let [first, second] = servers.map(|server| format!("127.0.0.1:{}", server.port));
    format!("postgres://ripstop@{first},{second}/postgres")
}

async fn opened(servers: [&Server; 2], settings: PostgresSettings) -> Postgres {
    Postgres::open(&url_of(servers).parse().unwrap(), settings).await.unwrap()
}

fn create() -> Change {
    let stripes = vec![(StripeId(1), stripe())];
    Change::CreateBucket { bucket: bucket("b", 1), stripes }
}

fn put(key: &str, id: u64) -> Change {
    let id = u128::from(id);
    Change::PutObject {
        bucket: "b".into(),
        key: key.into(),
        object: object("e", &[id], id),
        stripes: vec![(StripeId(id), stripe())],
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

/// What gateways write, and when each write was answered.
#[derive(Default)]
struct Load {
    next: AtomicU64,
    is_over: AtomicBool,
    answered: Mutex<BTreeMap<u64, Instant>>,
}

impl Load {
    async fn write(&self, gateway: Arc<dyn Catalog>) {
        while !self.is_over.load(SeqCst) {
            let id = 100 + self.next.fetch_add(1, SeqCst);
            gateway.commit_one(1, put(&format!("k{id}"), id)).await.unwrap();
            self.answered.lock().unwrap().insert(id, Instant::now());
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn first_after(&self, moment: Instant) -> Option<Instant> {
        let answered = self.answered.lock().unwrap();
        answered.values().filter(|at| **at > moment).min().copied()
    }

    fn answered(&self) -> Vec<u64> {
        self.answered.lock().unwrap().keys().copied().collect()
    }
}

async fn must_hold(catalog: &Postgres, answered: &[u64]) {
    for id in answered {
        let found = catalog.object("b", &format!("k{id}")).await.unwrap();
        assert!(found.is_some(), "k{id} was answered and is lost");
    }
}

#[test]
fn no_answered_write_is_lost_when_a_primary_is_killed_and_its_standby_promoted() {
    run(async {
        let Some((mut primary, mut standby)) = pair().await else { return };
        let load = Arc::new(Load::default());
        let mut writing = Vec::new();
        for _ in 0..2 {
            let gateway = opened([&primary, &standby], PostgresSettings::default()).await;
            let gateway: Arc<dyn Catalog> = Arc::new(Grouped::over(Arc::new(gateway)));
            if writing.is_empty() {
                gateway.commit_one(1, create()).await.unwrap();
            }
            for _ in 0..WRITERS {
                let (load, gateway) = (load.clone(), gateway.clone());
                writing.push(tokio::spawn(async move { load.write(gateway).await }));
            }
        }
        for death in 1..=DEATHS {
            let dice = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
            let lived = Duration::from_millis(u64::from(500 + dice % 1500));
            tokio::time::sleep(lived).await;
            primary.kill_group();
            let (killed, answered) = (Instant::now(), load.answered());
            standby.simple("SELECT pg_promote(true, 60)").await;
            let promoted = Instant::now();
            let resumed = loop {
                if let Some(at) = load.first_after(promoted) {
                    break at - promoted;
                }
                assert!(promoted.elapsed() < RESUMED_MAX, "writes do not go on");
                tokio::time::sleep(Duration::from_millis(5)).await;
            };
            println!(
                "death {death}: after {lived:?} and {} answered writes; promoted within {:?}, first answer \
                 {resumed:?} later",
                answered.len(),
                promoted - killed
            );
            let catalog = opened([&primary, &standby], PostgresSettings::default()).await;
            must_hold(&catalog, &answered).await;
            // A new standby in the dead one's place.
            let (port, leader) = (primary.port, standby.clone());
            let made = tokio::task::spawn_blocking(move || leader.standby(Some(port)).unwrap());
            let follower = Arc::new(made.await.unwrap());
            follow(&standby).await;
            (primary, standby) = (standby, follower);
        }
        load.is_over.store(true, SeqCst);
        for writer in writing {
            writer.await.unwrap();
        }
        let catalog = opened([&primary, &standby], PostgresSettings::default()).await;
        must_hold(&catalog, &load.answered()).await;
        let audit = catalog.audit().await.unwrap();
        assert!(audit.is_clean(), "{:?}", audit.findings);
        assert_eq!(audit.objects, load.answered().len() as u64);
    });
}

fn hasty(patience: Duration) -> PostgresSettings {
    let statement_max = Duration::from_millis(300);
    PostgresSettings { statement_max, patience, ..PostgresSettings::default() }
}

/// Whether the commit of a write waits for a standby.
async fn waits(primary: &Server) -> bool {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    primary.simple(waiting).await != ["0"]
}

#[test]
fn what_a_standby_has_not_got_is_not_answered_however_often_its_commit_is_cut_short() {
    run(async {
        let Some((primary, standby)) = pair().await else { return };
        let long = opened([&primary, &standby], hasty(WAITED_MAX)).await;
        long.commit_one(1, create()).await.unwrap();
        long.commit_one(1, put("before", 10)).await.unwrap();
        let short = opened([&primary, &standby], hasty(Duration::from_secs(2))).await;
        standby.kill();
        // Its statements take far longer than they may, and it is given up at last.
        let error = short.commit_one(1, put("short", 11)).await.unwrap_err();
        assert!(matches!(error, CatalogError::Unavailable(_)), "{error:?}");
        let answered = Arc::new(AtomicBool::new(false));
        let told = answered.clone();
        let writing = tokio::spawn(async move {
            long.commit_one(1, put("long", 12)).await.unwrap();
            told.store(true, SeqCst);
            long
        });
        // Commits that wait are ended, as an operator may do: they are in force here, and nowhere
        // else.
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            if waits(&primary).await {
                let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                           WHERE wait_event = 'SyncRep'";
                primary.simple(end).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(!answered.load(SeqCst), "no standby has what is answered");
        }
        let again = standby.clone();
        tokio::task::spawn_blocking(move || again.run()).await.unwrap();
        let long = writing.await.unwrap();
        primary.kill_group();
        standby.simple("SELECT pg_promote(true, 60)").await;
        for key in ["before", "long"] {
            assert!(long.object("b", key).await.unwrap().is_some(), "{key}");
        }
        long.commit_one(1, put("after", 13)).await.unwrap();
    });
}
