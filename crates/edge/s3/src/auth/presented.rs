use crate::uri::Query;
use http::{HeaderMap, Method};

/// The request as it came, as far as signatures cover it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presented<'a> {
    pub(crate) method: &'a Method,
    /// As sent.
    pub(crate) path: &'a str,
    /// As sent, without the question mark.
    pub(crate) raw_query: &'a str,
    /// The same, decoded.
    pub(crate) query: &'a Query,
    pub(crate) headers: &'a HeaderMap,
    /// The bucket, where the host names it.
    pub(crate) host_bucket: Option<&'a str>,
}
