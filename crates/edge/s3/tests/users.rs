//! Users whom policies say what they may do: by these, and together with what buckets say.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/people.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod people;

use people::{ALICE, BOB, People, SECRET, denied, text};
use ripstop_access::{PolicyDocument, PolicyPlace};
use ripstop_identity::{Credentials, Keyring, Rights, UserPolicy};
use ripstop_store::StoreSettings;
use std::sync::Arc;

/// A user whom policies say what she may do.
const DORA: &str = "DORA";

fn policy(statements: &str) -> Arc<UserPolicy> {
    let text = format!("{{\"Version\":\"2012-10-17\",\"Statement\":[{statements}]}}");
    let place = PolicyPlace { bucket: None, knows: &|_| false, has_account: &|_| false };
    let document = PolicyDocument::read(&text, &place).unwrap();
    Arc::new(UserPolicy { name: "a-policy".into(), document })
}

fn statement(effect: &str, actions: &str, resources: &str) -> String {
    format!("{{\"Effect\":\"{effect}\",\"Action\":[{actions}],\"Resource\":[{resources}]}}")
}

/// The usual people, and Dora with these policies.
fn with_dora(policies: &[&str]) -> Credentials {
    let mut credentials = people::credentials();
    credentials.insert(DORA, SECRET.to_owned());
    credentials.call(DORA, "dora");
    let policies = policies.iter().map(|statements| policy(statements)).collect();
    credentials.grant(DORA, Rights::by_policies(policies));
    credentials
}

struct Served {
    people: People,
    keyring: Keyring,
}

impl Served {
    /// With a bucket of the store's and one of Alice's, an object in each.
    async fn new(policies: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = common::store(folder.path(), StoreSettings::default());
        let keyring = Keyring::from(with_dora(policies));
        let people = People::who_are(keyring.clone(), store, folder).await;
        for (who, bucket) in [("test", "shared"), (ALICE, "mine")] {
            people.ok(who, "PUT", &format!("/{bucket}"), "", b"").await;
            people.ok(who, "PUT", &format!("/{bucket}/k"), "", b"x").await;
        }
        Self { people, keyring }
    }

    fn has(&self, policies: &[&str]) {
        self.keyring.replace(with_dora(policies));
    }

    async fn told(&self, method: &'static str, path: &str, query: &str) -> (u16, String) {
        self.people.told(DORA, method, path, query, b"").await
    }

    async fn status(&self, method: &'static str, path: &str, query: &str) -> u16 {
        self.people.status(DORA, method, path, query).await
    }

    /// Has a bucket have this policy.
    async fn bucket_policy(&self, who: &'static str, bucket: &str, effect: &str) {
        let text = format!(
            "{{\"Statement\":{{\"Effect\":\"{effect}\",\"Principal\":{{\"AWS\":\"dora\"}},\
             \"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::{bucket}/*\"}}}}"
        );
        let path = format!("/{bucket}");
        self.people.ok(who, "PUT", &path, "policy=", text.as_bytes()).await;
    }
}

const ALL: &str = "\"arn:aws:s3:::*\"";
const IN_SHARED: &str = "\"arn:aws:s3:::shared/*\"";

#[tokio::test]
async fn a_user_may_what_its_policies_allow_and_nothing_else() {
    let served = Served::new(&[&statement("Allow", "\"s3:GetObject\"", IN_SHARED)]).await;
    assert_eq!(served.status("GET", "/shared/k", "").await, 200);
    assert_eq!(served.status("HEAD", "/shared/k", "").await, 200);
    for (method, path, query) in [
        ("PUT", "/shared/k", ""),
        ("DELETE", "/shared/k", ""),
        ("GET", "/shared", ""),
        ("GET", "/shared", "policy="),
        ("PUT", "/shared", "versioning="),
        ("GET", "/shared/k", "tagging="),
        ("GET", "/shared/missing", ""),
        ("GET", "/mine/k", ""),
        ("GET", "/nothing-here/k", ""),
        ("PUT", "/new-bucket", ""),
        ("DELETE", "/shared", ""),
        ("GET", "/", ""),
    ] {
        assert_eq!(served.told(method, path, query).await, denied(), "{method} {path}?{query}");
    }
    let list = statement("Allow", "\"s3:ListBucket\"", "\"arn:aws:s3:::shared\"");
    served.has(&[&statement("Allow", "\"s3:GetObject\"", IN_SHARED), &list]);
    assert_eq!(served.status("GET", "/shared", "").await, 200);
    assert_eq!(served.told("GET", "/shared/missing", "").await.1, "NoSuchKey");
    served.has(&[]);
    assert_eq!(served.told("GET", "/shared/k", "").await, denied());
    served.keyring.replace(people::credentials());
    assert_eq!(served.told("GET", "/shared/k", "").await.1, "InvalidAccessKeyId");
}

#[tokio::test]
async fn a_denial_binds_whoever_else_allows_it() {
    let deny = statement("Deny", "\"s3:GetObject\"", "\"arn:aws:s3:::shared/k\"");
    let all = statement("Allow", "\"s3:*\"", ALL);
    let served = Served::new(&[&all, &deny]).await;
    served.bucket_policy("test", "shared", "Allow").await;
    let answer = served.people.send(DORA, "GET", "/shared/k", "", b"").await;
    let told = text(&answer);
    assert!(told.contains("explicit deny in an identity-based policy"), "{told}");
    assert!(told.contains("arn:aws:iam::ripstop:user/dora"), "{told}");
    served.people.ok(DORA, "PUT", "/shared/other", "", b"x").await;
    assert_eq!(served.status("GET", "/shared/other", "").await, 200);
    served.has(&[&all]);
    assert_eq!(served.status("GET", "/shared/k", "").await, 200);
    served.bucket_policy("test", "shared", "Deny").await;
    let answer = served.people.send(DORA, "GET", "/shared/k", "", b"").await;
    assert!(text(&answer).contains("explicit deny in a resource-based policy"));
}

#[tokio::test]
async fn at_home_one_must_let_a_user_in_and_elsewhere_both() {
    let get = statement("Allow", "\"s3:GetObject\"", ALL);
    let served = Served::new(&[]).await;
    served.bucket_policy("test", "shared", "Allow").await;
    assert_eq!(served.status("GET", "/shared/k", "").await, 200, "the bucket's policy alone");
    served.bucket_policy(ALICE, "mine", "Allow").await;
    assert_eq!(served.told("GET", "/mine/k", "").await, denied(), "the other's bucket alone");
    served.has(&[&get]);
    assert_eq!(served.status("GET", "/mine/k", "").await, 200, "both");
    served.people.ok(ALICE, "DELETE", "/mine", "policy=", b"").await;
    assert_eq!(served.told("GET", "/mine/k", "").await, denied(), "the user's policy alone");
    served.people.ok("test", "DELETE", "/shared", "policy=", b"").await;
    assert_eq!(served.status("GET", "/shared/k", "").await, 200, "the user's policy alone");
    assert_eq!(served.people.status(BOB, "GET", "/shared/k", "").await, 403);
}

#[tokio::test]
async fn lists_of_others_let_in_whom_its_policies_let_go() {
    let served = Served::new(&[]).await;
    let writer = "<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership>\
        </Rule></OwnershipControls>";
    served.people.ok(ALICE, "PUT", "/mine", "ownershipControls=", writer.as_bytes()).await;
    let public =
        client::Call::new("PUT", "/mine/k").query("acl=").header("x-amz-acl", "public-read");
    assert_eq!(served.people.send_with(ALICE, public, b"").await.status, 200);
    assert_eq!(served.people.status(BOB, "GET", "/mine/k", "").await, 200);
    assert_eq!(served.told("GET", "/mine/k", "").await, denied());
    served.has(&[&statement("Allow", "\"s3:GetObject\"", ALL)]);
    assert_eq!(served.status("GET", "/mine/k", "").await, 200);
}

#[tokio::test]
async fn variables_and_conditions_are_those_of_the_request() {
    let home = statement("Allow", "\"s3:*Object\"", "\"arn:aws:s3:::shared/${aws:username}/*\"");
    let here = "{\"Effect\":\"Allow\",\"Action\":\"s3:ListBucket\",\"Resource\":\
        \"arn:aws:s3:::shared\",\"Condition\":{\"StringLike\":{\"s3:prefix\":\"dora/*\"},\
        \"IpAddress\":{\"aws:SourceIp\":\"127.0.0.0/8\"}}}";
    let served = Served::new(&[&home, here]).await;
    served.people.ok(DORA, "PUT", "/shared/dora/1", "", b"x").await;
    assert_eq!(served.status("GET", "/shared/dora/1", "").await, 200);
    assert_eq!(served.told("PUT", "/shared/alice/1", "").await, denied());
    assert_eq!(served.status("GET", "/shared", "prefix=dora%2F").await, 200);
    assert_eq!(served.told("GET", "/shared", "prefix=alice%2F").await, denied());
    let tagged = "{\"Effect\":\"Allow\",\"Action\":\"s3:GetObject\",\"Resource\":\
        \"arn:aws:s3:::shared/*\",\"Condition\":{\"StringEquals\":\
        {\"s3:ExistingObjectTag/for\":\"dora\"}}}";
    served.has(&[tagged]);
    assert_eq!(served.told("GET", "/shared/k", "").await, denied());
    let put = client::Call::new("PUT", "/shared/k").header("x-amz-tagging", "for=dora");
    assert_eq!(served.people.send_with("test", put, b"x").await.status, 200);
    assert_eq!(served.status("GET", "/shared/k", "").await, 200);
}

#[tokio::test]
async fn buckets_are_made_listed_and_emptied_as_policies_say() {
    let make =
        statement("Allow", "\"s3:CreateBucket\",\"s3:DeleteBucket\"", "\"arn:aws:s3:::d-*\"");
    let list = statement("Allow", "\"s3:ListAllMyBuckets\"", ALL);
    let some = statement("Allow", "\"s3:DeleteObject\"", "\"arn:aws:s3:::shared/a/*\"");
    let served = Served::new(&[&make, &list, &some]).await;
    assert_eq!(served.status("PUT", "/d-1", "").await, 200);
    assert_eq!(served.told("PUT", "/e-1", "").await, denied());
    assert_eq!(served.told("DELETE", "/d-none", "").await.1, "NoSuchBucket");
    let listed = text(&served.people.ok(DORA, "GET", "/", "", b"").await);
    assert!(listed.contains("<Name>d-1</Name>") && listed.contains("<Name>shared</Name>"));
    assert!(!listed.contains("<Name>mine</Name>"), "{listed}");
    assert_eq!(served.status("DELETE", "/d-1", "").await, 204);
    served.people.ok("test", "PUT", "/shared/a/1", "", b"x").await;
    let keys = "<Delete><Object><Key>a/1</Key></Object><Object><Key>k</Key></Object></Delete>";
    let call = client::Call::new("POST", "/shared").query("delete=");
    let call = call.payload(&client::sha256(keys.as_bytes()));
    let call = call.header("x-amz-checksum-sha256", digest(keys.as_bytes()));
    let answer = served.people.send_with(DORA, call, keys.as_bytes()).await;
    let told = text(&answer);
    assert!(told.contains("<Deleted><Key>a/1</Key>"), "{told}");
    assert!(told.contains("<Error><Key>k</Key>") && told.contains("AccessDenied"), "{told}");
    assert_eq!(served.people.status("test", "HEAD", "/shared/k", "").await, 200);
}

fn digest(bytes: &[u8]) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(bytes))
}
