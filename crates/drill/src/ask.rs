//! Signed requests.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::Full;
use hyper::Request;
use md5::Md5;
use sha2::{Digest as _, Sha256};
use std::time::UNIX_EPOCH;
use time::{OffsetDateTime, macros::format_description};

/// The one key of a drill, and its secret.
pub(crate) const ACCESS_KEY: &str = "drill";
pub(crate) const SECRET: &str = "drilldrill";

/// Where requests seem to go.
const HOST: &str = "drill";
/// The hash of a body that is not signed.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// A request, before it is signed.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// As it goes into the signature: sorted.
    pub(crate) query: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    /// Whether the body's hash is signed too.
    pub(crate) signs_body: bool,
    /// Whether nobody signs it.
    pub(crate) is_unsigned: bool,
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("keys of any length are taken");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// The MD5 of some bytes.
pub(crate) fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

impl Ask {
    pub(crate) fn new(method: &'static str, bucket: &str, key: &str) -> Self {
        let path = if key.is_empty() { format!("/{bucket}") } else { format!("/{bucket}/{key}") };
        let (query, headers, body) = Default::default();
        Self { method, path, query, headers, body, signs_body: true, is_unsigned: false }
    }

    pub(crate) fn query(mut self, query: impl Into<String>) -> Self {
        self.query = query.into();
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// As nobody in particular asks.
    pub(crate) fn unsigned(self) -> Self {
        Self { is_unsigned: true, ..self }
    }

    /// A document, with the checksum that some operations demand.
    pub(crate) fn document(self, document: String) -> Self {
        let sum = STANDARD.encode(md5(document.as_bytes()));
        self.header("content-md5", sum).body(document)
    }

    /// What is sent, signed now.
    pub(crate) fn sign(mut self) -> Request<Full<Bytes>> {
        if self.is_unsigned {
            self.headers.push(("host", HOST.to_owned()));
            return self.request();
        }
        let now = ripstop_host::wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = OffsetDateTime::from_unix_timestamp(now.as_secs().cast_signed());
        let format = format_description!("[year][month][day]T[hour][minute][second]Z");
        let at = now.expect("a clock within ten thousand years").format(&format);
        let at = at.expect("the format has no part that a time lacks");
        let date = &at[..8];
        let payload = if self.signs_body {
            hex::encode(Sha256::digest(&self.body))
        } else {
            UNSIGNED.to_owned()
        };
        self.headers.push(("host", HOST.to_owned()));
        self.headers.push(("x-amz-date", at.clone()));
        self.headers.push(("x-amz-content-sha256", payload.clone()));
        self.headers.sort();
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String =
            self.headers.iter().flat_map(|(name, value)| [name, ":", value, "\n"]).collect();
        let Self { method, path, query, .. } = &self;
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}");
        let scope = format!("{date}/us-east-1/s3/aws4_request");
        let digest = hex::encode(Sha256::digest(canonical.as_bytes()));
        let text = format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{digest}");
        let mut key = hmac(format!("AWS4{SECRET}").as_bytes(), date);
        for part in ["us-east-1", "s3", "aws4_request"] {
            key = hmac(&key, part);
        }
        let signature = hex::encode(hmac(&key, &text));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, \
             Signature={signature}"
        );
        self.headers.push(("authorization", authorization));
        self.request()
    }

    /// What is sent, as it is.
    fn request(self) -> Request<Full<Bytes>> {
        let Self { method, path, query, body, headers, .. } = self;
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let len = body.len();
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if matches!(method, "PUT" | "POST") {
            request = request.header("content-length", len);
        }
        request.body(Full::new(body)).expect("its parts are all letters of ours")
    }
}
