//! The document: configurations of inventories by their ids.

use super::field::Column;
use crate::{
    encryption,
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node, copy},
};

/// The name of the document among those of its bucket.
pub(crate) const DOCUMENT: &str = "inventory";
/// How much one configuration may be.
pub(crate) const LIMITS: Limits = Limits { bytes: 64 << 10, depth: 8, elements: 128 };
/// How much of a stored document is read: as much as a bucket may have configured, each character
/// spelled as a reference.
const STORED: Limits = Limits { bytes: 2 << 20, depth: 9, elements: 128 << 10 };
const ROOT: &str = "InventoryConfiguration";
/// What holds them all.
const ALL: &str = "InventoryConfigurations";
/// Most inventories of a bucket.
const ORDERS_MAX: usize = 1000;
/// How many are shown at once.
pub(super) const PAGE: usize = 100;
const ID_LEN_MAX: usize = 64;
/// Longest prefix of keys that are listed: a key.
const PREFIX_LEN_MAX: usize = 1024;
/// Longest prefix of where the inventory goes: with what comes behind it, a key.
const TARGET_PREFIX_LEN_MAX: usize = 512;

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) id: String,
    pub(super) is_enabled: bool,
    /// Every Sunday, not every day.
    pub(super) is_weekly: bool,
    /// Of the keys that are listed.
    pub(super) prefix: String,
    /// Every version, not only those that keys stand for.
    pub(super) all_versions: bool,
    /// Each once, in their order.
    pub(super) columns: Vec<Column>,
    /// The bucket that it goes to.
    pub(super) target: String,
    pub(super) target_prefix: String,
    /// How it is encrypted there.
    pub(super) encryption: encryption::Wanted,
}

/// What a client wants: which one, where to, and the configuration as it is kept.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: String,
    /// The bucket that it goes to.
    pub(crate) target: String,
    /// What its keys begin with there.
    pub(crate) folder: String,
    /// The element, by itself.
    configuration: String,
}

fn invalid(message: &'static str, name: &str, value: &str) -> Failure {
    Failure::argument(message, name, value)
}

/// Reads an `InventoryConfiguration`.
pub(crate) fn from_root(root: &Node<'_>) -> Outcome<Wanted> {
    let Order { id, target, target_prefix: folder, .. } = read(root)?;
    let mut element = Element::in_namespace(ROOT);
    root.children.iter().for_each(|child| copy(child, &mut element));
    Ok(Wanted { id, target, folder, configuration: element.document() })
}

/// The configurations of a bucket with another of them, in the place of one of the same id.
pub(crate) fn with(document: Option<&str>, wanted: &Wanted) -> Outcome<String> {
    let root = xml::parse(wanted.configuration.as_bytes(), STORED)?;
    changed(document, &wanted.id, Some(&root)).map(Option::unwrap_or_default)
}

/// The configurations of a bucket without that of this id, if it has any others.
pub(crate) fn without(document: Option<&str>, id: &str) -> Outcome<Option<String>> {
    find(document, id)?;
    changed(document, id, None)
}

fn changed(document: Option<&str>, id: &str, new: Option<&Node<'_>>) -> Outcome<Option<String>> {
    let text = document.map_or_else(|| Element::new(ALL).document(), str::to_owned);
    let root = xml::parse(text.as_bytes(), STORED)?;
    let others = root.children.iter().filter(|one| id_of(one) != Some(id));
    let mut all: Vec<&Node<'_>> = others.chain(new).collect();
    if all.len() > ORDERS_MAX {
        let message = "You are attempting to create a new configuration but have already reached \
                       the 1,000-configuration limit.";
        return Err(Failure::new(Code::TooManyConfigurations, message));
    }
    if all.is_empty() {
        return Ok(None);
    }
    all.sort_unstable_by_key(|one| id_of(one));
    let mut element = Element::new(ALL);
    for one in all {
        copy(one, &mut element);
    }
    Ok(Some(element.document()))
}

fn id_of<'a>(configuration: &'a Node<'_>) -> Option<&'a str> {
    configuration.text_of("Id").ok().flatten()
}

/// The configuration of this id.
pub(crate) fn find(document: Option<&str>, id: &str) -> Outcome<String> {
    let none = || Failure::from(Code::NoSuchConfiguration);
    let root = xml::parse(document.ok_or_else(none)?.as_bytes(), STORED)?;
    let found = root.children.iter().find(|one| id_of(one) == Some(id)).ok_or_else(none)?;
    let mut element = Element::in_namespace(ROOT);
    found.children.iter().for_each(|child| copy(child, &mut element));
    Ok(element.document())
}

/// The configurations after that of an id, as a page of a list.
pub(crate) fn page(document: Option<&str>, after: Option<&str>) -> Outcome<String> {
    let mut element = Element::in_namespace("ListInventoryConfigurationsResult");
    element.optional("ContinuationToken", after);
    let root = document.map(|text| xml::parse(text.as_bytes(), STORED)).transpose()?;
    let all = root.iter().flat_map(|root| root.children.iter());
    let mut rest = all.filter(|one| after.is_none_or(|after| id_of(one) > Some(after)));
    let shown: Vec<_> = rest.by_ref().take(PAGE).collect();
    for one in &shown {
        copy(one, &mut element);
    }
    let is_truncated = rest.next().is_some();
    element.value("IsTruncated", is_truncated);
    if is_truncated {
        element.optional("NextContinuationToken", shown.last().and_then(|one| id_of(one)));
    }
    Ok(element.document())
}

/// What the document of a bucket asks for; `None` if it cannot be read.
pub(super) fn stored(document: &str) -> Option<Vec<Order>> {
    let root = xml::parse(document.as_bytes(), STORED).ok()?;
    root.children.iter().map(|one| read(one).ok()).collect()
}

fn read(root: &Node<'_>) -> Outcome<Order> {
    let root = root.named(ROOT)?;
    root.only(&[
        "Destination",
        "Filter",
        "Id",
        "IncludedObjectVersions",
        "IsEnabled",
        "OptionalFields",
        "Schedule",
    ])?;
    let id = root.text_of("Id")?.ok_or(Malformed)?;
    let in_ids = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if id.is_empty() || id.len() > ID_LEN_MAX || !id.chars().all(in_ids) {
        return Err(invalid("The ID is not valid", "Id", id));
    }
    let is_enabled = match root.text_of("IsEnabled")? {
        Some("true") => true,
        Some("false") => false,
        Some(_) | None => return Err(Malformed.into()),
    };
    let all_versions = match root.text_of("IncludedObjectVersions")? {
        Some("All") => true,
        Some("Current") => false,
        Some(_) | None => return Err(Malformed.into()),
    };
    let schedule = root.child("Schedule")?.ok_or(Malformed)?;
    schedule.only(&["Frequency"])?;
    let is_weekly = match schedule.text_of("Frequency")? {
        Some("Daily") => false,
        Some("Weekly") => true,
        Some(_) | None => return Err(Malformed.into()),
    };
    let prefix = match root.child("Filter")? {
        None => "",
        Some(filter) => {
            filter.only(&["Prefix"])?;
            filter.text_of("Prefix")?.ok_or(Malformed)?
        }
    };
    if prefix.len() > PREFIX_LEN_MAX {
        return Err(invalid("The prefix is too long", "Prefix", ""));
    }
    let destination = root.child("Destination")?.ok_or(Malformed)?;
    destination.only(&["S3BucketDestination"])?;
    let at = destination.child("S3BucketDestination")?.ok_or(Malformed)?;
    let (target, target_prefix, encryption) = read_destination(at)?;
    Ok(Order {
        id: id.to_owned(),
        is_enabled,
        is_weekly,
        prefix: prefix.to_owned(),
        all_versions,
        columns: columns(root)?,
        target,
        target_prefix,
        encryption,
    })
}

fn read_destination(node: &Node<'_>) -> Outcome<(String, String, encryption::Wanted)> {
    // The account that a bucket must belong to is not asked for: who configures this must be let
    // write there.
    node.only(&["AccountId", "Bucket", "Encryption", "Format", "Prefix"])?;
    match node.text_of("Format")? {
        Some("CSV") => {}
        Some("ORC" | "Parquet") => {
            let message = "Inventories are CSV; ORC and Parquet are not implemented.";
            return Err(Failure::new(Code::NotImplemented, message));
        }
        Some(_) | None => return Err(Malformed.into()),
    }
    let arn = node.text_of("Bucket")?.ok_or(Malformed)?;
    let target = arn.strip_prefix("arn:aws:s3:::").filter(|name| !name.is_empty());
    let target = target.ok_or_else(|| invalid("Invalid bucket ARN.", "Bucket", arn))?;
    let prefix = node.text_of("Prefix")?.unwrap_or_default();
    if prefix.len() > TARGET_PREFIX_LEN_MAX {
        return Err(invalid("The prefix may have 512 bytes", "Prefix", ""));
    }
    let encryption = node.child("Encryption")?.map(read_encryption).transpose()?;
    Ok((target.to_owned(), prefix.to_owned(), encryption.unwrap_or_default()))
}

fn read_encryption(node: &Node<'_>) -> Outcome<encryption::Wanted> {
    node.only(&["SSE-S3", "SSE-KMS"])?;
    match (node.child("SSE-S3")?, node.child("SSE-KMS")?) {
        (Some(_), None) => Ok(encryption::Wanted::Managed),
        (None, Some(named)) => {
            named.only(&["KeyId"])?;
            encryption::Wanted::named(named.text_of("KeyId")?, None, None)
        }
        (Some(_), Some(_)) | (None, None) => Err(Malformed.into()),
    }
}

fn columns(root: &Node<'_>) -> Outcome<Vec<Column>> {
    let Some(fields) = root.child("OptionalFields")? else { return Ok(Vec::new()) };
    fields.only(&["Field"])?;
    let mut columns = Vec::new();
    for field in fields.all("Field") {
        if Column::is_elsewhere(&field.text) {
            let message = "This field of inventories is not implemented.";
            return Err(Failure::new(Code::NotImplemented, message).with("Field", &*field.text));
        }
        columns.push(Column::named(&field.text).ok_or(Malformed)?);
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}
