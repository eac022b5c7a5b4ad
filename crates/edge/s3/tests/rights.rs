//! Who may have what done: every operation of the table, by every right, and what is told of it.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "rights/cases.rs"]
mod cases;
#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "rights/unsigned.rs"]
mod unsigned;

use cases::{BUCKET, Case, KEY, Needed, OTHER, case};
use client::{Answer, Call, exchange, read_answer};
use ripstop_catalog::ListingRequest;
use ripstop_identity::{BucketRights, Credentials, Keyring, Right, Rights};
use ripstop_s3::{Answered, FrontSettings, RequestObserver, S3Operation, serve};
use ripstop_store::Store;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};
use tokio_util::sync::CancellationToken;

const SECRET: &str = "a-secret-of-a-key";

#[derive(Debug, Default)]
struct Log(Mutex<Vec<S3Operation>>);

impl RequestObserver for Log {
    fn answered(&self, answered: &Answered) {
        self.0.lock().unwrap().push(answered.operation);
    }
}

/// A face whose key `KEY` may do what `rights` say, and whose key `test` may do everything.
struct Face {
    to: SocketAddr,
    store: Store,
    keyring: Keyring,
    log: Arc<Log>,
    /// An upload of `KEY` in `BUCKET` with one part.
    upload: String,
    _folder: tempfile::TempDir,
}

fn rule(pattern: &str, rights: &[Right]) -> BucketRights {
    BucketRights::new(pattern.parse().unwrap(), rights.iter().copied())
}

fn rights(rules: &[(&str, &[Right])]) -> Rights {
    Rights::of(rules.iter().map(|(pattern, rights)| rule(pattern, rights)).collect()).unwrap()
}

/// Both keys, of which `KEY` may do this, and what may be done without a signature.
fn credentials(of_key: Rights, unsigned: Rights) -> Credentials {
    let mut credentials: Credentials =
        [("test", "testtest"), ("KEY", SECRET)].into_iter().collect();
    assert!(credentials.grant("KEY", of_key));
    credentials.grant_unsigned(unsigned).unwrap();
    credentials
}

impl Face {
    async fn new(of_key: Rights, unsigned: Rights) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = common::store(folder.path(), ripstop_store::StoreSettings::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let keyring = Keyring::from(credentials(of_key, unsigned));
        let settings = FrontSettings { part_len_min: 1, ..FrontSettings::default() };
        let (shutdown, log) = (CancellationToken::new(), Arc::new(Log::default()));
        let (store_of_face, seen) = (store.clone(), log.clone());
        tokio::spawn(serve(listener, store_of_face, keyring.clone(), settings, seen, shutdown));
        let upload = String::new();
        let mut face = Self { to, store, keyring, log, upload, _folder: folder };
        for bucket in [BUCKET, OTHER] {
            let path = format!("/{bucket}");
            assert_eq!(Call::new("PUT", &path).send(to, b"").await.status, 200);
            let path = format!("/{bucket}/{KEY}");
            assert_eq!(Call::new("PUT", &path).send(to, b"what was there").await.status, 200);
        }
        let begun = Call::new("POST", &format!("/{BUCKET}/{KEY}")).query("uploads=");
        let begun = text(&begun.send(to, b"").await);
        let (_, rest) = begun.split_once("<UploadId>").unwrap();
        rest.split_once("</UploadId>").unwrap().0.clone_into(&mut face.upload);
        let part = Call::new("PUT", &format!("/{BUCKET}/{KEY}"));
        let part = part.query(&format!("partNumber=1&uploadId={}", face.upload));
        assert_eq!(part.send(to, b"a part").await.status, 200);
        face
    }

    /// From now on `KEY` may do this.
    fn grant(&self, of_key: Rights) {
        self.keyring.replace(credentials(of_key, Rights::none()));
    }

    /// All that there is, as far as operations change it.
    async fn state(&self) -> String {
        let mut told = Vec::new();
        for bucket in self.store.buckets("", 1000).await.unwrap() {
            let name = bucket.name;
            let request = ListingRequest { bucket: name.clone(), max: 1000, ..Default::default() };
            let uploads = self.store.uploads(&request).await.unwrap().uploads;
            for upload in uploads {
                let parts = self.store.parts(&upload.id, 0, 1000).await.unwrap();
                let parts: Vec<_> = parts.iter().map(|part| (part.number, &part.etag)).collect();
                told.push(format!("{name}: {} {} {parts:?}", upload.key, upload.id));
            }
            for (key, _) in self.store.list(&request).await.unwrap().objects {
                let object = self.store.object(&name, &key).await.unwrap().object.clone();
                told.push(format!("{name}/{key}: {} {:?}", object.modified_ms, object.attributes));
            }
            told.push(name);
        }
        told.join("\n")
    }

    async fn send(&self, case: &Case) -> Answer {
        case.call(&self.upload).key("KEY", SECRET).send(self.to, &case.body).await
    }

    fn last_operation(&self) -> S3Operation {
        *self.log.0.lock().unwrap().last().unwrap()
    }
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn operations() -> impl Iterator<Item = (S3Operation, Case)> {
    let known = S3Operation::ALL.iter().filter(|operation| **operation != S3Operation::Unknown);
    known.map(|operation| (*operation, case(*operation)))
}

/// What is refused: 403, without a word more than that, or that it takes a signature.
fn assert_refused(answer: &Answer, said: &str) {
    assert_eq!(answer.status, 403, "{said}: {answer:?}");
    if said.starts_with("SecurityToken") {
        assert_eq!(answer.code(), "MissingAuthenticationToken", "{said}");
    } else if !answer.body.is_empty() {
        assert_eq!(answer.code(), "AccessDenied", "{said}");
        let text = text(answer);
        let is_plain = text.contains("<Message>Access Denied</Message>");
        assert!(is_plain || text.contains(". Please authenticate.<"), "{said}: {answer:?}");
    }
}

#[tokio::test]
async fn without_the_right_every_operation_is_refused_and_changes_nothing() {
    for (operation, case) in operations() {
        let face = Face::new(Rights::none(), Rights::none()).await;
        let before = face.state().await;
        for granted in case.needed.insufficient() {
            face.grant(granted.clone());
            let said = format!("{operation:?} with {granted:?}");
            assert_refused(&face.send(&case).await, &said);
            assert_eq!(face.state().await, before, "{said}");
            assert_eq!(face.last_operation(), operation, "the case is one of its operation");
        }
    }
}

#[tokio::test]
async fn with_the_right_every_operation_is_let_in() {
    for (operation, case) in operations() {
        for granted in case.needed.sufficient() {
            let face = Face::new(granted.clone(), Rights::none()).await;
            let answer = face.send(&case).await;
            let said = format!("{operation:?} with {granted:?}: {answer:?}");
            assert_eq!(answer.status, case.status, "{said}");
            assert_eq!(face.last_operation(), operation, "the case is one of its operation");
        }
    }
}

#[tokio::test]
async fn whether_a_bucket_or_an_object_is_there_is_not_told_to_those_without_rights() {
    let face = Face::new(rights(&[(OTHER, &[Right::Owner])]), Rights::none()).await;
    for (operation, case) in operations() {
        if case.needed == Needed::Nothing || case.needed == Needed::NoKey {
            continue;
        }
        let mut told = Vec::new();
        for place in [format!("/{BUCKET}"), "/nothing-here".to_owned(), "/Not_A_Name".to_owned()] {
            let there = case.path.replacen(&format!("/{BUCKET}"), &place, 1);
            for path in [there.clone(), there.replace(KEY, "no-such-key")] {
                let answer = face.send(&case.at(path.clone())).await;
                assert_refused(&answer, &format!("{operation:?} {path}"));
                let lines = answer.head.lines().map(str::to_ascii_lowercase);
                let constant = ["x-amz-request-id", "x-amz-id-2", "date", "content-length"];
                let kept = lines.filter(|line| !constant.iter().any(|name| line.starts_with(name)));
                let body = text(&answer);
                let body = body.split_once("<Resource>").map(|(body, _)| body.to_owned());
                told.push((kept.collect::<Vec<_>>(), body));
            }
        }
        assert!(told.windows(2).all(|two| two[0] == two[1]), "{operation:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_body_is_not_asked_for_by_those_who_may_not_send_it() {
    let face = Face::new(Rights::none(), Rights::none()).await;
    // Of a form, who sends it is known once its fields are there, and any key may send a call.
    let of_head =
        |(_, case): &(S3Operation, Case)| !matches!(case.needed, Needed::Form | Needed::Nothing);
    for (operation, case) in operations().filter(of_head).filter(|(_, it)| !it.body.is_empty()) {
        let head = || {
            let call = case.call(&face.upload).key("KEY", SECRET);
            let call = call.header("content-length", case.body.len());
            call.header("expect", "100-continue").sign().head
        };
        face.grant(Rights::none());
        let answer = exchange(face.to, &[head().as_bytes()], false).await;
        assert_refused(&answer, &format!("{operation:?}"));
        face.grant(rights(&[("*", &[Right::Owner])]));
        let mut stream = TcpStream::connect(face.to).await.unwrap();
        stream.write_all(head().as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream, false).await;
        assert_eq!(answer.status, 100, "{operation:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_copy_needs_both_rights_each_in_its_bucket() {
    use Right::{Read, Write};
    let face = Face::new(Rights::none(), Rights::none()).await;
    let before = face.state().await;
    for (granted, may) in [
        (rights(&[(BUCKET, &[Write])]), false),
        (rights(&[(OTHER, &[Read])]), false),
        (rights(&[(BUCKET, &[Write]), (OTHER, &[Write])]), false),
        (rights(&[(BUCKET, &[Read]), (OTHER, &[Read])]), false),
        (rights(&[(BUCKET, &[Write]), (OTHER, &[Read])]), true),
    ] {
        face.grant(granted.clone());
        for operation in [S3Operation::UploadPartCopy, S3Operation::CopyObject] {
            let answer = face.send(&case(operation)).await;
            assert_eq!(answer.status, if may { 200 } else { 403 }, "{operation:?} {granted:?}");
        }
        assert_eq!(face.state().await == before, !may);
    }
    face.grant(rights(&[(BUCKET, &[Write])]));
    let absent = Call::new("PUT", &format!("/{BUCKET}/copy")).key("KEY", SECRET);
    for source in [format!("/{OTHER}/{KEY}"), format!("/{OTHER}/none"), "/none-here/k".to_owned()] {
        let call = Call::new("PUT", &format!("/{BUCKET}/copy")).key("KEY", SECRET);
        let answer = call.header("x-amz-copy-source", &source).send(face.to, b"").await;
        assert_refused(&answer, &source);
    }
    let answer = absent.header("x-amz-copy-source", "nonsense").send(face.to, b"").await;
    assert_eq!(answer.code(), "InvalidArgument", "what names no object is no source");
}

#[tokio::test]
async fn a_key_sees_the_buckets_that_it_has_rights_in() {
    let face = Face::new(Rights::none(), Rights::none()).await;
    for name in ["shop-a", "shop-b", "shop-c"] {
        let path = format!("/{name}");
        assert_eq!(Call::new("PUT", &path).send(face.to, b"").await.status, 200);
    }
    for (granted, seen) in [
        (Rights::none(), vec![]),
        (rights(&[("shop-b", &[Right::Write])]), vec!["shop-b"]),
        (rights(&[("shop-*", &[Right::Read]), (OTHER, &[])]), vec!["shop-a", "shop-b", "shop-c"]),
        (rights(&[("*", &[Right::Read])]), vec![OTHER, "shop-a", "shop-b", "shop-c", BUCKET]),
        (Rights::administrator(), vec![OTHER, "shop-a", "shop-b", "shop-c", BUCKET]),
    ] {
        face.grant(granted.clone());
        let list = |query: &str| Call::new("GET", "/").query(query).key("KEY", SECRET);
        let answer = text(&list("").send(face.to, b"").await);
        let names =
            answer.split("<Name>").skip(1).map(|rest| rest.split_once("</Name>").unwrap().0);
        assert_eq!(names.collect::<Vec<_>>(), seen, "{granted:?}");
        let page = text(&list("max-buckets=1").send(face.to, b"").await);
        assert_eq!(page.contains("<ContinuationToken>"), seen.len() > 1, "{page}");
    }
}

#[tokio::test]
async fn rights_and_keys_that_are_taken_away_end_with_the_next_request() {
    let face = Face::new(rights(&[("*", &[Right::Read])]), Rights::none()).await;
    let mut stream = TcpStream::connect(face.to).await.unwrap();
    let get = || Call::new("GET", &format!("/{BUCKET}/{KEY}")).key("KEY", SECRET).sign().head;
    let mut told = Vec::new();
    for step in 0..3 {
        match step {
            0 => {}
            1 => face.grant(Rights::none()),
            _ => face.keyring.replace([("test", "testtest")].into_iter().collect()),
        }
        stream.write_all(get().as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream, false).await;
        told.push((answer.status, answer.code()));
    }
    let refused = |code: &str| (403, code.to_owned());
    assert_eq!(told[0].0, 200);
    assert_eq!(told[1..], [refused("AccessDenied"), refused("InvalidAccessKeyId")]);
}

#[tokio::test]
async fn a_wrong_signature_is_one_whatever_the_key_may_do() {
    for granted in [Rights::none(), Rights::administrator()] {
        let face = Face::new(granted, Rights::none()).await;
        let call = Call::new("GET", &format!("/{BUCKET}/{KEY}")).key("KEY", "another secret");
        assert_eq!(call.send(face.to, b"").await.code(), "SignatureDoesNotMatch");
        let call = Call::new("GET", &format!("/{BUCKET}/{KEY}")).key("NONE", SECRET);
        assert_eq!(call.send(face.to, b"").await.code(), "InvalidAccessKeyId");
    }
}
