//! Browsers' forms, and a face that takes them.
#![allow(dead_code, reason = "each user takes its part")]
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

use crate::{
    client::{Answer, Call},
    common,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use ripstop_catalog::ListingRequest;
use ripstop_s3::{Credentials, FrontSettings, Unobserved, serve};
use ripstop_store::{Store, StoreSettings};
use sha1::Sha1;
use sha2::Sha256;
use std::{net::SocketAddr, sync::Arc};
use time::{OffsetDateTime, macros::format_description};
use tokio_util::sync::CancellationToken;

/// A face with a bucket `bkt`; gone with the folder.
pub(crate) struct Face {
    pub(crate) to: SocketAddr,
    pub(crate) store: Store,
    _folder: tempfile::TempDir,
}

impl Face {
    pub(crate) async fn new() -> Self {
        Self::with(StoreSettings::default(), FrontSettings::default()).await
    }

    pub(crate) async fn with(of_store: StoreSettings, settings: FrontSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = common::store(folder.path(), of_store);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let credentials: Credentials = [("test", "testtest")].into_iter().collect();
        let shutdown = CancellationToken::new();
        let (of_face, observer) = (store.clone(), Arc::new(Unobserved));
        tokio::spawn(serve(listener, of_face, credentials, settings, observer, shutdown));
        assert_eq!(Call::new("PUT", "/bkt").send(to, b"").await.status, 200);
        Self { to, store, _folder: folder }
    }

    pub(crate) async fn send(&self, form: &Form) -> Answer {
        self.post("/bkt", &form.bytes()).await
    }

    pub(crate) async fn post(&self, path: &str, form: &[u8]) -> Answer {
        let call =
            Call::new("POST", path).header("content-type", "multipart/form-data; boundary=b");
        call.send_unsigned(self.to, form).await
    }

    pub(crate) async fn get(&self, key: &str) -> Answer {
        Call::new("GET", &format!("/bkt/{key}")).send(self.to, b"").await
    }

    pub(crate) async fn keys(&self) -> Vec<String> {
        let request = ListingRequest { bucket: "bkt".into(), max: 1000, ..Default::default() };
        let found = self.store.list(&request).await.unwrap();
        found.objects.into_iter().map(|(key, _)| key).collect()
    }

    pub(crate) async fn assert_refused(&self, form: &Form, code: &str, said: &str) {
        let answer = self.send(form).await;
        let body = text(&answer);
        assert_eq!(answer.code(), code, "{said}: {answer:?} {body}");
        assert!(body.replace("&quot;", "\"").contains(said), "{said}: {body}");
        assert_eq!(self.keys().await, [""; 0], "{said}");
    }
}

pub(crate) fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// Now, or this many seconds from now.
pub(crate) fn date(after_s: i64) -> String {
    let at = OffsetDateTime::now_utc() + time::Duration::seconds(after_s);
    at.format(&format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].000Z")).unwrap()
}

/// A form under construction: its fields, in order, and its file.
#[derive(Clone)]
pub(crate) struct Form {
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) filename: String,
    pub(crate) file: Option<Vec<u8>>,
    /// Conditions beside those of the fields that were there before the policy.
    pub(crate) conditions: Vec<String>,
    pub(crate) after: String,
}

impl Form {
    pub(crate) fn new(key: &str, file: &[u8]) -> Self {
        let form = Self {
            fields: Vec::new(),
            filename: "file.bin".to_owned(),
            file: Some(file.to_vec()),
            conditions: vec!["{\"bucket\": \"bkt\"}".to_owned()],
            after: "\r\n--b--\r\n".to_owned(),
        };
        form.field("key", key)
    }

    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(given, _)| given != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(given, _)| given != name);
        self
    }

    pub(crate) fn condition(mut self, condition: &str) -> Self {
        self.conditions.push(condition.to_owned());
        self
    }

    /// A policy that speaks of the fields that are there, as it goes into the form.
    pub(crate) fn policy(&self, until: &str) -> String {
        let named = self.fields.iter().filter(|(name, _)| !name.starts_with("x-ignore-"));
        let named = named.map(|(name, value)| {
            if value.contains("${filename}") {
                return format!("[\"starts-with\", \"${name}\", \"\"]");
            }
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            format!("{{\"{name}\": \"{value}\"}}")
        });
        let conditions: Vec<_> = named.chain(self.conditions.iter().cloned()).collect();
        let conditions = conditions.join(", ");
        STANDARD.encode(format!("{{\"expiration\": \"{until}\", \"conditions\": [{conditions}]}}"))
    }

    /// Signed by Version 4.
    pub(crate) fn signed(self) -> Self {
        self.signed_for("test", "us-east-1", "testtest")
    }

    pub(crate) fn signed_for(self, access_key: &str, region: &str, secret: &str) -> Self {
        let day = date(0).replace(['-', ':'], "");
        let form = self
            .field("x-amz-algorithm", "AWS4-HMAC-SHA256")
            .field(
                "x-amz-credential",
                &format!("{access_key}/{}/{region}/s3/aws4_request", &day[..8]),
            )
            .field("x-amz-date", &format!("{}Z", &day[..15]));
        let policy = form.policy(&date(600));
        form.with_policy(&policy, region, secret)
    }

    /// With this policy, signed.
    pub(crate) fn with_policy(self, policy: &str, region: &str, secret: &str) -> Self {
        let mac = |key: &[u8], text: &str| {
            let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
            mac.update(text.as_bytes());
            mac.finalize().into_bytes().to_vec()
        };
        let mut key = mac(format!("AWS4{secret}").as_bytes(), &date(0).replace('-', "")[..8]);
        for part in [region, "s3", "aws4_request"] {
            key = mac(&key, part);
        }
        let signature = hex::encode(mac(&key, policy));
        self.field("policy", policy).field("x-amz-signature", &signature)
    }

    /// Signed by Version 2.
    pub(crate) fn signed_v2(self) -> Self {
        let policy = self.policy(&date(600));
        let mut mac = Hmac::<Sha1>::new_from_slice(b"testtest").unwrap();
        mac.update(policy.as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        self.field("AWSAccessKeyId", "test").field("signature", &signature).field("policy", &policy)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut form = Vec::new();
        for (name, value) in &self.fields {
            let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            form.extend_from_slice(format!("{head}{value}\r\n").as_bytes());
        }
        if let Some(file) = &self.file {
            let head = format!(
                "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\
                 Content-Type: application/x-whatever\r\n\r\n",
                self.filename
            );
            form.extend_from_slice(head.as_bytes());
            form.extend_from_slice(file);
        }
        form.extend_from_slice(self.after.as_bytes());
        form
    }
}
