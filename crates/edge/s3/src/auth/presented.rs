use crate::by_name::ByName as _;
use crate::uri::Query;
use http::{HeaderMap, Method};

/// Goes with temporary keys.
pub(super) const TOKEN: &str = "x-amz-security-token";

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

impl<'a> Presented<'a> {
    /// The token of a temporary key, in a header or in the query. One that is no text is none that
    /// was made here.
    pub(super) fn token(&self) -> Option<&'a str> {
        let header = self.headers.named(TOKEN).map(|token| token.to_str().unwrap_or("?"));
        header.filter(|token| !token.is_empty()).or_else(|| {
            let mut pairs = self.query.pairs().iter();
            let found =
                pairs.find(|(name, token)| name.eq_ignore_ascii_case(TOKEN) && !token.is_empty());
            found.map(|(_, token)| token.as_str())
        })
    }
}
