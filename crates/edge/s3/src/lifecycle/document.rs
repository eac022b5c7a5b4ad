//! The document: read as its sender means it, written as it is kept and answered.

use super::{action, filter, transition};
use crate::{
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node, copy},
};
use ripstop_lifecycle::{LifecycleRule, Rules};
use sha2::{Digest as _, Sha256};

/// The name of the document among those of its bucket.
pub(crate) const DOCUMENT: &str = "lifecycle";
/// How much a document may be: a thousand rules, each with some dozens of elements.
pub(crate) const LIMITS: Limits = Limits { bytes: 1 << 20, depth: 8, elements: 32 << 10 };
/// Most rules of a bucket.
const RULES_MAX: usize = 1000;
/// Longest name of a rule, in characters.
const ID_LEN_MAX: usize = 255;
/// How much of a stored document is read: what was taken, each character spelled as a reference.
const STORED: Limits = Limits { bytes: 8 << 20, ..LIMITS };
/// What keeps, in the document, what its sender said in a header.
const SIZES: &str = "TransitionDefaultMinimumObjectSize";
const ROOT: &str = "LifecycleConfiguration";

/// How small objects go to other classes, where a rule does not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Sizes {
    /// Those below 128 KiB stay.
    #[default]
    AllClasses,
    /// As the class has it.
    ByClass,
}

impl Sizes {
    /// The header's name.
    pub(crate) const HEADER: &str = "x-amz-transition-default-minimum-object-size";

    /// As a header says it.
    pub(crate) fn read(text: Option<&str>) -> Outcome<Self> {
        match text {
            None | Some("all_storage_classes_128K") => Ok(Self::AllClasses),
            Some("varies_by_storage_class") => Ok(Self::ByClass),
            Some(other) => {
                let message = "The TransitionDefaultMinimumObjectSize is not valid";
                Err(Failure::argument(message, Self::HEADER, other))
            }
        }
    }

    /// As a header says it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::AllClasses => "all_storage_classes_128K",
            Self::ByClass => "varies_by_storage_class",
        }
    }
}

/// What a client wants of a bucket.
#[derive(Debug)]
pub(crate) struct Configured {
    /// Its rules.
    #[cfg(test)]
    pub(crate) rules: Vec<LifecycleRule>,
    /// The elements of the document as they are kept.
    elements: Element,
}

impl Configured {
    /// Reads a `LifecycleConfiguration`, whose rules may move objects to these classes of storage.
    pub(crate) fn from_root(root: &Node<'_>, classes: &[String]) -> Outcome<Self> {
        let (rules, mut elements) = (read(root)?, Element::in_namespace(ROOT));
        rules.iter().try_for_each(|rule| transition::check(rule, classes))?;
        for (rule, node) in rules.iter().zip(root.all("Rule")) {
            elements.child("Rule", |to| {
                to.text("ID", &rule.id);
                let rest = node.children.iter().filter(|child| child.name != "ID");
                rest.for_each(|child| copy(child, to));
            });
        }
        Ok(Self {
            #[cfg(test)]
            rules,
            elements,
        })
    }

    /// As it is kept.
    pub(crate) fn document(mut self, sizes: Sizes) -> String {
        if sizes != Sizes::default() {
            self.elements.text(SIZES, sizes.word());
        }
        self.elements.document()
    }
}

/// What is answered who asks for a document that is kept, and what the header says.
pub(crate) fn answer(document: &str) -> (String, Sizes) {
    let Ok(root) = xml::parse(document.as_bytes(), STORED) else {
        return (document.to_owned(), Sizes::default());
    };
    let mut element = Element::in_namespace(ROOT);
    root.all("Rule").for_each(|rule| copy(rule, &mut element));
    (element.document(), said_of_sizes(&root))
}

/// What the sender of a document that is kept said in a header.
fn said_of_sizes(root: &Node<'_>) -> Sizes {
    let said = root.text_of(SIZES).ok().flatten();
    Sizes::read(said).unwrap_or_default()
}

/// The rules of a document that is kept.
pub(crate) fn stored(document: &str) -> Option<Rules> {
    let root = xml::parse(document.as_bytes(), STORED).ok()?;
    let rules = root.all("Rule").map(rule).collect::<Outcome<_>>().ok()?;
    let sizes = match said_of_sizes(&root) {
        Sizes::AllClasses => ripstop_lifecycle::Sizes::AllClasses,
        Sizes::ByClass => ripstop_lifecycle::Sizes::ByClass,
    };
    Some(Rules::new(rules).with_sizes(sizes))
}

fn read(root: &Node<'_>) -> Outcome<Vec<LifecycleRule>> {
    root.named(ROOT)?.only(&["Rule"])?;
    if root.children.is_empty() {
        return Err(Malformed.into());
    }
    if root.children.len() > RULES_MAX {
        let message =
            "The number of lifecycle rules must not exceed the allowed limit of 1000 rules.";
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    let mut rules = root.all("Rule").map(rule).collect::<Outcome<Vec<_>>>()?;
    for (at, rule) in rules.iter_mut().enumerate().filter(|(_, rule)| rule.id.is_empty()) {
        let seed = format!("{at} {rule:?}");
        rule.id = hex::encode(&Sha256::digest(seed)[..24]);
    }
    let mut ids: Vec<&str> = rules.iter().map(|rule| &*rule.id).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|two| two[0] == two[1]) {
        let message = "Rule ID must be unique. Found same ID for more than one rule";
        return Err(Failure::argument(message, "ID", twice[0]));
    }
    Ok(rules)
}

/// Reads one rule; one that has no name yet has an empty one.
fn rule(node: &Node<'_>) -> Outcome<LifecycleRule> {
    node.only(&[
        "ID",
        "Status",
        "Prefix",
        "Filter",
        "Expiration",
        "Transition",
        "NoncurrentVersionExpiration",
        "NoncurrentVersionTransition",
        "AbortIncompleteMultipartUpload",
    ])?;
    let id = node.text_of("ID")?.unwrap_or_default();
    if id.chars().count() > ID_LEN_MAX {
        let message = "ID length should not exceed allowed limit of 255";
        return Err(Failure::argument(message, "ID", id));
    }
    let is_enabled = match node.text_of("Status")? {
        Some("Enabled") => true,
        Some("Disabled") => false,
        Some(_) | None => return Err(Malformed.into()),
    };
    let filter = filter::of_rule(node)?;
    let rule = LifecycleRule { id: id.to_owned(), is_enabled, filter, ..LifecycleRule::default() };
    action::add(node, rule)
}
