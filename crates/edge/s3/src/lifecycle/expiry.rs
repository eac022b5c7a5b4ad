//! When objects expire, for whom they are shown to.

use crate::{date, uri};
use ripstop_catalog::{Object, Upload};
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

/// When an upload may be aborted that nobody completes, and by which rule, as headers tell it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UploadEnd {
    pub(crate) date: String,
    pub(crate) rule: String,
}

impl UploadEnd {
    pub(crate) fn of(rules: &Rules, upload: &Upload) -> Option<Self> {
        let removal = rules.upload_end(&upload.key, upload.created_ms, Day::STANDARD)?;
        // What a header cannot hold is told as in a URL.
        let is_plain = removal.rule.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        let rule = if is_plain {
            removal.rule.to_owned()
        } else {
            uri::encode(removal.rule, b"").into_owned()
        };
        Some(Self { date: date::http(removal.at_ms), rule })
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
    let rule = uri::encode(removal.rule, b"");
    Some(format!("expiry-date=\"{date}\", rule-id=\"{rule}\""))
}
