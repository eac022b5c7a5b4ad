//! Reading an object, or only what is known of it.

use super::{Outcome, Reply, Request};
use crate::{
    allowance::FEW_EXTENTS,
    body::Outgoing,
    condition::{Judgement, Preconditions, failed},
    digest,
    error::{Code, Failure},
    metadata,
    range::{self, Wanted},
};
use futures::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ripstop_catalog::{Attributes, CatalogError, Located, Object};
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

pub(super) async fn get(request: Request) -> Outcome<Reply> {
    read(request, true).await
}

pub(super) async fn head(request: Request) -> Outcome<Reply> {
    read(request, false).await
}

async fn read(request: Request, with_bytes: bool) -> Outcome<Reply> {
    request.check_version()?;
    metadata::refuse_unsupported(&request.headers)?;
    let mut looks = 0;
    let (mut reply, located, span) = loop {
        looks += 1;
        let located =
            request.store.object(&request.bucket, &request.key).await.map_err(|error| {
                let missing = matches!(error, StoreError::Catalog(CatalogError::NoSuchKey));
                let failure = Failure::from(error);
                if missing { failure.with("Key", &request.key) } else { failure }
            })?;
        let object = &located.object;
        check_preconditions(&request.headers, object)?;
        let (reply, span) = begin(&request, object)?;
        if !with_bytes || span.is_empty() {
            break (reply, located, span);
        }
        let (needed, within) = needed(&located, &span);
        let held = request.allowances.extents_of(&needed.object).await?;
        match request.store.read(needed, within).await {
            Ok(pieces) => {
                let mut reply = reply;
                let pieces = pieces.inspect(move |_| {
                    let _until_the_last = &held;
                });
                let left = span.end - span.start;
                reply.body = Outgoing::Stream { pieces: pieces.boxed(), left };
                break (reply, located, span);
            }
            Err(StoreError::Catalog(CatalogError::StripeGone { .. })) if looks < LOOKS_MAX => {}
            Err(error) => return Err(error.into()),
        }
    };
    drop(located);
    reply.headers.insert(header::CONTENT_LENGTH, (span.end - span.start).into());
    Ok(reply)
}

/// What it takes to read these bytes, and where they are in that.
fn needed(located: &Arc<Located>, span: &Range<u64>) -> (Arc<Located>, Range<u64>) {
    if located.object.extents.len() <= FEW_EXTENTS {
        return (located.clone(), span.clone());
    }
    let (needed, within) = narrowed(located, span);
    (Arc::new(needed), within)
}

fn check_preconditions(headers: &HeaderMap, object: &Object) -> Outcome<()> {
    let etag = &object.attributes.etag;
    match Preconditions::read(headers, "").judge(etag, object.modified_ms) {
        Judgement::Holds => Ok(()),
        Judgement::Fails => Err(failed("If-Match")),
        Judgement::NotModified => Err(Failure::from(Code::NotModified)
            .header(header::ETAG, &format!("\"{etag}\""))
            .header(header::LAST_MODIFIED, &crate::date::http(object.modified_ms))),
    }
}

/// The answer's head, and which bytes go with it.
fn begin(request: &Request, object: &Object) -> Outcome<(Reply, Range<u64>)> {
    let part = wanted_part(request, object)?;
    let range = request.header("range");
    if part.is_some() && range.is_some() {
        return Err(Failure::new(
            Code::InvalidRequest,
            "Cannot specify both Range header and partNumber query parameter",
        ));
    }
    let etag = &object.attributes.etag;
    let range = range.filter(|_| range::still_applies(&request.headers, etag, object.modified_ms));
    let wanted = match (part, range) {
        (Some(part), _) => Wanted::Part(part_span(object, part)),
        (None, Some(range)) => range::wanted(range, object.len)?,
        (None, None) => Wanted::Whole,
    };
    let mut reply = Reply::empty(StatusCode::OK);
    metadata::show(object, &mut reply.headers);
    let mode = request.header("x-amz-checksum-mode");
    if mode.is_some_and(|mode| mode.eq_ignore_ascii_case("enabled")) {
        reply = show_checksum(reply, object, part, wanted == Wanted::Whole);
    }
    for (parameter, name) in OVERRIDES {
        if let Some(value) = request.query.get(parameter) {
            let value = HeaderValue::from_bytes(value.as_bytes())
                .map_err(|_| Failure::argument("Invalid header value", parameter, ""))?;
            reply.headers.insert(name, value);
        }
    }
    if request.query.has("partNumber") && !object.attributes.parts.is_empty() {
        reply.headers.insert("x-amz-mp-parts-count", object.attributes.parts.len().into());
    }
    let span = match wanted {
        Wanted::Whole => 0..object.len,
        Wanted::Part(span) => {
            reply.status = StatusCode::PARTIAL_CONTENT;
            if !span.is_empty() {
                let text = format!("bytes {}-{}/{}", span.start, span.end - 1, object.len);
                reply = reply.with("content-range", &text);
            }
            span
        }
    };
    Ok((reply, span))
}

/// With the checksum of just the bytes that go with it, where that is known.
fn show_checksum(reply: Reply, object: &Object, part: Option<usize>, whole: bool) -> Reply {
    let Attributes { checksum: Some(checksum), parts, .. } = &object.attributes else {
        return reply;
    };
    let value = match part {
        Some(at) if !parts.is_empty() => {
            parts[at].checksum.as_ref().map(|value| digest::base64(value))
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

/// Which part `partNumber` asks for, counted from zero.
fn wanted_part(request: &Request, object: &Object) -> Outcome<Option<usize>> {
    let Some(text) = request.query.filled("partNumber") else { return Ok(None) };
    let number = text.parse::<u32>().ok().filter(|number| (1..=10_000).contains(number));
    let number = number.ok_or_else(|| {
        let message = "Part number must be an integer between 1 and 10000, inclusive";
        Failure::argument(message, "partNumber", text)
    })?;
    let parts = &object.attributes.parts;
    if parts.is_empty() && number == 1 {
        return Ok(Some(0));
    }
    let at = parts.iter().position(|part| u32::from(part.number) == number);
    let at = at.ok_or_else(|| {
        Failure::from(Code::InvalidPartNumber)
            .with("ActualPartCount", parts.len().max(1).to_string())
            .with("PartNumberRequested", number.to_string())
    })?;
    Ok(Some(at))
}
