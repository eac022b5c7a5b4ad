//! What one client may ask for without holding up the others.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call, exchange, read_answer};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use ripstop_catalog::{Attributes, Condition, Upload};
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use ripstop_store::{PartSeal, Store};
use std::{
    fmt::Write as _,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// A face with a bucket `bkt` whose parts may be short, and its store; gone with the folder.
async fn face(settings: FrontSettings) -> (SocketAddr, Store, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let settings = FrontSettings { part_len_min: 1000, ..settings };
    let shutdown = CancellationToken::new();
    let served =
        serve(listener, store.clone(), credentials, settings, Arc::new(Unobserved), shutdown);
    tokio::spawn(served);
    assert_eq!(Call::new("PUT", "/bkt").send(address, b"").await.status, 200);
    (address, store, folder)
}

/// An upload of `key` with ten thousand parts that are all the bytes of `bkt/part`, and the
/// document that completes it.
async fn ten_thousand_parts(store: &Store, key: &str) -> (Upload, Vec<u8>) {
    let upload = Upload {
        id: String::new(),
        bucket: "bkt".to_owned(),
        key: key.to_owned(),
        created_ms: 0,
        attributes: Attributes::default(),
        checksum: None,
        ..Upload::default()
    };
    let upload = store.create_upload(upload).await.unwrap();
    let part = store.object("bkt", "part").await.unwrap();
    let Attributes { etag, checksum, .. } = part.object.attributes.clone();
    let mut document = "<CompleteMultipartUpload>".to_owned();
    for number in 1..=10_000 {
        write!(document, "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
            .unwrap();
    }
    document.push_str("</CompleteMultipartUpload>");
    let copies = stream::iter(1..=10_000).map(|number| {
        let seal = PartSeal { etag: etag.clone(), checksum: checksum.clone(), salt: None };
        store.copy_part(&part, 0..part.object.len, &upload, number, seal)
    });
    copies.buffer_unordered(256).try_for_each(async |_| Ok(())).await.unwrap();
    (upload, document.into_bytes())
}

/// The longest that a read of `bkt/part` took while others were answered as expected.
async fn slowest_read_beside(
    to: SocketAddr,
    mut others: JoinSet<Answer>,
    expected: impl Fn(&Answer) -> bool,
) -> Duration {
    let mut slowest = Duration::ZERO;
    while !others.is_empty() {
        let begun = Instant::now();
        assert_eq!(Call::new("GET", "/bkt/part").send(to, b"").await.status, 200);
        slowest = slowest.max(begun.elapsed());
        while let Some(answer) = others.try_join_next() {
            let answer = answer.unwrap();
            assert!(expected(&answer), "{answer:?}");
        }
    }
    slowest
}

#[tokio::test]
async fn completing_thrice_ten_thousand_parts_holds_up_no_read() {
    let (to, store, _folder) = face(FrontSettings::default()).await;
    assert_eq!(Call::new("PUT", "/bkt/part").send(to, &[7; 1000]).await.status, 200);
    let mut completions = JoinSet::new();
    for key in ["a", "b", "c"] {
        let (upload, document) = ten_thousand_parts(&store, key).await;
        let path = format!("/bkt/{key}");
        let call = move || Call::new("POST", &path).query(&format!("uploadId={}", upload.id));
        let wrong = call().header("x-amz-mp-object-size", 9_999_999);
        assert_eq!(wrong.send(to, &document).await.code(), "InvalidRequest");
        completions.spawn(async move { call().send(to, &document).await });
    }
    let slowest = slowest_read_beside(to, completions, |answer| answer.status == 200).await;
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    for key in ["a", "b", "c"] {
        let object = store.object("bkt", key).await.unwrap();
        assert_eq!((object.object.len, object.object.extents.len()), (10_000_000, 10_000));
        assert!(object.object.attributes.checksum.is_some());
    }
}

#[tokio::test]
async fn looking_at_an_object_of_many_pieces_holds_up_no_read() {
    let (to, store, _folder) = face(FrontSettings::default()).await;
    assert_eq!(Call::new("PUT", "/bkt/part").send(to, &[7; 1000]).await.status, 200);
    let (upload, document) = ten_thousand_parts(&store, "many").await;
    let complete = Call::new("POST", "/bkt/many").query(&format!("uploadId={}", upload.id));
    assert_eq!(complete.send(to, &document).await.status, 200);
    let many = store.object("bkt", "many").await.unwrap();
    let upload = Upload { key: "more".to_owned(), ..upload };
    let upload = store.create_upload(upload).await.unwrap();
    let copies = stream::iter(1..=16).map(|number| {
        let seal = PartSeal { etag: "0".repeat(32), checksum: None, salt: None };
        store.copy_part(&many, 0..many.object.len, &upload, number, seal)
    });
    let parts: Vec<_> = copies.buffered(4).try_collect().await.unwrap();
    let attributes = Attributes { etag: "more".to_owned(), ..Attributes::default() };
    store.complete_upload(&upload, &parts, attributes, Condition::None).await.unwrap();
    let begun = Instant::now();
    let looked = Call::new("HEAD", "/bkt/more").send(to, b"").await;
    assert_eq!(looked.header("content-length"), Some("160000000"));
    let one = begun.elapsed();
    let mut looks = JoinSet::new();
    for _ in 0..12 {
        looks.spawn(async move { Call::new("HEAD", "/bkt/more").send(to, b"").await });
    }
    let slowest = slowest_read_beside(to, looks, |answer| answer.status == 200).await;
    assert!(slowest < 4 * one.max(Duration::from_millis(500)), "{slowest:?}, one takes {one:?}");
    let range = Call::new("GET", "/bkt/more").header("range", "bytes=159999990-159999999");
    assert_eq!(range.send(to, b"").await.body, [7; 10]);
}

fn delete(document: &[u8]) -> Call {
    use md5::Digest as _;
    let md5 = STANDARD.encode(md5::Md5::digest(document));
    Call::new("POST", "/bkt").query("delete=").header("content-md5", md5)
}

#[tokio::test]
async fn documents_of_a_million_elements_are_refused_and_hold_up_no_read() {
    let (to, _store, _folder) = face(FrontSettings::default()).await;
    assert_eq!(Call::new("PUT", "/bkt/part").send(to, &[7; 1000]).await.status, 200);
    let document: Arc<[u8]> =
        format!("<Delete>{}</Delete>", "<a/>".repeat(1_000_000)).into_bytes().into();
    // As many as there is memory for at once.
    let mut deletes = JoinSet::new();
    for _ in 0..3 {
        let document = document.clone();
        deletes.spawn(async move { delete(&document).send(to, &document).await });
    }
    let refused = |answer: &Answer| answer.code() == "MalformedXML";
    let slowest = slowest_read_beside(to, deletes, refused).await;
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
}

#[tokio::test]
async fn documents_that_do_not_end_leave_room_for_short_ones_and_send_others_away() {
    let settings = FrontSettings { documents_memory_max: 1 << 20, ..FrontSettings::default() };
    let (to, _store, _folder) = face(settings).await;
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"1").await.status, 200);
    let long = vec![b' '; 700 << 10];
    let mut halves = Vec::new();
    for _ in 0..2 {
        let head = delete(&long).header("content-length", long.len()).sign().head;
        let mut stream = TcpStream::connect(to).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&long[..long.len() / 2 + 50_000]).await.unwrap();
        halves.push(stream);
    }
    let head = delete(&long).header("content-length", long.len()).sign().head;
    let sent_away = exchange(to, &[head.as_bytes(), &long], false).await;
    assert_eq!((sent_away.status, sent_away.code()), (503, "SlowDown".to_owned()), "{sent_away:?}");
    assert!(sent_away.header("retry-after").is_some());
    let short = b"<Delete><Object><Key>k</Key></Object></Delete>";
    assert_eq!(delete(short).send(to, short).await.status, 200);
    // What they held is free again once they end, or leave.
    for (at, mut stream) in halves.into_iter().enumerate() {
        if at == 0 {
            stream.write_all(&long[long.len() / 2 + 50_000..]).await.unwrap();
            assert_eq!(read_answer(&mut stream, false).await.code(), "MalformedXML");
        }
    }
    let answered = delete(&long).send(to, &long).await;
    assert_eq!(answered.code(), "MalformedXML", "{answered:?}");
}
