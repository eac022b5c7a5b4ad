//! Buckets that are given to another account.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/people.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod people;

use client::Call;
use people::{ALICE, BOB, NOBODY, People};
use ripstop_s3::give_bucket;

fn text(answer: &client::Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

#[tokio::test]
async fn who_is_given_a_bucket_owns_it_with_what_is_in_it_and_who_had_it_has_nothing_there() {
    let people = People::with_bucket("mine", &["k"]).await;
    assert_eq!(people.status(BOB, "GET", "/mine/k", "").await, 403);
    give_bucket(&people.store, "mine", "bob").await.unwrap();
    assert_eq!(people.ok(BOB, "GET", "/mine/k", "", b"").await.body, b"k");
    assert!(text(&people.ok(BOB, "GET", "/mine", "acl=", b"").await).contains("<ID>bob</ID>"));
    assert!(text(&people.ok(BOB, "GET", "/", "", b"").await).contains("<Name>mine</Name>"));
    people.ok(BOB, "PUT", "/mine/k", "", b"new").await;
    for (method, path, query) in [
        ("GET", "/mine/k", ""),
        ("PUT", "/mine/k", ""),
        ("GET", "/mine", "acl="),
        ("DELETE", "/mine", ""),
    ] {
        assert_eq!(people.status(ALICE, method, path, query).await, 403, "{method} {path}?{query}");
    }
    assert!(!text(&people.ok(ALICE, "GET", "/", "", b"").await).contains("<Name>mine</Name>"));
    give_bucket(&people.store, "mine", "").await.unwrap();
    assert_eq!(people.status(BOB, "GET", "/mine/k", "").await, 403);
    assert_eq!(people.ok("test", "GET", "/mine/k", "", b"").await.body, b"new");
    assert!(give_bucket(&people.store, "none-here", "bob").await.is_err());
}

#[tokio::test]
async fn a_given_bucket_keeps_its_policy_and_not_what_its_list_granted() {
    let people = People::new().await;
    let make = Call::new("PUT", "/mine").header("x-amz-object-ownership", "BucketOwnerPreferred");
    assert_eq!(people.send_with(ALICE, make, b"").await.status, 200);
    people.ok(ALICE, "PUT", "/mine/k", "", b"k").await;
    let open = Call::new("PUT", "/mine").query("acl=").header("x-amz-acl", "public-read");
    assert_eq!(people.send_with(ALICE, open, b"").await.status, 200);
    let statement = "{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":\"s3:GetObject\",\
                     \"Resource\":\"arn:aws:s3:::mine/*\"}";
    people.policy("mine", statement).await;
    assert_eq!(people.status(NOBODY, "GET", "/mine", "").await, 200);
    give_bucket(&people.store, "mine", "bob").await.unwrap();
    assert_eq!(people.status(NOBODY, "GET", "/mine", "").await, 403, "its list granted that");
    assert_eq!(people.status(ALICE, "GET", "/mine", "").await, 403);
    assert_eq!(people.status(NOBODY, "GET", "/mine/k", "").await, 200, "its policy allows that");
    let list = text(&people.ok(BOB, "GET", "/mine", "acl=", b"").await);
    assert!(list.contains("<ID>bob</ID>") && !list.contains("alice"), "{list}");
}
