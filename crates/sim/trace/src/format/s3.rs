//! S3 server access logs: fields divided by blanks, the time in brackets, texts in quotation marks.
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html>

use super::{
    line::{Line, Request},
    text,
};
use crate::{BadLine, key_hash};
use ripstop_model::Operation;
use std::borrow::Cow;

/// Reads a line. Bytes are those sent for a read and the object's (or part's) size for a write; the
/// tenant is the requester.
pub(super) fn parse(line: &str) -> Result<Line<'_>, BadLine> {
    let mut rest = line;
    let _owner = token(&mut rest, "owner")?;
    let bucket = token(&mut rest, "bucket")?;
    let time = enclosed(&mut rest, "time", '[', ']')?;
    let _address = token(&mut rest, "address")?;
    let requester = token(&mut rest, "requester")?;
    let _id = token(&mut rest, "request id")?;
    let name = token(&mut rest, "operation")?;
    let Some(operation) = operation(name)? else { return Ok(Line::Ignored) };
    let key = token(&mut rest, "key")?;
    if rest.starts_with('"') {
        request_line(&mut rest)?;
    } else {
        token(&mut rest, "request line")?;
    }
    let status = token(&mut rest, "status")?;
    let _error = token(&mut rest, "error code")?;
    let sent = token(&mut rest, "bytes sent")?;
    let size = token(&mut rest, "object size")?;
    // Any field may be a dash: S3 does not know then.
    if status == "-" {
        return Ok(Line::Ignored);
    }
    match text::whole("status", status)? {
        200..300 => {}
        400.. => return Ok(Line::Failed),
        _ => return Ok(Line::Ignored),
    }
    let bytes = match operation {
        Operation::Read => bytes("bytes sent", sent)?,
        Operation::Write => bytes("object size", size)?,
    };
    Ok(Line::Request(Request {
        time_ns: text::common_log("time", time)?,
        operation,
        bytes,
        key: Some(key_hash(&[bucket.as_bytes(), key.as_bytes()])),
        tenant: (requester != "-").then_some(Cow::Borrowed(requester)),
    }))
}

/// Which way an operation moves bytes of an object, if it does.
fn operation(name: &str) -> Result<Option<Operation>, BadLine> {
    match name {
        "REST.GET.OBJECT" | "WEBSITE.GET.OBJECT" | "SOAP.GET.OBJECT" => Ok(Some(Operation::Read)),
        "REST.PUT.OBJECT" | "REST.PUT.PART" | "REST.POST.OBJECT" | "SOAP.PUT.OBJECT" => {
            Ok(Some(Operation::Write))
        }
        _ if name.contains('.') => Ok(None),
        _ => Err(BadLine::field("operation", name, "one of S3's, such as REST.GET.OBJECT")),
    }
}

/// Passes over the request line. A quotation mark in it is not escaped, and blanks may follow: its
/// end is where a status does.
fn request_line(rest: &mut &str) -> Result<(), BadLine> {
    let is_status = |text: &&str| {
        let status = text.split(' ').next().unwrap_or_default();
        status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut ends = rest.match_indices("\" ").map(|(at, end)| &rest[at + end.len()..]);
    let first = ends.next().ok_or(BadLine::Quote)?;
    let is_end = first.starts_with('-') || is_status(&first);
    *rest = if is_end { first } else { ends.find(is_status).unwrap_or(first) };
    Ok(())
}

/// None is written as a dash.
fn bytes(field: &'static str, text: &str) -> Result<u64, BadLine> {
    if text == "-" { Ok(0) } else { text::whole(field, text) }
}

fn token<'a>(rest: &mut &'a str, field: &'static str) -> Result<&'a str, BadLine> {
    let (token, after) = rest.split_once(' ').unwrap_or((rest, ""));
    if token.is_empty() {
        return Err(BadLine::Missing { field });
    }
    *rest = after;
    Ok(token)
}

fn enclosed<'a>(
    rest: &mut &'a str,
    field: &'static str,
    open: char,
    close: char,
) -> Result<&'a str, BadLine> {
    let inner = rest.strip_prefix(open).ok_or(BadLine::Missing { field })?;
    // A quotation mark inside a text is not escaped: only one before a blank is its end.
    let mut ends = inner.match_indices(close).map(|(at, _)| at);
    let end = ends.find(|at| matches!(inner.as_bytes().get(at + 1), Some(b' ') | None));
    let end = end.ok_or(BadLine::Quote)?;
    *rest = inner.get(end + 2..).unwrap_or_default();
    Ok(&inner[..end])
}
