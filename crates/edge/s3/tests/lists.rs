//! Access lists of buckets and objects, and where they mean nothing.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/people.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod people;

use client::{Answer, Call};
use people::{ALICE, BOB, CLERK, NOBODY, People, denied, text};

const EVERYBODY: &str = "http://acs.amazonaws.com/groups/global/AllUsers";

/// A bucket of Alice's that is made with this word for who owns what is put into it.
async fn bucket(ownership: &str) -> People {
    let people = People::new().await;
    let call = Call::new("PUT", "/mine").header("x-amz-object-ownership", ownership);
    assert_eq!(people.send_with(ALICE, call, b"").await.status, 200, "{ownership}");
    people.ok(ALICE, "PUT", "/mine/k", "", b"x").await;
    people
}

impl People {
    async fn list(&self, who: &'static str, path: &str, word: &str) -> Answer {
        let call = Call::new("PUT", path).query("acl=").header("x-amz-acl", word);
        self.send_with(who, call, b"").await
    }
}

/// Grantees and permissions of a list, in its order.
fn grants(answer: &Answer) -> Vec<(String, String)> {
    let text = text(answer);
    let between = |text: &str, name: &str| {
        let rest = text.split_once(&format!("<{name}>"))?.1;
        Some(rest.split_once(&format!("</{name}>"))?.0.to_owned())
    };
    let grant = |text: &str| {
        let to = between(text, "ID").or_else(|| between(text, "URI")).unwrap();
        (to, between(text, "Permission").unwrap())
    };
    text.split("<Grant>").skip(1).map(grant).collect()
}

fn grant(to: &str, permission: &str) -> (String, String) {
    (to.to_owned(), permission.to_owned())
}

#[tokio::test]
async fn where_the_owner_owns_everything_lists_say_just_that() {
    let people = People::with_bucket("mine", &["k"]).await;
    for path in ["/mine", "/mine/k"] {
        let shown = people.ok(ALICE, "GET", path, "acl=", b"").await;
        assert_eq!(grants(&shown), [grant("alice", "FULL_CONTROL")], "{path}");
        let refused = people.list(ALICE, path, "public-read").await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "AccessControlListNotSupported".to_owned())
        );
        assert_eq!(people.list(ALICE, path, "private").await.status, 200);
        let both = Call::new("PUT", path).query("acl=").header("x-amz-acl", "public-read");
        let both = people.send_with(ALICE, both.header("x-amz-grant-read", "id=bob"), b"").await;
        assert_eq!(both.code(), "AccessControlListNotSupported", "whatever is wrong with it");
    }
    for (name, value) in [("x-amz-acl", "public-read"), ("x-amz-grant-read", "id=bob")] {
        let call = Call::new("PUT", "/mine/new").header(name, value);
        assert_eq!(
            people.send_with(ALICE, call, b"").await.code(),
            "AccessControlListNotSupported"
        );
    }
    let call = Call::new("PUT", "/mine/new").header("x-amz-acl", "bucket-owner-full-control");
    assert_eq!(people.send_with(ALICE, call, b"").await.status, 200);
    let call = Call::new("PUT", "/other").header("x-amz-acl", "public-read");
    let refused = people.send_with(ALICE, call, b"").await;
    assert_eq!(refused.code(), "InvalidBucketAclWithObjectOwnership");
}

#[tokio::test]
async fn a_buckets_list_lets_others_list_and_put() {
    let people = bucket("ObjectWriter").await;
    let read_by = |who: &'static str| people.status(who, "GET", "/mine", "");
    for (word, bob, nobody, put) in [
        ("private", 403, 403, 403),
        ("public-read", 200, 200, 403),
        ("authenticated-read", 200, 403, 403),
        ("public-read-write", 200, 200, 200),
    ] {
        assert_eq!(people.list(ALICE, "/mine", word).await.status, 200, "{word}");
        assert_eq!(read_by(BOB).await, bob, "{word}");
        assert_eq!(read_by(CLERK).await, bob, "{word}");
        assert_eq!(read_by(NOBODY).await, nobody, "{word}");
        assert_eq!(people.status(BOB, "PUT", "/mine/bobs", "").await, put, "{word}");
        assert_eq!(
            people.told(BOB, "GET", "/mine/k", "", b"").await,
            denied(),
            "{word}: no object"
        );
        assert_eq!(people.told(BOB, "GET", "/mine", "acl=", b"").await, denied(), "{word}");
    }
    let begun = text(&people.ok(ALICE, "POST", "/mine/k", "uploads=", b"").await);
    let (_, id) = begun.split_once("<UploadId>").unwrap();
    let id = id.split_once('<').unwrap().0;
    let query = format!("uploadId={id}");
    let part = format!("partNumber=1&{query}");
    assert_eq!(people.status(NOBODY, "PUT", "/mine/k", &part).await, 200);
    for method in ["GET", "DELETE"] {
        let told = people.told(NOBODY, method, "/mine/k", &query, b"").await;
        assert_eq!(told, denied(), "{method}: it is whose that began it");
    }
    assert_eq!(people.status(BOB, "GET", "/mine/k", &query).await, 200);
    assert_eq!(people.status(BOB, "DELETE", "/mine/k", &query).await, 204);
    let shown = people.ok(ALICE, "GET", "/mine", "acl=", b"").await;
    let public = |permission| grant(EVERYBODY, permission);
    // Groups come first.
    assert_eq!(grants(&shown), [public("READ"), public("WRITE"), grant("alice", "FULL_CONTROL")]);
}

#[tokio::test]
async fn an_objects_list_lets_others_read_it_alone() {
    let people = bucket("ObjectWriter").await;
    people.ok(ALICE, "PUT", "/mine/other", "", b"x").await;
    for (word, bob, nobody) in
        [("public-read", 200, 200), ("authenticated-read", 200, 403), ("private", 403, 403)]
    {
        assert_eq!(people.list(ALICE, "/mine/k", word).await.status, 200, "{word}");
        assert_eq!(people.status(BOB, "GET", "/mine/k", "").await, bob, "{word}");
        assert_eq!(people.status(NOBODY, "HEAD", "/mine/k", "").await, nobody, "{word}");
        assert_eq!(people.told(BOB, "PUT", "/mine/k", "", b"").await, denied(), "{word}");
        assert_eq!(people.told(BOB, "GET", "/mine/other", "", b"").await, denied(), "{word}");
        assert_eq!(people.told(BOB, "GET", "/mine/none", "", b"").await, denied(), "{word}");
    }
    let call = Call::new("PUT", "/mine/new").header("x-amz-acl", "public-read");
    assert_eq!(people.send_with(ALICE, call, b"new").await.status, 200);
    assert_eq!(text(&people.ok(NOBODY, "GET", "/mine/new", "", b"").await), "new");
    people.ok(ALICE, "PUT", "/mine/new", "", b"newer").await;
    assert_eq!(people.told(NOBODY, "GET", "/mine/new", "", b"").await, denied(), "another object");
}

#[tokio::test]
async fn grants_are_given_by_header_and_by_document() {
    let people = bucket("BucketOwnerPreferred").await;
    let call = Call::new("PUT", "/mine/k").query("acl=");
    let call = call
        .header("x-amz-grant-read", "id=\"bob\"")
        .header("x-amz-grant-full-control", "id=alice");
    assert_eq!(people.send_with(ALICE, call, b"").await.status, 200);
    assert_eq!(people.status(BOB, "GET", "/mine/k", "").await, 200);
    assert_eq!(people.told(CLERK, "GET", "/mine/k", "", b"").await, denied());
    let document = |owner: &str, to: &str, permission: &str| {
        format!(
            "<AccessControlPolicy><Owner><ID>{owner}</ID></Owner><AccessControlList><Grant><Grantee>{to}\
             </Grantee><Permission>{permission}</Permission></Grant></AccessControlList></AccessControlPolicy>"
        )
    };
    let bob = "<ID>bob</ID>";
    let put = |text: String| {
        let people = &people;
        async move { people.told(ALICE, "PUT", "/mine/k", "acl=", text.as_bytes()).await }
    };
    assert_eq!(put(document("alice", bob, "READ_ACP")).await.0, 200);
    assert_eq!(people.told(BOB, "GET", "/mine/k", "", b"").await, denied());
    let shown = people.ok(BOB, "GET", "/mine/k", "acl=", b"").await;
    assert_eq!(grants(&shown), [grant("bob", "READ_ACP")]);
    assert_eq!(put(document("alice", bob, "WRITE_ACP")).await.0, 200);
    assert_eq!(people.list(BOB, "/mine/k", "public-read").await.status, 200);
    assert_eq!(people.status(NOBODY, "GET", "/mine/k", "").await, 200);
    for (text, status, code) in [
        (document("bob", bob, "READ"), 400, "InvalidArgument"),
        (document("alice", "<ID>nobody-here</ID>", "READ"), 400, "InvalidArgument"),
        (document("alice", bob, "LEND"), 400, "MalformedACLError"),
        (document("alice", "", "READ"), 400, "MalformedACLError"),
        (document("", bob, "READ"), 400, "MalformedACLError"),
        (
            document("alice", "<EmailAddress>a@b</EmailAddress>", "READ"),
            400,
            "UnresolvableGrantByEmailAddress",
        ),
        (String::new(), 400, "MissingSecurityHeader"),
    ] {
        assert_eq!(put(text.clone()).await, (status, code.to_owned()), "{text}");
    }
    assert_eq!(people.status(NOBODY, "GET", "/mine/k", "").await, 200, "nothing has changed");
    let typed = |kind: &str| {
        let kind = format!("<Grantee xmlns:x=\"urn:x\" x:type=\"{kind}\">");
        document("alice", bob, "READ").replace("<Grantee>", &kind)
    };
    assert_eq!(put(typed("Anybody")).await, (400, "MalformedACLError".to_owned()));
    assert_eq!(put(typed("CanonicalUser")).await.0, 200);
    let both = Call::new("PUT", "/mine").query("acl=").header("x-amz-acl", "private");
    let text = document("alice", bob, "READ");
    assert_eq!(people.send_with(ALICE, both, text.as_bytes()).await.code(), "UnexpectedContent");
    let both = Call::new("PUT", "/mine").query("acl=").header("x-amz-acl", "private");
    let both = both.header("x-amz-grant-read", "id=bob");
    assert_eq!(people.send_with(ALICE, both, b"").await.code(), "InvalidRequest");
}

#[tokio::test]
async fn whoever_puts_an_object_owns_it_unless_they_give_it_away() {
    for (ownership, owner_of_plain, owner_of_given) in
        [("ObjectWriter", "bob", "bob"), ("BucketOwnerPreferred", "bob", "alice")]
    {
        let people = bucket(ownership).await;
        assert_eq!(people.list(ALICE, "/mine", "public-read-write").await.status, 200);
        people.ok(BOB, "PUT", "/mine/plain", "", b"x").await;
        let call = Call::new("PUT", "/mine/given").header("x-amz-acl", "bucket-owner-full-control");
        assert_eq!(people.send_with(BOB, call, b"x").await.status, 200);
        for (key, owner) in [("plain", owner_of_plain), ("given", owner_of_given)] {
            let path = format!("/mine/{key}");
            let shown = text(&people.ok("test", "GET", &path, "acl=", b"").await);
            assert!(
                shown.contains(&format!("<Owner><ID>{owner}</ID>")),
                "{ownership} {key}: {shown}"
            );
        }
        assert_eq!(
            people.told(ALICE, "GET", "/mine/plain", "", b"").await,
            denied(),
            "{ownership}"
        );
        assert_eq!(people.status(BOB, "GET", "/mine/plain", "").await, 200);
        assert_eq!(people.status(ALICE, "GET", "/mine/given", "").await, 200);
        assert_eq!(
            people.status(ALICE, "DELETE", "/mine/plain", "").await,
            204,
            "it is her bucket"
        );
    }
}

#[tokio::test]
async fn public_grants_are_refused_and_ignored_where_they_are_not_wanted() {
    let people = bucket("ObjectWriter").await;
    assert_eq!(people.list(ALICE, "/mine/k", "public-read").await.status, 200);
    let block = |name: &str| {
        format!(
            "<PublicAccessBlockConfiguration><{name}>true</{name}></PublicAccessBlockConfiguration>"
        )
    };
    let ignored = block("IgnorePublicAcls");
    people.ok(ALICE, "PUT", "/mine", "publicAccessBlock=", ignored.as_bytes()).await;
    assert_eq!(people.told(NOBODY, "GET", "/mine/k", "", b"").await, denied());
    assert_eq!(people.told(BOB, "GET", "/mine/k", "", b"").await, denied());
    let blocked = block("BlockPublicAcls");
    people.ok(ALICE, "PUT", "/mine", "publicAccessBlock=", blocked.as_bytes()).await;
    assert_eq!(people.status(NOBODY, "GET", "/mine/k", "").await, 200, "what is there stays");
    for path in ["/mine", "/mine/k"] {
        assert_eq!(people.list(ALICE, path, "public-read").await.code(), "AccessDenied", "{path}");
        assert_eq!(people.list(ALICE, path, "private").await.status, 200, "{path}");
    }
    let call = Call::new("PUT", "/mine/new").header("x-amz-acl", "authenticated-read");
    assert_eq!(people.send_with(ALICE, call, b"").await.status, 403);
}

#[tokio::test]
async fn lists_end_where_ownership_is_enforced_and_come_back() {
    let people = bucket("ObjectWriter").await;
    assert_eq!(people.list(ALICE, "/mine/k", "public-read").await.status, 200);
    assert_eq!(people.list(ALICE, "/mine", "public-read").await.status, 200);
    let rule = |word: &str| {
        format!(
            "<OwnershipControls><Rule><ObjectOwnership>{word}</ObjectOwnership></Rule></OwnershipControls>"
        )
    };
    let enforced = rule("BucketOwnerEnforced");
    let put = || people.told(ALICE, "PUT", "/mine", "ownershipControls=", enforced.as_bytes());
    assert_eq!(put().await, (400, "InvalidBucketAclWithObjectOwnership".to_owned()));
    assert_eq!(people.list(ALICE, "/mine", "private").await.status, 200);
    assert_eq!(put().await.0, 200);
    assert_eq!(people.told(NOBODY, "GET", "/mine/k", "", b"").await, denied());
    assert_eq!(people.status(ALICE, "DELETE", "/mine", "ownershipControls=").await, 204);
    assert_eq!(people.status(NOBODY, "GET", "/mine/k", "").await, 200, "as S3");
    let told = people.told(ALICE, "GET", "/mine", "ownershipControls=", b"").await;
    assert_eq!(told, (404, "OwnershipControlsNotFoundError".to_owned()));
}
