//! Where a bucket's log goes: its document `logging`.

use crate::{
    date,
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node, copy},
};

/// The name of the document among those of its bucket.
pub(crate) const DOCUMENT: &str = "logging";
/// How much a document may be.
pub(crate) const LIMITS: Limits = Limits { bytes: 64 << 10, depth: 10, elements: 1024 };
/// How much of a stored document is read: what was taken, each character spelled as a reference.
const STORED: Limits = Limits { bytes: 1 << 20, ..LIMITS };
const ROOT: &str = "BucketLoggingStatus";
/// Longest prefix, in bytes: with what comes behind it, a key.
const PREFIX_LEN_MAX: usize = 800;

/// Where a bucket's log goes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Destination {
    /// The bucket that is logged.
    pub(crate) source: String,
    /// The bucket that its log goes to.
    pub(crate) target: String,
    prefix: String,
    /// Whether keys have folders for the source and the day.
    is_partitioned: bool,
}

impl Destination {
    /// The key of a part of the log that was begun at a time, in milliseconds since 1970, and is
    /// called so.
    pub(super) fn key(&self, (owner, region): (&str, &str), at_ms: u64, name: &str) -> String {
        let Self { source, prefix, is_partitioned, .. } = self;
        let time = date::file(at_ms);
        if *is_partitioned {
            let day = time[..10].replace('-', "/");
            return format!("{prefix}{owner}/{region}/{source}/{day}/{time}-{name}");
        }
        format!("{prefix}{time}-{name}")
    }
}

/// What a client wants: where to, and the document as it is kept.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The bucket that the log is to go to.
    pub(crate) target: String,
    /// The document.
    pub(crate) document: String,
}

/// Reads a `BucketLoggingStatus`; `None` if it turns the log off.
pub(crate) fn from_root(root: &Node<'_>) -> Outcome<Option<Wanted>> {
    let Some(enabled) = enabled(root)? else { return Ok(None) };
    let Destination { target, .. } = read(enabled, "")?;
    let mut element = Element::in_namespace(ROOT);
    copy(enabled, &mut element);
    Ok(Some(Wanted { target, document: element.document() }))
}

/// Where the log of a bucket goes by its document.
pub(crate) fn stored(document: &str, source: &str) -> Option<Destination> {
    let root = xml::parse(document.as_bytes(), STORED).ok()?;
    read(enabled(&root).ok()??, source).ok()
}

/// The document of a bucket without a log.
pub(crate) fn none() -> String {
    Element::in_namespace(ROOT).document()
}

fn enabled<'a, 'b>(root: &'b Node<'a>) -> Result<Option<&'b Node<'a>>, Malformed> {
    let root = root.named(ROOT)?;
    root.only(&["LoggingEnabled"])?;
    root.child("LoggingEnabled")
}

fn read(node: &Node<'_>, source: &str) -> Outcome<Destination> {
    node.only(&["TargetBucket", "TargetPrefix", "TargetGrants", "TargetObjectKeyFormat"])?;
    let target = node.text_of("TargetBucket")?.filter(|it| !it.is_empty()).ok_or(Malformed)?;
    let prefix = node.text_of("TargetPrefix")?.ok_or(Malformed)?;
    if prefix.len() > PREFIX_LEN_MAX {
        let message = format!("A TargetPrefix may have {PREFIX_LEN_MAX} bytes.");
        return Err(Failure::argument(message, "TargetPrefix", ""));
    }
    if node.child("TargetGrants")?.is_some_and(|grants| !grants.children.is_empty()) {
        return Err(Code::AccessControlListNotSupported.into());
    }
    let is_partitioned = match node.child("TargetObjectKeyFormat")? {
        None => false,
        Some(format) => is_partitioned(format)?,
    };
    let (source, target) = (source.to_owned(), target.to_owned());
    Ok(Destination { source, target, prefix: prefix.to_owned(), is_partitioned })
}

fn is_partitioned(format: &Node<'_>) -> Result<bool, Malformed> {
    format.only(&["SimplePrefix", "PartitionedPrefix"])?;
    match (format.child("SimplePrefix")?, format.child("PartitionedPrefix")?) {
        (Some(_), None) => Ok(false),
        (None, Some(partitioned)) => {
            partitioned.only(&["PartitionDateSource"])?;
            match partitioned.text_of("PartitionDateSource")? {
                // Both are the time of the first record: a part of the log is of one day at most
                // where it is delivered often.
                None | Some("EventTime" | "DeliveryTime") => Ok(true),
                Some(_) => Err(Malformed),
            }
        }
        _ => Err(Malformed),
    }
}
