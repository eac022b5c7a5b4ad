//! How a request finds its row in the table of operations.

#[cfg(test)]
mod tests;

use crate::{
    error::{Code, Outcome},
    op::{ENTRIES, Entry, Level, Row},
    uri::{Query, Target},
};
use http::{HeaderMap, Method};

/// Finds out what a request asks for: the first row that fits.
pub(crate) fn route(
    method: &Method,
    target: &Target,
    query: &Query,
    headers: &HeaderMap,
) -> Outcome<&'static Row> {
    let level = Level::of(target);
    let fits = |entry: &&Entry| entry.when().holds(method, level, query, headers);
    match ENTRIES.iter().find(fits) {
        Some(Entry::Is(row)) => Ok(row),
        Some(Entry::Refused { answer, .. }) => Err(answer(query)),
        None => Err(Code::MethodNotAllowed.into()),
    }
}
