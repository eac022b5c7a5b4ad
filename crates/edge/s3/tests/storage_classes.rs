//! Classes of storage, each a pool of its own, through the wire.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call};
use md5::Digest as _;
use ripstop_model::PoolId;
use ripstop_node::MemoryNode;
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use ripstop_store::{PackSettings, StoreSettings};
use std::{net::SocketAddr, sync::Arc};
use tokio_util::sync::CancellationToken;

const CLASS: &str = "x-amz-storage-class";
const SOURCE: &str = "x-amz-copy-source";
/// The bucket's pool, and those of two classes.
const POOLS: u16 = 3;
const LEN: usize = 300_000;

struct Face {
    at: SocketAddr,
    nodes: Vec<Arc<MemoryNode>>,
    _folder: tempfile::TempDir,
}

/// A face with a bucket `bkt` over three pools, which gathers objects shorter than this.
async fn face(below: u32) -> Face {
    let folder = tempfile::tempdir().unwrap();
    let packs = || PackSettings { below, ..PackSettings::default() };
    let settings = StoreSettings {
        classes: vec![("STANDARD_IA".to_owned(), PoolId(1)), ("COLD".to_owned(), PoolId(2))],
        packs: (0..POOLS).map(|pool| (PoolId(pool), packs())).collect(),
        ..StoreSettings::default()
    };
    let (store, nodes) = common::store_of_pools(folder.path(), settings, POOLS);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let settings = FrontSettings {
        part_len_min: 1000,
        storage_classes: store.storage_classes().map(str::to_owned).collect(),
        ..FrontSettings::default()
    };
    let shutdown = CancellationToken::new();
    tokio::spawn(serve(listener, store, credentials, settings, Arc::new(Unobserved), shutdown));
    let face = Face { at, nodes, _folder: folder };
    assert_eq!(face.send(Call::new("PUT", "/bkt"), b"").await.status, 200);
    face
}

impl Face {
    async fn send(&self, call: Call, body: &[u8]) -> Answer {
        call.send(self.at, body).await
    }

    async fn put(&self, key: &str, class: Option<&str>, body: &[u8]) -> Answer {
        let call = Call::new("PUT", &format!("/bkt/{key}"));
        let call = class.into_iter().fold(call, |call, class| call.header(CLASS, class));
        self.send(call, body).await
    }

    /// Its bytes, and the class that GET and HEAD show.
    async fn read(&self, key: &str) -> (Vec<u8>, Option<String>) {
        let path = format!("/bkt/{key}");
        let got = self.send(Call::new("GET", &path), b"").await;
        let head = self.send(Call::new("HEAD", &path), b"").await;
        assert_eq!((got.status, head.status), (200, 200), "{key}: {got:?}");
        assert_eq!(got.header(CLASS), head.header(CLASS), "{key}");
        let class = got.header(CLASS).map(str::to_owned);
        (got.body, class)
    }

    async fn text(&self, path: &str, query: &str) -> String {
        let answer = self.send(Call::new("GET", path).query(query), b"").await;
        assert_eq!(answer.status, 200, "{path}?{query}: {answer:?}");
        String::from_utf8(answer.body).unwrap()
    }

    /// Bytes at the nodes of a pool.
    fn bytes_of(&self, pool: usize) -> u64 {
        self.nodes[3 * pool..3 * pool + 3].iter().map(|node| node.bytes()).sum()
    }
}

fn body(seed: u8) -> Vec<u8> {
    (0..LEN).map(|at| (at * 31 + at / 251) as u8 ^ seed).collect()
}

/// A part, in the document that completes an upload.
fn part_of(number: u8, etag: &str) -> String {
    format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
}

/// The classes that a document names, in its order.
fn classes(document: &str) -> Vec<&str> {
    let after = document.split("<StorageClass>").skip(1);
    after.map(|rest| rest.split('<').next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_in_a_class_is_in_its_pool_and_shown_with_it_everywhere() {
    let face = face(0).await;
    for (key, class) in [("cold", Some("COLD")), ("plain", None), ("said", Some("STANDARD"))] {
        let before = face.bytes_of(2);
        assert_eq!(face.put(key, class, &body(1)).await.status, 200);
        let is_cold = class == Some("COLD");
        let came = face.bytes_of(2) - before;
        assert_eq!(came > LEN as u64, is_cold, "{key}: {came}");
        let shown = is_cold.then(|| "COLD".to_owned());
        assert_eq!(face.read(key).await, (body(1), shown));
    }
    let three = ["COLD", "STANDARD", "STANDARD"];
    for query in ["", "list-type=2", "versions="] {
        assert_eq!(classes(&face.text("/bkt", query).await), three, "{query}");
    }
    let attributes = |key: &str| {
        let call = Call::new("GET", &format!("/bkt/{key}")).query("attributes=");
        call.header("x-amz-object-attributes", "StorageClass")
    };
    for (key, class) in [("cold", "COLD"), ("plain", "STANDARD")] {
        let answer = face.send(attributes(key), b"").await;
        assert_eq!(classes(&String::from_utf8_lossy(&answer.body)), [class]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn classes_that_there_are_not_are_refused_and_change_nothing() {
    let face = face(0).await;
    assert_eq!(face.put("k", Some("COLD"), b"here").await.status, 200);
    for class in ["GLACIER", "cold", "NONE", "REDUCED_REDUNDANCY"] {
        let answer = face.put("k", Some(class), b"other").await;
        assert_eq!((answer.status, &*answer.code()), (400, "InvalidStorageClass"), "{class}");
        let begin = Call::new("POST", "/bkt/k").query("uploads=").header(CLASS, class);
        assert_eq!(face.send(begin, b"").await.code(), "InvalidStorageClass");
        let copy = Call::new("PUT", "/bkt/k").header(SOURCE, "/bkt/k").header(CLASS, class);
        assert_eq!(face.send(copy, b"").await.code(), "InvalidStorageClass");
    }
    assert_eq!(face.read("k").await, (b"here".to_vec(), Some("COLD".to_owned())));
    assert!(!face.text("/bkt", "uploads=").await.contains("<Upload>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_has_the_class_that_it_asks_for_and_onto_itself_moves() {
    for below in [0, 512 << 10] {
        let face = face(below).await;
        let tagged = Call::new("PUT", "/bkt/k")
            .header(CLASS, "COLD")
            .header("x-amz-tagging", "a=b")
            .header("x-amz-meta-m", "1");
        assert_eq!(face.send(tagged, &body(2)).await.status, 200);
        let copy = |to: &str| Call::new("PUT", &format!("/bkt/{to}")).header(SOURCE, "/bkt/k");
        assert_eq!(face.send(copy("k"), b"").await.code(), "InvalidRequest", "nothing changes");
        assert_eq!(face.send(copy("plain"), b"").await.status, 200);
        assert_eq!(face.read("plain").await, (body(2), None), "as S3: not its source's");
        let before = face.bytes_of(1);
        assert_eq!(face.send(copy("k").header(CLASS, "STANDARD_IA"), b"").await.status, 200);
        assert!(face.bytes_of(1) - before > LEN as u64);
        assert_eq!(face.read("k").await, (body(2), Some("STANDARD_IA".to_owned())));
        let head = face.send(Call::new("HEAD", "/bkt/k"), b"").await;
        let told = (head.header("x-amz-tagging-count"), head.header("x-amz-meta-m"));
        assert_eq!(told, (Some("1"), Some("1")));
        assert_eq!(face.send(copy("k").header(CLASS, "STANDARD"), b"").await.status, 200);
        assert_eq!(face.read("k").await, (body(2), None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_has_its_class_from_its_beginning() {
    let face = face(0).await;
    let begin = Call::new("POST", "/bkt/k").query("uploads=").header(CLASS, "COLD");
    let begun = face.send(begin, b"").await;
    let text = String::from_utf8(begun.body).unwrap();
    let id = text.split("UploadId>").nth(1).unwrap().trim_end_matches("</").to_owned();
    assert_eq!(classes(&face.text("/bkt", "uploads=").await), ["COLD"]);
    let before = face.bytes_of(2);
    let mut parts = String::new();
    for number in 1..=2_u8 {
        let part = Call::new("PUT", "/bkt/k").query(&format!("partNumber={number}&uploadId={id}"));
        let answer = face.send(part, &body(number)).await;
        let etag = answer.header("etag").unwrap();
        parts += &part_of(number, etag);
    }
    let copied = Call::new("PUT", "/bkt/k").query(&format!("partNumber=3&uploadId={id}"));
    assert_eq!(face.put("source", None, &body(3)).await.status, 200);
    let copied = face.send(copied.header(SOURCE, "/bkt/source"), b"").await;
    let copied = String::from_utf8(copied.body).unwrap();
    let etag = copied.split("<ETag>").nth(1).unwrap().split("</").next().unwrap();
    parts += &part_of(3, etag);
    assert!(face.bytes_of(2) - before > 3 * LEN as u64, "the parts are where the object will be");
    let listed = face.text("/bkt/k", &format!("uploadId={id}")).await;
    assert_eq!(classes(&listed), ["COLD"]);
    let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let complete = Call::new("POST", "/bkt/k").query(&format!("uploadId={id}"));
    assert_eq!(face.send(complete, document.as_bytes()).await.status, 200);
    let whole = [body(1), body(2), body(3)].concat();
    assert_eq!(face.read("k").await, (whole, Some("COLD".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn small_objects_gather_in_the_pool_of_their_class_and_tags_leave_them_there() {
    let face = face(64 << 10).await;
    let before = face.bytes_of(0);
    let puts = (0..40).map(|number| {
        let face = &face;
        async move {
            let answer = face.put(&format!("{number:02}"), Some("COLD"), &[number; 2000]).await;
            assert_eq!(answer.status, 200);
        }
    });
    futures::future::join_all(puts).await;
    assert_eq!(face.bytes_of(0), before, "nothing of them is in the bucket's own pool");
    let tags = b"<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>";
    let md5 = STANDARD.encode(md5::Md5::digest(tags));
    let call = Call::new("PUT", "/bkt/00").query("tagging=").header("content-md5", md5);
    let tagged = face.send(call, tags).await;
    assert_eq!(tagged.status, 200);
    assert_eq!(face.bytes_of(0), before, "nor what tells of them");
    assert_eq!(face.read("00").await, (vec![0; 2000], Some("COLD".to_owned())));
    assert_eq!(classes(&face.text("/bkt", "list-type=2").await), ["COLD"; 40]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_may_move_objects_to_classes_that_there_are() {
    let face = face(0).await;
    let lifecycle = |method| Call::new(method, "/bkt").query("lifecycle=");
    let put = |class: &str| {
        let document = format!(
            "<LifecycleConfiguration><Rule><ID>t</ID><Filter/><Status>Enabled</Status><Transition>\
             <Days>30</Days><StorageClass>{class}</StorageClass></Transition></Rule>\
             </LifecycleConfiguration>"
        );
        let md5 = STANDARD.encode(md5::Md5::digest(&document));
        (lifecycle("PUT").header("content-md5", md5), document)
    };
    for (class, status, code) in [
        ("COLD", 200, ""),
        ("GLACIER", 400, "InvalidStorageClass"),
        ("STANDARD", 400, "MalformedXML"),
        ("NONE", 400, "MalformedXML"),
        ("STANDARD_IA", 200, ""),
    ] {
        let (call, document) = put(class);
        let answer = face.send(call, document.as_bytes()).await;
        assert_eq!((answer.status, &*answer.code()), (status, code), "{class}");
    }
    let kept = face.send(lifecycle("GET"), b"").await;
    assert_eq!(classes(&String::from_utf8_lossy(&kept.body)), ["STANDARD_IA"]);
}
