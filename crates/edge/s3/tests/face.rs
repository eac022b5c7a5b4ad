//! The face over a real connection: what well-behaved clients cannot be made to do.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;

use base64::Engine as _;
use client::{Call, UNSIGNED, exchange, read_answer, sha256};
use futures::TryStreamExt as _;
use md5::Digest as _;
use ripstop_node::{MemoryNode, Node as _};
use ripstop_s3::{Answered, Credentials, FrontSettings, RequestObserver, S3Operation, serve};
use ripstop_store::Store;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, task::JoinHandle};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
struct Log(Mutex<Vec<Answered>>);

impl RequestObserver for Log {
    fn answered(&self, answered: &Answered) {
        self.0.lock().unwrap().push(answered.clone());
    }
}

struct Face {
    address: SocketAddr,
    store: Store,
    nodes: Vec<Arc<MemoryNode>>,
    log: Arc<Log>,
    shutdown: CancellationToken,
    server: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

/// A face with a bucket `bkt`.
async fn face(settings: FrontSettings) -> Face {
    let folder = tempfile::tempdir().unwrap();
    let small = ripstop_store::StoreSettings { stripe_max: 64 << 10, ..Default::default() };
    let (store, nodes) = common::store(folder.path(), small);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let (shutdown, log) = (CancellationToken::new(), Arc::new(Log::default()));
    let served =
        serve(listener, store.clone(), credentials, settings, log.clone(), shutdown.clone());
    let server = tokio::spawn(served);
    assert_eq!(Call::new("PUT", "/bkt").send(address, b"").await.status, 200);
    Face { address, store, nodes, log, shutdown, server, _folder: folder }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 % 251) as u8).collect()
}

#[tokio::test]
async fn what_was_put_is_got_under_any_host_and_any_key() {
    let face = face(FrontSettings::default()).await;
    let body = bytes(300_000);
    for (path, host) in [
        ("/bkt/plain", "localhost"),
        ("/bkt/a%20b%2Fc%25/..//%E2%82%AC", "127.0.0.1:80"),
        ("/bkt/x", "some.other.example.com"),
        ("/bkt/y", "[::1]:9000"),
    ] {
        let put = Call::new("PUT", path).header("host", host).payload(&sha256(&body));
        let answer = put.send(face.address, &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.header("x-amz-request-id").is_some());
        let answer = Call::new("GET", path).header("host", host).send(face.address, b"").await;
        assert_eq!((answer.status, answer.body == body), (200, true));
        let answer = Call::new("GET", path).header("range", "bytes=70000-139999");
        let answer = answer.send(face.address, b"").await;
        assert_eq!((answer.status, answer.body == body[70_000..140_000]), (206, true));
        let answer = Call::new("HEAD", path).send(face.address, b"").await;
        assert_eq!(answer.header("content-length"), Some("300000"));
    }
}

#[tokio::test]
async fn a_domain_names_buckets_by_host() {
    let settings = FrontSettings { domain: Some("s3.test".to_owned()), ..FrontSettings::default() };
    let face = face(settings).await;
    let put = Call::new("PUT", "/dir/k").header("host", "bkt.s3.test:9000");
    assert_eq!(put.send(face.address, b"body").await.status, 200);
    let got =
        Call::new("GET", "/bkt/dir/k").header("host", "s3.test").send(face.address, b"").await;
    assert_eq!(got.body, b"body");
}

#[tokio::test]
async fn bodies_that_are_not_what_was_said_leave_nothing_behind() {
    let face = face(FrontSettings::default()).await;
    let put = || Call::new("PUT", "/bkt/k");
    let cases = [
        (put().payload(&sha256(b"other")), "XAmzContentSHA256Mismatch"),
        (put().header("content-md5", "AAAAAAAAAAAAAAAAAAAAAA=="), "BadDigest"),
        (put().header("content-md5", "AAAA"), "InvalidDigest"),
        (put().header("x-amz-checksum-crc32", "AAAAAA=="), "BadDigest"),
        (put().header("x-amz-checksum-crc32", "!"), "InvalidRequest"),
        (put().header("x-amz-sdk-checksum-algorithm", "CRC32"), "InvalidRequest"),
        (put().header("x-amz-sdk-checksum-algorithm", "CRC16"), "InvalidRequest"),
        (put().secret("wrong"), "SignatureDoesNotMatch"),
        (put().age_s(16 * 60), "RequestTimeTooSkewed"),
        (put().age_s(-16 * 60), "RequestTimeTooSkewed"),
    ];
    for (call, code) in cases {
        let answer = call.send(face.address, b"body").await;
        assert_eq!(answer.code(), code, "{answer:?}");
    }
    let long = bytes(2 << 20);
    let answer = put().payload(&sha256(b"other")).send(face.address, &long).await;
    assert_eq!(answer.code(), "XAmzContentSHA256Mismatch");
    let answer = Call::new("GET", "/bkt/k").send(face.address, b"").await;
    assert_eq!((answer.status, answer.code()), (404, "NoSuchKey".to_owned()));
}

#[tokio::test]
async fn bodies_that_end_early_or_without_a_length_are_refused() {
    let face = face(FrontSettings::default()).await;
    let head = Call::new("PUT", "/bkt/k").header("content-length", 100).sign().head;
    let answer = exchange(face.address, &[head.as_bytes(), b"too short"], true).await;
    assert_eq!((answer.status, answer.code()), (400, "IncompleteBody".to_owned()), "{answer:?}");
    let head = Call::new("PUT", "/bkt/k").header("transfer-encoding", "chunked").sign().head;
    let answer = exchange(face.address, &[head.as_bytes(), b"1\r\na\r\n0\r\n\r\n"], false).await;
    assert_eq!((answer.status, answer.code()), (411, "MissingContentLength".to_owned()));
    let head = Call::new("PUT", "/bkt/k").header("content-length", (5_u64 << 30) + 1).sign().head;
    let answer = exchange(face.address, &[head.as_bytes()], false).await;
    assert_eq!(answer.code(), "EntityTooLarge");
    assert!(face.store.object("bkt", "k").await.is_err());
}

#[tokio::test]
async fn signed_chunks_and_trailers_are_verified() {
    const NAME: &str = "x-amz-checksum-crc32";
    let face = face(FrontSettings::default()).await;
    let body = bytes(200_000);
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, &body) as u32;
    let crc = base64::engine::general_purpose::STANDARD.encode(crc.to_be_bytes());
    let put = |payload: &str| {
        Call::new("PUT", "/bkt/k")
            .payload(payload)
            .header("content-encoding", "aws-chunked")
            .header("x-amz-decoded-content-length", body.len())
    };
    for (break_chunk, value, code) in [
        (false, crc.as_str(), ""),
        (true, &crc, "SignatureDoesNotMatch"),
        (false, "AAAAAA==", "BadDigest"),
        (false, "bad", "InvalidRequest"),
    ] {
        let call = put("STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER").header("x-amz-trailer", NAME);
        let mut signed = call.header("transfer-encoding", "chunked").sign();
        let mut framed: Vec<u8> =
            body.chunks(65_536).flat_map(|chunk| signed.chunk(chunk)).collect();
        framed.extend(signed.chunk(b""));
        framed.extend(signed.trailer(NAME, value));
        if break_chunk {
            framed[1000] ^= 1;
        }
        let transfer = format!("{:x}\r\n", framed.len());
        let pieces: [&[u8]; 4] =
            [signed.head.as_bytes(), transfer.as_bytes(), &framed, b"\r\n0\r\n\r\n"];
        let answer = exchange(face.address, &pieces, false).await;
        assert_eq!(answer.code(), code, "{answer:?}");
        if code.is_empty() {
            assert_eq!(answer.header(NAME), Some(crc.as_str()));
        }
    }
    // Without signatures of chunks.
    let trailer = format!("{NAME}:{crc}\r\n\r\n");
    let framed = [b"30d40\r\n", body.as_slice(), b"\r\n0\r\n", trailer.as_bytes()].concat();
    let call = put("STREAMING-UNSIGNED-PAYLOAD-TRAILER").header("x-amz-trailer", NAME);
    assert_eq!(call.send(face.address, &framed).await.status, 200);
    let answer = Call::new("GET", "/bkt/k").header("x-amz-checksum-mode", "ENABLED");
    let answer = answer.send(face.address, b"").await;
    assert_eq!((answer.header(NAME), answer.body == body), (Some(crc.as_str()), true));
    assert_eq!(answer.header("content-encoding"), None);
    let (short, last) = (b"5\r\nhello\r\n".repeat(2), b"0\r\n\r\n");
    for (body, len, code) in [
        (&framed[..150_000], "200000", "IncompleteBody"),
        (&framed[..framed.len() - 2], "200000", "IncompleteBody"),
        (&framed, "199999", "IncompleteBody"),
        (&framed, "200001", "IncompleteBody"),
        (&framed, "many", "MissingContentLength"),
        (&[&short, &last[..]].concat(), "10", "InvalidChunkSizeError"),
    ] {
        let call = put("STREAMING-UNSIGNED-PAYLOAD-TRAILER").header("x-amz-trailer", NAME);
        let call = call.header("x-amz-decoded-content-length", len);
        assert_eq!(call.send(face.address, body).await.code(), code, "{len}");
    }
    let undeclared = Call::new("PUT", "/bkt/k").payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER");
    let answer = undeclared.send(face.address, &framed).await;
    assert_eq!((answer.status, answer.code()), (411, "MissingContentLength".to_owned()));
}

#[tokio::test]
async fn unsigned_amz_headers_and_anonymous_requests_are_refused() {
    let face = face(FrontSettings::default()).await;
    let head = Call::new("GET", "/bkt").sign().head;
    let head = head.replace("\r\n\r\n", "\r\nx-amz-meta-more: 1\r\n\r\n");
    let answer = exchange(face.address, &[head.as_bytes()], false).await;
    assert_eq!((answer.status, answer.code()), (403, "AccessDenied".to_owned()));
    let plain = b"GET /bkt/k HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert_eq!(exchange(face.address, &[plain], false).await.code(), "AccessDenied");
}

#[tokio::test]
async fn slow_heads_and_slow_bodies_are_cut_off() {
    let timeout = Duration::from_millis(300);
    let settings =
        FrontSettings { head_timeout: timeout, body_timeout: timeout, ..FrontSettings::default() };
    let face = face(settings).await;
    let begun = Instant::now();
    let answer = exchange(face.address, &[b"GET / HTTP/1.1\r\nhost: loc"], false).await;
    assert!(answer.status == 0 || answer.status == 408, "{answer:?}");
    let head = Call::new("PUT", "/bkt/k").header("content-length", 100).sign().head;
    let answer = exchange(face.address, &[head.as_bytes(), b"some"], false).await;
    assert_eq!((answer.status, answer.code()), (400, "RequestTimeout".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn continue_is_sent_only_to_those_whose_body_is_wanted() {
    let face = face(FrontSettings::default()).await;
    let put = |secret| {
        let call = Call::new("PUT", "/bkt/k").secret(secret).payload(UNSIGNED);
        call.header("content-length", 4).header("expect", "100-continue").sign().head
    };
    let mut stream = TcpStream::connect(face.address).await.unwrap();
    stream.write_all(put("testtest").as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut stream, false).await.status, 100);
    stream.write_all(b"body").await.unwrap();
    assert_eq!(read_answer(&mut stream, false).await.status, 200);
    let answer = exchange(face.address, &[put("wrong").as_bytes()], false).await;
    assert_eq!((answer.status, answer.code()), (403, "SignatureDoesNotMatch".to_owned()));
}

#[tokio::test]
async fn an_access_list_is_asked_for_only_where_it_could_stand() {
    let face = face(FrontSettings::default()).await;
    for (path, code) in
        [("/none-here", "NoSuchBucket"), ("/none-here/k", "NoSuchBucket"), ("/bkt/k", "NoSuchKey")]
    {
        let call = Call::new("PUT", path).query("acl=").header("content-length", 4);
        let head = call.header("expect", "100-continue").sign().head;
        let answer = exchange(face.address, &[head.as_bytes()], false).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, code), "{path}");
    }
    let call = Call::new("PUT", "/bkt").query("acl=").header("content-length", 4);
    let head = call.header("expect", "100-continue").sign().head;
    let mut stream = TcpStream::connect(face.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut stream, false).await.status, 100);
    stream.write_all(b"none").await.unwrap();
    assert_eq!(read_answer(&mut stream, false).await.code(), "MalformedACLError");
}

#[tokio::test]
async fn documents_that_do_not_fit_their_schema_change_nothing() {
    let face = face(FrontSettings::default()).await;
    assert_eq!(Call::new("PUT", "/bkt/k").send(face.address, b"body").await.status, 200);
    let send = async |method, path: &str, query: &str, document: &str| {
        let md5 = base64::engine::general_purpose::STANDARD.encode(md5::Md5::digest(document));
        let call = Call::new(method, path).query(query).header("content-md5", md5);
        call.send(face.address, document.as_bytes()).await
    };
    for document in [
        "",
        "<Delete></Delete>",
        "<Remove><Object><Key>k</Key></Object></Remove>",
        "<Delete><Object><Key>k</Key><Key>j</Key></Object></Delete>",
        "<Delete><Object><Key><b>k</b></Key></Object></Delete>",
        "<Delete><Object><Key>k</Key></Object><Quiet>true</Quiet><Quiet>false</Quiet></Delete>",
        "<!DOCTYPE Delete [<!ENTITY k 'k'>]><Delete><Object><Key>&k;</Key></Object></Delete>",
        "<Delete><Object><Key>k</Key></Object></Delete><Delete/>",
    ] {
        let answer = send("POST", "/bkt", "delete=", document).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "MalformedXML"), "{document}");
    }
    let tag = "<Tag><Key>a</Key><Value>b</Value></Tag>";
    for (document, code) in [
        (format!("<Tagging><TagSet>{tag}</TagSet><TagSet/></Tagging>"), "MalformedXML"),
        (format!("<Tagging><TagSet>{}</TagSet></Tagging>", tag.repeat(11)), "BadRequest"),
        (format!("<Tagging><TagSet>{}</TagSet></Tagging>", tag.repeat(1000)), "MalformedXML"),
        (format!("<Tagging>{}</Tagging>", " ".repeat(64 << 10)), "MaxMessageLengthExceeded"),
    ] {
        let answer = send("PUT", "/bkt/k", "tagging=", &document).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code));
    }
    assert_eq!(Call::new("GET", "/bkt/k").send(face.address, b"").await.body, b"body");
    let deleted = "\u{feff}<?xml version='1.0'?><!-- x --><d:Delete xmlns:d='urn:d'><d:Object>\
                   <d:Key>&#107;<!-- x --></d:Key><d:New/></d:Object></d:Delete>";
    let answer = send("POST", "/bkt", "delete=", deleted).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(Call::new("GET", "/bkt/k").send(face.address, b"").await.status, 404);
}

#[tokio::test]
async fn refusals_are_seen_by_clients_that_are_still_sending() {
    let face = face(FrontSettings::default()).await;
    let body = bytes(8 << 20);
    for _ in 0..3 {
        let answer = Call::new("PUT", "/none-here/k").send(face.address, &body).await;
        assert_eq!((answer.status, answer.code()), (404, "NoSuchBucket".to_owned()));
    }
}

#[tokio::test]
async fn an_object_that_is_lost_half_way_breaks_the_connection() {
    let face = face(FrontSettings::default()).await;
    let body = bytes(1 << 20);
    assert_eq!(Call::new("PUT", "/bkt/k").send(face.address, &body).await.status, 200);
    let located = face.store.object("bkt", "k").await.unwrap();
    let (last, _) = located.stripes.last().unwrap();
    for node in &face.nodes {
        let listed: Vec<_> = node.list().try_collect().await.unwrap();
        for fragment in listed.into_iter().filter(|listed| listed.name.stripe == *last) {
            node.delete(fragment.name).await.unwrap();
        }
    }
    let answer = Call::new("GET", "/bkt/k").send(face.address, b"").await;
    assert_eq!((answer.status, answer.whole), (200, false));
    assert_eq!(answer.header("content-length"), Some("1048576"));
    assert_eq!(answer.body, body[..answer.body.len()]);
    let answer =
        Call::new("GET", "/bkt/k").header("range", "bytes=-1").send(face.address, b"").await;
    assert!(answer.status >= 500 && !answer.code().is_empty(), "{answer:?}");
}

#[tokio::test]
async fn requests_that_run_are_finished_on_shutdown_and_all_are_observed() {
    let face = face(FrontSettings::default()).await;
    let head = Call::new("PUT", "/bkt/k").header("content-length", 8).sign().head;
    let mut stream = TcpStream::connect(face.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(b"half").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    face.shutdown.cancel();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(TcpStream::connect(face.address).await.is_err(), "nothing new is accepted");
    stream.write_all(b"half").await.unwrap();
    assert_eq!(read_answer(&mut stream, false).await.status, 200);
    tokio::time::timeout(Duration::from_secs(5), face.server).await.unwrap().unwrap();
    let log = face.log.0.lock().unwrap();
    let seen: Vec<_> =
        log.iter().map(|seen| (seen.operation, seen.status, seen.received)).collect();
    assert_eq!(seen, [(S3Operation::CreateBucket, 200, 0), (S3Operation::PutObject, 200, 8)]);
}

#[tokio::test]
async fn odd_requests_get_s3s_own_errors() {
    let face = face(FrontSettings::default()).await;
    let long = format!("/bkt/{}", "k".repeat(1025));
    let bad_xml = b"<Delete><Object><Key>a</Key>";
    let cases: [(&'static str, &str, &str, &[u8], &str); 15] = [
        ("PUT", &long, "", b"x", "KeyTooLongError"),
        ("PUT", "/Bad_Bucket", "", b"", "InvalidBucketName"),
        ("GET", "/none-here/k", "", b"", "NoSuchBucket"),
        ("GET", "/bkt/none", "", b"", "NoSuchKey"),
        ("GET", "/bkt", "max-keys=-1", b"", "InvalidArgument"),
        ("GET", "/bkt", "max-keys=x", b"", "InvalidArgument"),
        ("GET", "/bkt", "encoding-type=base64", b"", "InvalidArgument"),
        ("GET", "/bkt", "continuation-token=%21&list-type=2", b"", "InvalidArgument"),
        ("POST", "/bkt", "delete=", bad_xml, "InvalidRequest"),
        ("PUT", "/bkt/k", "partNumber=0&uploadId=x", b"x", "InvalidArgument"),
        ("PUT", "/bkt/k", "partNumber=1&uploadId=x", b"x", "NoSuchUpload"),
        ("POST", "/bkt/k", "uploadId=x", b"<a/>", "MalformedXML"),
        ("PUT", "/bkt", "", b"<CreateBucketConfiguration><LocationConstraint>x</LocationConstraint></CreateBucketConfiguration>", "InvalidLocationConstraint"),
        ("PUT", "/bkt", "replication=", b"{}", "NotImplemented"),
        ("GET", "/bkt", "policy=", b"", "NoSuchBucketPolicy"),
    ];
    for (method, path, query, body, code) in cases {
        let answer = Call::new(method, path).query(query).send(face.address, body).await;
        assert_eq!(answer.code(), code, "{method} {path}?{query}: {answer:?}");
    }
    let answer = Call::new("HEAD", "/bkt/none").send(face.address, b"").await;
    assert_eq!((answer.status, answer.body.len()), (404, 0));
}

fn field(answer: &client::Answer, name: &str) -> String {
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let found = text.split_once(&format!("<{name}>"));
    let found = found.and_then(|(_, rest)| rest.split_once(&format!("</{name}>")));
    found.map(|(text, _)| text.to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn parts_become_one_object_whose_checksum_is_that_of_the_whole() {
    let settings = FrontSettings { part_len_min: 1000, ..FrontSettings::default() };
    let face = face(settings).await;
    let to = face.address;
    let body = bytes(250_000);
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &body);
    let crc = base64::engine::general_purpose::STANDARD.encode(crc.to_be_bytes());
    let begun = Call::new("POST", "/bkt/k").query("uploads=").send(to, b"").await;
    let id = field(&begun, "UploadId");
    assert!(!id.is_empty(), "{begun:?}");
    let mut parts = String::new();
    for (number, part) in (1..).zip(body.chunks(100_000)) {
        let query = format!("partNumber={number}&uploadId={id}");
        let put = Call::new("PUT", "/bkt/k").query(&query).send(to, part).await;
        let etag = put.header("etag").unwrap();
        let part = format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        parts.push_str(&part);
    }
    let query = format!("uploadId={id}");
    let whole = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let complete = || Call::new("POST", "/bkt/k").query(&query);
    let wrong = complete().header("x-amz-checksum-crc64nvme", "AAAAAAAAAAA=");
    assert_eq!(wrong.send(to, whole.as_bytes()).await.code(), "BadDigest");
    let tagged = complete().header("if-none-match", "\"x\"").send(to, whole.as_bytes()).await;
    assert_eq!((tagged.status, tagged.code()), (501, "NotImplemented".to_owned()), "only *");
    let absent = complete().header("if-none-match", "*").header("x-amz-mp-object-size", 250_000);
    let done = absent.send(to, whole.as_bytes()).await;
    assert_eq!(field(&done, "ChecksumCRC64NVME"), crc, "{done:?}");
    assert!(field(&done, "ETag").ends_with("-3&quot;"));
    let again = complete().send(to, whole.as_bytes()).await;
    assert_eq!(again.body, done.body, "a client that asks again is told the same");
    let part = Call::new("GET", "/bkt/k").query("partNumber=2").send(to, b"").await;
    assert_eq!((part.status, part.body == body[100_000..200_000]), (206, true));
    assert_eq!(part.header("x-amz-mp-parts-count"), Some("3"));
    let beyond = Call::new("GET", "/bkt/k").query("partNumber=4").send(to, b"").await;
    assert_eq!((beyond.status, beyond.code()), (416, "InvalidPartNumber".to_owned()));
}

#[tokio::test]
async fn writes_and_deletes_are_conditional() {
    let face = face(FrontSettings::default()).await;
    let to = face.address;
    let put = || Call::new("PUT", "/bkt/k");
    assert_eq!(put().header("if-match", "\"x\"").send(to, b"1").await.code(), "NoSuchKey");
    let first = put().header("if-none-match", "*").send(to, b"1").await;
    let etag = first.header("etag").unwrap();
    assert_eq!(
        put().header("if-none-match", "*").send(to, b"2").await.code(),
        "PreconditionFailed"
    );
    assert_eq!(
        put().header("if-none-match", etag).send(to, b"2").await.code(),
        "PreconditionFailed"
    );
    assert_eq!(put().header("if-match", "\"x\"").send(to, b"2").await.status, 412);
    let copy = Call::new("PUT", "/bkt/c").header("x-amz-copy-source", "/bkt/k");
    let failing = copy.header("x-amz-copy-source-if-none-match", etag).send(to, b"").await;
    assert_eq!(failing.code(), "PreconditionFailed");
    let not_modified = Call::new("GET", "/bkt/k").header("if-none-match", etag).send(to, b"").await;
    assert_eq!((not_modified.status, not_modified.header("etag")), (304, Some(etag)));
    assert_eq!(put().header("if-match", etag).send(to, b"2").await.status, 200);
    let delete = || Call::new("DELETE", "/bkt/k");
    assert_eq!(delete().header("if-match", etag).send(to, b"").await.status, 412);
    assert_eq!(delete().send(to, b"").await.status, 204);
    assert_eq!(delete().send(to, b"").await.status, 204);
}

#[tokio::test]
async fn a_bucket_goes_with_its_uploads_but_not_with_its_objects() {
    let face = face(FrontSettings::default()).await;
    let to = face.address;
    assert_eq!(Call::new("POST", "/bkt/u").query("uploads=").send(to, b"").await.status, 200);
    assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"1").await.status, 200);
    assert_eq!(Call::new("DELETE", "/bkt").send(to, b"").await.code(), "BucketNotEmpty");
    assert_eq!(Call::new("DELETE", "/bkt/k").send(to, b"").await.status, 204);
    assert_eq!(Call::new("DELETE", "/bkt").send(to, b"").await.status, 204);
    assert_eq!(Call::new("HEAD", "/bkt").send(to, b"").await.status, 404);
}
