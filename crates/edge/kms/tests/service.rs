//! Keys that a server of OpenBao seals and opens.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

mod support;

use ripstop_envelope::{KeyFault, KeyService as _, KeyUse};
use ripstop_kms::{Kms, KmsCall, KmsLink, KmsLogin, KmsSettings};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::{Bao, Secret, bao};

const USE: KeyUse<'_> =
    KeyUse { key: "reports", arn: "arn:aws:s3:::b/k", context: "", is_shared: false };

fn kms(settings: KmsSettings) -> Kms {
    let kms = Kms::default();
    kms.adopt(Some(KmsLink::new(settings).unwrap()));
    kms
}

fn by_token(bao: &Bao) -> Kms {
    kms(bao.settings(KmsLogin::Token(Secret::new(bao.token()).read())))
}

fn calls(kms: &Kms, call: KmsCall) -> [u64; 3] {
    let reading = kms.reading();
    reading.calls.iter().find(|(of, _, _)| *of == call).unwrap().1
}

/// Forgets opened keys, so that the service is asked.
fn forget(kms: &Kms, settings: KmsSettings) {
    kms.adopt(None);
    kms.adopt(Some(KmsLink::new(settings).unwrap()));
}

#[tokio::test]
async fn a_key_is_sealed_opened_and_bound_to_what_it_is_for() {
    let Some(bao) = bao() else { return };
    let settings = bao.settings(KmsLogin::Token(Secret::new(bao.token()).read()));
    let kms = kms(settings.clone());
    let (key, sealed) = kms.issue(&USE).await.unwrap();
    assert!(sealed.starts_with(b"vault:v1:") && sealed.len() < 128);
    // In memory from then on.
    assert_eq!(kms.open(&USE, &sealed).await.unwrap().bytes(), key.bytes());
    assert_eq!((calls(&kms, KmsCall::Decrypt), kms.reading().found), ([0; 3], 1));
    forget(&kms, settings);
    let opened = kms.open(&USE, &sealed).await.unwrap();
    assert_eq!((opened.bytes(), calls(&kms, KmsCall::Decrypt)), (key.bytes(), [1, 0, 0]));
    for elsewhere in
        [KeyUse { arn: "arn:aws:s3:::b/l", ..USE }, KeyUse { context: "eyJhIjoiYiJ9", ..USE }]
    {
        let found = kms.open(&elsewhere, &sealed).await;
        assert!(matches!(found, Err(KeyFault::Mismatch { .. })), "{found:?}");
    }
    // Two are never alike, unless they are shared.
    let (other, _) = kms.issue(&USE).await.unwrap();
    assert_ne!(other.bytes(), key.bytes());
    let shared = KeyUse { arn: "arn:aws:s3:::b", is_shared: true, ..USE };
    let (first, second) = (kms.issue(&shared).await.unwrap(), kms.issue(&shared).await.unwrap());
    assert_eq!((first.0.bytes(), &first.1), (second.0.bytes(), &second.1));
    let (other, _) = kms.issue(&KeyUse { arn: "arn:aws:s3:::c", ..shared }).await.unwrap();
    assert_ne!(other.bytes(), first.0.bytes());
    // Of all calls to look the key up, one was made for each link.
    assert_eq!(calls(&kms, KmsCall::LookUp), [2, 0, 0]);
}

#[tokio::test]
async fn what_earlier_versions_sealed_opens_until_they_are_disallowed_or_gone() {
    let Some(bao) = bao() else { return };
    let settings = bao.settings(KmsLogin::Token(Secret::new(bao.token()).read()));
    let kms = kms(settings.clone());
    let (key, sealed) = kms.issue(&USE).await.unwrap();
    bao.rotate_key("reports");
    forget(&kms, settings.clone());
    assert_eq!(kms.open(&USE, &sealed).await.unwrap().bytes(), key.bytes());
    let (newer, newly) = kms.issue(&USE).await.unwrap();
    assert!(newly.starts_with(b"vault:v2:"));
    bao.configure_key("reports", &json!({"min_decryption_version": 2}));
    forget(&kms, settings.clone());
    let found = kms.open(&USE, &sealed).await;
    assert!(matches!(found, Err(KeyFault::Disabled { .. })), "{found:?}");
    assert_eq!(kms.open(&USE, &newly).await.unwrap().bytes(), newer.bytes());
    bao.call("DELETE", "transit/keys/reports/soft-delete", &Value::Null);
    for found in [kms.open(&USE, &sealed).await.map(drop), kms.issue(&USE).await.map(drop)] {
        assert!(matches!(found, Err(KeyFault::Disabled { .. })), "{found:?}");
    }
    bao.call("POST", "transit/keys/reports/soft-delete-restore", &json!({}));
    bao.delete_key("reports");
    // It was looked up just now, and is not made by being used.
    let found = kms.issue(&USE).await.map(drop);
    assert_eq!(found, Err(KeyFault::Missing { key: "reports".to_owned() }));
    // For a while it is still in memory.
    assert_eq!(kms.open(&USE, &newly).await.unwrap().bytes(), newer.bytes());
    forget(&kms, settings);
    for found in [kms.open(&USE, &newly).await.map(drop), kms.issue(&USE).await.map(drop)] {
        assert_eq!(found, Err(KeyFault::Missing { key: "reports".to_owned() }));
    }
}

#[tokio::test]
async fn keys_that_are_none_or_wrap_none_are_refused_and_none_is_made() {
    let Some(bao) = bao() else { return };
    bao.call("POST", "transit/keys/rsa", &json!({"type": "rsa-2048"}));
    bao.call("POST", "transit/keys/signs", &json!({"type": "ed25519"}));
    bao.call("POST", "transit/keys/derived", &json!({"derived": true}));
    let before = bao.keys();
    // As who may make keys, which an `encrypt` by a new name does.
    let root = bao.token_with(&json!({"policies": ["root"]}));
    let kms = kms(bao.settings(KmsLogin::Token(Secret::new(root).read())));
    for key in ["none", "../sys/seal", ""] {
        let found = kms.issue(&KeyUse { key, ..USE }).await.map(drop);
        assert_eq!(found, Err(KeyFault::Missing { key: key.to_owned() }));
    }
    for key in ["rsa", "signs", "derived"] {
        let found = kms.issue(&KeyUse { key, ..USE }).await;
        assert!(matches!(found, Err(KeyFault::Unfit { .. })), "{key}: {found:?}");
    }
    assert_eq!(bao.keys(), before);
    let kms = by_token(&bao);
    kms.adopt(Some(
        KmsLink::new(KmsSettings {
            mount: "elsewhere".to_owned(),
            ..bao.settings(KmsLogin::Token(Secret::new(bao.token()).read()))
        })
        .unwrap(),
    ));
    let found = kms.issue(&USE).await;
    // A token that is good for another path only is refused before it is said what is there.
    assert!(matches!(found, Err(KeyFault::Refused { .. })), "{found:?}");
}

#[tokio::test]
async fn a_wrong_token_is_refused_and_a_new_one_is_taken_from_where_it_is() {
    let Some(bao) = bao() else { return };
    let secret = Secret::new("s.no-token-of-anybody");
    let kms = kms(bao.settings(KmsLogin::Token(secret.read())));
    let found = kms.issue(&USE).await;
    assert!(matches!(found, Err(KeyFault::Refused { .. })), "{found:?}");
    let shown = format!("{kms:?} {found:?}");
    assert!(!shown.contains("no-token"), "{shown}");
    let first = bao.token();
    secret.set(&first);
    let (key, sealed) = kms.issue(&USE).await.unwrap();
    bao.revoke(&first);
    assert!(kms.issue(&USE).await.is_err());
    secret.set(bao.token());
    assert!(kms.issue(&USE).await.is_ok());
    assert_eq!(kms.open(&USE, &sealed).await.unwrap().bytes(), key.bytes());
}

#[tokio::test]
async fn a_role_and_a_certificate_log_in_and_again_once_they_are_forgotten() {
    let Some(bao) = bao() else { return };
    bao.call("POST", "sys/auth/approle", &json!({"type": "approle"}));
    let role = json!({"token_policies": ["gateway"], "token_ttl": "3s"});
    bao.call("POST", "auth/approle/role/gateway", &role);
    let id = bao.call("GET", "auth/approle/role/gateway/role-id", &Value::Null);
    let secret = bao.call("POST", "auth/approle/role/gateway/secret-id", &json!({}));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let login = |secret_id: String| KmsLogin::AppRole {
        mount: "approle".to_owned(),
        role_id: text(&id["data"]["role_id"]),
        secret_id: Secret::new(secret_id).read(),
    };
    let by_role = kms(bao.settings(login(text(&secret["data"]["secret_id"]))));
    by_role.issue(&USE).await.unwrap();
    by_role.issue(&USE).await.unwrap();
    assert_eq!(calls(&by_role, KmsCall::LogIn), [1, 0, 0]);
    tokio::time::sleep(Duration::from_millis(2100)).await;
    by_role.issue(&USE).await.unwrap();
    assert_eq!(calls(&by_role, KmsCall::LogIn), [2, 0, 0], "before the lease ends");
    let wrong = kms(bao.settings(login("no-secret-id".to_owned())));
    let found = wrong.issue(&USE).await;
    assert!(matches!(found, Err(KeyFault::Refused { .. })), "{found:?}");

    bao.call("POST", "sys/auth/cert", &json!({"type": "cert"}));
    let trusted = json!({"certificate": bao.authority(), "token_policies": ["gateway"]});
    bao.call("POST", "auth/cert/certs/gateway", &trusted);
    let login = KmsLogin::Certificate { mount: "cert".to_owned(), role: None };
    let mut settings = bao.settings(login);
    let found = kms(settings.clone()).issue(&USE).await;
    assert!(matches!(found, Err(KeyFault::Refused { .. })), "{found:?}");
    let (certificate, key) = bao.identity().clone();
    settings.tls.identity = Some((certificate.into(), key.into_bytes().into()));
    kms(settings).issue(&USE).await.unwrap();
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_told_the_token() {
    let Some(bao) = bao() else { return };
    let mut settings = bao.settings(KmsLogin::Token(Secret::new(bao.token()).read()));
    let other = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    settings.tls.authorities = Some(other.cert.pem().into());
    let Err(KeyFault::Unavailable { said }) = kms(settings.clone()).issue(&USE).await else {
        panic!("it was asked")
    };
    assert!(said.contains("certificate"), "{said}");
    settings.tls.authorities = Some(b"no PEM".to_vec());
    assert!(KmsLink::new(settings).is_err());
}

#[tokio::test]
async fn a_service_that_hangs_or_is_gone_costs_bounded_time_and_what_is_kept_goes_on() {
    let Some(bao) = bao() else { return };
    let login = KmsLogin::Token(Secret::new(bao.token()).read());
    let timeout = Duration::from_millis(500);
    let settings = KmsSettings { timeout, calls_max: 2, ..bao.settings(login) };
    let kms = kms(settings);
    let (key, sealed) = kms.issue(&USE).await.unwrap();
    let (_, other) = kms.issue(&KeyUse { arn: "arn:aws:s3:::b/l", ..USE }).await.unwrap();
    let unkept = KeyUse { arn: "arn:aws:s3:::b/m", ..USE };
    bao.signal("STOP");
    let begun = Instant::now();
    let asked = (0..20).map(|_| kms.open(&unkept, &other));
    for found in join(asked).await {
        assert!(matches!(found, Err(KeyFault::Unavailable { .. } | KeyFault::Busy)), "{found:?}");
    }
    let took = begun.elapsed();
    assert!(took > timeout && took < Duration::from_secs(10), "{took:?}");
    assert!(kms.reading().turned_away > 0);
    // At once, just after.
    let begun = Instant::now();
    assert!(matches!(kms.open(&unkept, &other).await, Err(KeyFault::Unavailable { .. })));
    assert!(begun.elapsed() < timeout);
    assert_eq!(kms.open(&USE, &sealed).await.unwrap().bytes(), key.bytes());
    bao.signal("CONT");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(matches!(kms.open(&unkept, &other).await, Err(KeyFault::Mismatch { .. })));
    bao.kill();
    assert!(matches!(kms.issue(&unkept).await, Err(KeyFault::Unavailable { .. })));
    assert_eq!(kms.open(&USE, &sealed).await.unwrap().bytes(), key.bytes());
    bao.restart();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    kms.issue(&unkept).await.unwrap();
    // Sealed, it answers, and says nothing.
    bao.call("PUT", "sys/seal", &Value::Null);
    let found = kms.issue(&unkept).await;
    assert!(matches!(found, Err(KeyFault::Unavailable { .. })), "{found:?}");
}

/// All of them at once.
async fn join<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(found) = future.as_mut().poll(context)
            {
                *done = Some(found);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().map(Option::unwrap).collect()
}
