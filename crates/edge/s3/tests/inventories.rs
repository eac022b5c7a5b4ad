//! Inventories of buckets: configured through the wire, made, and read through the wire.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/people.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod people;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::Call;
use flate2::read::MultiGzDecoder;
use md5::{Digest as _, Md5};
use people::{ALICE, BOB, People, denied, text};
use ripstop_catalog::ListingRequest;
use ripstop_s3::{EncryptionSettings, FrontSettings, Inventories, KeyRing, ObjectKeys};
use ripstop_store::{Store, StoreSettings};
use std::io::Read as _;

/// 2026-11-26, a Thursday, at noon.
const NOON_MS: u64 = 1_795_694_400_000;

struct Served {
    people: People,
    store: Store,
    inventories: Inventories,
}

impl Served {
    /// With Alice's buckets `mine` and `lists`.
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = common::store(folder.path(), StoreSettings::default());
        let people = People::over(store.clone(), folder).await;
        for bucket in ["/mine", "/lists"] {
            people.ok(ALICE, "PUT", bucket, "", b"").await;
        }
        let encryption =
            EncryptionSettings { keys: ObjectKeys::new(KeyRing::generate()), ..Default::default() };
        let settings = FrontSettings { encryption, ..FrontSettings::default() };
        let inventories = Inventories::new(store.clone(), settings);
        Self { people, store, inventories }
    }

    async fn configure(&self, id: &str, configuration: &str) -> (u16, String) {
        let query = format!("id={id}&inventory=");
        self.people.told(ALICE, "PUT", "/mine", &query, configuration.as_bytes()).await
    }

    /// Makes what is due of `mine`, in pages of two versions; how many inventories that was.
    async fn make(&self, now_ms: u64) -> usize {
        let bucket = self.store.bucket("mine").await.unwrap();
        let due = self.inventories.due(&bucket, now_ms).await.unwrap();
        let count = due.len();
        for mut draft in due {
            let (mut after, mut after_upload) = (String::new(), String::new());
            loop {
                let request = ListingRequest {
                    bucket: "mine".into(),
                    prefix: draft.prefix().to_owned(),
                    after,
                    after_upload,
                    max: 2,
                    ..ListingRequest::default()
                };
                let page = self.store.versions(&request).await.unwrap();
                draft.add(page.versions).await.unwrap();
                let Some(next) = page.next else { break };
                (after, after_upload) = (next, page.next_upload.unwrap_or_default());
            }
            draft.finish().await.unwrap();
        }
        count
    }

    async fn get(&self, key: &str) -> Vec<u8> {
        self.people.ok(ALICE, "GET", &format!("/lists/{key}"), "", b"").await.body
    }

    /// The manifest of a period, held against its checksum; and the rows of its files.
    async fn read(&self, folder: &str, period: &str) -> (serde_json::Value, Vec<Vec<String>>) {
        let manifest = self.get(&format!("{folder}/{period}/manifest.json")).await;
        let checksum = self.get(&format!("{folder}/{period}/manifest.checksum")).await;
        assert_eq!(checksum, hex::encode(Md5::digest(&manifest)).into_bytes());
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let mut rows = Vec::new();
        for file in manifest["files"].as_array().unwrap() {
            let bytes = self.get(file["key"].as_str().unwrap()).await;
            assert_eq!(file["size"], bytes.len());
            assert_eq!(file["MD5checksum"], hex::encode(Md5::digest(&bytes)));
            let mut csv = String::new();
            MultiGzDecoder::new(&*bytes).read_to_string(&mut csv).unwrap();
            rows.extend(csv.lines().map(|line| {
                let line = line.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
                line.split("\",\"").map(str::to_owned).collect()
            }));
        }
        (manifest, rows)
    }
}

fn configuration(id: &str, versions: &str, frequency: &str, more: &str, fields: &[&str]) -> String {
    let fields: Vec<_> = fields.iter().map(|field| format!("<Field>{field}</Field>")).collect();
    let fields = fields.concat();
    format!(
        "<InventoryConfiguration><Destination><S3BucketDestination><Format>CSV</Format>\
         <Bucket>arn:aws:s3:::lists</Bucket><Prefix>of</Prefix></S3BucketDestination>\
         </Destination><IsEnabled>true</IsEnabled>{more}<Id>{id}</Id>\
         <IncludedObjectVersions>{versions}</IncludedObjectVersions>\
         <Schedule><Frequency>{frequency}</Frequency></Schedule>\
         <OptionalFields>{fields}</OptionalFields></InventoryConfiguration>"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inventory_lists_what_keys_stand_for() {
    let served = Served::new().await;
    for (key, body) in [("a", "one"), ("b/c%20d", "three"), ("x", "other")] {
        served.people.ok(ALICE, "PUT", &format!("/mine/{key}"), "", body.as_bytes()).await;
    }
    let fields = ["ETag", "Size", "StorageClass", "LastModifiedDate", "EncryptionStatus"];
    let wanted = configuration("all", "Current", "Daily", "", &fields);
    assert_eq!(served.configure("all", &wanted).await.0, 200);
    let filter = "<Filter><Prefix>b/</Prefix></Filter>";
    let wanted = configuration("some", "Current", "Weekly", filter, &[]);
    assert_eq!(served.configure("some", &wanted).await.0, 200);
    assert_eq!(served.make(NOON_MS).await, 2);
    let (manifest, rows) = served.read("of/mine/all", "2026-11-26T00-00Z").await;
    assert_eq!(manifest["sourceBucket"], "mine");
    assert_eq!(manifest["destinationBucket"], "arn:aws:s3:::lists");
    assert_eq!(manifest["version"], "2016-11-30");
    assert_eq!(manifest["creationTimestamp"], NOON_MS.to_string());
    assert_eq!(manifest["fileFormat"], "CSV");
    let schema = "Bucket, Key, Size, LastModifiedDate, ETag, StorageClass, EncryptionStatus";
    assert_eq!(manifest["fileSchema"], schema);
    let keys: Vec<_> = rows.iter().map(|row| (&*row[0], &*row[1], &*row[2])).collect();
    assert_eq!(keys, [("mine", "a", "3"), ("mine", "b/c%20d", "5"), ("mine", "x", "5")]);
    assert!(rows[0][3].ends_with('Z') && rows[0][3].len() == 24, "{rows:?}");
    assert_eq!(rows[0][4], hex::encode(Md5::digest(b"one")));
    assert_eq!(rows[0][5..], ["STANDARD".to_owned(), "NOT-SSE".to_owned()]);
    let (_, rows) = served.read("of/mine/some", "2026-11-22T00-00Z").await;
    assert_eq!(rows, [["mine", "b/c%20d"]]);
    assert_eq!(served.make(NOON_MS + 3_600_000).await, 0, "they are there");
    assert_eq!(served.make(NOON_MS + 86_400_000).await, 1, "a day later");
    assert_eq!(served.make(NOON_MS + 3 * 86_400_000).await, 2, "on Sunday");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inventory_of_versions_has_all_of_them_and_what_keeps_them() {
    let served = Served::new().await;
    let people = &served.people;
    people.ok(ALICE, "PUT", "/mine/old", "", b"null").await;
    let versioning = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    people.ok(ALICE, "PUT", "/mine", "versioning=", versioning).await;
    let lock = b"<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>";
    let md5 = STANDARD.encode(Md5::digest(lock));
    let call = Call::new("PUT", "/mine").query("object-lock=").header("content-md5", md5);
    assert_eq!(people.send_with(ALICE, call, lock).await.status, 200);
    let held = Call::new("PUT", "/mine/k").header("x-amz-object-lock-legal-hold", "ON");
    let held = held
        .header("x-amz-object-lock-mode", "GOVERNANCE")
        .header("x-amz-object-lock-retain-until-date", "2036-01-02T03:04:05.000Z")
        .header("x-amz-server-side-encryption", "AES256");
    let put = people.send_with(ALICE, held, b"first").await;
    assert_eq!(put.status, 200, "{put:?}");
    let first = put.header("x-amz-version-id").unwrap().to_owned();
    let deleted = people.ok(ALICE, "DELETE", "/mine/k", "", b"").await;
    let marker = deleted.header("x-amz-version-id").unwrap().to_owned();
    let fields = [
        "Size",
        "EncryptionStatus",
        "ObjectLockMode",
        "ObjectLockRetainUntilDate",
        "ObjectLockLegalHoldStatus",
        "IsMultipartUploaded",
        "ReplicationStatus",
        "ChecksumAlgorithm",
    ];
    let wanted = configuration("v", "All", "Daily", "", &fields);
    assert_eq!(served.configure("v", &wanted).await.0, 200);
    assert_eq!(served.make(NOON_MS).await, 1);
    let (manifest, rows) = served.read("of/mine/v", "2026-11-26T00-00Z").await;
    let schema = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, IsMultipartUploaded, \
                  ReplicationStatus, EncryptionStatus, ObjectLockRetainUntilDate, ObjectLockMode, \
                  ObjectLockLegalHoldStatus, ChecksumAlgorithm";
    assert_eq!(manifest["fileSchema"], schema);
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!(rows[0][1..5], ["k".to_owned(), marker, "true".into(), "true".into()]);
    assert!(rows[0][5..].iter().all(String::is_empty), "{rows:?}");
    assert_eq!(rows[1][1..5], ["k".to_owned(), first, "false".into(), "false".into()]);
    let kept = ["5", "false", "", "SSE-S3", "2036-01-02T03:04:05.000Z", "GOVERNANCE", "ON"];
    assert_eq!(rows[1][5..12], kept);
    assert_eq!(rows[2][1..5], ["old", "null", "true", "false"].map(str::to_owned));
    assert_eq!(rows[2][8], "NOT-SSE");
}

#[tokio::test(flavor = "multi_thread")]
async fn configurations_are_put_listed_and_deleted() {
    let served = Served::new().await;
    let people = &served.people;
    let none = (404, "NoSuchConfiguration".to_owned());
    let one = configuration("one", "Current", "Daily", "", &["Size"]);
    assert_eq!(people.told(ALICE, "GET", "/mine", "id=one&inventory=", b"").await, none);
    assert_eq!(served.configure("one", &one).await.0, 200);
    let got = text(&people.ok(ALICE, "GET", "/mine", "id=one&inventory=", b"").await);
    assert!(got.contains("<Id>one</Id>") && got.contains("<Field>Size</Field>"), "{got}");
    assert_eq!(people.told(BOB, "GET", "/mine", "id=one&inventory=", b"").await, denied());
    let listed = text(&people.ok(ALICE, "GET", "/mine", "inventory=", b"").await);
    assert!(listed.contains("<ListInventoryConfigurationsResult"), "{listed}");
    assert_eq!(listed.matches("<InventoryConfiguration>").count(), 1, "{listed}");
    let mismatch = served.configure("two", &one).await;
    assert_eq!(mismatch, (400, "InvalidArgument".to_owned()));
    let elsewhere = one.replace(":::lists", ":::none-here");
    let told = served.configure("one", &elsewhere).await;
    assert_eq!(told, (400, "InvalidS3DestinationBucket".to_owned()));
    people.ok(BOB, "PUT", "/bobs", "", b"").await;
    let others = one.replace(":::lists", ":::bobs");
    assert_eq!(served.configure("one", &others).await, denied(), "nobody lets Alice write there");
    let parquet = one.replace("CSV", "Parquet");
    assert_eq!(served.configure("one", &parquet).await, (501, "NotImplemented".to_owned()));
    let got = text(&people.ok(ALICE, "GET", "/mine", "id=one&inventory=", b"").await);
    assert!(got.contains(":::lists"), "nothing changed: {got}");
    assert_eq!(people.status(ALICE, "DELETE", "/mine", "id=one&inventory=").await, 204);
    assert_eq!(people.told(ALICE, "DELETE", "/mine", "id=one&inventory=", b"").await, none);
    assert_eq!(served.make(NOON_MS).await, 0);
    let disabled = one.replace("true", "false");
    assert_eq!(served.configure("one", &disabled).await.0, 200);
    assert_eq!(served.make(NOON_MS).await, 0, "it is not enabled");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inventory_is_encrypted_as_it_or_its_bucket_says() {
    let served = Served::new().await;
    let people = &served.people;
    people.ok(ALICE, "PUT", "/mine/k", "", b"x").await;
    let plain = configuration("plain", "Current", "Daily", "", &[]);
    let sealed = configuration("sealed", "Current", "Daily", "", &[])
        .replace("<Prefix>of", "<Encryption><SSE-S3></SSE-S3></Encryption><Prefix>of");
    assert_eq!(served.configure("plain", &plain).await.0, 200);
    assert_eq!(served.configure("sealed", &sealed).await.0, 200);
    assert_eq!(served.make(NOON_MS).await, 2);
    let by_default =
        b"<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
        <SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule>\
        </ServerSideEncryptionConfiguration>";
    people.ok(ALICE, "PUT", "/lists", "encryption=", by_default).await;
    assert_eq!(served.make(NOON_MS + 86_400_000).await, 2);
    for (id, day, is_sealed) in
        [("plain", "26", false), ("sealed", "26", true), ("plain", "27", true)]
    {
        let path = format!("/lists/of/mine/{id}/2026-11-{day}T00-00Z/manifest.json");
        let head = people.send(ALICE, "HEAD", &path, "", b"").await;
        assert_eq!(head.status, 200, "{path}");
        let told = head.header("x-amz-server-side-encryption");
        assert_eq!(told, is_sealed.then_some("AES256"), "{path}");
    }
}
