//! When objects expire, for whom they are shown to.

use crate::date;
use ripstop_catalog::Object;
use ripstop_lifecycle::{Day, Rules, Standing, View};

/// What of an object decides when it expires.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    len: u64,
    modified_ms: u64,
    tags: Vec<(String, String)>,
}

impl Facts {
    pub(crate) fn of(object: &Object) -> Self {
        let Object { len, modified_ms, attributes, .. } = object;
        Self { len: *len, modified_ms: *modified_ms, tags: attributes.tags.clone() }
    }

    /// The object's length in bytes.
    pub(crate) const fn len(&self) -> u64 {
        self.len
    }
}

/// What the header says of an object, if a rule makes it expire.
pub(crate) fn expiry(rules: &Rules, key: &str, facts: &Facts) -> Option<String> {
    let Facts { len, modified_ms, ref tags } = *facts;
    let standing = Standing::Latest;
    let view = View { key, len, tags: Some(tags), modified_ms, standing };
    let removal = rules.removal(&view, Day::STANDARD)?;
    let date = date::http(removal.at_ms);
    // As in a URL, so that any name can be told.
    let rule = crate::uri::encode(removal.rule, b"");
    Some(format!("expiry-date=\"{date}\", rule-id=\"{rule}\""))
}
