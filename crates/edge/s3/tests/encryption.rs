//! Objects that are encrypted before they come to the store, through the wire.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/vault.rs"]
mod vault;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use client::{Answer, Call};
use md5::Digest as _;
use ripstop_catalog::Quota;
use ripstop_s3::{DefaultEncryption, KeyRing};
use vault::{How, KEY_ID, Key, SSE, Vault, bytes, text};

const A: Key = Key(b'a');
const B: Key = Key(b'b');

#[tokio::test]
async fn objects_of_every_method_and_length_are_read_whole_and_in_ranges() {
    let vault = Vault::new().await;
    for how in How::ALL {
        for len in [0, 1, 13, 4096, 65_535, 65_536, 65_537, 200_000] {
            let body = bytes(len);
            how.assert_said(&vault.put("k", &body, how).await);
            vault.assert_is("/bkt/k", &body, how).await;
        }
    }
}

#[tokio::test]
async fn nothing_of_an_encrypted_object_is_at_any_node_in_plain_text() {
    for packed in [0, 64 << 10] {
        let vault = Vault::with(DefaultEncryption::Off, packed, Quota::NONE).await;
        for how in [How::Customer(A), How::Managed, How::Named("reports")] {
            for (key, len) in [("small", 3000), ("large", 300_000)] {
                vault.put(key, &bytes(len), how).await;
                vault.assert_is(&format!("/bkt/{key}"), &bytes(len), how).await;
            }
        }
        assert!(!vault.nodes_hold(b"plain00").await);
        let key = [b'a'; 32];
        assert!(!vault.nodes_hold(&key).await, "a client's key is never stored");
        assert!(!vault.nodes_hold(STANDARD.encode(key).as_bytes()).await);
        // What is looked for would be found.
        vault.put("plain", &bytes(3000), How::Plain).await;
        assert!(vault.nodes_hold(b"plain00").await);
    }
}

#[tokio::test]
async fn small_objects_of_all_methods_share_packs() {
    let vault = Vault::with(DefaultEncryption::Off, 64 << 10, Quota::NONE).await;
    let names: Vec<(String, How)> =
        (0..24).map(|at| (format!("k{at}"), How::ALL[at % How::ALL.len()])).collect();
    let vault = &vault;
    let puts = names.iter().map(|(key, how)| async move {
        vault.put(key, &bytes(100 + key.len()), *how).await;
    });
    futures::future::join_all(puts).await;
    for (key, how) in &names {
        vault.assert_is(&format!("/bkt/{key}"), &bytes(100 + key.len()), *how).await;
    }
    let listed = text(&vault.send(Call::new("GET", "/bkt").query("list-type=2"), b"").await);
    let sizes = [102, 103].map(|len| listed.matches(&format!("<Size>{len}</Size>")).count());
    assert_eq!(sizes, [10, 14], "{listed}");
}

#[tokio::test]
async fn entity_tags_and_checksums_are_of_the_bytes_where_s3_has_them_so() {
    let vault = Vault::new().await;
    let body = bytes(100_000);
    let md5 = format!("\"{}\"", hex::encode(md5::Md5::digest(&body)));
    let mut checksums = Vec::new();
    for how in How::ALL {
        let put = vault.put("k", &body, how).await;
        let keeps = matches!(how, How::Plain | How::Managed);
        assert_eq!(put.header("etag") == Some(md5.as_str()), keeps);
        checksums.push(put.header("x-amz-checksum-crc64nvme").unwrap().to_owned());
        let call =
            how.write(Call::new("PUT", "/bkt/k")).header("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==");
        assert_eq!(vault.send(call, &body).await.code(), "BadDigest");
        vault.assert_is("/bkt/k", &body, how).await;
    }
    checksums.dedup();
    assert_eq!(checksums.len(), 1);
}

async fn refused(vault: &Vault, call: Call, body: &[u8]) -> (u16, String) {
    let answer = vault.send(call, body).await;
    (answer.status, answer.code())
}

#[tokio::test]
async fn a_clients_key_is_needed_must_be_the_one_and_is_no_use_elsewhere() {
    let vault = Vault::new().await;
    vault.put("theirs", b"bytes", How::Customer(A)).await;
    vault.put("plain", b"bytes", How::Plain).await;
    vault.put("managed", b"bytes", How::Managed).await;
    let attributes = |path: &str| {
        Call::new("GET", path).query("attributes=").header("x-amz-object-attributes", "ObjectSize")
    };
    let invalid = (400, "InvalidRequest".to_owned());
    for call in [
        Call::new("GET", "/bkt/theirs"),
        B.of(Call::new("GET", "/bkt/theirs")),
        A.of(Call::new("GET", "/bkt/plain")),
        A.of(Call::new("GET", "/bkt/managed")),
        attributes("/bkt/theirs"),
        B.of(attributes("/bkt/theirs")),
        Call::new("PUT", "/bkt/c").header("x-amz-copy-source", "bkt/theirs"),
        B.of_source(Call::new("PUT", "/bkt/c").header("x-amz-copy-source", "bkt/theirs")),
        A.of_source(Call::new("PUT", "/bkt/c").header("x-amz-copy-source", "bkt/plain")),
    ] {
        assert_eq!(refused(&vault, call, b"").await, invalid);
    }
    for call in [Call::new("HEAD", "/bkt/theirs"), B.of(Call::new("HEAD", "/bkt/theirs"))] {
        assert_eq!(vault.send(call, b"").await.status, 400);
    }
    let told = vault.send(A.of(attributes("/bkt/theirs")), b"").await;
    assert!(text(&told).contains("<ObjectSize>5</ObjectSize>"));
    // Nothing of it is needed to delete, or to tag.
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    let tag = Call::new("PUT", "/bkt/theirs").query("tagging=");
    let tag = tag.header("content-md5", STANDARD.encode(md5::Md5::digest(tags)));
    assert_eq!(vault.send(tag, tags.as_bytes()).await.status, 200);
    vault.assert_is("/bkt/theirs", b"bytes", How::Customer(A)).await;
    assert_eq!(vault.send(Call::new("DELETE", "/bkt/theirs"), b"").await.status, 204);
}

#[tokio::test]
async fn headers_that_do_not_fit_together_are_refused_and_store_nothing() {
    let vault = Vault::new().await;
    let put = || Call::new("PUT", "/bkt/k");
    let algorithm = "x-amz-server-side-encryption-customer-algorithm";
    let md5 = "x-amz-server-side-encryption-customer-key-md5";
    for (call, code) in [
        (put().header(algorithm, "AES256"), "InvalidArgument"),
        (A.of(put()).header(md5, B.md5()), "InvalidArgument"),
        (A.of(put()).header(algorithm, "AES128"), "InvalidEncryptionAlgorithmError"),
        (A.of(put()).header(SSE, "AES256"), "InvalidArgument"),
        (put().header(SSE, "AES128"), "InvalidArgument"),
        (put().header(KEY_ID, "reports"), "InvalidArgument"),
        (put().header(SSE, "aws:kms").header(KEY_ID, "nobodys"), "KMS.NotFoundException"),
    ] {
        assert_eq!(refused(&vault, call, b"bytes").await, (400, code.to_owned()));
    }
    let dsse = put().header(SSE, "aws:kms:dsse");
    assert_eq!(refused(&vault, dsse, b"bytes").await, (501, "NotImplemented".to_owned()));
    assert_eq!(refused(&vault, Call::new("GET", "/bkt/k"), b"").await.0, 404);
    vault.put("k", b"bytes", How::Managed).await;
    for header in [SSE, KEY_ID] {
        let get = Call::new("GET", "/bkt/k").header(header, "AES256");
        assert_eq!(refused(&vault, get, b"").await, (400, "InvalidArgument".to_owned()));
    }
}

#[tokio::test]
async fn named_keys_are_said_in_many_ways_and_bound_to_their_context() {
    let vault = Vault::new().await;
    let context = STANDARD.encode(r#"{"team": "blue"}"#);
    let address = "arn:aws:kms:us-east-1:123456789012:key/reports";
    let put = Call::new("PUT", "/bkt/k")
        .header(SSE, "aws:kms")
        .header(KEY_ID, address)
        .header("x-amz-server-side-encryption-context", &context)
        .header("x-amz-server-side-encryption-bucket-key-enabled", "true");
    let put = vault.send(put, b"bytes").await;
    assert_eq!(put.header(KEY_ID), Some(address));
    assert_eq!(put.header("x-amz-server-side-encryption-context"), Some(context.as_str()));
    let get = vault.send(Call::new("GET", "/bkt/k"), b"").await;
    assert_eq!(
        (get.status, get.header(KEY_ID), &get.body[..]),
        (200, Some(address), &b"bytes"[..])
    );
    assert_eq!(get.header("x-amz-server-side-encryption-bucket-key-enabled"), Some("true"));
    assert_eq!(get.header("x-amz-server-side-encryption-context"), None);
    // Without a name the gateway's own key is meant.
    let put = vault.send(Call::new("PUT", "/bkt/k").header(SSE, "aws:kms"), b"bytes").await;
    assert_eq!((put.status, put.header(KEY_ID)), (200, Some("aws/s3")));
    assert_eq!(vault.send(Call::new("GET", "/bkt/k"), b"").await.body, b"bytes");
}

#[tokio::test]
async fn what_earlier_keys_wrapped_is_read_and_without_keys_nothing_is() {
    let vault = Vault::new().await;
    vault.put("managed", b"bytes", How::Managed).await;
    vault.put("named", b"bytes", How::Named("reports")).await;
    let rotated = vault.ring.clone().rotated(None).unwrap().rotated(Some("reports")).unwrap();
    vault.keys.replace(rotated);
    for (key, how) in [("managed", How::Managed), ("named", How::Named("reports"))] {
        vault.assert_is(&format!("/bkt/{key}"), b"bytes", how).await;
    }
    vault.keys.replace(KeyRing::generate());
    for (key, status, code) in
        [("managed", 500, "InternalError"), ("named", 400, "KMS.NotFoundException")]
    {
        let path = format!("/bkt/{key}");
        let found = refused(&vault, Call::new("GET", &path), b"").await;
        assert_eq!(found, (status, code.to_owned()));
        assert_eq!(vault.send(Call::new("HEAD", &path), b"").await.status, 200);
        assert_eq!(vault.send(Call::new("DELETE", &path), b"").await.status, 204);
    }
    vault.keys.replace(KeyRing::default());
    let put = Call::new("PUT", "/bkt/k").header(SSE, "AES256");
    assert_eq!(refused(&vault, put, b"bytes").await, (501, "NotImplemented".to_owned()));
}

fn rule(algorithm: &str, more: &str) -> String {
    format!(
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault>\
         <SSEAlgorithm>{algorithm}</SSEAlgorithm>{more}</ApplyServerSideEncryptionByDefault></Rule>\
         </ServerSideEncryptionConfiguration>"
    )
}

async fn configure(vault: &Vault, method: &'static str, document: &str) -> Answer {
    vault.send(Call::new(method, "/bkt").query("encryption="), document.as_bytes()).await
}

#[tokio::test]
async fn a_bucket_encrypts_by_default_from_when_it_is_told_to() {
    let vault = Vault::new().await;
    let none = "ServerSideEncryptionConfigurationNotFoundError";
    assert_eq!(configure(&vault, "GET", "").await.code(), none);
    vault.put("before", b"bytes", How::Plain).await;
    assert_eq!(configure(&vault, "PUT", &rule("AES256", "")).await.status, 200);
    assert!(text(&configure(&vault, "GET", "").await).contains("<SSEAlgorithm>AES256<"));
    let put = vault.put("k", b"bytes", How::Plain).await;
    How::Managed.assert_said(&put);
    vault.assert_is("/bkt/k", b"bytes", How::Managed).await;
    vault.assert_is("/bkt/before", b"bytes", How::Plain).await;
    // What is said goes before.
    vault.put("k", b"bytes", How::Customer(A)).await;
    vault.assert_is("/bkt/k", b"bytes", How::Customer(A)).await;
    let named = rule("aws:kms", "<KMSMasterKeyID>reports</KMSMasterKeyID>");
    assert_eq!(configure(&vault, "PUT", &named).await.status, 200);
    let copy = Call::new("PUT", "/bkt/c").header("x-amz-copy-source", "bkt/before");
    How::Named("reports").assert_said(&vault.send(copy, b"").await);
    vault.assert_is("/bkt/c", b"bytes", How::Named("reports")).await;
    let begun = vault.send(Call::new("POST", "/bkt/m").query("uploads="), b"").await;
    How::Named("reports").assert_said(&begun);
    assert_eq!(configure(&vault, "PUT", "<Other/>").await.code(), "MalformedXML");
    assert_eq!(configure(&vault, "DELETE", "").await.status, 204);
    assert_eq!(configure(&vault, "GET", "").await.code(), none);
    vault.put("k", b"bytes", How::Plain).await;
    vault.assert_is("/bkt/k", b"bytes", How::Plain).await;
}

#[tokio::test]
async fn a_bucket_may_block_clients_keys() {
    let vault = Vault::new().await;
    let document = rule("AES256", "").replace(
        "</Rule>",
        "<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes></Rule>",
    );
    assert_eq!(configure(&vault, "PUT", &document).await.status, 200);
    let put = A.of(Call::new("PUT", "/bkt/k"));
    assert_eq!(refused(&vault, put, b"bytes").await, (403, "AccessDenied".to_owned()));
    vault.put("k", b"bytes", How::Managed).await;
}

#[tokio::test]
async fn a_gateway_encrypts_by_default_if_it_is_told_to() {
    let named = DefaultEncryption::Named("reports".to_owned());
    for (default, how) in
        [(DefaultEncryption::Managed, How::Managed), (named, How::Named("reports"))]
    {
        let vault = Vault::with(default, 0, Quota::NONE).await;
        How::assert_said(how, &vault.put("k", b"bytes", How::Plain).await);
        vault.assert_is("/bkt/k", b"bytes", how).await;
        let told = configure(&vault, "GET", "").await;
        assert_eq!(told.status, 200);
    }
}

#[tokio::test]
async fn a_quota_counts_what_clients_count() {
    let quota = Quota { bytes: Some(70_000), ..Quota::NONE };
    let vault = Vault::with(DefaultEncryption::Off, 0, quota).await;
    vault.put("k", &bytes(70_000), How::Managed).await;
    vault.put("k", &bytes(70_000), How::Customer(A)).await;
    let put = Call::new("PUT", "/bkt/k").header(SSE, "AES256");
    assert_eq!(refused(&vault, put, &bytes(70_001)).await, (403, "QuotaExceeded".to_owned()));
    let usage = vault.store.usage("bkt").await.unwrap();
    assert_eq!((usage.bytes, usage.objects), (70_000, 1));
}

#[tokio::test]
async fn versions_are_encrypted_each_as_it_was_put() {
    let vault = Vault::with(DefaultEncryption::Off, 64 << 10, Quota::NONE).await;
    let document = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    let put = Call::new("PUT", "/bkt").query("versioning=");
    assert_eq!(vault.send(put, document.as_bytes()).await.status, 200);
    let mut versions = Vec::new();
    for how in How::ALL {
        let put = vault.put("k", b"bytes", how).await;
        versions.push((put.header("x-amz-version-id").unwrap().to_owned(), how));
    }
    for (id, how) in versions {
        let get = Call::new("GET", "/bkt/k").query(&format!("versionId={id}"));
        let got = vault.send(how.read(get), b"").await;
        assert_eq!((got.status, &got.body[..]), (200, &b"bytes"[..]));
        how.assert_said(&got);
        let copy = Call::new("PUT", "/other/c")
            .header("x-amz-copy-source", format!("bkt/k?versionId={id}"));
        assert_eq!(vault.send(how.read_source(copy), b"").await.status, 200);
        vault.assert_is("/other/c", b"bytes", How::Plain).await;
    }
}

#[tokio::test]
async fn a_flipped_byte_that_nobody_else_finds_is_not_served() {
    let vault = Vault::new().await;
    vault.put("k", &bytes(100_000), How::Managed).await;
    // As if a catalog's record had been exchanged for that of another object.
    vault.put("l", &bytes(100_000), How::Managed).await;
    let [k, l] = [vault.store.object("bkt", "k").await, vault.store.object("bkt", "l").await];
    let (k, l) = (k.unwrap(), l.unwrap());
    let mut attributes = k.object.attributes.clone();
    attributes.encryption = l.object.attributes.encryption.clone();
    vault.store.set_attributes("bkt", "k", &k, attributes).await.unwrap();
    let found = refused(&vault, Call::new("GET", "/bkt/k"), b"").await;
    assert_eq!(found, (500, "InternalError".to_owned()));
}
