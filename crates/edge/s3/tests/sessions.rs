//! Temporary keys: asked for, used, narrowed, and ended.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/people.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod people;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use client::{Answer, Call, sha256};
use people::{ALICE, CLERK, NOBODY, People, SECRET, denied, text};
use ripstop_identity::{Keyring, Rights};
use ripstop_store::StoreSettings;
use std::fmt::Write as _;

const FORM: &str = "application/x-www-form-urlencoded";

/// A temporary key.
#[derive(Clone, Copy, Debug)]
struct Key {
    id: &'static str,
    secret: &'static str,
    token: &'static str,
}

fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn between<'a>(text: &'a str, name: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("{text}"));
    rest.split_once(&format!("</{name}>")).unwrap().0
}

struct Served {
    people: People,
    keyring: Keyring,
}

impl Served {
    /// With a bucket of Alice's and one of the store's, an object in each.
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = common::store(folder.path(), StoreSettings::default());
        let keyring = Keyring::from(people::credentials());
        let people = People::who_are(keyring.clone(), store, folder).await;
        for (who, bucket) in [("test", "shared"), (ALICE, "mine")] {
            people.ok(who, "PUT", &format!("/{bucket}"), "", b"").await;
            people.ok(who, "PUT", &format!("/{bucket}/k"), "", b"x").await;
        }
        Self { people, keyring }
    }

    async fn call(&self, who: &'static str, parameters: &str) -> Answer {
        let body = format!("{parameters}&Version=2011-06-15");
        let call = Call::new("POST", "/").service("sts").header("content-type", FORM);
        self.people.send_with(who, call.payload(&sha256(body.as_bytes())), body.as_bytes()).await
    }

    /// What a call is refused with.
    async fn refused(&self, who: &'static str, parameters: &str) -> (u16, String) {
        let answer = self.call(who, parameters).await;
        let told = text(&answer);
        assert!(told.contains("<ErrorResponse xmlns=\"https://sts.amazonaws.com/"), "{told}");
        (answer.status, between(&told, "Code").to_owned())
    }

    async fn key(&self, who: &'static str, parameters: &str) -> Key {
        let answer = self.call(who, parameters).await;
        assert_eq!(answer.status, 200, "{}", text(&answer));
        let told = text(&answer);
        Key {
            id: kept(between(&told, "AccessKeyId")),
            secret: kept(between(&told, "SecretAccessKey")),
            token: kept(between(&told, "SessionToken")),
        }
    }

    async fn send(&self, key: Key, method: &'static str, path: &str, body: &[u8]) -> (u16, String) {
        let call = Call::new(method, path).header("x-amz-security-token", key.token);
        let answer = call.key(key.id, key.secret).send(self.people.to, body).await;
        let is_error = answer.status >= 300 && !answer.body.is_empty();
        (answer.status, if is_error { answer.code() } else { String::new() })
    }

    async fn status(&self, key: Key, method: &'static str, path: &str) -> u16 {
        self.send(key, method, path, b"").await.0
    }
}

const ROLE: &str = "Action=AssumeRole&RoleArn=arn%3Aaws%3Aiam%3A%3Aripstop%3Arole%2Fany\
    &RoleSessionName=night";

/// With a session's policy of one statement.
fn narrowed(effect: &str, action: &str, resource: &str) -> String {
    let policy = format!(
        "{{\"Version\":\"2012-10-17\",\"Statement\":[{{\"Effect\":\"Allow\",\"Action\":\"s3:*\",\
         \"Resource\":\"arn:aws:s3:::none\"}},{{\"Effect\":\"{effect}\",\"Action\":\"{action}\",\
         \"Resource\":\"arn:aws:s3:::{resource}\"}}]}}"
    );
    asking(&policy)
}

/// What asks for a session with this policy.
fn asking(policy: &str) -> String {
    let mut form = format!("{ROLE}&Policy=");
    for byte in policy.bytes() {
        write!(form, "%{byte:02X}").unwrap();
    }
    form
}

#[tokio::test]
async fn temporary_keys_may_what_their_owner_may() {
    let served = Served::new().await;
    let alice = served.key(ALICE, ROLE).await;
    assert!(alice.id.starts_with("ASIA") && alice.id.len() == 20);
    assert_eq!(served.status(alice, "GET", "/mine/k").await, 200);
    assert_eq!(served.status(alice, "PUT", "/mine/new").await, 200);
    assert_eq!(served.status(alice, "PUT", "/hers-too").await, 200);
    assert_eq!(served.send(alice, "GET", "/shared/k", b"").await, denied());
    assert_eq!(served.people.status(ALICE, "GET", "/hers-too", "").await, 200, "it is Alice's");
    let clerk = served.key(CLERK, "Action=GetSessionToken").await;
    assert_eq!(served.status(clerk, "GET", "/shared/k").await, 200);
    assert_eq!(served.send(clerk, "PUT", "/shared/k", b"x").await, denied());
    let root = served.key("test", ROLE).await;
    assert_eq!(served.status(root, "DELETE", "/shared/k").await, 204);
}

#[tokio::test]
async fn a_policy_of_the_session_leaves_less_and_gives_nothing() {
    let served = Served::new().await;
    let reader = served.key("test", &narrowed("Allow", "s3:GetObject", "shared/*")).await;
    assert_eq!(served.status(reader, "GET", "/shared/k").await, 200);
    for (method, path) in [
        ("PUT", "/shared/k"),
        ("DELETE", "/shared/k"),
        ("GET", "/shared"),
        ("GET", "/"),
        ("PUT", "/new-bucket"),
        ("GET", "/nothing-here/k"),
        ("GET", "/shared/missing"),
    ] {
        assert_eq!(served.send(reader, method, path, b"").await, denied(), "{method} {path}");
    }
    let clerk = served.key(CLERK, &narrowed("Allow", "s3:*", "*")).await;
    assert_eq!(served.status(clerk, "GET", "/shared/k").await, 200);
    assert_eq!(served.send(clerk, "PUT", "/shared/k", b"x").await, denied(), "nothing is given");
    let alice = served.key(ALICE, &narrowed("Allow", "s3:GetObject", "mine/*")).await;
    assert_eq!(served.status(alice, "GET", "/mine/k").await, 200);
    assert_eq!(served.send(alice, "PUT", "/mine/k", b"x").await, denied());
    assert_eq!(served.send(alice, "PUT", "/new-bucket", b"").await, denied());
    let policy = "{\"Statement\":{\"Effect\":\"Allow\",\"Principal\":{\"AWS\":\"alice\"},\
        \"Action\":\"s3:PutObject\",\"Resource\":\"arn:aws:s3:::shared/*\"}}";
    served.people.ok("test", "PUT", "/shared", "policy=", policy.as_bytes()).await;
    assert_eq!(served.people.status(ALICE, "PUT", "/shared/a", "").await, 200);
    assert_eq!(served.send(alice, "PUT", "/shared/a", b"x").await, denied(), "nor by a bucket");
}

#[tokio::test]
async fn a_session_may_delete_many_that_its_policy_names() {
    let served = Served::new().await;
    served.people.ok("test", "PUT", "/shared/a", "", b"x").await;
    let key = served.key("test", &narrowed("Allow", "s3:DeleteObject", "shared/a")).await;
    let keys = "<Delete><Object><Key>a</Key></Object><Object><Key>k</Key></Object></Delete>";
    let digest = base64::engine::general_purpose::STANDARD
        .encode(hex::decode(sha256(keys.as_bytes())).unwrap());
    let call =
        Call::new("POST", "/shared").query("delete=").header("x-amz-checksum-sha256", digest);
    let call = call.header("x-amz-security-token", key.token).key(key.id, key.secret);
    let told = text(&call.send(served.people.to, keys.as_bytes()).await);
    assert!(told.contains("<Deleted><Key>a</Key>"), "{told}");
    assert!(told.contains("<Error><Key>k</Key>") && told.contains("AccessDenied"), "{told}");
}

#[tokio::test]
async fn a_token_that_is_missing_changed_or_anothers_lets_nobody_in() {
    let served = Served::new().await;
    let (alice, other) = (served.key(ALICE, ROLE).await, served.key(ALICE, ROLE).await);
    let invalid = (400, "InvalidToken".to_owned());
    let get = |key| served.send(key, "GET", "/mine/k", b"");
    let mut bytes = URL_SAFE_NO_PAD.decode(alice.token).unwrap();
    for at in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        bytes[at] ^= 1;
        let changed = Key { token: kept(&URL_SAFE_NO_PAD.encode(&bytes)), ..alice };
        assert_eq!(get(changed).await, invalid, "byte {at}");
        bytes[at] ^= 1;
    }
    assert_eq!(get(Key { token: other.token, ..alice }).await, invalid);
    assert_eq!(get(Key { token: "nonsense", ..alice }).await, invalid);
    let permanent = Key { id: ALICE, secret: SECRET, ..alice };
    assert_eq!(get(permanent).await, invalid, "a token goes with its key alone");
    let wrong = Key { secret: "another secret", ..alice };
    assert_eq!(get(wrong).await.1, "SignatureDoesNotMatch");
    let bare = Call::new("GET", "/mine/k").key(alice.id, alice.secret);
    assert_eq!(bare.send(served.people.to, b"").await.code(), "InvalidAccessKeyId");
    assert_eq!(get(alice).await.0, 200);
}

#[tokio::test]
async fn a_session_ends_with_the_key_that_it_stands_for() {
    let served = Served::new().await;
    let alice = served.key(ALICE, ROLE).await;
    let mut others = people::credentials();
    others.insert(ALICE, "another-secret".to_owned());
    served.keyring.replace(others);
    assert_eq!(served.send(alice, "GET", "/mine/k", b"").await.1, "InvalidAccessKeyId");
    served.keyring.replace(people::credentials());
    assert_eq!(served.status(alice, "GET", "/mine/k").await, 200);
    let mut narrower = people::credentials();
    narrower.grant(ALICE, Rights::none());
    served.keyring.replace(narrower);
    assert_eq!(served.send(alice, "GET", "/mine/k", b"").await, denied(), "its rights are today's");
    served
        .keyring
        .replace([("test", "testtest")].into_iter().collect::<ripstop_identity::Credentials>());
    assert_eq!(served.send(alice, "GET", "/mine/k", b"").await.1, "InvalidAccessKeyId");
}

#[tokio::test]
async fn calls_that_make_no_sense_are_refused_in_the_words_of_the_service() {
    let served = Served::new().await;
    for (parameters, status, code) in [
        ("Action=Nothing".to_owned(), 400, "InvalidAction"),
        ("Nothing=1".to_owned(), 400, "MissingAction"),
        (format!("{ROLE}&DurationSeconds=899"), 400, "ValidationError"),
        (format!("{ROLE}&DurationSeconds=43201"), 400, "ValidationError"),
        (format!("{ROLE}&DurationSeconds=soon"), 400, "ValidationError"),
        ("Action=GetSessionToken&DurationSeconds=129601".to_owned(), 400, "ValidationError"),
        (format!("{ROLE}&PolicyArns.member.1.arn=arn"), 400, "ValidationError"),
        (format!("{ROLE}&Tags.member.1.Key=a"), 400, "ValidationError"),
        (format!("{ROLE}&Policy=%7B%7D"), 400, "MalformedPolicyDocument"),
        (format!("{ROLE}&Policy={}", "a".repeat(2049)), 400, "ValidationError"),
        ("Action=AssumeRole&RoleArn=any&RoleSessionName=night".to_owned(), 400, "ValidationError"),
        ("Action=AssumeRole&RoleSessionName=a%20b".to_owned(), 400, "ValidationError"),
    ] {
        assert_eq!(
            served.refused(ALICE, &parameters).await,
            (status, code.to_owned()),
            "{parameters}"
        );
    }
    let missing = (403, "MissingAuthenticationToken".to_owned());
    assert_eq!(served.refused(NOBODY, ROLE).await, missing);
    let call = |service| Call::new("POST", "/").service(service).header("content-type", FORM);
    let body = format!("{ROLE}&Version=2011-06-15");
    let digest = sha256(body.as_bytes());
    for (call, code) in [
        (call("s3").payload(&digest), "AuthorizationHeaderMalformed"),
        (call("sts").payload(&digest).secret("wrong-secret"), "SignatureDoesNotMatch"),
        (call("sts").payload(&digest).key("NOBODY-HERE", SECRET), "InvalidClientTokenId"),
        (call("sts").payload(&sha256(b"another body")), "SignatureDoesNotMatch"),
        (call("sts").payload(&digest).age_s(1000), "RequestTimeTooSkewed"),
    ] {
        let told = text(&call.send(served.people.to, body.as_bytes()).await);
        assert_eq!(between(&told, "Code"), code, "{told}");
    }
    let long = format!("{ROLE}&Policy={}", "a".repeat(20 << 10));
    assert_eq!(served.call(ALICE, &long).await.status, 400);
}

#[tokio::test]
async fn a_session_knows_who_it_is_and_begins_no_other() {
    let served = Served::new().await;
    let told = text(&served.call(ALICE, "Action=GetCallerIdentity").await);
    assert_eq!(between(&told, "Arn"), "arn:aws:iam::alice:user/alice");
    assert_eq!(between(&told, "Account"), "alice");
    let told = text(&served.call(ALICE, ROLE).await);
    assert_eq!(between(&told, "Arn"), "arn:aws:sts::alice:assumed-role/alice/night");
    assert_eq!(between(&told, "AssumedRoleId"), "alice:night");
    assert!(between(&told, "Expiration").ends_with('Z'));
    let key = served.key(ALICE, ROLE).await;
    for (parameters, wanted) in [
        ("Action=GetCallerIdentity", "assumed-role/alice/night"),
        (ROLE, "<Code>AccessDenied</Code>"),
        ("Action=GetSessionToken", "<Code>AccessDenied</Code>"),
    ] {
        let body = format!("{parameters}&Version=2011-06-15");
        let call = Call::new("POST", "/").service("sts").header("content-type", FORM);
        let call = call.header("x-amz-security-token", key.token);
        let call = call.payload(&sha256(body.as_bytes())).key(key.id, key.secret);
        let told = text(&call.send(served.people.to, body.as_bytes()).await);
        assert!(told.contains(wanted), "{told}");
    }
}

#[tokio::test]
async fn conditions_know_when_a_session_began() {
    let served = Served::new().await;
    let policy = "{\"Version\":\"2012-10-17\",\"Statement\":{\"Effect\":\"Deny\",\
        \"Principal\":\"*\",\"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::mine/*\",\
        \"Condition\":{\"DateLessThan\":{\"aws:TokenIssueTime\":\"2099-01-01T00:00:00Z\"}}}}";
    served.people.ok(ALICE, "PUT", "/mine", "policy=", policy.as_bytes()).await;
    let key = served.key(ALICE, ROLE).await;
    assert_eq!(served.send(key, "GET", "/mine/k", b"").await, denied());
    assert_eq!(served.people.status(ALICE, "GET", "/mine/k", "").await, 200);
}

#[tokio::test]
async fn the_longest_policy_of_a_session_goes_with_each_request() {
    let served = Served::new().await;
    let with_sid = |sid: &str| {
        format!(
            "{{\"Statement\":{{\"Sid\":\"{sid}\",\"Effect\":\"Allow\",\"Action\":\"s3:GetObject\",\
             \"Resource\":\"arn:aws:s3:::mine/*\"}}}}"
        )
    };
    let call = |policy: String| asking(&policy);
    let room = 2048 - with_sid("").len();
    // Each of these takes four bytes in a token.
    let longest = with_sid(&"\\\"".repeat(room / 2));
    let key = served.key(ALICE, &call(longest)).await;
    assert_eq!(served.status(key, "GET", "/mine/k").await, 200);
    assert_eq!(served.send(key, "PUT", "/mine/k", b"x").await, denied());
    let raw = format!("{ROLE}&Policy={}", with_sid(&"\u{1F419}".repeat(room)));
    assert_eq!(served.refused(ALICE, &raw).await, (400, "PackedPolicyTooLarge".to_owned()));
}
