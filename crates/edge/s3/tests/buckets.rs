//! What is configured of buckets, and what is answered where nothing is.
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

async fn send(to: SocketAddr, method: &'static str, query: &str, document: &str) -> Answer {
    let md5 = STANDARD.encode(md5::Md5::digest(document));
    let call = Call::new(method, "/bkt").query(query).header("content-md5", md5);
    call.send(to, document.as_bytes()).await
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

fn tag(key: &str, value: &str) -> String {
    format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>")
}

fn tagging(tags: &str) -> String {
    format!("<Tagging><TagSet>{tags}</TagSet></Tagging>")
}

#[tokio::test]
async fn a_bucket_has_the_tags_that_were_set_last_by_key() {
    let (to, _folder) = face().await;
    let get = || send(to, "GET", "tagging=", "");
    let none = get().await;
    assert_eq!((none.status, none.code()), (404, "NoSuchTagSet".to_owned()));
    for (tags, shown) in [("a", "a"), ("zoé", "zoé")] {
        let document = tagging(&format!("{}{}", tag(tags, "1"), tag("Key 1", "")));
        assert_eq!(send(to, "PUT", "tagging=", &document).await.status, 204);
        let (first, second) = (tag("Key 1", ""), tag(shown, "1"));
        assert!(text(&get().await).contains(&format!("<TagSet>{first}{second}</TagSet>")));
    }
    for _ in 0..2 {
        assert_eq!(send(to, "DELETE", "tagging=", "").await.status, 204);
        assert_eq!(get().await.code(), "NoSuchTagSet");
    }
    assert_eq!(send(to, "PUT", "tagging=", &tagging(&tag("a", "b"))).await.status, 204);
    assert_eq!(send(to, "PUT", "tagging=", &tagging("")).await.status, 204);
    assert_eq!(get().await.code(), "NoSuchTagSet", "none were set");
}

#[tokio::test]
async fn tags_of_a_bucket_follow_the_rules() {
    let (to, _folder) = face().await;
    let many = |count: u32| (0..count).map(|at| tag(&format!("k{at}"), "v")).collect::<String>();
    for (tags, code) in [
        (tag(&"k".repeat(129), "v"), "InvalidTag"),
        (tag("k", &"v".repeat(257)), "InvalidTag"),
        (tag("user!name", "v"), "InvalidTag"),
        (tag("k", "comma,separated"), "InvalidTag"),
        (tag("aws:k", "v"), "InvalidTag"),
        (tag("k", "1").repeat(2), "InvalidTag"),
        (many(51), "BadRequest"),
        (tag("k", "v").replace("Value", "Worth"), "MalformedXML"),
    ] {
        let answer = send(to, "PUT", "tagging=", &tagging(&tags)).await;
        assert_eq!((answer.status, answer.code()), (400, code.to_owned()), "{tags}");
        let made =
            format!("<CreateBucketConfiguration><Tags>{tags}</Tags></CreateBucketConfiguration>");
        let made = Call::new("PUT", "/other").send(to, made.as_bytes()).await;
        assert_eq!((made.status, made.code()), (400, code.to_owned()), "{tags}");
    }
    assert_eq!(send(to, "PUT", "tagging=", &tagging(&many(50))).await.status, 204);
    let unvouched = Call::new("PUT", "/bkt").query("tagging=");
    assert_eq!(unvouched.send(to, tagging("").as_bytes()).await.code(), "InvalidRequest");
    let framed =
        Call::new("PUT", "/bkt").query("tagging=").header("x-amz-decoded-content-length", 5);
    let framed = framed.payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER");
    let answer = framed.send(to, b"5\r\nabcde\r\n0\r\n\r\n").await;
    assert!(text(&answer).contains("The value of x-amz-content-sha256 header is invalid."));
    let missing = Call::new("GET", "/nobucket").query("tagging=").send(to, b"").await;
    assert_eq!(missing.code(), "NoSuchBucket");
}

#[tokio::test]
async fn a_bucket_is_made_with_its_tags() {
    let (to, _folder) = face().await;
    let made = "<CreateBucketConfiguration><Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags>\
                </CreateBucketConfiguration>";
    assert_eq!(Call::new("PUT", "/other").send(to, made.as_bytes()).await.status, 200);
    let tags = Call::new("GET", "/other").query("tagging=").send(to, b"").await;
    assert!(text(&tags).contains(&format!("<TagSet>{}</TagSet>", tag("a", "b"))));
}

#[tokio::test]
async fn the_rule_of_ownership_is_shown_until_it_is_removed() {
    let (to, _folder) = face().await;
    let rule = |word: &str| format!("<Rule><ObjectOwnership>{word}</ObjectOwnership></Rule>");
    let document = |rules: &str| format!("<OwnershipControls>{rules}</OwnershipControls>");
    let enforced = rule("BucketOwnerEnforced");
    let get = || send(to, "GET", "ownershipControls=", "");
    assert!(text(&get().await).contains(&enforced));
    for _ in 0..2 {
        assert_eq!(send(to, "DELETE", "ownershipControls=", "").await.status, 204);
        let gone = get().await;
        assert_eq!((gone.status, gone.code()), (404, "OwnershipControlsNotFoundError".to_owned()));
    }
    for (rules, status, code) in [
        (enforced.repeat(2), 400, "MalformedXML"),
        (String::new(), 400, "MalformedXML"),
        (rule("Nobody"), 400, "MalformedXML"),
        (rule("ObjectWriter"), 200, ""),
        (enforced.clone(), 200, ""),
    ] {
        let answer = send(to, "PUT", "ownershipControls=", &document(&rules)).await;
        assert_eq!((answer.status, answer.code()), (status, code.to_owned()), "{rules}");
    }
    assert!(text(&get().await).contains(&enforced));
}

#[tokio::test]
async fn what_a_bucket_has_not_is_said_in_s3s_words() {
    let (to, _folder) = face().await;
    for (query, code) in [
        ("encryption=", "ServerSideEncryptionConfigurationNotFoundError"),
        ("lifecycle=", "NoSuchLifecycleConfiguration"),
        ("object-lock=", "ObjectLockConfigurationNotFoundError"),
        ("policy=", "NoSuchBucketPolicy"),
        ("policyStatus=", "NoSuchBucketPolicy"),
        ("publicAccessBlock=", "NoSuchPublicAccessBlockConfiguration"),
        ("replication=", "ReplicationConfigurationNotFoundError"),
        ("website=", "NoSuchWebsiteConfiguration"),
        ("analytics=&id=a", "NoSuchConfiguration"),
    ] {
        let answer = send(to, "GET", query, "").await;
        assert_eq!((answer.status, answer.code()), (404, code.to_owned()), "{query}");
        let missing = Call::new("GET", "/nobucket").query(query).send(to, b"").await;
        assert_eq!(missing.code(), "NoSuchBucket", "{query}");
    }
    for query in ["accelerate=", "logging=", "notification=", "requestPayment="] {
        assert_eq!(send(to, "GET", query, "").await.status, 200, "{query}");
    }
    let select = Call::new("POST", "/bkt/k").query("select=&select-type=2").send(to, b"").await;
    assert_eq!((select.status, select.code()), (501, "NotImplemented".to_owned()));
}
