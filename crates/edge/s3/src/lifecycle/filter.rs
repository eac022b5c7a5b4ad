//! Which objects a rule is about.

use crate::{
    error::{Code, Failure, Outcome},
    tagging,
    xml::{Malformed, Node},
};
use ripstop_lifecycle::Filter;

/// Longest prefix, in bytes: that of a key.
const PREFIX_LEN_MAX: usize = 1024;
/// Below what no object that there can be is shorter, in bytes: S3's largest.
const LEN_MAX: u64 = 50 << 40;

const LONGER: &str = "ObjectSizeGreaterThan";
const SHORTER: &str = "ObjectSizeLessThan";

/// What a rule's `Filter` says, or its `Prefix` in the way of old.
pub(super) fn of_rule(rule: &Node<'_>) -> Outcome<Filter> {
    match (rule.text_of("Prefix")?, rule.child("Filter")?) {
        (Some(prefix), None) => Ok(Filter { prefix: checked(prefix)?, ..Filter::default() }),
        (None, Some(filter)) => read(filter),
        (Some(_), Some(_)) | (None, None) => Err(Malformed.into()),
    }
}

fn read(node: &Node<'_>) -> Outcome<Filter> {
    node.only(&["Prefix", "Tag", LONGER, SHORTER, "And"])?;
    // Beside another element, a prefix that says nothing is let pass: some clients send it.
    let says_nothing = |child: &&Node<'_>| child.name == "Prefix" && child.text.is_empty();
    let saying = node.children.iter().filter(|child| !says_nothing(child));
    if saying.count() > 1 {
        return Err(Malformed.into());
    }
    match node.child("And")? {
        Some(and) => {
            and.only(&["Prefix", "Tag", LONGER, SHORTER])?;
            if and.children.is_empty() { Err(Malformed.into()) } else { all_of(and) }
        }
        None => all_of(node),
    }
}

fn all_of(node: &Node<'_>) -> Outcome<Filter> {
    let prefix = checked(node.text_of("Prefix")?.unwrap_or_default())?;
    let tags = tagging::from_set(node, tagging::OBJECT).map_err(duplicates)?;
    let (longer_than, shorter_than) = (len(node, LONGER)?, len(node, SHORTER)?);
    if let (Some(least), Some(most)) = (longer_than, shorter_than)
        && most <= least.saturating_add(1)
    {
        let message =
            "'ObjectSizeLessThan' must be greater than 'ObjectSizeGreaterThan' by more than 1";
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    if shorter_than == Some(0) {
        let message = "'ObjectSizeLessThan' must be a positive integer";
        return Err(Failure::argument(message, SHORTER, "0"));
    }
    Ok(Filter { prefix, tags, longer_than, shorter_than })
}

fn checked(prefix: &str) -> Outcome<String> {
    if prefix.len() > PREFIX_LEN_MAX {
        let message = "The maximum size of a prefix is 1024";
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    Ok(prefix.to_owned())
}

/// Of tags in a rule S3 says in other words that there are two of one name.
fn duplicates(failure: Failure) -> Failure {
    if failure.message.contains("same key") {
        return Failure::new(Code::InvalidRequest, "Duplicate Tag Keys are not allowed.");
    }
    failure
}

fn len(node: &Node<'_>, name: &'static str) -> Outcome<Option<u64>> {
    let Some(text) = node.text_of(name)? else { return Ok(None) };
    let len: i64 = text.trim().parse().map_err(|_| Malformed)?;
    let len = u64::try_from(len).ok().filter(|len| *len <= LEN_MAX);
    let message = || format!("'{name}' must be an integer between 0 and {LEN_MAX}");
    len.map(Some).ok_or_else(|| Failure::argument(message(), name, text))
}
