//! A client that signs by itself and may send nonsense.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::net::SocketAddr;
use time::{OffsetDateTime, macros::format_description};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

pub(crate) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A request under construction. Paths and queries are given as they go into the signature.
pub(crate) struct Call {
    method: &'static str,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    payload: String,
    age_s: i64,
    access_key: &'static str,
    secret: &'static str,
    service: &'static str,
}

/// A signed head, and what chunks are signed with.
pub(crate) struct Signed {
    pub(crate) head: String,
    key: Vec<u8>,
    date_time: String,
    scope: String,
    previous: String,
}

impl Call {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            query: String::new(),
            headers: vec![("host".to_owned(), "localhost".to_owned())],
            payload: UNSIGNED.to_owned(),
            age_s: 0,
            access_key: "test",
            secret: "testtest",
            service: "s3",
        }
    }

    pub(crate) fn query(mut self, query: &str) -> Self {
        query.clone_into(&mut self.query);
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.headers.retain(|(given, _)| given != name);
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn payload(mut self, payload: &str) -> Self {
        payload.clone_into(&mut self.payload);
        self
    }

    pub(crate) fn age_s(mut self, age_s: i64) -> Self {
        self.age_s = age_s;
        self
    }

    pub(crate) fn secret(mut self, secret: &'static str) -> Self {
        self.secret = secret;
        self
    }

    /// Signed for another service.
    pub(crate) fn service(mut self, service: &'static str) -> Self {
        self.service = service;
        self
    }

    /// As the owner of another key.
    pub(crate) fn key(mut self, access_key: &'static str, secret: &'static str) -> Self {
        self.access_key = access_key;
        self.secret(secret)
    }

    /// Its head, without a signature.
    pub(crate) fn unsigned(&self) -> String {
        let lines = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let lines: String = lines.collect();
        let target = match self.query.as_str() {
            "" => self.path.clone(),
            query => format!("{}?{query}", self.path),
        };
        format!("{} {target} HTTP/1.1\r\n{lines}\r\n", self.method)
    }

    /// Sends it with a body and without a signature.
    pub(crate) async fn send_unsigned(self, to: SocketAddr, body: &[u8]) -> Answer {
        let head = self.header("content-length", body.len()).unsigned();
        exchange(to, &[head.as_bytes(), body], false).await
    }

    pub(crate) fn sign(mut self) -> Signed {
        let at = OffsetDateTime::now_utc() - time::Duration::seconds(self.age_s);
        let format = format_description!("[year][month][day]T[hour][minute][second]Z");
        let date_time = at.format(&format).unwrap();
        let date = &date_time[..8];
        let payload = self.payload.clone();
        self = self.header("x-amz-date", &date_time).header("x-amz-content-sha256", &payload);
        self.headers.sort();
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let lines: String =
            self.headers.iter().flat_map(|(name, value)| [name, ":", value, "\n"]).collect();
        let Self { method, path, query, access_key, secret, service, .. } = &self;
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}");
        let scope = format!("{date}/us-east-1/{service}/aws4_request");
        let digest = sha256(canonical.as_bytes());
        let text = format!("AWS4-HMAC-SHA256\n{date_time}\n{scope}\n{digest}");
        let mut key = hmac(format!("AWS4{secret}").as_bytes(), date);
        for part in ["us-east-1", *service, "aws4_request"] {
            key = hmac(&key, part);
        }
        let signature = hex::encode(hmac(&key, &text));
        let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let lines: String =
            self.headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
        let head = format!(
            "{method} {target} HTTP/1.1\r\n{lines}authorization: AWS4-HMAC-SHA256 \
             Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}\r\n\r\n"
        );
        Signed { head, key, date_time, scope, previous: signature }
    }

    /// Sends it with a body of its announced length.
    pub(crate) async fn send(self, to: SocketAddr, body: &[u8]) -> Answer {
        let head = self.header("content-length", body.len()).sign().head;
        exchange(to, &[head.as_bytes(), body], false).await
    }
}

impl Signed {
    fn next_signature(&mut self, what: &str, rest: &str) -> String {
        let Self { date_time, scope, previous, .. } = &self;
        let text = format!("AWS4-HMAC-SHA256-{what}\n{date_time}\n{scope}\n{previous}\n{rest}");
        self.previous = hex::encode(hmac(&self.key, &text));
        self.previous.clone()
    }

    /// A chunk as it is sent; the last one is empty and has no line end of its own.
    pub(crate) fn chunk(&mut self, bytes: &[u8]) -> Vec<u8> {
        let rest = format!("{}\n{}", sha256(b""), sha256(bytes));
        let signature = self.next_signature("PAYLOAD", &rest);
        let mut chunk = format!("{:x};chunk-signature={signature}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        if !bytes.is_empty() {
            chunk.extend_from_slice(b"\r\n");
        }
        chunk
    }

    /// The trailer as it is sent.
    pub(crate) fn trailer(&mut self, name: &str, value: &str) -> Vec<u8> {
        let digest = sha256(format!("{name}:{value}\n").as_bytes());
        let signature = self.next_signature("TRAILER", &digest);
        format!("{name}:{value}\r\nx-amz-trailer-signature:{signature}\r\n\r\n").into_bytes()
    }
}

/// An answer, read to its announced end, or to where the connection ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether all of the announced body came.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The word in the error's `Code` element.
    pub(crate) fn code(&self) -> String {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        code.map(|(code, _)| code.to_owned()).unwrap_or_default()
    }
}

/// Sends pieces, ends its half of the connection if asked to, and reads one answer.
pub(crate) async fn exchange(to: SocketAddr, pieces: &[&[u8]], end: bool) -> Answer {
    let mut stream = TcpStream::connect(to).await.unwrap();
    for piece in pieces {
        if stream.write_all(piece).await.is_err() {
            break;
        }
    }
    if end {
        stream.shutdown().await.unwrap();
    }
    let head_only = pieces[0].starts_with(b"HEAD");
    read_answer(&mut stream, head_only).await
}

pub(crate) async fn read_answer(stream: &mut TcpStream, head_only: bool) -> Answer {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
            let status = head[9..12].parse().unwrap();
            let mut answer = Answer { status, head, body: bytes.split_off(at + 4), whole: false };
            let len = answer.header("content-length").and_then(|len| len.parse().ok());
            let len: usize = if head_only || status == 100 { 0 } else { len.unwrap_or(0) };
            while answer.body.len() < len {
                match stream.read(&mut piece).await {
                    Ok(0) | Err(_) => return answer,
                    Ok(read) => answer.body.extend_from_slice(&piece[..read]),
                }
            }
            answer.whole = true;
            return answer;
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => {
                return Answer { status: 0, head: String::new(), body: bytes, whole: false };
            }
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}
