//! Buckets that keep versions, through the wire.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call};
use md5::Digest as _;
use ripstop_catalog::Quota;
use ripstop_model::PoolId;
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use ripstop_store::{PackSettings, Quotas, StoreSettings};
use std::{net::SocketAddr, sync::Arc};
use tokio_util::sync::CancellationToken;

struct Face {
    at: SocketAddr,
    _folder: tempfile::TempDir,
}

/// A face with a bucket `bkt`; small objects wait for company, or not.
async fn face(is_packing: bool) -> Face {
    face_within(is_packing, Quota::NONE).await
}

async fn face_within(is_packing: bool, others: Quota) -> Face {
    let folder = tempfile::tempdir().unwrap();
    let below = if is_packing { 64 << 10 } else { 0 };
    let packs = PackSettings { below, ..PackSettings::default() };
    let settings = StoreSettings { packs: [(PoolId(0), packs)].into(), ..StoreSettings::default() };
    let (store, _nodes) = common::store(folder.path(), settings);
    store.set_quotas(Quotas { others, ..Quotas::default() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let settings = FrontSettings { part_len_min: 1000, ..FrontSettings::default() };
    let shutdown = CancellationToken::new();
    tokio::spawn(serve(listener, store, credentials, settings, Arc::new(Unobserved), shutdown));
    let face = Face { at, _folder: folder };
    assert_eq!(face.send(Call::new("PUT", "/bkt"), b"").await.status, 200);
    face
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// The texts of all elements of a name, in order.
fn texts(document: &str, name: &str) -> Vec<String> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let parts = document.split(&begin).skip(1);
    parts.map(|part| part.split_once(&end).unwrap().0.to_owned()).collect()
}

fn id(answer: &Answer) -> String {
    answer.header("x-amz-version-id").unwrap().to_owned()
}

impl Face {
    async fn send(&self, call: Call, body: &[u8]) -> Answer {
        call.send(self.at, body).await
    }

    async fn configure(&self, status: &str) -> Answer {
        let document =
            format!("<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>");
        self.send(Call::new("PUT", "/bkt").query("versioning="), document.as_bytes()).await
    }

    /// Puts an object; answers which version it is.
    async fn put(&self, key: &str, body: &str) -> String {
        let put = self.send(Call::new("PUT", &format!("/bkt/{key}")), body.as_bytes()).await;
        assert_eq!(put.status, 200, "{}", text(&put));
        put.header("x-amz-version-id").unwrap_or_default().to_owned()
    }

    async fn get(&self, key: &str, version: &str) -> Answer {
        let query = if version.is_empty() { String::new() } else { format!("versionId={version}") };
        self.send(Call::new("GET", &format!("/bkt/{key}")).query(&query), b"").await
    }

    async fn delete(&self, key: &str, version: &str) -> Answer {
        let query = if version.is_empty() { String::new() } else { format!("versionId={version}") };
        self.send(Call::new("DELETE", &format!("/bkt/{key}")).query(&query), b"").await
    }

    async fn read(&self, key: &str, version: &str) -> String {
        let got = self.get(key, version).await;
        assert_eq!(got.status, 200, "{}", text(&got));
        text(&got)
    }

    async fn list(&self, query: &str) -> String {
        let mut query: Vec<_> = query.replace('/', "%2F").split('&').map(str::to_owned).collect();
        query.sort();
        let query = query.join("&");
        let listed = self.send(Call::new("GET", "/bkt").query(&query), b"").await;
        assert_eq!(listed.status, 200, "{}", text(&listed));
        text(&listed)
    }
}

#[tokio::test]
async fn a_bucket_says_whether_it_keeps_versions() {
    let face = face(false).await;
    assert!(!face.list("versioning=").await.contains("Status"));
    for status in ["Enabled", "Suspended", "Enabled"] {
        assert_eq!(face.configure(status).await.status, 200);
        assert_eq!(texts(&face.list("versioning=").await, "Status"), [status]);
    }
    assert_eq!(face.configure("Disabled").await.code(), "MalformedXML");
    let put = Call::new("PUT", "/bkt").query("versioning=");
    let empty = face.send(put, b"<VersioningConfiguration/>").await;
    assert_eq!(empty.code(), "IllegalVersioningConfigurationException");
    assert_eq!(texts(&face.list("versioning=").await, "Status"), ["Enabled"]);
    let nowhere = face.send(Call::new("GET", "/nowhere").query("versioning="), b"").await;
    assert_eq!(nowhere.code(), "NoSuchBucket");
}

#[tokio::test]
async fn what_is_put_over_stays_and_can_be_read_by_its_id() {
    for is_packing in [false, true] {
        let face = face(is_packing).await;
        assert_eq!(face.put("k", "before").await, "", "a bucket without versions gives no ids");
        assert_eq!(face.get("k", "").await.header("x-amz-version-id"), None);
        face.configure("Enabled").await;
        assert_eq!(face.get("k", "").await.header("x-amz-version-id"), Some("null"));
        let (one, two) = (face.put("k", "one").await, face.put("k", "two").await);
        assert!(one != two && one.len() == 32, "{one} {two}");
        let latest = face.get("k", "").await;
        assert_eq!((text(&latest).as_str(), id(&latest)), ("two", two.clone()));
        for (version, body) in [(&one, "one"), (&two, "two"), (&"null".to_owned(), "before")] {
            assert_eq!(face.read("k", version).await, body);
        }
        let head = Call::new("HEAD", "/bkt/k").query(&format!("versionId={one}"));
        let head = face.send(head, b"").await;
        assert_eq!((head.status, id(&head)), (200, one.clone()));
        let unknown = format!("{:032x}", 5);
        assert_eq!(face.get("k", &unknown).await.code(), "NoSuchVersion");
        assert_eq!(face.get("k", "nonsense").await.code(), "InvalidArgument");
        let foreign = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert_eq!(face.get("k", foreign).await.code(), "NoSuchVersion");
        assert_eq!(face.delete("k", foreign).await.status, 204);
        assert_eq!(face.get("other", &one).await.code(), "NoSuchVersion");
        assert_eq!(face.get("other", "").await.code(), "NoSuchKey");
        // Without what came last, what came before is what the key stands for.
        let gone = face.delete("k", &two).await;
        assert_eq!((gone.status, id(&gone)), (204, two.clone()));
        assert_eq!(gone.header("x-amz-delete-marker"), None);
        assert_eq!(face.read("k", "").await, "one");
        assert_eq!(face.delete("k", &one).await.status, 204);
        assert_eq!(face.read("k", "").await, "before");
        assert_eq!(face.delete("k", "null").await.status, 204);
        assert_eq!(face.get("k", "").await.code(), "NoSuchKey");
        assert_eq!(face.delete("k", &one).await.status, 204, "what is gone is deleted already");
        assert_eq!(face.send(Call::new("DELETE", "/bkt"), b"").await.status, 204);
    }
}

#[tokio::test]
async fn a_deletion_is_a_marker_that_can_be_deleted() {
    for is_packing in [false, true] {
        let face = face(is_packing).await;
        face.configure("Enabled").await;
        let version = face.put("k", "content").await;
        let deleted = face.delete("k", "").await;
        let marker = id(&deleted);
        assert_eq!((deleted.status, deleted.header("x-amz-delete-marker")), (204, Some("true")));
        let gone = face.get("k", "").await;
        assert_eq!(
            (gone.code(), gone.header("x-amz-delete-marker")),
            ("NoSuchKey".into(), Some("true"))
        );
        assert_eq!(id(&gone), marker);
        let named = face.get("k", &marker).await;
        assert_eq!((named.status, named.code()), (405, "MethodNotAllowed".into()));
        assert_eq!(named.header("x-amz-delete-marker"), Some("true"));
        assert_eq!(named.header("allow"), Some("DELETE"));
        assert!(named.header("last-modified").is_some());
        assert_eq!(face.read("k", &version).await, "content");
        assert!(!face.list("list-type=2").await.contains("<Key>"), "it is deleted");
        let versions = face.list("versions=").await;
        assert_eq!(texts(&versions, "VersionId"), [marker.clone(), version.clone()]);
        assert_eq!(texts(&versions, "IsLatest"), ["true", "false"]);
        assert_eq!(texts(&versions, "DeleteMarker").len(), 1);
        let refused = face.send(Call::new("DELETE", "/bkt"), b"").await;
        assert_eq!(refused.code(), "BucketNotEmpty");
        assert!(text(&refused).contains("You must delete all versions in the bucket."));
        // Where there is nothing a marker is made too.
        assert_ne!(id(&face.delete("k", "").await), marker);
        assert_eq!(id(&face.delete("absent", "").await).len(), 32);
        let again = id(&face.delete("k", "").await);
        for marker in [&again, &texts(&face.list("versions=&prefix=k").await, "VersionId")[1]] {
            let deleted = face.delete("k", marker).await;
            assert_eq!(deleted.header("x-amz-delete-marker"), Some("true"));
            assert_eq!(&id(&deleted), marker);
        }
        assert_eq!(face.get("k", "").await.code(), "NoSuchKey");
        face.delete("k", &marker).await;
        assert_eq!(face.read("k", "").await, "content");
    }
}

#[tokio::test]
async fn a_suspended_bucket_puts_over_the_null_version_only() {
    for is_packing in [false, true] {
        let face = face(is_packing).await;
        face.put("k", "first").await;
        face.configure("Enabled").await;
        let kept = face.put("k", "kept").await;
        face.configure("Suspended").await;
        assert_eq!(face.put("k", "second").await, "", "S3 does not name it");
        assert_eq!(id(&face.get("k", "").await), "null");
        assert_eq!(face.read("k", "").await, "second", "it is later than the version with an id");
        assert_eq!(face.put("k", "third").await, "");
        assert_eq!(texts(&face.list("versions=").await, "VersionId"), ["null", kept.as_str()]);
        assert_eq!(face.read("k", &kept).await, "kept");
        let deleted = face.delete("k", "").await;
        assert_eq!(
            (id(&deleted).as_str(), deleted.header("x-amz-delete-marker")),
            ("null", Some("true"))
        );
        assert_eq!(face.get("k", "").await.code(), "NoSuchKey");
        let versions = face.list("versions=").await;
        assert_eq!(texts(&versions, "VersionId"), ["null", kept.as_str()], "third is gone");
        assert_eq!(texts(&versions, "DeleteMarker").len(), 1);
        face.configure("Enabled").await;
        let last = face.put("k", "last").await;
        let versions = texts(&face.list("versions=").await, "VersionId");
        assert_eq!(versions, [last.as_str(), "null", kept.as_str()], "by when they were made");
    }
}

#[tokio::test]
async fn versions_are_listed_page_by_page() {
    let face = face(false).await;
    face.put("a/1", "null").await;
    face.put("b", "null").await;
    face.configure("Enabled").await;
    let mut expected = vec![("a/1".to_owned(), "null".to_owned()), ("b".to_owned(), "null".into())];
    for round in 0..3 {
        for key in ["a/1", "a/2", "b", "c"] {
            let version = if round == 1 && key == "c" {
                id(&face.delete(key, "").await)
            } else {
                face.put(key, "x").await
            };
            let at = expected.iter().position(|(of, _)| of.as_str() >= key);
            expected.insert(at.unwrap_or(expected.len()), (key.to_owned(), version));
        }
    }
    for (max, delimiter) in [(1, ""), (2, ""), (3, ""), (100, ""), (1, "/"), (2, "/")] {
        let (mut seen, mut prefixes, mut latest) = (Vec::new(), Vec::new(), Vec::new());
        let mut markers = String::new();
        loop {
            let query = format!("versions=&max-keys={max}&delimiter={delimiter}{markers}");
            let page = face.list(&query).await;
            let entries = texts(&page, "Version").into_iter().chain(texts(&page, "DeleteMarker"));
            let count = entries.count() + texts(&page, "CommonPrefixes").len();
            assert!(count <= max, "{page}");
            seen.extend(texts(&page, "Key").into_iter().zip(texts(&page, "VersionId")));
            latest.extend(texts(&page, "IsLatest"));
            prefixes.extend(texts(&page, "CommonPrefixes"));
            if texts(&page, "IsTruncated") == ["false"] {
                break;
            }
            let key = texts(&page, "NextKeyMarker").remove(0);
            let version = texts(&page, "NextVersionIdMarker").pop();
            let version = version.map(|version| format!("&version-id-marker={version}"));
            markers = format!("&key-marker={key}{}", version.unwrap_or_default());
        }
        let rolled = |(key, _): &&(String, String)| delimiter.is_empty() || !key.contains('/');
        let expected: Vec<_> = expected.iter().filter(rolled).cloned().collect();
        assert_eq!(seen, expected, "{max} {delimiter}");
        assert_eq!(prefixes.len(), usize::from(!delimiter.is_empty()));
        let mut keys: Vec<_> = expected.iter().map(|(key, _)| key).collect();
        keys.dedup();
        assert_eq!(latest.iter().filter(|it| *it == "true").count(), keys.len());
    }
    let refused = Call::new("GET", "/bkt").query("version-id-marker=null&versions=");
    assert_eq!(face.send(refused, b"").await.code(), "InvalidArgument");
    let from_the_start = face.list("key-marker=&version-id-marker=&versions=").await;
    assert_eq!(texts(&from_the_start, "Key"), texts(&face.list("versions=").await, "Key"));
    let keys = texts(&face.list("list-type=2&delimiter=/").await, "Key");
    assert_eq!(keys, ["b", "c"]);
    let all = texts(&face.list("").await, "Key");
    assert_eq!(all, ["a/1", "a/2", "b", "c"]);
    for after in ["a/1", "a/2", "b"] {
        let keys =
            texts(&face.list(&format!("list-type=2&max-keys=1&start-after={after}")).await, "Key");
        assert_eq!(keys, [all[all.iter().position(|key| key == after).unwrap() + 1].clone()]);
    }
}

#[tokio::test]
async fn conditions_are_about_what_the_key_stands_for() {
    for is_packing in [false, true] {
        let face = face(is_packing).await;
        face.configure("Enabled").await;
        let put = |name, value: &str| Call::new("PUT", "/bkt/k").header(name, value);
        let first = face.send(put("if-none-match", "*"), b"1").await;
        assert_eq!(first.status, 200);
        let etag = first.header("etag").unwrap();
        assert_eq!(face.send(put("if-none-match", "*"), b"2").await.code(), "PreconditionFailed");
        assert_eq!(
            face.send(put("if-match", "\"other\""), b"2").await.code(),
            "PreconditionFailed"
        );
        assert_eq!(face.send(put("if-match", etag), b"2").await.status, 200);
        assert_eq!(face.send(put("if-match", etag), b"3").await.code(), "PreconditionFailed");
        assert_eq!(face.read("k", "").await, "2");
        face.delete("k", "").await;
        assert_eq!(face.send(put("if-match", "*"), b"4").await.code(), "NoSuchKey");
        assert_eq!(face.send(put("if-none-match", "*"), b"4").await.status, 200);
        assert_eq!(texts(&face.list("versions=").await, "VersionId").len(), 4);
    }
}

#[tokio::test]
async fn copies_tags_and_batches_name_versions() {
    for is_packing in [false, true] {
        let face = face(is_packing).await;
        face.configure("Enabled").await;
        let (one, two) = (face.put("k", "one").await, face.put("k", "two").await);
        let copy = |to: &str, from: &str| {
            Call::new("PUT", &format!("/bkt/{to}")).header("x-amz-copy-source", from)
        };
        let copied = face.send(copy("copy", &format!("bkt/k?versionId={one}")), b"").await;
        assert_eq!(copied.header("x-amz-copy-source-version-id"), Some(one.as_str()));
        assert_eq!(face.read("copy", &id(&copied)).await, "one");
        // The way to have an earlier version again.
        let back = face.send(copy("k", &format!("bkt/k?versionId={one}")), b"").await;
        assert_eq!(back.status, 200);
        assert_eq!(face.read("k", "").await, "one");
        let marker = id(&face.delete("copy", "").await);
        let of_marker = face.send(copy("x", &format!("bkt/copy?versionId={marker}")), b"").await;
        assert_eq!(of_marker.code(), "InvalidRequest");
        assert_eq!(face.send(copy("x", "bkt/copy"), b"").await.code(), "NoSuchKey");

        let tagging = |version: &str| format!("tagging=&versionId={version}");
        let tags = b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
        let put = Call::new("PUT", "/bkt/k").query(&tagging(&two));
        let put = put.header("content-md5", STANDARD.encode(md5::Md5::digest(tags)));
        let put = face.send(put, tags).await;
        assert_eq!((put.status, id(&put)), (200, two.clone()));
        for (version, count) in [(&one, 0), (&two, 1)] {
            let got = face.send(Call::new("GET", "/bkt/k").query(&tagging(version)), b"").await;
            assert_eq!(texts(&text(&got), "Tag").len(), count);
            assert_eq!(&id(&got), version);
        }
        let order = texts(&face.list("versions=&prefix=k").await, "VersionId");
        assert_eq!(order, [id(&back), two.clone(), one.clone()], "tags make nothing later");

        let document = format!(
            "<Delete><Object><Key>k</Key><VersionId>{two}</VersionId></Object>\
             <Object><Key>k</Key></Object>\
             <Object><Key>copy</Key><VersionId>{marker}</VersionId></Object></Delete>"
        );
        let md5 = STANDARD.encode(md5::Md5::digest(&document));
        let call = Call::new("POST", "/bkt").query("delete=").header("content-md5", md5);
        let answer = text(&face.send(call, document.as_bytes()).await);
        let deleted = texts(&answer, "Deleted");
        assert_eq!(deleted.len(), 3, "{answer}");
        assert_eq!(texts(&deleted[0], "VersionId"), [two.as_str()]);
        assert_eq!(texts(&deleted[0], "DeleteMarker"), ["false"], "{answer}");
        assert_eq!(texts(&deleted[1], "DeleteMarker"), ["true"]);
        assert_eq!(texts(&deleted[1], "DeleteMarkerVersionId").len(), 1);
        assert_eq!(texts(&deleted[2], "DeleteMarkerVersionId"), [marker.as_str()]);
        assert_eq!(face.read("copy", "").await, "one", "its marker is gone");
        assert_eq!(face.get("k", "").await.code(), "NoSuchKey");
    }
}

#[tokio::test]
async fn tags_of_the_null_version_leave_it_where_it_is() {
    let face = face(false).await;
    face.put("k", "null").await;
    face.configure("Enabled").await;
    let later = face.put("k", "later").await;
    let tags = b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    for _ in 0..2 {
        let put = Call::new("PUT", "/bkt/k").query("tagging=&versionId=null");
        let put = put.header("content-md5", STANDARD.encode(md5::Md5::digest(tags)));
        assert_eq!(id(&face.send(put, tags).await), "null");
        assert_eq!(texts(&face.list("versions=").await, "VersionId"), [later.as_str(), "null"]);
        assert_eq!(face.read("k", "").await, "later");
    }
}

#[tokio::test]
async fn an_upload_becomes_a_version() {
    let face = face(false).await;
    face.configure("Enabled").await;
    let first = face.put("k", "first").await;
    let begun = text(&face.send(Call::new("POST", "/bkt/k").query("uploads="), b"").await);
    let upload = texts(&begun, "UploadId").remove(0);
    let part = Call::new("PUT", "/bkt/k").query(&format!("partNumber=1&uploadId={upload}"));
    let etag = face.send(part, &[7; 1500]).await.header("etag").unwrap().to_owned();
    let document = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let complete = Call::new("POST", "/bkt/k").query(&format!("uploadId={upload}"));
    let done = face.send(complete, document.as_bytes()).await;
    assert_eq!(done.status, 200, "{}", text(&done));
    assert_eq!(face.get("k", &id(&done)).await.body, [7; 1500]);
    assert_eq!(face.read("k", &first).await, "first");
    assert_eq!(texts(&face.list("versions=").await, "VersionId"), [id(&done), first]);
}

#[tokio::test]
async fn many_writers_of_one_key_each_make_a_version() {
    for is_packing in [false, true] {
        let face = Arc::new(face(is_packing).await);
        face.configure("Enabled").await;
        let writers = (0..40).map(|at| {
            let face = face.clone();
            tokio::spawn(async move { (at, face.put("k", &format!("body {at}")).await) })
        });
        let mut written = Vec::new();
        for writer in writers.collect::<Vec<_>>() {
            written.push(writer.await.unwrap());
        }
        let listed = texts(&face.list("versions=").await, "VersionId");
        assert_eq!(listed.len(), 40);
        assert!(listed.is_sorted_by(|one, other| one > other), "the latest first");
        for (at, version) in written {
            assert_eq!(face.read("k", &version).await, format!("body {at}"));
        }
    }
}

#[tokio::test]
async fn a_full_bucket_takes_deletions() {
    for is_packing in [false, true] {
        let quota = Quota { bytes: None, objects: Some(2) };
        let face = face_within(is_packing, quota).await;
        face.configure("Enabled").await;
        let first = face.put("k", "1").await;
        face.put("k", "2").await;
        let full = face.send(Call::new("PUT", "/bkt/k"), b"3").await;
        assert_eq!(full.code(), "QuotaExceeded", "each version counts");
        assert_eq!(face.delete("k", "").await.header("x-amz-delete-marker"), Some("true"));
        assert_eq!(face.get("k", "").await.code(), "NoSuchKey");
        assert_eq!(face.delete("k", &first).await.status, 204);
    }
}

#[tokio::test]
async fn a_version_that_was_never_there_is_deleted_by_the_name_that_it_was_given() {
    let face = face(false).await;
    face.configure("Enabled").await;
    for name in ["01KF2YVN948NAZ4JJR4X1AAVRA", "0190b1c8a5b34c6c8f0e4d5a6b7c8d9e"] {
        let delete = Call::new("DELETE", "/bkt/none").query(&format!("versionId={name}"));
        let answer = face.send(delete, b"").await;
        assert_eq!((answer.status, answer.header("x-amz-version-id")), (204, Some(name)));
    }
}
