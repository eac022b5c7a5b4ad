//! Tags: their rules, their document, their header.

use crate::{
    error::{Code, Failure, Outcome},
    uri,
    xml::{Element, Malformed, Node},
};

/// What tags are of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bearer {
    /// Most tags that it may have.
    max: usize,
    /// What a client is told that gives more.
    too_many: (Code, &'static str),
}

/// Tags of an object.
pub(crate) const OBJECT: Bearer =
    Bearer { max: 10, too_many: (Code::BadRequest, "Object tags cannot be greater than 10") };
/// Tags of a bucket.
pub(crate) const BUCKET: Bearer =
    Bearer { max: 50, too_many: (Code::BadRequest, "Bucket tag count cannot be greater than 50") };
const KEY_LEN_MAX: usize = 128;
const VALUE_LEN_MAX: usize = 256;

/// Tags in the order they were given.
pub(crate) type Tags = Vec<(String, String)>;

fn invalid(message: &'static str) -> Failure {
    Failure::new(Code::InvalidTag, message)
}

fn check(tags: Tags, bearer: Bearer) -> Outcome<Tags> {
    if tags.len() > bearer.max {
        let (code, message) = bearer.too_many;
        return Err(Failure::new(code, message));
    }
    for (at, (key, value)) in tags.iter().enumerate() {
        if key.is_empty() || key.chars().count() > KEY_LEN_MAX || !allowed(key) {
            return Err(invalid("The TagKey you have provided is invalid").with("TagKey", key));
        }
        if value.chars().count() > VALUE_LEN_MAX || !allowed(value) {
            let failure = invalid("The TagValue you have provided is invalid");
            return Err(failure.with("TagKey", key).with("TagValue", value));
        }
        if key.to_ascii_lowercase().starts_with("aws:") {
            return Err(invalid("System tags cannot be added/updated by requester"));
        }
        if tags[..at].iter().any(|(earlier, _)| earlier == key) {
            return Err(invalid("Cannot provide multiple Tags with the same key"));
        }
    }
    Ok(tags)
}

fn allowed(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_alphanumeric() || c.is_whitespace() && !c.is_control() || "+-=._:/@".contains(c)
    })
}

/// Reads `x-amz-tagging`: pairs as in a query string.
pub(crate) fn from_header(text: &str) -> Outcome<Tags> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(OBJECT.max + 1).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((uri::decode(key, true)?, uri::decode(value, true)?))
    });
    let tags: Option<Tags> = pairs.collect();
    let well_formed = tags.filter(|tags| {
        let again = |(at, (key, _)): (usize, &(String, String))| {
            key.is_empty() || tags[..at].iter().any(|(earlier, _)| earlier == key)
        };
        !tags.iter().enumerate().any(again)
    });
    let tags = well_formed.ok_or_else(|| {
        let message = "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL \
                       query parameters without tag name duplicates.";
        Failure::argument(message, "x-amz-tagging", text)
    })?;
    check(tags, OBJECT)
}

/// Reads a `Tagging` document's root.
pub(crate) fn from_root(root: &Node<'_>, bearer: Bearer) -> Outcome<Tags> {
    let set = root.named("Tagging")?.child("TagSet")?.ok_or(Malformed)?;
    from_set(set, bearer)
}

/// Reads the `Tag`s of an element.
pub(crate) fn from_set(set: &Node<'_>, bearer: Bearer) -> Outcome<Tags> {
    let text = |tag: &Node<'_>, name| Ok(tag.text_of(name)?.ok_or(Malformed)?.to_owned());
    let pair = |tag| Ok((text(tag, "Key")?, text(tag, "Value")?));
    let tags = set.all("Tag").take(bearer.max + 1).map(pair).collect::<Result<_, Malformed>>();
    check(tags?, bearer)
}

/// Writes a `Tagging` document: by key, as S3 lists tags.
pub(crate) fn document(mut tags: Tags) -> String {
    tags.sort_unstable();
    let mut root = Element::in_namespace("Tagging");
    root.child("TagSet", |set| {
        for (key, value) in &tags {
            set.child("Tag", |tag| {
                tag.text("Key", key).text("Value", value);
            });
        }
    });
    root.document()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Limits, parse};

    fn from_document(document: &[u8]) -> Outcome<Tags> {
        let limits = Limits { bytes: 1 << 20, depth: 8, elements: 1000 };
        from_root(&parse(document, limits)?, OBJECT)
    }

    #[test]
    fn tags_go_through_header_and_document_unchanged() {
        let tags = from_header("a=1&b%20c=%C3%A9+x&empty").unwrap();
        let expected = [("a", "1"), ("b c", "é x"), ("empty", "")];
        assert_eq!(tags, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(from_document(document(tags.clone()).as_bytes()).unwrap(), tags);
        let (sorted, mut turned) = (tags.clone(), tags);
        turned.reverse();
        assert_eq!(document(turned), document(sorted));
    }

    #[test]
    fn tags_follow_the_rules() {
        let eleven: Vec<_> = (0..11).map(|i| format!("k{i}=v")).collect();
        assert_eq!(from_header(&eleven.join("&")).unwrap_err().code, Code::BadRequest);
        for bad in [
            format!("{}=v", "k".repeat(129)),
            format!("k={}", "v".repeat(257)),
            "aws:x=1".to_owned(),
            "k=%3C".to_owned(),
        ] {
            assert_eq!(from_header(&bad).unwrap_err().code, Code::InvalidTag, "{bad}");
        }
        for bad in ["a=%zz", "=v", "=", "a=1&a=2"] {
            assert_eq!(from_header(bad).unwrap_err().code, Code::InvalidArgument, "{bad}");
        }
        assert_eq!(from_header("&&").unwrap(), Tags::new());
        let twice = "<Tag><Key>a</Key><Value>1</Value></Tag>".repeat(2);
        let twice = format!("<Tagging><TagSet>{twice}</TagSet></Tagging>");
        assert_eq!(from_document(twice.as_bytes()).unwrap_err().code, Code::InvalidTag);
        for bad in [
            "<Tagging/>",
            "<TagSet/>",
            "<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>",
        ] {
            assert_eq!(
                from_document(bad.as_bytes()).unwrap_err().code,
                Code::MalformedXml,
                "{bad}"
            );
        }
    }
}
