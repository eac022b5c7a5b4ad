//! What a keeper removes by the rules of buckets.

mod common;

use common::*;
use ripstop_catalog::{Attributes, Condition, ListingRequest, ObjectVersion, Upload, Versioning};
use ripstop_keeper::{Aged, Keeper, KeeperSettings, LifecycleReader};
use ripstop_lifecycle::Day;
use std::time::Duration;

const READER: LifecycleReader =
    LifecycleReader { document: ripstop_s3::LIFECYCLE_DOCUMENT, read: ripstop_s3::lifecycle_rules };
const DAY_MS: u64 = 86_400_000;

async fn configure(bench: &Bench, bucket: &str, rules: &[&str]) {
    let rules = rules
        .iter()
        .enumerate()
        .map(|(at, rule)| format!("<Rule><ID>{at}</ID><Status>Enabled</Status>{rule}</Rule>"));
    let rules: String = rules.collect();
    let document = format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>");
    let set = bench.store.set_bucket_document(bucket, READER.document, Some(&document)).await;
    set.expect("configured");
}

fn expire(filter: &str, what: &str) -> String {
    format!("<Filter>{filter}</Filter><Expiration>{what}</Expiration>")
}

fn noncurrent(days: u32, kept: &str) -> String {
    format!(
        "<Prefix></Prefix><NoncurrentVersionExpiration><NoncurrentDays>{days}</NoncurrentDays>\
         {kept}</NoncurrentVersionExpiration>"
    )
}

/// A kept store with a bucket `b` that keeps versions like this, and these rules.
async fn with_rules(versioning: Versioning, rules: &[&str]) -> Bench {
    let bench = bench(3, 2);
    bench.store.create_bucket("b").await.expect("made");
    bench.store.set_versioning("b", versioning).await.expect("set");
    configure(&bench, "b", rules).await;
    bench
}

/// Removes what is due so many days from now.
async fn after_days(bench: &Bench, days: u64) -> Aged {
    let now_ms = ripstop_host::unix_ms() + days * DAY_MS;
    bench.keeper.remove_due(READER, Day::STANDARD, now_ms).await.expect("walked")
}

async fn put_tagged(bench: &Bench, key: &str, tags: &[(&str, &str)]) {
    put(&bench.store, key, &bytes(100, 1)).await;
    let read = bench.store.object("b", key).await.expect("there");
    let tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let attributes = Attributes { tags, ..read.object.attributes.clone() };
    bench.store.set_attributes("b", key, &read, attributes).await.expect("tagged");
}

/// Keys of all versions, each with whether it is the latest, and a delete marker.
async fn versions(bench: &Bench) -> Vec<(String, bool, bool)> {
    let request = ListingRequest { bucket: "b".into(), max: 1000, ..ListingRequest::default() };
    let listing = bench.store.versions(&request).await.expect("listed");
    listing.versions.into_iter().map(|it| (it.key, it.is_latest, it.is_marker)).collect()
}

async fn keys(bench: &Bench) -> Vec<String> {
    let request = ListingRequest { bucket: "b".into(), max: 1000, ..ListingRequest::default() };
    let listing = bench.store.list(&request).await.expect("listed");
    listing.objects.into_iter().map(|(key, _)| key).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_expire_by_their_keys_tags_and_sizes_once_their_days_are_over() {
    let tag = "<Tag><Key>a</Key><Value>1</Value></Tag>";
    let short = "<And><Prefix>s/</Prefix><ObjectSizeLessThan>101</ObjectSizeLessThan></And>";
    let rules = [
        expire("<Prefix>p/</Prefix>", "<Days>1</Days>"),
        expire(tag, "<Days>4</Days>"),
        expire(short, "<Days>1</Days>"),
    ];
    let bench = with_rules(Versioning::Never, &rules.each_ref().map(String::as_str)).await;
    for key in ["p/1", "p/2", "q", "s/short"] {
        put(&bench.store, key, &bytes(100, 1)).await;
    }
    put(&bench.store, "s/long", &bytes(101, 1)).await;
    put_tagged(&bench, "tagged", &[("a", "1"), ("b", "2")]).await;
    put_tagged(&bench, "tagged otherwise", &[("a", "2")]).await;
    assert_eq!(after_days(&bench, 0).await, Aged::default());
    assert_eq!(after_days(&bench, 3).await, Aged { objects: 3, ..Aged::default() });
    assert_eq!(keys(&bench).await, ["q", "s/long", "tagged", "tagged otherwise"]);
    assert_eq!(after_days(&bench, 6).await, Aged { objects: 1, ..Aged::default() });
    assert_eq!(keys(&bench).await, ["q", "s/long", "tagged otherwise"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_objects_expire_than_a_page_shows_and_those_beside_them_stay() {
    let rule = expire("<Prefix>p/</Prefix>", "<Date>2020-01-01T00:00:00Z</Date>");
    let mut bench = with_rules(Versioning::Never, &[&rule]).await;
    for key in 0..1100 {
        put(&bench.store, &format!("p/{key}"), b"").await;
    }
    put(&bench.store, "a", b"").await;
    put(&bench.store, "q", b"").await;
    assert_eq!(after_days(&bench, 0).await, Aged { objects: 1100, ..Aged::default() });
    assert_eq!(keys(&bench).await, ["a", "q"]);
    settle(&bench).await;
    rebuild(&mut bench).await;
    assert_eq!(keys(&bench).await, ["a", "q"], "the nodes were told");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_versions_are_kept_an_object_gives_way_to_a_marker_and_goes_later_and_the_marker_last()
 {
    let rules = [
        expire("", "<Days>1</Days>"),
        noncurrent(3, ""),
        expire("", "<ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>"),
    ];
    let bench = with_rules(Versioning::Enabled, &rules.each_ref().map(String::as_str)).await;
    put(&bench.store, "k", &bytes(100, 1)).await;
    put(&bench.store, "k", &bytes(100, 2)).await;
    assert_eq!(after_days(&bench, 2).await, Aged { objects: 1, ..Aged::default() });
    let one = |is_latest, is_marker| ("k".to_owned(), is_latest, is_marker);
    assert_eq!(versions(&bench).await, [one(true, true), one(false, false), one(false, false)]);
    assert_eq!(after_days(&bench, 2).await, Aged::default(), "a marker above others stays");
    // The marker was made just now.
    assert_eq!(after_days(&bench, 4).await, Aged { versions: 2, ..Aged::default() });
    assert_eq!(versions(&bench).await, [one(true, true)]);
    assert_eq!(after_days(&bench, 0).await, Aged { markers: 1, ..Aged::default() });
    assert_eq!(versions(&bench).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_noncurrent_versions_are_kept_that_a_rule_says() {
    let kept = "<NewerNoncurrentVersions>2</NewerNoncurrentVersions>";
    let bench = with_rules(Versioning::Enabled, &[&noncurrent(1, kept)]).await;
    for seed in 0..6 {
        put(&bench.store, "k", &bytes(100, seed)).await;
        put(&bench.store, "l", &bytes(100, seed)).await;
    }
    assert_eq!(after_days(&bench, 3).await, Aged { versions: 6, ..Aged::default() });
    assert_eq!(versions(&bench).await.len(), 6);
    assert_eq!(get(&bench.store, "k").await.expect("read"), bytes(100, 5));
    assert_eq!(after_days(&bench, 30).await, Aged::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_end_and_what_is_not_followed_ends_nothing() {
    let ends = "<Prefix>u</Prefix><AbortIncompleteMultipartUpload>\
        <DaysAfterInitiation>2</DaysAfterInitiation></AbortIncompleteMultipartUpload>";
    let bench = with_rules(Versioning::Never, &[ends]).await;
    for key in ["u1", "u2", "v"] {
        let upload = Upload { bucket: "b".into(), key: key.into(), ..Upload::default() };
        bench.store.create_upload(upload).await.expect("begun");
    }
    put(&bench.store, "u", b"").await;
    let off = bench.store.bucket("b").await.expect("there").documents;
    let document = off.get(READER.document).expect("set").replace("Enabled", "Disabled");
    let set = bench.store.set_bucket_document("b", READER.document, Some(&document)).await;
    set.expect("configured");
    assert_eq!(after_days(&bench, 9).await, Aged::default());
    configure(&bench, "b", &[ends]).await;
    assert_eq!(after_days(&bench, 1).await, Aged::default());
    assert_eq!(after_days(&bench, 3).await, Aged { uploads: 2, ..Aged::default() });
    let request = ListingRequest { bucket: "b".into(), max: 9, ..ListingRequest::default() };
    let left = bench.store.uploads(&request).await.expect("listed").uploads;
    assert_eq!(left.iter().map(|upload| &*upload.key).collect::<Vec<_>>(), ["v"]);
    assert_eq!(keys(&bench).await, ["u"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_its_key_stands_for_again_is_not_removed_for_having_been_another() {
    let bench = with_rules(Versioning::Enabled, &[]).await;
    put(&bench.store, "k", &bytes(100, 1)).await;
    let old = bench.store.object("b", "k").await.expect("there");
    let version = old.version.expect("it has one");
    let superseded = || Condition::Superseded(old.object.told_by);
    let refused = bench.store.delete_version("b", "k", version, superseded(), false).await;
    refused.expect_err("it is what the key stands for");
    put(&bench.store, "k", &bytes(100, 2)).await;
    let new = bench.store.object("b", "k").await.expect("there");
    let latest = Condition::Latest(old.object.told_by);
    bench.store.delete("b", "k", latest).await.expect_err("another is the latest");
    let newer = new.version.expect("it has one");
    assert_ne!(newer, ObjectVersion::Null);
    bench.store.delete_version("b", "k", newer, Condition::None, false).await.expect("removed");
    let refused = bench.store.delete_version("b", "k", version, superseded(), false).await;
    refused.expect_err("it is again");
    assert_eq!(get(&bench.store, "k").await.expect("read"), bytes(100, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_follows_rules_by_itself_and_counts_what_it_removed() {
    let rule = expire("<Prefix>p/</Prefix>", "<Days>1</Days>");
    let mut bench = with_rules(Versioning::Never, &[&rule]).await;
    let (_to, aftermaths) = ripstop_runtime::aftermaths();
    let often = KeeperSettings {
        lifecycle_every: Duration::from_millis(20),
        lifecycle_day: Day::of_ms(300),
        ..settings()
    };
    bench.keeper = Keeper::begin(bench.store.clone(), aftermaths, often);
    bench.keeper.follow_rules(READER);
    let counts = bench.keeper.aged_counts();
    put(&bench.store, "p/1", &bytes(100, 1)).await;
    put(&bench.store, "q", &bytes(100, 1)).await;
    for _ in 0..300 {
        if keys(&bench).await == ["q"] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(keys(&bench).await, ["q"]);
    for _ in 0..100 {
        if counts.now().objects == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", counts.now());
}
