//! What becomes of objects by a bucket's rules, as it is configured and as answers tell it.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/served.rs"]
mod served;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call};
use md5::Digest as _;
use served::face;
use std::net::SocketAddr;
use time::OffsetDateTime;

const SIZES: &str = "x-amz-transition-default-minimum-object-size";

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn lifecycle(method: &'static str) -> Call {
    Call::new(method, "/bkt").query("lifecycle=")
}

async fn put(to: SocketAddr, rules: &str) -> Answer {
    let document = format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>");
    let md5 = STANDARD.encode(md5::Md5::digest(&document));
    lifecycle("PUT").header("content-md5", md5).send(to, document.as_bytes()).await
}

async fn put_object(to: SocketAddr, key: &str, tagging: &str) -> Answer {
    let call = Call::new("PUT", &format!("/bkt/{key}")).header("x-amz-tagging", tagging);
    call.send(to, b"twelve bytes").await
}

fn rule(id: &str, filter: &str, days: u32) -> String {
    format!(
        "<Rule><ID>{id}</ID><Filter>{filter}</Filter><Status>Enabled</Status>\
         <Expiration><Days>{days}</Days></Expiration></Rule>"
    )
}

/// After how many whole days an answer says that its object expires, and by which rule.
fn told(answer: &Answer) -> Option<(i64, String)> {
    let header = answer.header("x-amz-expiration")?;
    let (date, rule) = header.strip_prefix("expiry-date=\"")?.split_once("\", rule-id=\"")?;
    let days = (midnight(date) - OffsetDateTime::now_utc()).whole_days();
    Some((days, rule.strip_suffix('"')?.to_owned()))
}

fn midnight(date: &str) -> OffsetDateTime {
    let format = time::macros::format_description!(
        "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
    );
    let date = time::PrimitiveDateTime::parse(date, format).unwrap().assume_utc();
    assert_eq!(date.unix_timestamp() % 86_400, 0, "midnight");
    date
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_put_read_and_deleted() {
    let (to, _folder) = face().await;
    assert_eq!(lifecycle("GET").send(to, b"").await.code(), "NoSuchLifecycleConfiguration");
    let rules = rule("a", "<Prefix>p</Prefix>", 3);
    let answer = put(to, &rules).await;
    assert_eq!((answer.status, answer.header(SIZES)), (200, Some("all_storage_classes_128K")));
    let answer = lifecycle("GET").send(to, b"").await;
    assert_eq!((answer.status, answer.header(SIZES)), (200, Some("all_storage_classes_128K")));
    assert!(text(&answer).contains(&rules), "{}", text(&answer));
    assert_eq!(lifecycle("DELETE").send(to, b"").await.status, 204);
    assert_eq!(lifecycle("GET").send(to, b"").await.code(), "NoSuchLifecycleConfiguration");
    assert_eq!(lifecycle("DELETE").send(to, b"").await.status, 204, "it is none already");
    let elsewhere = Call::new("GET", "/none").query("lifecycle=").send(to, b"").await;
    assert_eq!(elsewhere.code(), "NoSuchBucket");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_header_says_of_sizes_is_kept() {
    let (to, _folder) = face().await;
    let document = format!(
        "<LifecycleConfiguration>{}</LifecycleConfiguration>",
        rule("a", "<Prefix>p</Prefix>", 3)
    );
    let call = |sizes| {
        let md5 = STANDARD.encode(md5::Md5::digest(&document));
        lifecycle("PUT").header("content-md5", md5).header(SIZES, sizes)
    };
    let answer = call("whatever").send(to, document.as_bytes()).await;
    assert_eq!((answer.status, answer.code()), (400, "InvalidArgument".to_owned()));
    assert_eq!(lifecycle("GET").send(to, b"").await.status, 404, "nothing changed");
    let answer = call("varies_by_storage_class").send(to, document.as_bytes()).await;
    assert_eq!((answer.status, answer.header(SIZES)), (200, Some("varies_by_storage_class")));
    let answer = lifecycle("GET").send(to, b"").await;
    assert_eq!(answer.header(SIZES), Some("varies_by_storage_class"));
    assert!(!text(&answer).contains("Minimum"), "{}", text(&answer));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_wrong_changes_nothing() {
    let (to, _folder) = face().await;
    assert_eq!(put(to, &rule("kept", "", 1)).await.status, 200);
    let unvouched = lifecycle("PUT").send(to, b"<LifecycleConfiguration/>").await;
    assert_eq!(unvouched.code(), "InvalidRequest");
    for (rules, code) in [
        (String::new(), "MalformedXML"),
        (rule("a", "", 0), "InvalidArgument"),
        (rule(&"i".repeat(256), "", 1), "InvalidArgument"),
        (rule("a", "", 1).repeat(2), "InvalidArgument"),
        (rule("a", "", 1).replace("Enabled", "enabled"), "MalformedXML"),
        ((0..1001).map(|at| rule(&at.to_string(), "", 1)).collect(), "InvalidRequest"),
    ] {
        let answer = put(to, &rules).await;
        assert_eq!((answer.status, &*answer.code()), (400, code), "{rules:.200}");
    }
    let transition = "<Rule><ID>t</ID><Prefix/><Status>Enabled</Status><Transition><Days>1</Days>\
        <StorageClass>GLACIER</StorageClass></Transition></Rule>";
    let answer = put(to, transition).await;
    assert_eq!((answer.status, answer.code()), (400, "InvalidStorageClass".to_owned()));
    assert!(text(&lifecycle("GET").send(to, b"").await).contains("<ID>kept</ID>"));
    let many: String = (0..1000).map(|at| rule(&at.to_string(), "", 1)).collect();
    assert_eq!(put(to, &many).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_tell_when_their_object_expires_and_by_which_rule() {
    let (to, _folder) = face().await;
    let answer = put_object(to, "days1/foo", "").await;
    assert_eq!((answer.status, told(&answer)), (200, None));
    let rules = rule("rule 1", "<Prefix>days1/</Prefix>", 1)
        + &rule("tagged", "<Tag><Key>k</Key><Value>v</Value></Tag>", 9);
    assert_eq!(put(to, &rules).await.status, 200);
    let one = Some((1, "rule%201".to_owned()));
    assert_eq!(told(&put_object(to, "days1/foo", "k=v").await), one, "the earlier of two");
    for method in ["GET", "HEAD"] {
        let answer = Call::new(method, "/bkt/days1/foo").send(to, b"").await;
        assert_eq!((answer.status, told(&answer)), (200, one.clone()), "{method}");
    }
    let nine = Some((9, "tagged".to_owned()));
    assert_eq!(told(&put_object(to, "other", "k=v").await), nine);
    assert_eq!(told(&put_object(to, "other", "k=w").await), None);
    let copy = Call::new("PUT", "/bkt/days1/copy").header("x-amz-copy-source", "/bkt/other");
    assert_eq!(told(&copy.send(to, b"").await), one);
    assert_eq!(lifecycle("DELETE").send(to, b"").await.status, 204);
    assert_eq!(told(&Call::new("HEAD", "/bkt/days1/foo").send(to, b"").await), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_tell_when_they_end_and_by_which_rule() {
    let (to, _folder) = face().await;
    let begin = async |key: &str| {
        let call = Call::new("POST", &format!("/bkt/{key}")).query("uploads=");
        let begun = call.send(to, b"").await;
        let document = text(&begun);
        let (_, id) = document.split_once("<UploadId>").unwrap();
        let query = format!("uploadId={}", id.split_once('<').unwrap().0);
        let parts = Call::new("GET", &format!("/bkt/{key}")).query(&query).send(to, b"").await;
        [begun, parts]
    };
    let end = |id: &str, prefix: &str, days: u32| {
        format!(
            "<Rule><ID>{id}</ID><Filter><Prefix>{prefix}</Prefix></Filter><Status>Enabled</Status>\
             <AbortIncompleteMultipartUpload><DaysAfterInitiation>{days}</DaysAfterInitiation>\
             </AbortIncompleteMultipartUpload></Rule>"
        )
    };
    let rules = end("rule one", "a/", 7) + &end("\u{e9}", "a/b/", 2) + &rule("other", "", 1);
    assert_eq!(put(to, &rules).await.status, 200);
    for (key, told_by) in
        [("a/k", Some((7, "rule one"))), ("a/b/k", Some((2, "%C3%A9"))), ("k", None)]
    {
        let [begun, parts] = begin(key).await;
        let date = begun.header("x-amz-abort-date").map(str::to_owned);
        assert_eq!(begun.header("x-amz-abort-rule-id"), told_by.map(|(_, rule)| rule), "{key}");
        assert_eq!(parts.header("x-amz-abort-rule-id"), told_by.map(|(_, rule)| rule), "{key}");
        assert_eq!(parts.header("x-amz-abort-date"), date.as_deref(), "{key}");
        let days = date.map(|date| (midnight(&date) - OffsetDateTime::now_utc()).whole_days());
        assert_eq!(days, told_by.map(|(days, _)| days), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_version_that_is_asked_for_nothing_is_told() {
    let (to, _folder) = face().await;
    assert_eq!(put(to, &rule("all", "", 5)).await.status, 200);
    let versioning = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    let call = Call::new("PUT", "/bkt").query("versioning=");
    assert_eq!(call.send(to, versioning).await.status, 200);
    let answer = put_object(to, "key", "").await;
    assert_eq!(told(&answer), Some((5, "all".to_owned())));
    let version = answer.header("x-amz-version-id").unwrap().to_owned();
    let call = Call::new("HEAD", "/bkt/key").query(&format!("versionId={version}"));
    let answer = call.send(to, b"").await;
    assert_eq!((answer.status, told(&answer)), (200, None));
}
