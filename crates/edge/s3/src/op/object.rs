//! Reading an object, or only what is known of it.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    expiring::OfObject,
    version::{Subject, show_version},
};
use crate::{
    FrontSettings,
    allowance::FEW_EXTENTS,
    body::{Outgoing, Pieces},
    condition::{Judgement, Preconditions, failed},
    digest,
    encryption::{self, Cover, Customer, customer, refuse_on_reads},
    error::{Code, Failure},
    lifecycle::Facts,
    metadata,
    range::{self, Wanted},
};
use futures::StreamExt as _;
use http::{HeaderName, HeaderValue, StatusCode, header};
use ripstop_catalog::{Attributes, CatalogError, Located, Object, Refusal};
use ripstop_store::{StoreError, narrowed};
use std::{ops::Range, sync::Arc};

/// Query parameters that replace a header of the answer.
const OVERRIDES: [(&str, HeaderName); 6] = [
    ("response-cache-control", header::CACHE_CONTROL),
    ("response-content-disposition", header::CONTENT_DISPOSITION),
    ("response-content-encoding", header::CONTENT_ENCODING),
    ("response-content-language", header::CONTENT_LANGUAGE),
    ("response-content-type", header::CONTENT_TYPE),
    ("response-expires", header::EXPIRES),
];

/// Keys that were replaced between two looks are looked up this often before giving up.
const LOOKS_MAX: usize = 3;

/// What is wanted of an object.
struct Wish {
    subject: Subject,
    preconditions: Preconditions,
    /// The part, as S3 counts them.
    part: Option<u32>,
    range: Option<String>,
    if_range: Option<String>,
    customer: Option<Customer>,
    shown: Shown,
    overrides: Outcome<Vec<(HeaderName, HeaderValue)>>,
}

/// What is shown of it besides.
#[derive(Clone, Copy)]
struct Shown {
    checksum: bool,
    parts_count: bool,
}

impl Wish {
    fn parse(request: &Request) -> Outcome<Self> {
        let subject = Subject::parse(request)?;
        metadata::refuse_unsupported(&request.headers)?;
        refuse_on_reads(&request.headers)?;
        metadata::refuse_lists(&request.headers)?;
        let mode = request.header("x-amz-checksum-mode");
        let shown = Shown {
            checksum: mode.is_some_and(|mode| mode.eq_ignore_ascii_case("enabled")),
            parts_count: request.query.has("partNumber"),
        };
        Ok(Self {
            subject,
            preconditions: Preconditions::read(&request.headers, ""),
            part: part_number(request)?,
            range: request.header("range").map(str::to_owned),
            if_range: request.header("if-range").map(str::to_owned),
            customer: customer(&request.headers)?,
            shown,
            overrides: overrides(request),
        })
    }

    async fn look(&self, desk: &Desk) -> Outcome<Found> {
        let located = self.subject.find(desk).await.map_err(|failure| {
            let missing = matches!(failure.code, Code::NoSuchKey | Code::NoSuchVersion);
            if missing { failure.with("Key", &self.subject.key) } else { failure }
        })?;
        let object = &located.object;
        let encryption = object.attributes.encryption.as_deref();
        encryption::check(encryption, self.name(), self.customer.as_ref())?;
        self.check_preconditions(object)?;
        let part = self.part.map(|number| part_at(object, number)).transpose()?;
        let wanted = self.wanted(object, part)?;
        let overrides = self.overrides.clone()?;
        if !overrides.is_empty() && desk.gate.principal.access_key().is_none() {
            let message =
                "Request specific response headers cannot be used for anonymous GET requests.";
            return Err(Failure::new(Code::InvalidRequest, message));
        }
        let customer_md5 = self.customer.as_ref().map(|customer| customer.md5.clone());
        let (shown, is_latest) = (self.shown, self.subject.version.is_none());
        let pieces = None;
        Ok(Found { located, wanted, part, shown, is_latest, overrides, customer_md5, pieces })
    }

    /// Names of bucket and key.
    fn name(&self) -> (&str, &str) {
        (&self.subject.bucket, &self.subject.key)
    }

    fn check_preconditions(&self, object: &Object) -> Outcome<()> {
        let etag = &object.attributes.etag;
        match self.preconditions.judge(etag, object.modified_ms) {
            Judgement::Holds => Ok(()),
            Judgement::Fails => Err(failed("If-Match")),
            Judgement::NotModified => Err(Failure::from(Code::NotModified)
                .header(header::ETAG, &format!("\"{etag}\""))
                .header(header::LAST_MODIFIED, &crate::date::http(object.modified_ms))),
        }
    }

    fn wanted(&self, object: &Object, part: Option<usize>) -> Outcome<Wanted> {
        let range = self.range.as_deref();
        if part.is_some() && range.is_some() {
            return Err(Failure::new(
                Code::InvalidRequest,
                "Cannot specify both Range header and partNumber query parameter",
            ));
        }
        let (etag, modified_ms) = (&object.attributes.etag, object.modified_ms);
        let if_range = self.if_range.as_deref();
        let range = range.filter(|_| range::still_applies(if_range, etag, modified_ms));
        match (part, range) {
            (Some(part), _) => Ok(Wanted::Part(part_span(object, part))),
            (None, Some(range)) => range::wanted(range, object.len),
            (None, None) => Ok(Wanted::Whole),
        }
    }
}

/// An object, and what of it is answered with.
pub(super) struct Found {
    located: Arc<Located>,
    wanted: Wanted,
    part: Option<usize>,
    shown: Shown,
    /// Whether it is what its key stands for; a version that was asked for may not be.
    is_latest: bool,
    overrides: Vec<(HeaderName, HeaderValue)>,
    /// The digest of the client's key, if it gave one.
    customer_md5: Option<String>,
    /// The bytes, where they are wanted and there are any.
    pieces: Option<Pieces>,
}

impl Found {
    fn span(&self) -> Range<u64> {
        match &self.wanted {
            Wanted::Whole => 0..self.located.object.len,
            Wanted::Part(span) => span.clone(),
        }
    }

    fn render(self) -> Reply {
        let object = &self.located.object;
        let mut reply = Reply::empty(StatusCode::OK);
        metadata::show(object, &mut reply.headers);
        reply = show_version(reply, self.located.version);
        let encryption = object.attributes.encryption.as_deref();
        reply = encryption::show(reply, encryption, self.customer_md5.as_deref());
        if self.shown.checksum {
            reply = show_checksum(reply, object, self.part, self.wanted == Wanted::Whole);
        }
        for (name, value) in &self.overrides {
            reply.headers.insert(name, value.clone());
        }
        if self.shown.parts_count && !object.attributes.parts.is_empty() {
            reply.headers.insert("x-amz-mp-parts-count", object.attributes.parts.len().into());
        }
        let span = self.span();
        if self.wanted != Wanted::Whole {
            reply.status = StatusCode::PARTIAL_CONTENT;
            if !span.is_empty() {
                let text = format!("bytes {}-{}/{}", span.start, span.end - 1, object.len);
                reply = reply.with("content-range", &text);
            }
        }
        let left = span.end - span.start;
        if let Some(pieces) = self.pieces {
            reply.body = Outgoing::Stream { pieces, left };
        }
        reply.headers.insert(header::CONTENT_LENGTH, left.into());
        reply
    }
}

impl OfObject for Found {
    fn facts(&self) -> Option<Facts> {
        self.is_latest.then(|| Facts::of(&self.located.object))
    }
}

/// An object with its bytes.
pub(super) struct Get(Wish);

impl Operate for Get {
    type Done = Found;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Wish::parse(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<Found> {
        let mut looks = 0;
        loop {
            looks += 1;
            let mut found = self.0.look(desk).await?;
            let span = found.span();
            if span.is_empty() {
                return Ok(found);
            }
            let encryption = found.located.object.attributes.encryption.as_deref();
            let (name, customer) = (self.0.name(), self.0.customer.as_ref());
            let key = encryption::open(encryption, name, customer, &desk.settings).await?;
            let cover = Cover::new(&found.located.object, &span, key.as_ref());
            let (needed, within) = needed(&found.located, &cover.stored);
            let held = desk.allowances.extents_of(&needed.object).await?;
            match desk.store.read(needed, within).await {
                Ok(pieces) => {
                    let pieces = pieces.inspect(move |_| {
                        let _until_the_last = &held;
                    });
                    found.pieces = Some(cover.pieces(pieces).await?);
                    return Ok(found);
                }
                Err(StoreError::Catalog(CatalogError::Refused(Refusal::StripeGone { .. })))
                    if looks < LOOKS_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn render(found: Found, _: &FrontSettings) -> Reply {
        found.render()
    }
}

/// What is known of an object.
pub(super) struct Head(Wish);

impl Operate for Head {
    type Done = Found;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Wish::parse(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<Found> {
        self.0.look(desk).await
    }

    fn render(found: Found, _: &FrontSettings) -> Reply {
        found.render()
    }
}

/// The headers that the query replaces.
fn overrides(request: &Request) -> Outcome<Vec<(HeaderName, HeaderValue)>> {
    let given = OVERRIDES.into_iter().filter_map(|(parameter, name)| {
        let value = request.query.get(parameter)?;
        let value = HeaderValue::from_bytes(value.as_bytes());
        let invalid = |_| Failure::argument("Invalid header value", parameter, "");
        Some(value.map(|value| (name, value)).map_err(invalid))
    });
    given.collect()
}

/// What it takes to read these bytes, and where they are in that.
fn needed(located: &Arc<Located>, span: &Range<u64>) -> (Arc<Located>, Range<u64>) {
    if located.object.extents.len() <= FEW_EXTENTS {
        return (located.clone(), span.clone());
    }
    let (needed, within) = narrowed(located, span);
    (Arc::new(needed), within)
}

/// With the checksum of just the bytes that go with it, where that is known.
fn show_checksum(reply: Reply, object: &Object, part: Option<usize>, whole: bool) -> Reply {
    let Attributes { checksum: Some(checksum), parts, .. } = &object.attributes else {
        return reply;
    };
    let value = match part {
        // Of the others S3 has the whole's alone.
        Some(at) if !parts.is_empty() => {
            let value = parts[at].checksum.as_ref().filter(|_| checksum.composite);
            value.map(|value| digest::base64(value))
        }
        Some(_) => Some(digest::shown(checksum, parts.len())),
        None if whole => Some(digest::shown(checksum, parts.len())),
        None => None,
    };
    let Some(value) = value else { return reply };
    reply
        .with(digest::header(checksum.algorithm), &value)
        .with("x-amz-checksum-type", digest::kind(checksum.composite))
}

/// The bytes of a part; an object without parts is its own first part.
fn part_span(object: &Object, at: usize) -> Range<u64> {
    let parts = &object.attributes.parts;
    let Some(part) = parts.get(at) else { return 0..object.len };
    let start = parts[..at].iter().map(|part| part.len).sum::<u64>();
    start..start + part.len
}

/// The number that `partNumber` asks for.
fn part_number(request: &Request) -> Outcome<Option<u32>> {
    let Some(text) = request.query.filled("partNumber") else { return Ok(None) };
    let number = text.parse::<u32>().ok().filter(|number| (1..=10_000).contains(number));
    number.map(Some).ok_or_else(|| {
        let message = "Part number must be an integer between 1 and 10000, inclusive";
        Failure::argument(message, "partNumber", text)
    })
}

/// Where the part of a number is, counted from zero.
fn part_at(object: &Object, number: u32) -> Outcome<usize> {
    let parts = &object.attributes.parts;
    if parts.is_empty() && number == 1 {
        return Ok(0);
    }
    let at = parts.iter().position(|part| u32::from(part.number) == number);
    at.ok_or_else(|| {
        Failure::from(Code::InvalidPartNumber)
            .with("ActualPartCount", parts.len().max(1).to_string())
            .with("PartNumberRequested", number.to_string())
    })
}
