//! Classes of storage, as headers and documents name them.

use crate::by_name::ByName as _;
use crate::error::{Code, Failure, Outcome};
use http::HeaderMap;

/// The header that names one.
pub(crate) const HEADER: &str = "x-amz-storage-class";
/// The class of what is in its bucket's own pool.
pub(crate) const STANDARD: &str = "STANDARD";

/// The class that a write asks for, as it is recorded: empty for the standard one.
pub(crate) fn asked(headers: &HeaderMap, classes: &[String]) -> Outcome<String> {
    let Some(value) = headers.named(HEADER) else { return Ok(String::new()) };
    match value.to_str() {
        Ok("" | STANDARD) => Ok(String::new()),
        Ok(text) if classes.iter().any(|class| class == text) => Ok(text.to_owned()),
        Ok(text) => Err(invalid(text)),
        Err(_) => Err(invalid("")),
    }
}

/// That there is no class of this name.
pub(crate) fn invalid(class: &str) -> Failure {
    Failure::from(Code::InvalidStorageClass).with("StorageClassRequested", class)
}

/// The name of a class that is recorded.
pub(crate) fn shown(class: &str) -> &str {
    if class.is_empty() { STANDARD } else { class }
}
