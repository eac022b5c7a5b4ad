//! Prints what versions cost: pages and lookups of a bucket with three versions of each key, beside
//! those of a bucket with as many keys and no versions, in one file and by turns.
//!
//! `cargo bench -p ripstop-catalog --bench versions [-- KEYS]`; 200,000 keys unless it says other.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use ripstop_catalog::conformance::{bucket, listing_of, object, stripe};
use ripstop_catalog::{
    Bucket, Catalog, CatalogSettings, Change, Condition, Durability, Embedded, ListingRequest,
    Object, ObjectVersion, Place, Quota, Stamp, VersionId, Versioning,
};
use ripstop_model::StripeId;
use std::env;
use std::time::{Duration, Instant};

/// How long each figure is measured in one turn.
const FOR: Duration = Duration::from_millis(700);
const TURNS: usize = 3;
const KEYS: u64 = 200_000;
const VERSIONS: u64 = 3;
const FOLDERS: u64 = 2000;
/// Changes of one commit.
const TOGETHER: usize = 5000;

fn key(number: u64) -> String {
    format!("folder{:04}/object{number:012}", number % FOLDERS)
}

fn put(bucket: &str, number: u64, when: u64, version: bool) -> Change {
    // The stripe of one object each, and a number for each of them.
    let id = u128::from(when) << 64 | u128::from(number) << 1 | u128::from(version);
    let stamp = Stamp { when, stripe: StripeId(id) };
    let version =
        if version { ObjectVersion::Id(VersionId::of(stamp)) } else { ObjectVersion::Null };
    let key = key(number);
    let place = Place::of_version(bucket, &key, version).into_owned();
    Change::PutObject {
        bucket: place.bucket.into_owned(),
        key: place.key.into_owned(),
        object: Object {
            stamp: Some(stamp),
            ..object("0123456789abcdef0123456789abcdef", &[id], id)
        },
        stripes: vec![(StripeId(id), stripe())],
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

async fn commit(catalog: &Embedded, changes: Vec<Change>) {
    for outcome in catalog.commit(1, changes).await.expect("committed") {
        outcome.expect("applied");
    }
}

async fn filled(catalog: &Embedded, keys: u64) {
    for (name, told_by, versioning) in
        [("plain", 1, Versioning::Never), ("kept", 2, Versioning::Enabled)]
    {
        let bucket = Bucket { versioning, ..bucket(name, told_by) };
        let stripes = vec![(StripeId(told_by), stripe())];
        commit(catalog, vec![Change::CreateBucket { bucket, stripes }]).await;
    }
    let plain = (0..keys).map(|number| put("plain", number, 1, false));
    let kept = (1..=VERSIONS)
        .flat_map(|when| (0..keys).map(move |number| put("kept", number, when + 1, true)));
    let mut changes = Vec::with_capacity(TOGETHER);
    for change in plain.chain(kept) {
        changes.push(change);
        if changes.len() == TOGETHER {
            commit(catalog, std::mem::take(&mut changes)).await;
        }
    }
    commit(catalog, changes).await;
}

/// What is asked for again and again.
#[derive(Clone, Copy)]
enum Asked {
    /// A page of keys of this length.
    Keys(usize),
    Folders,
    /// A page of versions of this length.
    Versions(usize),
    FoldersOfVersions,
    Lookup,
}

/// How long one answer takes, somewhere in the bucket.
async fn one(catalog: &Embedded, bucket: &str, asked: Asked, keys: u64) -> Duration {
    let (begin, mut done, mut number) = (Instant::now(), 0_u32, 0);
    while begin.elapsed() < FOR {
        number = (number * 7919 + 13) % keys;
        let after = key(number / 2 * 2);
        let request = ListingRequest { after, max: 1000, ..listing_of(bucket) };
        let folders = || {
            let delimiter = "/".to_owned();
            ListingRequest { after: String::new(), delimiter, ..request.clone() }
        };
        let prefixes = 1000.min(keys as usize);
        match asked {
            Asked::Keys(max) => {
                let request = ListingRequest { max, ..request };
                _ = catalog.list(&request).await.expect("listed");
            }
            Asked::Folders => {
                let page = catalog.list(&folders()).await.expect("listed");
                assert_eq!(page.prefixes.len(), prefixes);
            }
            Asked::Versions(max) => {
                let request = ListingRequest { max, ..request };
                _ = catalog.versions(&request).await.expect("listed");
            }
            Asked::FoldersOfVersions => {
                let page = catalog.versions(&folders()).await.expect("listed");
                assert_eq!(page.prefixes.len(), prefixes);
            }
            Asked::Lookup => {
                let found = catalog.current(bucket, &request.after).await.expect("read");
                assert!(found.is_some());
            }
        }
        done += 1;
    }
    begin.elapsed() / done
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let keys = env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(KEYS);
    let folder = tempfile::tempdir().expect("a folder");
    let settings =
        CatalogSettings { durability: Durability::Relaxed, ..CatalogSettings::default() };
    let catalog = Embedded::open(&folder.path().join("catalog"), settings).expect("it opens");
    let begin = Instant::now();
    filled(&catalog, keys).await;
    println!("{keys} keys, {VERSIONS} versions of each beside none: {:.1?}", begin.elapsed());
    for (what, asked, beside) in [
        ("a page of 1000 keys", Asked::Keys(1000), Asked::Keys(1000)),
        ("a page of 1000 folders", Asked::Folders, Asked::Folders),
        ("1000 folders of versions beside those of keys", Asked::FoldersOfVersions, Asked::Folders),
        ("a page of 1000 versions beside one of keys", Asked::Versions(1000), Asked::Keys(1000)),
        ("a page of 100 versions beside one of keys", Asked::Versions(100), Asked::Keys(100)),
        ("a page of 10 versions beside one of keys", Asked::Versions(10), Asked::Keys(10)),
        ("what a key stands for", Asked::Lookup, Asked::Lookup),
    ] {
        let mut best = [Duration::MAX; 2];
        for _ in 0..TURNS {
            best[0] = best[0].min(one(&catalog, "kept", asked, keys).await);
            best[1] = best[1].min(one(&catalog, "plain", beside, keys).await);
        }
        let ratio = best[0].as_secs_f64() / best[1].as_secs_f64();
        println!("{what}: {:.1?} with versions, {:.1?} without, ×{ratio:.2}", best[0], best[1]);
    }
}
