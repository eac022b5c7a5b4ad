//! A record: what was asked, by whom, and what came of it.
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html>

use super::{destination::Destination, held::Logs};
use crate::{
    Answered, FrontSettings, S3Operation,
    access::{Client, cut},
    date,
    uri::{self, Target},
};
use http::{HeaderMap, header, request::Parts};
use std::{fmt::Write as _, net::IpAddr, sync::Arc, time::Duration};

/// Bytes of a header, or of a query, that are recorded.
const TEXT_LEN_MAX: usize = 2048;
/// Parameters of a query whose values open what was signed: they are not recorded.
const SECRET: [&str; 3] = ["x-amz-signature", "signature", "x-amz-security-token"];

/// What is known of a request when it comes.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) owner: String,
    pub(crate) key: Option<String>,
    pub(crate) id: String,
    /// `REST`, or `WEBSITE`.
    pub(crate) door: &'static str,
    pub(crate) method: String,
    /// Path and query, as they were sent.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) version: String,
    pub(crate) host: Option<String>,
    pub(crate) referer: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) announced: Option<u64>,
    /// How it was signed: `SigV4` or `SigV2`, and where: `AuthHeader` or `QueryString`.
    pub(crate) signed: Option<(&'static str, &'static str)>,
    pub(crate) client: Option<IpAddr>,
    pub(crate) secure: bool,
    pub(crate) at_ms: u64,
}

impl Begun {
    /// Of a request with this id that came through a door of that name.
    pub(crate) fn of(
        parts: &Parts,
        (settings, door): (&FrontSettings, &str),
        id: &str,
        client: Client,
    ) -> Self {
        let text = |name: header::HeaderName| {
            let value = parts.headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let host = text(header::HOST);
        let domain = settings.domain.as_deref();
        let key = if door == "website" {
            uri::decode(parts.uri.path(), false).map(|path| path.trim_start_matches('/').to_owned())
        } else {
            Target::parse(parts.uri.path(), host.as_deref(), domain).ok().and_then(|it| it.key)
        };
        let decoded = parts.headers.get("x-amz-decoded-content-length");
        let announced = decoded.or_else(|| parts.headers.get(header::CONTENT_LENGTH));
        let announced = announced.and_then(|len| len.to_str().ok()?.parse().ok());
        Self {
            owner: settings.owner.clone(),
            key: key.filter(|key| !key.is_empty()),
            id: id.to_owned(),
            door: if door == "website" { "WEBSITE" } else { "REST" },
            method: parts.method.as_str().to_owned(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            version: format!("{:?}", parts.version),
            host,
            referer: text(header::REFERER),
            agent: text(header::USER_AGENT),
            announced,
            signed: signed(parts),
            client: client.address,
            secure: client.secure,
            at_ms: date::now_ms(),
        }
    }
}

/// How a request says that it is signed: in which version, and where.
fn signed(parts: &Parts) -> Option<(&'static str, &'static str)> {
    if let Some(value) = parts.headers.get(header::AUTHORIZATION) {
        let is_fourth = value.as_bytes().starts_with(b"AWS4");
        return Some((if is_fourth { "SigV4" } else { "SigV2" }, "AuthHeader"));
    }
    let query = parts.uri.query()?.to_ascii_lowercase();
    let has = |name: &str| query.split('&').any(|pair| pair.starts_with(name));
    if has("x-amz-signature=") {
        return Some(("SigV4", "QueryString"));
    }
    has("signature=").then_some(("SigV2", "QueryString"))
}

/// A request whose record is written at the end of its answer.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) logs: Arc<Logs>,
    pub(crate) destination: Destination,
    pub(crate) begun: Begun,
    /// Of the object that was read, as the answer tells it.
    pub(crate) object_len: Option<u64>,
    pub(crate) version_id: Option<String>,
}

impl Logged {
    /// Notes what the head of the answer tells.
    pub(crate) fn answered_with(&mut self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let whole = text("content-range").and_then(|range| range.rsplit_once('/'));
        let len = whole.map(|(_, len)| len).or_else(|| text("content-length"));
        self.object_len = len.and_then(|len| len.parse().ok());
        self.version_id = text("x-amz-version-id").map(str::to_owned);
    }

    /// Writes the record.
    pub(crate) fn write(
        &self,
        answered: &Answered,
        requester: Option<&str>,
        error: Option<&'static str>,
    ) {
        let line = self.line(answered, requester, error);
        self.logs.push(&self.destination, &line, self.begun.at_ms);
    }

    fn line(
        &self,
        answered: &Answered,
        requester: Option<&str>,
        error: Option<&'static str>,
    ) -> String {
        let Begun { owner, id, host, client, secure, at_ms, method, .. } = &self.begun;
        let name =
            operation((answered.operation, self.begun.door), method, self.begun.query.as_deref());
        let is_read = answered.operation == S3Operation::GetObject;
        let is_about_object = is_read || answered.operation == S3Operation::HeadObject;
        let len = if is_about_object { self.object_len } else { self.begun.announced };
        let len = len.filter(|_| answered.status < 300 && self.begun.key.is_some());
        let signed = self.begun.signed;
        let mut line = String::with_capacity(512);
        let key = self.begun.key.as_deref().map(|key| uri::encode(key, b"/"));
        let client = client.map(|client| client.to_string());
        let or_dash = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), bare);
        for field in [
            bare(owner),
            bare(&self.destination.source),
            format!("[{}]", date::common_log(*at_ms)),
            or_dash(client.as_deref()),
            or_dash(requester),
            bare(id),
            name,
            or_dash(key.as_deref()),
            self.request(),
            answered.status.to_string(),
            or_dash(error),
            some(Some(answered.sent).filter(|sent| *sent > 0)),
            some(len),
            ms(answered.duration),
            ms(answered.first_byte),
            quoted(self.begun.referer.as_deref()),
            quoted(self.begun.agent.as_deref()),
            or_dash(self.version_id.as_deref()),
            bare(id),
            or_dash(signed.map(|(version, _)| version)),
            "-".to_owned(),
            or_dash(signed.map(|(_, place)| place)),
            or_dash(host.as_deref()),
            or_dash(secure.then_some("TLS")),
            "-".to_owned(),
            "-".to_owned(),
        ] {
            let _ = write!(line, "{field} ");
        }
        line.pop();
        line.push('\n');
        line
    }

    fn request(&self) -> String {
        let Begun { method, path, query, version, .. } = &self.begun;
        let query = query.as_deref().map(without_secrets);
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        quoted(Some(&format!("{method} {path}{query} {version}")))
    }
}

fn ms(time: Duration) -> String {
    time.as_millis().to_string()
}

fn some(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

/// A text that is one field: without blanks.
fn bare(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    text.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

/// A text in quotation marks; what it has of them is a single one, so that its end is seen.
fn quoted(text: Option<&str>) -> String {
    let Some(text) = text else { return "\"-\"".to_owned() };
    let text = cut(text, TEXT_LEN_MAX);
    let clean = |c: char| match c {
        '"' => '\'',
        _ if c.is_control() => ' ',
        _ => c,
    };
    format!("\"{}\"", text.chars().map(clean).collect::<String>())
}

fn without_secrets(query: &str) -> String {
    let pairs = query.split('&').map(|pair| {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        let is_secret = SECRET.iter().any(|secret| name.eq_ignore_ascii_case(secret));
        if is_secret { format!("{name}=REDACTED") } else { pair.to_owned() }
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// S3's name for an operation in logs: what is moved has a name that readers of logs know, the rest
/// is called by method and what its query selects.
fn operation((operation, door): (S3Operation, &str), method: &str, query: Option<&str>) -> String {
    let name = operation.name();
    let known = [
        ("GetObject", "REST.GET.OBJECT"),
        ("HeadObject", "REST.HEAD.OBJECT"),
        ("PutObject", "REST.PUT.OBJECT"),
        ("PostObject", "REST.POST.OBJECT"),
        ("CopyObject", "REST.COPY.OBJECT"),
        ("DeleteObject", "REST.DELETE.OBJECT"),
        ("DeleteObjects", "REST.POST.MULTI_OBJECT_DELETE"),
        ("UploadPart", "REST.PUT.PART"),
        ("UploadPartCopy", "REST.COPY.PART"),
        ("CreateMultipartUpload", "REST.POST.UPLOADS"),
        ("CompleteMultipartUpload", "REST.POST.UPLOAD"),
        ("AbortMultipartUpload", "REST.DELETE.UPLOAD"),
        ("ListParts", "REST.GET.UPLOAD"),
        ("ListMultipartUploads", "REST.GET.UPLOADS"),
        ("ListObjects", "REST.GET.BUCKET"),
        ("ListObjectsV2", "REST.GET.BUCKET"),
        ("ListObjectVersions", "REST.GET.BUCKETVERSIONS"),
        ("HeadBucket", "REST.HEAD.BUCKET"),
        ("CreateBucket", "REST.PUT.BUCKET"),
        ("DeleteBucket", "REST.DELETE.BUCKET"),
        ("Preflight", "REST.OPTIONS.PREFLIGHT"),
    ];
    if let Some((_, name)) = known.iter().find(|(known, _)| *known == name) {
        return name.replacen("REST", door, 1);
    }
    let selected = query.unwrap_or_default().split(['=', '&']).next().unwrap_or_default();
    let word: String = selected.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    let word = if word.is_empty() { "UNKNOWN".to_owned() } else { word.to_ascii_uppercase() };
    format!("REST.{}.{word}", bare(method))
}
