//! Prints what the embedded catalog does per second on this machine: durable commits by how many
//! callers wait at the same time, lookups, listings, and how long opening takes after a crash.
//!
//! `cargo bench -p ripstop-catalog --bench commit [-- FOLDER]`; the folder's disk is what is
//! measured.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use redb::{Database, ReadableDatabase, TableDefinition};
use ripstop_catalog::conformance::{bucket, listing_of, object, stripe};
use ripstop_catalog::{
    Catalog, CatalogSettings, Change, Condition, Durability, Embedded, Grouped, ListingRequest,
    Quota, Reading, copy,
};
use ripstop_model::StripeId;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long each figure is measured.
const FOR: Duration = Duration::from_secs(2);
const OBJECTS: u128 = 200_000;

fn put(id: u128) -> Change {
    Change::PutObject {
        bucket: "bench".into(),
        key: format!("folder{:03}/object{id:020}", id % 500),
        object: object("0123456789abcdef0123456789abcdef", &[id], id),
        stripes: vec![(StripeId(id), stripe())],
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

async fn with_bucket(path: &Path, settings: CatalogSettings) -> Arc<Embedded> {
    let catalog = Embedded::open(path, settings).expect("it opens");
    let stripes = vec![(StripeId(1), stripe())];
    let change = Change::CreateBucket { bucket: bucket("bench", 1), stripes };
    catalog.commit_one(1, change).await.expect("a new bucket");
    Arc::new(catalog)
}

/// Durable commits per second with `callers` that each wait for one answer after the other.
async fn commits(folder: &Path, callers: u128, quick_open: bool) -> f64 {
    let path = folder.join(format!("commits-{callers}-{quick_open}"));
    let settings = CatalogSettings { quick_open, ..CatalogSettings::default() };
    let catalog = Arc::new(Grouped::over(with_bucket(&path, settings).await));
    let begin = Instant::now();
    let callers = (0..callers).map(|caller| {
        let catalog = Arc::clone(&catalog);
        tokio::spawn(async move {
            let mut done = 0;
            while begin.elapsed() < FOR {
                catalog.commit_one(1, put(2 + (caller << 64) + done)).await.expect("committed");
                done += 1;
            }
            done
        })
    });
    let mut done = 0;
    for caller in callers.collect::<Vec<_>>() {
        done += caller.await.expect("no caller panics");
    }
    done as f64 / begin.elapsed().as_secs_f64()
}

/// Fills a catalog without waiting for the disk.
async fn filled(path: &Path) {
    let settings =
        CatalogSettings { durability: Durability::Relaxed, ..CatalogSettings::default() };
    let catalog = Grouped::over(with_bucket(path, settings).await);
    let ids: Vec<u128> = (2..OBJECTS + 2).collect();
    for ids in ids.chunks(2000) {
        let commits = ids.iter().map(|id| catalog.commit_one(1, put(*id)));
        for answer in futures::future::join_all(commits).await {
            answer.expect("committed");
        }
    }
}

async fn lookups(catalog: &Embedded) -> Duration {
    let (begin, mut done, mut id) = (Instant::now(), 0_u32, 2);
    while begin.elapsed() < FOR {
        for _ in 0..100 {
            id = 2 + (id * 7_919 + 13) % OBJECTS;
            let key = format!("folder{:03}/object{id:020}", id % 500);
            let located = catalog.object("bench", &key).await.expect("read");
            assert_eq!(located.expect("there").stripes.len(), 1);
            done += 1;
        }
    }
    begin.elapsed() / done
}

async fn listings(catalog: &Embedded, request: &ListingRequest) -> Duration {
    let (begin, mut done) = (Instant::now(), 0_u32);
    while begin.elapsed() < FOR / 2 {
        let page = catalog.list(request).await.expect("listed");
        assert!(page.objects.len() + page.prefixes.len() >= 500);
        done += 1;
    }
    begin.elapsed() / done
}

/// A copy of a file whose database was not closed, as a kill leaves it.
async fn opening_after_a_crash(path: &Path, quick_open: bool) -> Duration {
    let settings = CatalogSettings { quick_open, ..CatalogSettings::default() };
    let catalog = Embedded::open(path, settings.clone()).expect("it opens");
    catalog.commit_one(1, put(1 << 100)).await.expect("committed");
    let copy = path.with_extension("crashed");
    std::fs::copy(path, &copy).expect("copied");
    let begin = Instant::now();
    drop(Embedded::open(&copy, settings).expect("it opens"));
    begin.elapsed()
}

/// How long it takes to verify every page and recount every record, at the opening, in a copy, and
/// beside a caller that commits; and how many commits a second that caller has then.
async fn guarding(path: &Path) {
    let begin = Instant::now();
    let settings = CatalogSettings { check_pages: true, ..CatalogSettings::default() };
    let catalog = Arc::new(Embedded::open(path, settings).expect("it opens"));
    println!("opening, every page verified: {:.2?}", begin.elapsed());
    let snapshot = catalog.snapshot().await.expect("taken");
    let (begin, to) = (Instant::now(), path.with_extension("copy"));
    let copied = copy(path, Some(snapshot.extracted()), &to, &Reading::default());
    assert!(copied.expect("copied").inspection.is_clean());
    println!("copied and verified: {:.2?}", begin.elapsed());
    let begin = Instant::now();
    let inspecting = {
        let catalog = Arc::clone(&catalog);
        tokio::spawn(async move { catalog.inspect(&Reading::default(), None).await })
    };
    let (mut commits, mut longest) = (0, Duration::ZERO);
    while !inspecting.is_finished() {
        let asked = Instant::now();
        catalog.commit_one(1, put((1 << 101) + commits)).await.expect("committed");
        longest = longest.max(asked.elapsed());
        commits += 1;
    }
    let inspected = inspecting.await.expect("it does not panic").expect("inspected");
    assert!(inspected.is_clean());
    let (took, rate) = (begin.elapsed(), commits as f64 / begin.elapsed().as_secs_f64());
    println!(
        "inspected beside one caller: {took:.2?}; commits/s {rate:.0}, the longest {longest:.1?}"
    );
}

/// What redb alone does: a lookup of a 100-byte record, tables opened beforehand or for each.
fn redb_alone(path: &Path) -> (Duration, Duration) {
    const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("objects");
    let database = Database::create(path).expect("it opens");
    let table = database.begin_read().expect("begun").open_table(TABLE).expect("opened");
    let lookups = |held: bool| {
        let (begin, mut done) = (Instant::now(), 0_u32);
        while begin.elapsed() < FOR / 2 {
            for _ in 0..100 {
                if held {
                    std::hint::black_box(table.get([1].as_slice()).expect("read").is_none());
                } else {
                    let txn = database.begin_read().expect("begun");
                    let table = txn.open_table(TABLE).expect("opened");
                    std::hint::black_box(table.get([1].as_slice()).expect("read").is_none());
                }
                done += 1;
            }
        }
        begin.elapsed() / done
    };
    (lookups(true), lookups(false))
}

#[tokio::main]
async fn main() {
    let folder = env::args().skip(1).find(|it| !it.starts_with("--")).map(PathBuf::from);
    let own = tempfile::tempdir().expect("a folder");
    let folder = folder.unwrap_or_else(|| own.path().to_owned());
    for quick_open in [false, true] {
        for callers in [1, 32, 256] {
            let rate = commits(&folder, callers, quick_open).await;
            println!("commits/s, {callers:3} callers, quick_open {quick_open}: {rate:.0}");
        }
    }
    let path = folder.join("filled");
    let begin = Instant::now();
    filled(&path).await;
    let bytes = std::fs::metadata(&path).expect("there").len();
    println!("{OBJECTS} objects put relaxed in {:.1?}: {} MB", begin.elapsed(), bytes / 1_000_000);
    for cache_bytes in [32 << 20, 1 << 30] {
        let settings = CatalogSettings { cache_bytes, ..CatalogSettings::default() };
        let catalog = Embedded::open(&path, settings).expect("it opens");
        lookups(&catalog).await;
        println!("lookup, cache {} MiB: {:.2?}", cache_bytes >> 20, lookups(&catalog).await);
        let page = listing_of("bench");
        println!("page of 1000 keys: {:.0?}", listings(&catalog, &page).await);
        let rolled = ListingRequest { delimiter: "/".into(), ..page };
        println!("page of 500 prefixes: {:.0?}", listings(&catalog, &rolled).await);
    }
    for quick_open in [false, true] {
        let took = opening_after_a_crash(&path, quick_open).await;
        println!("opening after a crash, quick_open {quick_open}: {took:.1?}");
    }
    guarding(&path).await;
    let (held, opened) = redb_alone(&path);
    println!("redb lookup, table held open: {held:.2?}, opened each time: {opened:.2?}");
}
