//! Objects whose keys a server of OpenBao seals, through the wire.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "../../kms/tests/support/mod.rs"]
mod bao;
#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/vault.rs"]
mod vault;

use bao::{Bao, Secret, bao};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call};
use ripstop_catalog::{Catalog as _, Quota};
use ripstop_kms::{Kms, KmsCall, KmsLink, KmsLogin, KmsSettings};
use ripstop_s3::DefaultEncryption;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use vault::{How, KEY_ID, Key, SSE, Vault, bytes, text};

const CONTEXT: &str = "x-amz-server-side-encryption-context";
const BUCKET_KEY: &str = "x-amz-server-side-encryption-bucket-key-enabled";
/// A key of the service; `reports` is one of the ring of its gateway too.
const HOW: How = How::Named("ledger");

/// A face whose named keys are at the service.
struct Served {
    vault: Vault,
    kms: Kms,
    secret: Secret,
    settings: KmsSettings,
}

impl Served {
    async fn new(bao: &Bao, packed: u32) -> Self {
        bao.make_key("ledger");
        let vault = Vault::with(DefaultEncryption::Off, packed, Quota::NONE).await;
        let (kms, secret) = (Kms::default(), Secret::new(bao.token()));
        let settings = KmsSettings {
            timeout: Duration::from_secs(5),
            default_key: Some("ledger".to_owned()),
            ..bao.settings(KmsLogin::Token(secret.read()))
        };
        let served = Self { vault, kms, secret, settings };
        served.forget();
        served
    }

    /// Forgets opened keys, so that the service is asked.
    fn forget(&self) {
        self.kms.adopt(None);
        self.kms.adopt(Some(KmsLink::new(self.settings.clone()).unwrap()));
        self.vault.keys.serve_with(Some(Arc::new(self.kms.clone())));
    }

    async fn status_and_code(&self, call: Call, body: &[u8]) -> (u16, String) {
        let answer = self.vault.send(call, body).await;
        (answer.status, if answer.status < 300 { String::new() } else { answer.code() })
    }

    async fn get(&self, key: &str) -> (u16, String) {
        self.status_and_code(Call::new("GET", &format!("/bkt/{key}")), b"").await
    }

    async fn put(&self, key: &str) -> (u16, String) {
        let call = HOW.write(Call::new("PUT", &format!("/bkt/{key}")));
        self.status_and_code(call, b"bytes").await
    }

    /// Calls that were answered.
    fn calls(&self, call: KmsCall) -> u64 {
        let reading = self.kms.reading();
        reading.calls.iter().find(|(of, _, _)| *of == call).unwrap().1[0]
    }
}

#[allow(clippy::needless_pass_by_value, reason = "what was found is looked at once")]
fn is(found: (u16, String), status: u16, code: &str) {
    assert_eq!(found, (status, code.to_owned()));
}

#[tokio::test]
async fn objects_of_the_services_keys_are_read_whole_and_in_ranges_through_packs_and_rebuilds() {
    let Some(bao) = bao() else { return };
    for packed in [0, 64 << 10] {
        let served = Served::new(&bao, packed).await;
        let vault = &served.vault;
        for (key, len) in [("none", 0), ("small", 3000), ("block", 65_537), ("large", 200_000)] {
            HOW.assert_said(&vault.put(key, &bytes(len), HOW).await);
            served.forget();
            vault.assert_is(&format!("/bkt/{key}"), &bytes(len), HOW).await;
        }
        // Each has a key of its own, sealed once; ranges and reads after the first are from memory.
        assert!(served.kms.reading().found > 20);
        assert!(!vault.nodes_hold(b"plain00").await);
        let (rebuilt, _) = vault.rebuilt().await;
        for key in ["small", "large"] {
            let found = rebuilt.object("bkt", key).await.unwrap().unwrap();
            let kept = vault.store.object("bkt", key).await.unwrap();
            assert_eq!(found.object.attributes.encryption, kept.object.attributes.encryption);
        }
    }
}

#[tokio::test]
async fn a_key_of_the_ring_is_the_rings_and_what_is_not_named_is_the_default_key() {
    let Some(bao) = bao() else { return };
    let served = Served::new(&bao, 0).await;
    let vault = &served.vault;
    vault.put("k", b"bytes", How::Named("reports")).await;
    vault.put("m", b"bytes", How::Managed).await;
    assert_eq!(served.kms.reading().calls.iter().map(|(_, ends, _)| ends[0]).sum::<u64>(), 0);
    let put = vault.send(Call::new("PUT", "/bkt/k").header(SSE, "aws:kms"), b"bytes").await;
    assert_eq!((put.status, put.header(KEY_ID)), (200, Some("ledger")));
    for said in ["arn:aws:kms:us-east-1:1:key/ledger", "alias/ledger"] {
        let put = Call::new("PUT", "/bkt/k").header(SSE, "aws:kms").header(KEY_ID, said);
        let put = vault.send(put, b"bytes").await;
        assert_eq!((put.status, put.header(KEY_ID)), (200, Some(said)));
        assert_eq!(vault.send(Call::new("GET", "/bkt/k"), b"").await.body, b"bytes");
    }
    let nobodys = How::Named("nobodys").write(Call::new("PUT", "/bkt/n"));
    is(served.status_and_code(nobodys, b"").await, 400, "KMS.NotFoundException");
    is(served.get("n").await, 404, "NoSuchKey");
    bao.call("POST", "transit/keys/signs", &json!({"type": "ed25519"}));
    let signs = How::Named("signs").write(Call::new("PUT", "/bkt/n"));
    is(served.status_and_code(signs, b"").await, 400, "KMS.InvalidKeyUsageException");
    assert!(!bao.keys().contains(&"nobodys".to_owned()));
}

#[tokio::test]
async fn copies_between_all_ways_of_encryption_are_what_they_were_copied_from() {
    let Some(bao) = bao() else { return };
    let served = Served::new(&bao, 0).await;
    let vault = &served.vault;
    let ways = [How::Plain, How::Customer(Key(b'a')), How::Managed, How::Named("reports"), HOW];
    for from in ways {
        vault.put("from", &bytes(70_000), from).await;
        for to in ways.into_iter().filter(|to| [*to, from].iter().any(|it| is_served(*it))) {
            served.forget();
            let copy = Call::new("PUT", "/other/to").header("x-amz-copy-source", "bkt/from");
            let copy = vault.send(to.write(from.read_source(copy)), b"").await;
            assert_eq!(copy.status, 200, "{}", text(&copy));
            served.forget();
            vault.assert_is("/other/to", &bytes(70_000), to).await;
        }
    }
}

fn is_served(how: How) -> bool {
    matches!(how, How::Named("ledger"))
}

fn within<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    text.split_once(begin).unwrap().1.split_once(end).unwrap().0
}

#[tokio::test]
async fn parts_go_by_the_key_of_their_upload_which_is_asked_for_once() {
    let Some(bao) = bao() else { return };
    let served = Served::new(&bao, 0).await;
    let vault = &served.vault;
    let begun = HOW.write(Call::new("POST", "/bkt/m").query("uploads="));
    let begun = vault.send(begun, b"").await;
    HOW.assert_said(&begun);
    let id = within(&text(&begun), "<UploadId>", "</UploadId>").to_owned();
    served.forget();
    let (whole, mut parts) = (bytes(200_000), String::new());
    for (number, part) in (1..).zip(whole.chunks(70_000)) {
        let query = format!("partNumber={number}&uploadId={id}");
        let put = vault.send(Call::new("PUT", "/bkt/m").query(&query), part).await;
        HOW.assert_said(&put);
        let etag = put.header("etag").unwrap();
        let named = format!("<PartNumber>{number}</PartNumber><ETag>{etag}</ETag>");
        parts.extend(["<Part>", &named, "</Part>"]);
    }
    assert_eq!((served.calls(KmsCall::Encrypt), served.calls(KmsCall::Decrypt)), (1, 1));
    let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    let complete = Call::new("POST", "/bkt/m").query(&format!("uploadId={id}"));
    let done = vault.send(complete, document.as_bytes()).await;
    assert_eq!(done.status, 200, "{}", text(&done));
    served.forget();
    vault.assert_is("/bkt/m", &whole, HOW).await;
}

async fn configure(vault: &Vault, bucket_key: bool) -> Answer {
    let document = format!(
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
         <SSEAlgorithm>aws:kms</SSEAlgorithm><KMSMasterKeyID>ledger</KMSMasterKeyID>\
         </ApplyServerSideEncryptionByDefault><BucketKeyEnabled>{bucket_key}</BucketKeyEnabled>\
         </Rule></ServerSideEncryptionConfiguration>"
    );
    vault.send(Call::new("PUT", "/bkt").query("encryption="), document.as_bytes()).await
}

#[tokio::test]
async fn a_bucket_key_spares_calls_and_is_the_buckets_alone() {
    let Some(bao) = bao() else { return };
    let served = Served::new(&bao, 0).await;
    let vault = &served.vault;
    for (is_shared, calls) in [(false, 5), (true, 1)] {
        assert_eq!(configure(vault, is_shared).await.status, 200);
        let before = served.calls(KmsCall::Encrypt);
        for at in 0..5 {
            let put = vault.put(&format!("k{at}"), b"bytes", How::Plain).await;
            HOW.assert_said(&put);
            assert_eq!(put.header(BUCKET_KEY), is_shared.then_some("true"));
        }
        assert_eq!(served.calls(KmsCall::Encrypt) - before, calls);
    }
    served.forget();
    let before = served.calls(KmsCall::Decrypt);
    for at in 0..5 {
        assert_eq!(vault.send(Call::new("GET", &format!("/bkt/k{at}")), b"").await.body, b"bytes");
    }
    assert_eq!(served.calls(KmsCall::Decrypt) - before, 1);
    // Elsewhere it is another one.
    let put = HOW.write(Call::new("PUT", "/other/k")).header(BUCKET_KEY, "true");
    assert_eq!(vault.send(put, b"bytes").await.status, 200);
    assert_eq!(served.calls(KmsCall::Encrypt), 7);
}

#[tokio::test]
async fn the_context_of_a_client_binds_the_key_and_is_kept() {
    let Some(bao) = bao() else { return };
    let served = Served::new(&bao, 0).await;
    let context = STANDARD.encode(r#"{"team": "ledger"}"#);
    let put = HOW.write(Call::new("PUT", "/bkt/k")).header(CONTEXT, &context);
    let put = served.vault.send(put, b"bytes").await;
    assert_eq!((put.status, put.header(CONTEXT)), (200, Some(&*context)));
    served.forget();
    assert_eq!(served.vault.send(Call::new("GET", "/bkt/k"), b"").await.body, b"bytes");
    // What is kept of it opens at the service with just what it was bound to.
    let kept = served.vault.store.object("bkt", "k").await.unwrap();
    let kept = kept.object.attributes.encryption.clone().unwrap();
    let sealed = String::from_utf8(kept.wrapped[49..].to_vec()).unwrap();
    let about = r#"{"aws:s3:arn":"arn:aws:s3:::bkt/k","team":"ledger"}"#;
    let opened = json!({"ciphertext": sealed, "associated_data": STANDARD.encode(about)});
    let opened = bao.call("POST", "transit/decrypt/ledger", &opened);
    let opened = STANDARD.decode(opened["data"]["plaintext"].as_str().unwrap()).unwrap();
    assert_eq!(opened.len(), 32);
    assert!(!served.vault.nodes_hold(&opened).await);
}

#[tokio::test]
async fn rotated_keys_open_what_they_sealed_and_deleted_ones_do_not() {
    let Some(bao) = bao() else { return };
    let served = Served::new(&bao, 0).await;
    let vault = &served.vault;
    vault.put("k", b"bytes", HOW).await;
    bao.rotate_key("ledger");
    served.forget();
    vault.assert_is("/bkt/k", b"bytes", HOW).await;
    vault.put("newer", b"bytes", HOW).await;
    bao.configure_key("ledger", &json!({"min_decryption_version": 2}));
    served.forget();
    is(served.get("k").await, 400, "KMS.DisabledException");
    vault.assert_is("/bkt/newer", b"bytes", HOW).await;
    bao.delete_key("ledger");
    vault.assert_is("/bkt/newer", b"bytes", HOW).await;
    served.forget();
    is(served.get("newer").await, 400, "KMS.NotFoundException");
    is(served.put("k").await, 400, "KMS.NotFoundException");
    // Nothing of it was lost by that: it can be looked at, and removed.
    for (method, status) in [("HEAD", 200), ("DELETE", 204)] {
        assert_eq!(vault.send(Call::new(method, "/bkt/newer"), b"").await.status, status);
    }
}

#[tokio::test]
async fn without_the_service_other_objects_and_keys_in_memory_go_on() {
    let Some(bao) = bao() else { return };
    let mut served = Served::new(&bao, 0).await;
    served.settings.timeout = Duration::from_millis(300);
    let vault = &served.vault;
    vault.put("unkept", b"bytes", HOW).await;
    served.forget();
    vault.put("kept", b"bytes", HOW).await;
    vault.put("ring", b"bytes", How::Named("reports")).await;
    vault.put("plain", b"bytes", How::Plain).await;
    for hangs in [true, false] {
        if hangs {
            bao.signal("STOP");
        } else {
            bao.signal("CONT");
            bao.kill();
        }
        for key in ["kept", "ring", "plain"] {
            is(served.get(key).await, 200, "");
        }
        is(served.get("unkept").await, 503, "KMS.DependencyTimeoutException");
        is(served.put("k").await, 503, "KMS.DependencyTimeoutException");
        is(served.get("k").await, 404, "NoSuchKey");
        assert_eq!(vault.send(Call::new("HEAD", "/bkt/unkept"), b"").await.status, 200);
        vault.put("more", b"bytes", How::Managed).await;
    }
    bao.restart();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    vault.assert_is("/bkt/unkept", b"bytes", HOW).await;
    is(served.put("k").await, 200, "");
}

#[tokio::test]
async fn a_wrong_token_is_denied_and_a_service_that_is_gone_is_no_key() {
    let Some(bao) = bao() else { return };
    let served = Served::new(&bao, 0).await;
    served.vault.put("k", b"bytes", HOW).await;
    served.secret.set("s.0123456789-no-token");
    served.forget();
    is(served.get("k").await, 403, "AccessDenied");
    is(served.put("l").await, 403, "AccessDenied");
    served.secret.set(bao.token());
    is(served.get("k").await, 200, "");
    served.vault.keys.serve_with(None);
    is(served.get("k").await, 400, "KMS.NotFoundException");
    is(served.put("l").await, 400, "KMS.NotFoundException");
}
