//! Uploads in parts, copies and forms that are encrypted, through the wire.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/vault.rs"]
mod vault;

use client::{Answer, Call};
use ripstop_catalog::{Audited as _, Catalog as _, Quota};
use ripstop_s3::DefaultEncryption;
use vault::{How, Key, SSE, Vault, bytes, text};

const A: Key = Key(b'a');
const B: Key = Key(b'b');

fn within<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap();
    rest.split_once(end).unwrap().0
}

/// An upload of `bkt/m`.
struct Upload<'a> {
    vault: &'a Vault,
    id: String,
    parts: Vec<(u16, String)>,
}

impl<'a> Upload<'a> {
    async fn begin(vault: &'a Vault, how: How) -> Self {
        let call = how.write(Call::new("POST", "/bkt/m").query("uploads="));
        let begun = vault.send(call, b"").await;
        assert_eq!(begun.status, 200, "{}", text(&begun));
        how.assert_said(&begun);
        let id = within(&text(&begun), "<UploadId>", "</UploadId>").to_owned();
        Self { vault, id, parts: Vec::new() }
    }

    fn call(&self, number: u16) -> Call {
        let query = format!("partNumber={number}&uploadId={}", self.id);
        Call::new("PUT", "/bkt/m").query(&query)
    }

    fn took(&mut self, number: u16, etag: &str) {
        self.parts.retain(|(given, _)| *given != number);
        self.parts.push((number, etag.to_owned()));
    }

    async fn put(&mut self, number: u16, body: &[u8], how: How) {
        let put = self.vault.send(how.read(self.call(number)), body).await;
        assert_eq!(put.status, 200, "{}", text(&put));
        how.assert_said(&put);
        self.took(number, put.header("etag").unwrap());
    }

    async fn copy(&mut self, number: u16, source: &str, range: &str, from: How, to: How) {
        let call = self.call(number).header("x-amz-copy-source", source);
        let call = call.header("x-amz-copy-source-range", range);
        let copy = self.vault.send(to.read(from.read_source(call)), b"").await;
        assert_eq!(copy.status, 200, "{}", text(&copy));
        to.assert_said(&copy);
        let etag = within(&text(&copy), "<ETag>", "</ETag>").replace("&quot;", "\"");
        self.took(number, &etag);
    }

    async fn complete(&mut self) -> Answer {
        self.parts.sort();
        let part = |(number, etag): &(u16, String)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
        };
        let parts: String = self.parts.iter().map(part).collect();
        let document = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let call = Call::new("POST", "/bkt/m").query(&format!("uploadId={}", self.id));
        self.vault.send(call, document.as_bytes()).await
    }
}

#[tokio::test]
async fn parts_are_encrypted_each_by_itself_and_read_in_ranges_across_them() {
    let vault = Vault::new().await;
    for how in How::ALL {
        let mut upload = Upload::begin(&vault, how).await;
        let lens = [70_000, 1000, 65_536, 131_073, 0];
        let whole = bytes(lens.iter().sum());
        let mut rest = &whole[..];
        for (number, len) in (1..).zip(lens) {
            let (part, after) = rest.split_at(len);
            // One that is sent again takes the place of the first, in a stream of its own.
            upload.put(number, &bytes(5000), how).await;
            upload.put(number, part, how).await;
            rest = after;
        }
        let done = upload.complete().await;
        assert_eq!(done.status, 200, "{}", text(&done));
        match how {
            How::Plain | How::Customer(_) => assert_eq!(done.header(SSE), None),
            How::Managed | How::Named(_) => how.assert_said(&done),
        }
        vault.assert_is("/bkt/m", &whole, how).await;
        let mut at = 0;
        for (number, len) in (1..).zip(lens).filter(|(_, len)| *len > 0) {
            let get = Call::new("GET", "/bkt/m").query(&format!("partNumber={number}"));
            let got = vault.send(how.read(get), b"").await;
            assert!(got.status == 206 && got.body == whole[at..at + len], "part {number}");
            at += len;
        }
    }
    // One of the four is in plain text, and the last one is another.
    let listed = text(&vault.send(Call::new("GET", "/bkt"), b"").await);
    assert!(listed.contains("<Size>267609</Size>"), "{listed}");
    assert_eq!(vault.store.usage("bkt").await.unwrap().bytes, 267_609);
}

#[tokio::test]
async fn parts_need_the_key_that_their_upload_began_with() {
    let vault = Vault::new().await;
    let of_client = Upload::begin(&vault, How::Customer(A)).await;
    let managed = Upload::begin(&vault, How::Managed).await;
    for call in [of_client.call(1), B.of(of_client.call(1)), A.of(managed.call(1))] {
        let refused = vault.send(call, b"bytes").await;
        assert_eq!((refused.status, refused.code()), (400, "InvalidRequest".to_owned()));
    }
    // What is said of encryption once it has begun is not heeded.
    let said = managed.call(1).header(SSE, "aws:kms");
    assert_eq!(vault.send(said, b"bytes").await.status, 200);
    let mut upload = of_client;
    upload.put(1, b"bytes", How::Customer(A)).await;
    let parts = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{}</ETag></Part>\
         </CompleteMultipartUpload>",
        upload.parts[0].1
    );
    let complete = || Call::new("POST", "/bkt/m").query(&format!("uploadId={}", upload.id));
    let refused = vault.send(B.of(complete()), parts.as_bytes()).await;
    assert_eq!((refused.status, refused.code()), (400, "InvalidRequest".to_owned()));
    assert_eq!(vault.send(A.of(complete()), parts.as_bytes()).await.status, 200);
    vault.assert_is("/bkt/m", b"bytes", How::Customer(A)).await;
}

#[tokio::test]
async fn parts_are_copied_out_of_objects_of_every_method_into_uploads_of_every_method() {
    let vault = Vault::new().await;
    let (body, between) = (bytes(150_000), vec![b'-'; 1000]);
    for from in How::ALL {
        vault.put("source", &body, from).await;
        for to in How::ALL {
            let mut upload = Upload::begin(&vault, to).await;
            upload.copy(1, "bkt/source", "bytes=10-70009", from, to).await;
            upload.put(2, &between, to).await;
            upload.copy(3, "bkt/source", "bytes=0-149999", from, to).await;
            assert_eq!(upload.complete().await.status, 200);
            let whole = [&body[10..70_010], &between, &body].concat();
            vault.assert_is("/bkt/m", &whole, to).await;
        }
    }
}

fn copy_of(source: &str, from: How, to: How) -> Call {
    let call = Call::new("PUT", "/other/copy").header("x-amz-copy-source", source);
    from.read_source(to.write(call))
}

#[tokio::test]
async fn copies_across_methods_are_encrypted_again() {
    for packed in [0, 64 << 10] {
        let vault = Vault::with(DefaultEncryption::Off, packed, Quota::NONE).await;
        let all = [How::ALL.as_slice(), &[How::Customer(B)]].concat();
        for (from, len) in How::ALL.into_iter().zip([0, 900, 3000, 200_000].into_iter().cycle()) {
            let body = bytes(len);
            let put = vault.put("source", &body, from).await;
            let md5 = put.header("etag").unwrap().to_owned();
            for to in &all {
                let copy = vault.send(copy_of("bkt/source", from, *to), b"").await;
                assert_eq!(copy.status, 200, "{}", text(&copy));
                to.assert_said(&copy);
                vault.assert_is("/other/copy", &body, *to).await;
                let keeps = |how| matches!(how, How::Plain | How::Managed);
                if keeps(from) && keeps(*to) {
                    let etag = within(&text(&copy), "<ETag>", "</ETag>").replace("&quot;", "\"");
                    assert_eq!(etag, md5);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_copy_of_an_object_in_parts_is_whole_and_keeps_them_where_its_tag_stays() {
    let vault = Vault::new().await;
    let body = bytes(140_000);
    for from in How::ALL {
        let mut upload = Upload::begin(&vault, from).await;
        upload.put(1, &body[..75_000], from).await;
        upload.put(2, &body[75_000..], from).await;
        assert_eq!(upload.complete().await.status, 200);
        for to in How::ALL {
            let copy = vault.send(copy_of("bkt/m", from, to), b"").await;
            assert_eq!(copy.status, 200, "{}", text(&copy));
            vault.assert_is("/other/copy", &body, to).await;
            let head = to.read(Call::new("HEAD", "/other/copy").query("partNumber=1"));
            let head = vault.send(head, b"").await;
            let parts = head.header("x-amz-mp-parts-count").is_some();
            assert_eq!(parts, head.header("etag").unwrap().contains('-'), "{}", head.head);
        }
    }
}

#[tokio::test]
async fn a_copy_with_the_same_key_shares_what_is_stored_and_has_a_wrapped_key_of_its_own() {
    let vault = Vault::new().await;
    let body = bytes(200_000);
    for how in [How::Customer(A), How::Managed, How::Named("reports")] {
        vault.put("source", &body, how).await;
        assert_eq!(vault.send(copy_of("bkt/source", how, how), b"").await.status, 200);
        let source = vault.store.object("bkt", "source").await.unwrap();
        let copy = vault.store.object("other", "copy").await.unwrap();
        assert_eq!(source.object.extents, copy.object.extents);
        let [of_source, of_copy] =
            [&source, &copy].map(|it| it.object.attributes.encryption.clone().unwrap());
        assert_ne!(of_source.wrapped, of_copy.wrapped);
        assert_eq!(of_source.salts, of_copy.salts);
        vault.assert_is("/other/copy", &body, how).await;
    }
    // Another key of a client's is one that the first must not open.
    vault.put("source", &body, How::Customer(A)).await;
    let other = copy_of("bkt/source", How::Customer(A), How::Customer(B));
    assert_eq!(vault.send(other, b"").await.status, 200);
    let source = vault.store.object("bkt", "source").await.unwrap();
    let copy = vault.store.object("other", "copy").await.unwrap();
    assert_ne!(source.object.extents, copy.object.extents);
}

#[tokio::test]
async fn an_object_is_encrypted_where_it_is_by_a_copy_onto_itself() {
    let vault = Vault::new().await;
    let body = bytes(100_000);
    vault.put("k", &body, How::Plain).await;
    let onto = || Call::new("PUT", "/bkt/k").header("x-amz-copy-source", "bkt/k");
    assert_eq!(vault.send(onto(), b"").await.code(), "InvalidRequest");
    let mut before = How::Plain;
    for how in [How::Managed, How::Customer(A), How::Customer(B), How::Named("reports")] {
        let call = before.read_source(how.write(onto()));
        assert_eq!(vault.send(call, b"").await.status, 200);
        vault.assert_is("/bkt/k", &body, how).await;
        before = how;
    }
}

#[tokio::test]
async fn another_checksum_of_an_encrypted_source_is_of_its_bytes() {
    let vault = Vault::new().await;
    let body = bytes(100_000);
    let mut found = Vec::new();
    for from in How::ALL {
        vault.put("source", &body, from).await;
        for to in How::ALL {
            let call = copy_of("bkt/source", from, to).header("x-amz-checksum-algorithm", "SHA256");
            let copy = text(&vault.send(call, b"").await);
            found.push(within(&copy, "<ChecksumSHA256>", "</ChecksumSHA256>").to_owned());
        }
    }
    found.dedup();
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn a_lost_catalog_loses_no_encrypted_object() {
    for packed in [0, 64 << 10] {
        let vault = Vault::with(DefaultEncryption::Off, packed, Quota::NONE).await;
        let mut before = Vec::new();
        for (at, how) in (0..).zip(How::ALL) {
            for len in [0, 700, 100_000] {
                let key = format!("k{at}-{len}");
                vault.put(&key, &bytes(len), how).await;
                before.push(key);
            }
            let mut upload = Upload::begin(&vault, how).await;
            upload.put(1, &bytes(70_000), how).await;
            upload.put(2, &bytes(900), how).await;
            assert_eq!(upload.complete().await.status, 200);
            let to = Call::new("PUT", &format!("/bkt/m{at}")).header("x-amz-copy-source", "bkt/m");
            let copy = vault.send(how.read_source(how.write(to)), b"").await;
            assert_eq!(copy.status, 200, "{}", text(&copy));
            before.push(format!("m{at}"));
        }
        let (catalog, report) = vault.rebuilt().await;
        assert!(report.is_whole(), "{report:?}");
        for key in before {
            let known = vault.store.object("bkt", &key).await.unwrap();
            let found = catalog.object("bkt", &key).await.unwrap().unwrap();
            assert_eq!(found.object.attributes, known.object.attributes, "{key}");
            assert_eq!(found.object.extents, known.object.extents, "{key}");
            assert_eq!(found.object.len, known.object.len, "{key}");
        }
        let audit = catalog.audit().await.unwrap();
        assert!(audit.findings.is_empty(), "{:?}", audit.findings);
    }
}
