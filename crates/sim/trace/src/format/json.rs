//! Ripstop's own log: a JSON object a line, of which those of one target are the access log.

use super::{
    line::{Line, Request},
    text,
};
use crate::{BadLine, key_hash};
use ripstop_model::Operation;
use serde::Deserialize;
use std::borrow::Cow;

/// The access log's target.
const ACCESS: &str = "ripstop_s3::access";

/// What counts here of an entry.
#[derive(Deserialize)]
struct Entry<'a> {
    /// When its answer had ended.
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    operation: Cow<'a, str>,
    status: u16,
    received: u64,
    sent: u64,
    #[serde(default)]
    broken: bool,
    duration_us: u64,
    #[serde(borrow)]
    path: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tenant: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Target<'a> {
    #[serde(borrow)]
    target: Cow<'a, str>,
}

/// Reads a line. The time is that of arrival: the entry's own less how long the request took. Bytes
/// of a write include the framing of a body that came in signed chunks.
pub(super) fn parse(line: &str) -> Result<Line<'_>, BadLine> {
    // Others put what they like into fields of the same names, so the target comes first.
    let target: Target<'_> = serde_json::from_str(line).map_err(|error| wrong(&error))?;
    if target.target != ACCESS {
        return Ok(Line::Ignored);
    }
    let entry: Entry<'_> = serde_json::from_str(line).map_err(|error| wrong(&error))?;
    let operation = match &*entry.operation {
        "GetObject" => Operation::Read,
        "PutObject" | "UploadPart" => Operation::Write,
        _ => return Ok(Line::Ignored),
    };
    match entry.status {
        200..300 if !entry.broken => {}
        200..300 | 400.. => return Ok(Line::Failed),
        _ => return Ok(Line::Ignored),
    }
    let ended = text::rfc3339("timestamp", &entry.timestamp)?;
    let took = entry.duration_us.checked_mul(1000);
    let time_ns = took.and_then(|took| ended.checked_sub(took)).ok_or_else(|| {
        BadLine::field("duration_us", &entry.duration_us.to_string(), "a time since 1970")
    })?;
    Ok(Line::Request(Request {
        time_ns,
        operation,
        bytes: match operation {
            Operation::Read => entry.sent,
            Operation::Write => entry.received,
        },
        key: entry.path.map(|path| key_hash(&[path.as_bytes()])),
        tenant: entry.tenant,
    }))
}

fn wrong(error: &serde_json::Error) -> BadLine {
    // The parser counts lines as well, and sees only one.
    let problem = error.to_string().replace(" at line 1 column ", " at column ");
    BadLine::Json { problem }
}
