//! How a request finds its row in the table of operations.

#[cfg(test)]
mod tests;

use crate::{
    by_name::ByName as _,
    error::{Code, Failure, Outcome},
    op::{COPY_SOURCE, ENTRIES, Entry, Level, Row},
    uri::{Query, Target},
};
use http::{HeaderMap, Method};

/// Refuses a source where nothing is copied: whoever names one means another request.
fn refuse_source(method: &Method, query: &Query, headers: &HeaderMap) -> Outcome<()> {
    let Some(source) = headers.named(COPY_SOURCE) else { return Ok(()) };
    let is_of_upload = *method == Method::POST && query.has("uploadId");
    if is_of_upload || [Method::GET, Method::HEAD, Method::DELETE].contains(method) {
        let message = "You can only specify a copy source header for copy requests.";
        let source = source.to_str().unwrap_or_default();
        return Err(Failure::argument(message, COPY_SOURCE, source));
    }
    Ok(())
}

/// Finds out what a request asks for: the first row that fits.
pub(crate) fn route(
    method: &Method,
    target: &Target,
    query: &Query,
    headers: &HeaderMap,
) -> Outcome<&'static Row> {
    refuse_source(method, query, headers)?;
    let level = Level::of(target);
    let fits = |entry: &&Entry| entry.when().holds(method, level, query, headers);
    match ENTRIES.iter().find(fits) {
        Some(Entry::Is(row)) => Ok(row),
        Some(Entry::Refused { answer, .. }) => Err(answer(query)),
        None => Err(Failure::from(Code::MethodNotAllowed)
            .with("Method", method.as_str())
            .with("ResourceType", level.word())),
    }
}
