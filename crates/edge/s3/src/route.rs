//! How a request finds its row in the table of operations.

#[cfg(test)]
mod tests;

use crate::{
    error::{Code, Failure, Outcome},
    op::{Level, ROWS, Row, bucket_setting},
    uri::{Query, Target},
};
use http::{HeaderMap, Method};

/// Sub-resources of objects that S3 has and this face has not.
const OBJECT_SETTINGS_ABSENT: [&str; 6] =
    ["legal-hold", "retention", "restore", "select", "torrent", "encryption"];

/// Refuses what no row is for and a row would be found for.
fn refuse(method: &Method, level: Level, query: &Query) -> Outcome<()> {
    let is = |name: &Method| method == name;
    match level {
        Level::Bucket if is(&Method::PUT) && !query.has("acl") => {
            let setting = bucket_setting(query);
            setting.map_or(Ok(()), |_| Err(Code::NotImplemented.into()))
        }
        Level::Object if OBJECT_SETTINGS_ABSENT.iter().any(|name| query.has(name)) => {
            Err(Code::NotImplemented.into())
        }
        Level::Object if is(&Method::PUT) => {
            let other = ["uploadId", "tagging", "acl"].iter().any(|name| query.has(name));
            let Some(number) = query.get("partNumber").filter(|_| !other) else { return Ok(()) };
            let message = "This operation does not accept partNumber without uploadId";
            Err(Failure::argument(message, "partNumber", number))
        }
        Level::Service | Level::Bucket | Level::Object | Level::BucketOrObject => Ok(()),
    }
}

/// What is answered where there is no row.
fn nothing_for(method: &Method, level: Level) -> Code {
    match (level, method) {
        (Level::Bucket, &Method::POST) => Code::NotImplemented,
        (Level::Bucket | Level::Object, &Method::OPTIONS) => Code::AccessForbidden,
        _ => Code::MethodNotAllowed,
    }
}

/// Finds out what a request asks for: the first row that fits.
pub(crate) fn route(
    method: &Method,
    target: &Target,
    query: &Query,
    headers: &HeaderMap,
) -> Outcome<&'static Row> {
    let level = Level::of(target);
    refuse(method, level, query)?;
    let fits = |row: &&Row| {
        row.method == method.as_str()
            && row.level.includes(level)
            && row.selectors.iter().all(|selector| selector.holds(query, headers))
    };
    ROWS.iter().find(fits).ok_or_else(|| nothing_for(method, level).into())
}
