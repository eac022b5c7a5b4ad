//! Conditions of reads and writes: entity tags and dates.

use crate::{
    by_name::ByName as _,
    date,
    error::{Code, Failure, Outcome},
};
use http::HeaderMap;
use ripstop_catalog::{Condition, Object};

/// The preconditions of a read, or those on the source of a copy.
#[derive(Debug, Default)]
pub(crate) struct Preconditions {
    matches: Option<String>,
    none_match: Option<String>,
    modified_since_s: Option<i64>,
    unmodified_since_s: Option<i64>,
}

/// What preconditions say of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judgement {
    /// Go on.
    Holds,
    /// The reader has it already.
    NotModified,
    /// Stop.
    Fails,
}

impl Preconditions {
    /// Reads the four headers, whose names all begin with `prefix` (empty for a read). Dates that
    /// cannot be read are as if they were not there, which is what HTTP wants.
    pub(crate) fn read(headers: &HeaderMap, prefix: &str) -> Self {
        let text = |name: &str| {
            let is_it = |is: &str| is.strip_prefix(prefix) == Some(name);
            let (_, value) = headers.iter().find(|(is, _)| is_it(is.as_str()))?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Self {
            matches: text("if-match"),
            none_match: text("if-none-match"),
            modified_since_s: text("if-modified-since").and_then(|date| date::parse_http(&date)),
            unmodified_since_s: text("if-unmodified-since")
                .and_then(|date| date::parse_http(&date)),
        }
    }

    /// Judges an object, tags before dates (RFC 9110, 13.2.2).
    pub(crate) fn judge(&self, etag: &str, modified_ms: u64) -> Judgement {
        let modified_s = (modified_ms / 1000).cast_signed();
        let fails = match (&self.matches, self.unmodified_since_s) {
            (Some(tags), _) => !tag_is_in(etag, tags),
            (None, Some(date_s)) => modified_s > date_s,
            (None, None) => false,
        };
        if fails {
            return Judgement::Fails;
        }
        let known = match (&self.none_match, self.modified_since_s) {
            (Some(tags), _) => tag_is_in(etag, tags),
            (None, Some(date_s)) => modified_s <= date_s,
            (None, None) => false,
        };
        if known { Judgement::NotModified } else { Judgement::Holds }
    }
}

/// A tag without quotation marks and without its mark of weakness.
pub(crate) fn bare_tag(tag: &str) -> &str {
    let tag = tag.trim();
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag)
}

fn tag_is_in(etag: &str, tags: &str) -> bool {
    tags.split(',').map(bare_tag).any(|tag| tag == "*" || tag == etag)
}

/// What a write demands of the key's present object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Something that the catalog checks by itself.
    Plain(Condition),
    /// That its tag be none of these: it must be looked at first.
    NoneOf(String),
}

/// Reads `if-match` and `if-none-match` of a write.
pub(crate) fn demand(headers: &HeaderMap) -> Outcome<Demand> {
    let text = |name: &str| {
        headers.named(name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
    };
    match (text("if-match"), text("if-none-match")) {
        (Some(_), Some(_)) => Err(Code::NotImplemented.into()),
        (Some(tag), None) => Ok(Demand::Plain(match bare_tag(&tag) {
            "*" => Condition::Present,
            tag => Condition::Etag(tag.to_owned()),
        })),
        (None, Some(tags)) if bare_tag(&tags) == "*" => Ok(Demand::Plain(Condition::Absent)),
        (None, Some(tags)) => Ok(Demand::NoneOf(tags)),
        (None, None) => Ok(Demand::Plain(Condition::None)),
    }
}

/// The catalog's condition for `if-none-match` with tags, given the present object.
pub(crate) fn none_of(tags: &str, present: Option<&Object>) -> Outcome<Condition> {
    match present {
        None => Ok(Condition::Absent),
        Some(object) if tag_is_in(&object.attributes.etag, tags) => Err(failed("If-None-Match")),
        Some(object) => Ok(Condition::Latest(object.told_by)),
    }
}

/// `PreconditionFailed`, naming the header.
pub(crate) fn failed(header: &'static str) -> Failure {
    Failure::from(Code::PreconditionFailed).with("Condition", header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Judgement::{Fails, Holds, NotModified};

    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn tags_go_before_dates() {
        let cases: [(&[(&'static str, &str)], Judgement); 17] = [
            (&[], Holds),
            (&[("if-match", "\"abc\"")], Holds),
            (&[("if-match", "abc")], Holds),
            (&[("if-match", "*")], Holds),
            (&[("if-match", "\"x\", \"abc\"")], Holds),
            (&[("if-match", "\"x\"")], Fails),
            (&[("if-none-match", "\"abc\"")], NotModified),
            (&[("if-none-match", "W/\"abc\"")], NotModified),
            (&[("if-none-match", "*")], NotModified),
            (&[("if-none-match", "\"x\"")], Holds),
            (&[("if-modified-since", BEFORE)], Holds),
            (&[("if-modified-since", SAME)], NotModified),
            (&[("if-unmodified-since", SAME)], Holds),
            (&[("if-unmodified-since", BEFORE)], Fails),
            (&[("if-match", "abc"), ("if-unmodified-since", BEFORE)], Holds),
            (&[("if-none-match", "abc"), ("if-modified-since", BEFORE)], NotModified),
            (&[("if-none-match", "x"), ("if-modified-since", AFTER)], Holds),
        ];
        for (pairs, expected) in cases {
            let read = Preconditions::read(&headers(pairs), "");
            assert_eq!(read.judge("abc", 784_111_777_500), expected, "{pairs:?}");
        }
        let unread = Preconditions::read(&headers(&[("if-unmodified-since", "soon")]), "");
        assert_eq!(unread.judge("abc", 0), Holds);
    }

    #[test]
    fn writes_demand_presence_absence_or_a_tag() {
        let cases: [(&[(&'static str, &str)], Demand); 5] = [
            (&[], Demand::Plain(Condition::None)),
            (&[("if-none-match", "*")], Demand::Plain(Condition::Absent)),
            (&[("if-match", "*")], Demand::Plain(Condition::Present)),
            (&[("if-match", "\"abc\"")], Demand::Plain(Condition::Etag("abc".to_owned()))),
            (&[("if-none-match", "\"abc\"")], Demand::NoneOf("\"abc\"".to_owned())),
        ];
        for (pairs, expected) in cases {
            assert_eq!(demand(&headers(pairs)).unwrap(), expected);
        }
        assert!(demand(&headers(&[("if-match", "a"), ("if-none-match", "b")])).is_err());
    }
}
