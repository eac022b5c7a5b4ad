//! Which events go where: a bucket's document `notification`.

use super::event::EventKind;
use crate::{
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node, copy},
};
use std::collections::BTreeSet;

/// The name of the document among those of its bucket.
pub(crate) const DOCUMENT: &str = "notification";
/// How much a document may be: a hundred subscriptions, each with some dozens of elements.
pub(crate) const LIMITS: Limits = Limits { bytes: 128 << 10, depth: 8, elements: 4096 };
/// How much of a stored document is read: what was taken, each character spelled as a reference.
const STORED: Limits = Limits { bytes: 1 << 20, ..LIMITS };
/// Most subscriptions of a bucket.
const SUBSCRIPTIONS_MAX: usize = 100;
/// Longest name of one, in characters.
const ID_LEN_MAX: usize = 255;
const ROOT: &str = "NotificationConfiguration";
/// The elements of subscriptions, and of where each sends: S3's kinds of places are all webhooks.
const KINDS: [(&str, &str); 3] = [
    ("TopicConfiguration", "Topic"),
    ("QueueConfiguration", "Queue"),
    ("CloudFunctionConfiguration", "CloudFunction"),
];

/// Which events of a bucket a webhook is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Subscription {
    /// Its name, unique in its bucket.
    pub(crate) id: String,
    /// The name of the webhook.
    pub(crate) webhook: String,
    events: BTreeSet<EventKind>,
    prefix: String,
    suffix: String,
}

impl Subscription {
    /// Whether it is about an event of a key.
    pub(crate) fn is_about(&self, kind: EventKind, key: &str) -> bool {
        self.events.contains(&kind)
            && key.starts_with(&*self.prefix)
            && key.ends_with(&*self.suffix)
    }

    /// Whether there may be an event that both are about.
    fn meets(&self, other: &Self) -> bool {
        let begins = |a: &str, b: &str| a.starts_with(b) || b.starts_with(a);
        let ends = |a: &str, b: &str| a.ends_with(b) || b.ends_with(a);
        !self.events.is_disjoint(&other.events)
            && begins(&self.prefix, &other.prefix)
            && ends(&self.suffix, &other.suffix)
    }
}

/// What a client wants: the document as it is kept, and which webhooks it names.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// `None` if nobody is to be told anything.
    pub(crate) document: Option<String>,
    pub(crate) webhooks: BTreeSet<String>,
}

/// Reads a `NotificationConfiguration`.
pub(crate) fn from_root(root: &Node<'_>) -> Outcome<Wanted> {
    let subscriptions = read(root)?;
    if subscriptions.is_empty() {
        return Ok(Wanted::default());
    }
    let mut element = Element::in_namespace(ROOT);
    for (subscription, node) in subscriptions.iter().zip(&root.children) {
        element.child(node.name, |to| {
            to.text("Id", &subscription.id);
            let rest = node.children.iter().filter(|child| child.name != "Id");
            rest.for_each(|child| copy(child, to));
        });
    }
    let webhooks = subscriptions.into_iter().map(|subscription| subscription.webhook).collect();
    Ok(Wanted { document: Some(element.document()), webhooks })
}

/// What the document of a bucket says; nothing if it cannot be read.
pub(crate) fn stored(document: &str) -> Vec<Subscription> {
    let root = xml::parse(document.as_bytes(), STORED);
    let read = root.ok().and_then(|root| read(&root).ok());
    read.unwrap_or_else(|| {
        tracing::error!("a bucket's document of notifications cannot be read");
        Vec::new()
    })
}

/// The document of a bucket of which nobody is told anything.
pub(crate) fn none() -> String {
    Element::in_namespace(ROOT).document()
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Failure {
    Failure::new(Code::InvalidArgument, message)
}

fn read(root: &Node<'_>) -> Outcome<Vec<Subscription>> {
    let root = root.named(ROOT)?;
    if root.child("EventBridgeConfiguration")?.is_some() {
        let message = "EventBridgeConfiguration is not implemented";
        return Err(Failure::new(Code::NotImplemented, message));
    }
    if root.children.len() > SUBSCRIPTIONS_MAX {
        return Err(invalid(format!(
            "A bucket may have {SUBSCRIPTIONS_MAX} configurations of notifications."
        )));
    }
    let numbered = root.children.iter().enumerate();
    let all = numbered.map(|(at, node)| subscription(node, at)).collect::<Outcome<Vec<_>>>()?;
    for (at, one) in all.iter().enumerate() {
        let mut earlier = all[..at].iter();
        if earlier.clone().any(|other| other.id == one.id) {
            return Err(invalid("Same ID used for multiple configurations. IDs must be unique"));
        }
        if earlier.any(|other| other.meets(one)) {
            return Err(invalid(
                "Configuration is ambiguously defined. Cannot have overlapping suffixes in two \
                 rules if the prefixes are overlapping for the same event type.",
            ));
        }
    }
    Ok(all)
}

fn subscription(node: &Node<'_>, at: usize) -> Outcome<Subscription> {
    let kind = KINDS.iter().find(|(name, _)| *name == node.name);
    let (_, place) = kind.ok_or(Malformed)?;
    node.only(&["Id", place, "Event", "Filter"])?;
    let id = node.text_of("Id")?.filter(|id| !id.is_empty());
    let id = id.map_or_else(|| format!("notification-{at}"), str::to_owned);
    if id.chars().count() > ID_LEN_MAX {
        return Err(invalid("The ID of a configuration may have 255 characters."));
    }
    let arn = node.text_of(place)?.ok_or(Malformed)?;
    let webhook = arn.rsplit(':').next().unwrap_or_default();
    if !arn.starts_with("arn:") || webhook.is_empty() {
        return Err(Failure::argument("The ARN could not be parsed", place, arn));
    }
    let mut events = BTreeSet::new();
    for event in node.all("Event") {
        let named = EventKind::named(event.text.trim());
        if named.is_empty() {
            return Err(unknown(event.text.trim()));
        }
        events.extend(named);
    }
    if events.is_empty() {
        return Err(Malformed.into());
    }
    let (prefix, suffix) = node.child("Filter")?.map(filter).transpose()?.unwrap_or_default();
    Ok(Subscription { id, webhook: webhook.to_owned(), events, prefix, suffix })
}

/// An event that S3 has and nobody is told of here, or that there is none of.
fn unknown(event: &str) -> Failure {
    const NOT_TOLD: [&str; 9] = [
        "s3:ReducedRedundancyLostObject",
        "s3:ObjectRestore:",
        "s3:Replication:",
        "s3:LifecycleTransition",
        "s3:LifecycleExpiration:",
        "s3:IntelligentTiering",
        "s3:ObjectAcl:Put",
        "s3:ObjectAnnotation:",
        "s3:TestEvent",
    ];
    if NOT_TOLD.iter().any(|name| event.starts_with(name)) {
        let message = format!("Notifications of {event} are not implemented");
        return Failure::new(Code::NotImplemented, message);
    }
    Failure::argument("The event is not supported for notifications", "Event", event)
}

/// Prefix and suffix.
fn filter(node: &Node<'_>) -> Outcome<(String, String)> {
    node.only(&["S3Key"])?;
    let (mut prefix, mut suffix) = (None, None);
    let rules = node.child("S3Key")?.map(|key| key.only(&["FilterRule"]).map(|()| key));
    for rule in rules.transpose()?.iter().flat_map(|key| &key.children) {
        rule.only(&["Name", "Value"])?;
        let name = rule.text_of("Name")?.ok_or(Malformed)?.to_ascii_lowercase();
        let value = rule.text_of("Value")?.unwrap_or_default().to_owned();
        let place = match name.as_str() {
            "prefix" => &mut prefix,
            "suffix" => &mut suffix,
            _ => {
                let message = "filter rule name must be either prefix or suffix";
                return Err(Failure::argument(message, "FilterRule.Name", &name));
            }
        };
        if place.replace(value).is_some() {
            return Err(invalid(format!("Cannot specify more than one {name} rule in a filter.")));
        }
    }
    Ok((prefix.unwrap_or_default(), suffix.unwrap_or_default()))
}
