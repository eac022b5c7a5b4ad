//! Object lock, through the wire.
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
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use ripstop_store::{PackSettings, StoreSettings};
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio_util::sync::CancellationToken;

const BYPASS: &str = "x-amz-bypass-governance-retention";
const MODE: &str = "x-amz-object-lock-mode";
const UNTIL: &str = "x-amz-object-lock-retain-until-date";
const HOLD: &str = "x-amz-object-lock-legal-hold";
const FAR: &str = "2099-01-02T03:04:05.000Z";

struct Face {
    at: SocketAddr,
    _folder: tempfile::TempDir,
}

/// A face with a bucket `bkt` that has object lock, and one `plain` that has not.
async fn face(is_packing: bool) -> Face {
    let folder = tempfile::tempdir().unwrap();
    let below = if is_packing { 64 << 10 } else { 0 };
    let packs = PackSettings { below, ..PackSettings::default() };
    let settings = StoreSettings { packs: [(PoolId(0), packs)].into(), ..StoreSettings::default() };
    let (store, _nodes) = common::store(folder.path(), settings);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let credentials: Credentials = [("test", "testtest")].into_iter().collect();
    let settings = FrontSettings { part_len_min: 1000, ..FrontSettings::default() };
    let shutdown = CancellationToken::new();
    tokio::spawn(serve(listener, store, credentials, settings, Arc::new(Unobserved), shutdown));
    let face = Face { at, _folder: folder };
    let locked = Call::new("PUT", "/bkt").header("x-amz-bucket-object-lock-enabled", "true");
    assert_eq!(face.send(locked, b"").await.status, 200);
    assert_eq!(face.send(Call::new("PUT", "/plain"), b"").await.status, 200);
    face
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A date so far ahead, as requests write it.
fn ahead(seconds: u64) -> String {
    let at =
        OffsetDateTime::from_unix_timestamp((now_ms() / 1000 + seconds).cast_signed()).unwrap();
    at.format(&Rfc3339).unwrap()
}

fn retention(mode: &str, until: &str) -> String {
    format!("<Retention><Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>")
}

fn rule(inner: &str) -> String {
    format!(
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>\
         <DefaultRetention>{inner}</DefaultRetention></Rule></ObjectLockConfiguration>"
    )
}

impl Face {
    async fn send(&self, call: Call, body: &[u8]) -> Answer {
        call.send(self.at, body).await
    }

    /// Sends a document with its checksum.
    async fn document(&self, call: Call, document: &str) -> Answer {
        let md5 = STANDARD.encode(md5::Md5::digest(document));
        self.send(call.header("content-md5", &md5), document.as_bytes()).await
    }

    /// Sends it; expects this status, and this code where it is a failure.
    async fn expect(&self, call: Call, document: &str, status: u16, code: &str) -> Answer {
        let answer = self.document(call, document).await;
        assert_eq!(answer.status, status, "{}", text(&answer));
        assert!(text(&answer).contains(code), "{code} is wanted: {}", text(&answer));
        answer
    }

    async fn put(&self, headers: &[(&str, &str)]) -> String {
        let call = headers
            .iter()
            .fold(Call::new("PUT", "/bkt/key"), |call, (name, value)| call.header(name, value));
        let put = self.document(call, "some bytes").await;
        assert_eq!(put.status, 200, "{}", text(&put));
        put.header("x-amz-version-id").unwrap().to_owned()
    }

    fn delete(version: &str) -> Call {
        Call::new("DELETE", "/bkt/key").query(&format!("versionId={version}"))
    }

    async fn is_kept(&self, version: &str) {
        let answer = self.expect(Self::delete(version), "", 403, "<Code>AccessDenied</Code>").await;
        assert!(text(&answer).contains("object protected by object lock"));
        let read =
            self.send(Call::new("GET", "/bkt/key").query(&format!("versionId={version}")), b"");
        assert_eq!(text(&read.await), "some bytes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_stays_until_its_retention_is_over() {
    for is_packing in [true, false] {
        let face = face(is_packing).await;
        let until = ahead(3);
        let version = face.put(&[(MODE, "COMPLIANCE"), (UNTIL, &until)]).await;
        face.is_kept(&version).await;
        face.expect(Face::delete(&version).header(BYPASS, "true"), "", 403, "AccessDenied").await;
        // A deletion without an id takes nothing away.
        assert_eq!(face.send(Call::new("DELETE", "/bkt/key"), b"").await.status, 204);
        face.is_kept(&version).await;
        while now_ms()
            < 1000 * (OffsetDateTime::parse(&until, &Rfc3339).unwrap().unix_timestamp() as u64)
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(face.send(Face::delete(&version), b"").await.status, 204);
        let gone =
            face.send(Call::new("GET", "/bkt/key").query(&format!("versionId={version}")), b"");
        assert_eq!(gone.await.status, 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn governance_yields_to_who_asks_and_compliance_to_nobody() {
    let face = face(true).await;
    let governed = face.put(&[(MODE, "GOVERNANCE"), (UNTIL, FAR)]).await;
    let complied = face.put(&[(MODE, "COMPLIANCE"), (UNTIL, FAR)]).await;
    for version in [&governed, &complied] {
        face.is_kept(version).await;
    }
    let entries = [&governed, &complied]
        .map(|version| format!("<Object><Key>key</Key><VersionId>{version}</VersionId></Object>"));
    let many = format!("<Delete>{}</Delete>", entries.concat());
    let call = || Call::new("POST", "/bkt").query("delete=");
    let refused = face.expect(call(), &many, 200, "<Code>AccessDenied</Code>").await;
    assert_eq!(text(&refused).matches("<Error>").count(), 2);
    let bypassed = face.expect(call().header(BYPASS, "true"), &many, 200, "<Deleted>").await;
    assert_eq!(text(&bypassed).matches("<Error>").count(), 1, "{}", text(&bypassed));
    face.is_kept(&complied).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retention_is_shown_made_longer_and_not_shorter() {
    let face = face(true).await;
    let version = face.put(&[]).await;
    let of = || Call::new("PUT", "/bkt/key").query("retention=");
    let get = || Call::new("GET", "/bkt/key").query("retention=");
    face.expect(get(), "", 404, "<Code>NoSuchObjectLockConfiguration</Code>").await;
    face.expect(of(), &retention("GOVERNANCE", FAR), 200, "").await;
    let shown = face.expect(get(), "", 200, "<Mode>GOVERNANCE</Mode>").await;
    assert!(text(&shown).contains(&format!("<RetainUntilDate>{FAR}</RetainUntilDate>")));
    let head = face.send(Call::new("HEAD", "/bkt/key"), b"").await;
    assert_eq!((head.header(MODE), head.header(UNTIL)), (Some("GOVERNANCE"), Some(FAR)));
    assert_eq!(head.header(HOLD), None);
    let sooner = retention("GOVERNANCE", &ahead(1000));
    face.expect(of(), &sooner, 403, "AccessDenied").await;
    face.expect(of(), &retention("COMPLIANCE", FAR), 403, "AccessDenied").await;
    face.expect(of(), "<Retention/>", 403, "AccessDenied").await;
    face.expect(of(), &retention("GOVERNANCE", "2099-01-03T00:00:00Z"), 200, "").await;
    face.expect(of().header(BYPASS, "true"), &sooner, 200, "").await;
    face.expect(of().header(BYPASS, "true"), &retention("COMPLIANCE", FAR), 200, "").await;
    face.expect(of().header(BYPASS, "true"), &sooner, 403, "AccessDenied").await;
    // It goes on being that version, whatever was said of it.
    let read = face.send(Call::new("GET", "/bkt/key").query(&format!("versionId={version}")), b"");
    assert_eq!(read.await.header("x-amz-version-id"), Some(version.as_str()));
    for (document, code) in [
        (retention("SOMEHOW", FAR), "MalformedXML"),
        (retention("GOVERNANCE", "2019-01-01T00:00:00Z"), "InvalidArgument"),
        (retention("GOVERNANCE", "tomorrow"), "MalformedXML"),
        ("<Retention><Mode>GOVERNANCE</Mode></Retention>".to_owned(), "MalformedXML"),
    ] {
        face.expect(of(), &document, 400, code).await;
    }
    let unvouched = face.send(of(), sooner.as_bytes()).await;
    assert_eq!(unvouched.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legal_hold_keeps_until_it_is_taken_back() {
    let face = face(true).await;
    let version = face.put(&[(HOLD, "ON")]).await;
    face.is_kept(&version).await;
    face.expect(Face::delete(&version).header(BYPASS, "true"), "", 403, "AccessDenied").await;
    let of = || Call::new("PUT", "/bkt/key").query("legal-hold=");
    let get = || Call::new("GET", "/bkt/key").query("legal-hold=");
    face.expect(get(), "", 200, "<Status>ON</Status>").await;
    face.expect(of(), "<LegalHold><Status>abc</Status></LegalHold>", 400, "MalformedXML").await;
    face.expect(of(), "<LegalHold><Status>OFF</Status></LegalHold>", 200, "").await;
    face.expect(get(), "", 200, "<Status>OFF</Status>").await;
    let head = face.send(Call::new("HEAD", "/bkt/key"), b"").await;
    assert_eq!(head.header(HOLD), Some("OFF"));
    assert_eq!(face.send(Face::delete(&version), b"").await.status, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_says_what_is_kept_of_which_nothing_is_said() {
    let face = face(true).await;
    let of = |bucket: &str| Call::new("PUT", &format!("/{bucket}")).query("object-lock=");
    let get = |bucket: &str| Call::new("GET", &format!("/{bucket}")).query("object-lock=");
    let shown = face.expect(get("bkt"), "", 200, "<ObjectLockEnabled>Enabled</").await;
    assert!(!text(&shown).contains("<Rule>"));
    for (inner, code) in [
        ("<Mode>GOVERNANCE</Mode><Days>1</Days><Years>1</Years>", "MalformedXML"),
        ("<Mode>GOVERNANCE</Mode>", "MalformedXML"),
        ("<Days>1</Days>", "MalformedXML"),
        ("<Mode>abc</Mode><Days>1</Days>", "MalformedXML"),
        ("<Mode>GOVERNANCE</Mode><Days>0</Days>", "InvalidRetentionPeriod"),
        ("<Mode>GOVERNANCE</Mode><Days>36501</Days>", "InvalidRetentionPeriod"),
        ("<Mode>GOVERNANCE</Mode><Years>-1</Years>", "InvalidRetentionPeriod"),
    ] {
        face.expect(of("bkt"), &rule(inner), 400, code).await;
    }
    let disabled = rule("<Mode>GOVERNANCE</Mode><Days>1</Days>").replace("Enabled<", "Disabled<");
    face.expect(of("bkt"), &disabled, 400, "MalformedXML").await;
    let ten_days = rule("<Mode>GOVERNANCE</Mode><Days>10</Days>");
    face.expect(of("bkt"), &ten_days, 200, "").await;
    face.expect(get("bkt"), "", 200, "<Mode>GOVERNANCE</Mode><Days>10</Days>").await;
    let version = face.put(&[]).await;
    face.is_kept(&version).await;
    let head = face.send(Call::new("HEAD", "/bkt/key"), b"").await;
    let until = OffsetDateTime::parse(head.header(UNTIL).unwrap(), &Rfc3339).unwrap();
    let days = (until.unix_timestamp() as f64 - now_ms() as f64 / 1000.0) / 86_400.0;
    assert!((9.99..10.01).contains(&days), "{days}");
    // What a request says goes before.
    let own = face.put(&[(MODE, "COMPLIANCE"), (UNTIL, FAR)]).await;
    let head = face.send(Call::new("HEAD", "/bkt/key").query(&format!("versionId={own}")), b"");
    assert_eq!(head.await.header(UNTIL), Some(FAR));
    // A copy is a version of its own; so is what parts make.
    let copied =
        face.send(Call::new("PUT", "/bkt/copy").header("x-amz-copy-source", "bkt/key"), b"");
    assert_eq!(copied.await.status, 200);
    let head = face.send(Call::new("HEAD", "/bkt/copy"), b"").await;
    assert_eq!(head.header(MODE), Some("GOVERNANCE"));
    let upload = face.send(Call::new("POST", "/bkt/parts").query("uploads="), b"").await;
    let upload =
        text(&upload).split("<UploadId>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let part = Call::new("PUT", "/bkt/parts").query(&format!("partNumber=1&uploadId={upload}"));
    let etag = face.send(part, b"a part").await.header("etag").unwrap().to_owned();
    let parts = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let complete = Call::new("POST", "/bkt/parts").query(&format!("uploadId={upload}"));
    assert_eq!(face.send(complete, parts.as_bytes()).await.status, 200);
    let head = face.send(Call::new("HEAD", "/bkt/parts"), b"").await;
    assert_eq!(head.header(MODE), Some("GOVERNANCE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_take_a_bucket_that_has_them_and_keeps_versions() {
    let face = face(true).await;
    let missing = "Bucket is missing Object Lock Configuration";
    let put = |headers: &[(&str, &str)]| {
        headers
            .iter()
            .fold(Call::new("PUT", "/plain/key"), |call, (name, value)| call.header(name, value))
    };
    face.expect(put(&[]), "x", 200, "").await;
    face.expect(put(&[(HOLD, "ON")]), "x", 400, missing).await;
    face.expect(put(&[(MODE, "GOVERNANCE"), (UNTIL, FAR)]), "x", 400, missing).await;
    face.expect(put(&[(MODE, "GOVERNANCE")]), "x", 400, "must both be supplied").await;
    face.expect(put(&[(MODE, "abc"), (UNTIL, FAR)]), "x", 400, "Unknown wormMode").await;
    let past = "2001-01-01T00:00:00Z";
    face.expect(put(&[(MODE, "GOVERNANCE"), (UNTIL, past)]), "x", 400, "in the future").await;
    let begin = Call::new("POST", "/plain/key").query("uploads=").header(HOLD, "ON");
    face.expect(begin, "", 400, missing).await;
    for query in ["retention=", "legal-hold="] {
        face.expect(Call::new("GET", "/plain/key").query(query), "", 400, missing).await;
    }
    let hold = "<LegalHold><Status>ON</Status></LegalHold>";
    face.expect(put(&[]).query("legal-hold="), hold, 400, missing).await;
    face.expect(put(&[]).query("retention="), &retention("GOVERNANCE", FAR), 400, missing).await;
    let get = || Call::new("GET", "/plain").query("object-lock=");
    face.expect(get(), "", 404, "<Code>ObjectLockConfigurationNotFoundError</Code>").await;
    let lock = || Call::new("PUT", "/plain").query("object-lock=");
    let days = rule("<Mode>GOVERNANCE</Mode><Days>1</Days>");
    face.expect(lock(), &days, 409, "<Code>InvalidBucketState</Code>").await;
    let versioning = |bucket: &str| Call::new("PUT", &format!("/{bucket}")).query("versioning=");
    let status = |status: &str| {
        format!("<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>")
    };
    face.expect(versioning("plain"), &status("Enabled"), 200, "").await;
    face.expect(lock(), &days, 200, "").await;
    for bucket in ["plain", "bkt"] {
        let suspended = status("Suspended");
        face.expect(versioning(bucket), &suspended, 409, "<Code>InvalidBucketState</Code>").await;
        face.expect(versioning(bucket), &status("Enabled"), 200, "").await;
    }
    // What was put before the bucket kept versions can be kept, too.
    let null = put(&[]).query("retention=&versionId=null");
    face.expect(null, &retention("COMPLIANCE", FAR), 200, "").await;
    let delete = Call::new("DELETE", "/plain/key").query("versionId=null");
    face.expect(delete, "", 403, "AccessDenied").await;
}

#[tokio::test]
async fn locks_are_said_of_what_is_there_and_an_empty_id_means_the_latest() {
    let face = face(false).await;
    face.put(&[]).await;
    let key = |method: &'static str, query: &str| Call::new(method, "/bkt/key").query(query);
    let until = ahead(2);
    let governed = retention("GOVERNANCE", &until);
    face.expect(key("PUT", "retention=&versionId="), &governed, 200, "").await;
    face.expect(key("GET", "retention=&versionId="), "", 200, "GOVERNANCE").await;
    let hold = "<LegalHold><Status>OFF</Status></LegalHold>";
    face.expect(key("PUT", "legal-hold=&versionId="), hold, 200, "").await;
    face.expect(key("GET", "legal-hold=&versionId="), "", 200, "OFF").await;
    // Whoever reads or deletes means some version.
    for method in ["GET", "HEAD", "DELETE"] {
        assert_eq!(face.send(key(method, "versionId="), b"").await.status, 400, "{method}");
    }
    // That there is no bucket goes before what is wrong with the document.
    for query in ["retention=", "legal-hold="] {
        let put = Call::new("PUT", "/none-here/key").query(query);
        assert_eq!(face.send(put, b"").await.code(), "NoSuchBucket", "{query}");
        assert_eq!(face.send(key("PUT", query), hold.as_bytes()).await.code(), "InvalidRequest");
        face.expect(key("PUT", query), "", 400, "MalformedXML").await;
        let get = Call::new("GET", "/plain/none").query(query);
        assert_eq!(face.send(get, b"").await.code(), "NoSuchKey", "{query}");
    }
    let rule = || Call::new("PUT", "/bkt").query("object-lock=");
    face.expect(rule(), "", 400, "<Code>MissingRequestBodyError</Code>").await;
}
