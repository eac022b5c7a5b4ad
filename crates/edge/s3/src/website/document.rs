//! The document, read as its sender means it; it is kept as it was put.

use super::{
    redirect::{NewKey, Redirect},
    site::{Rule, Site},
};
use crate::{
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node, copy},
};

/// The name of the document among those of its bucket.
pub(crate) const DOCUMENT: &str = "website";
/// How much a document may be, as S3 has it.
pub(crate) const LIMITS: Limits = Limits { bytes: 128 << 10, depth: 8, elements: 1024 };
/// How much of a stored document is read: what was taken, each character spelled as a reference.
const STORED: Limits = Limits { bytes: 1 << 20, ..LIMITS };
/// Most routing rules.
const RULES_MAX: usize = 50;
/// Statuses by which rules may fit: those of HTTP that S3 knows.
const ERRORS: [std::ops::RangeInclusive<u16>; 2] = [400..=417, 500..=505];

/// Reads a `WebsiteConfiguration`; answers it as it is kept.
pub(crate) fn from_root(root: &Node<'_>) -> Outcome<String> {
    read(root)?;
    let mut element = Element::in_namespace("WebsiteConfiguration");
    root.children.iter().for_each(|child| copy(child, &mut element));
    Ok(element.document())
}

/// What a document that is kept says; `None` if it cannot be read.
pub(super) fn stored(document: &str) -> Option<Site> {
    let root = xml::parse(document.as_bytes(), STORED).ok()?;
    read(&root).ok()
}

fn invalid(message: String) -> Failure {
    Failure::new(Code::InvalidRequest, message)
}

fn read(root: &Node<'_>) -> Outcome<Site> {
    let root = root.named("WebsiteConfiguration")?;
    root.only(&["RedirectAllRequestsTo", "IndexDocument", "ErrorDocument", "RoutingRules"])?;
    if let Some(elsewhere) = root.child("RedirectAllRequestsTo")? {
        if root.children.len() > 1 {
            return Err(Malformed.into());
        }
        elsewhere.only(&["HostName", "Protocol"])?;
        let host =
            elsewhere.text_of("HostName")?.filter(|host| !host.is_empty()).ok_or(Malformed)?;
        let (host, protocol) = (Some(checked(host)?), protocol(elsewhere)?);
        return Ok(Site::Elsewhere(Redirect { host, protocol, ..Redirect::default() }));
    }
    let index = index(root)?;
    let error = root.child("ErrorDocument")?.map(error).transpose()?;
    let rules = root.child("RoutingRules")?.map(rules).transpose()?.unwrap_or_default();
    Ok(Site::Pages { index, error, rules })
}

fn index(root: &Node<'_>) -> Outcome<String> {
    let Some(node) = root.child("IndexDocument")? else {
        let message =
            "A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty";
        return Err(Failure::argument(message, "IndexDocument", "null"));
    };
    node.only(&["Suffix"])?;
    let suffix = node.text_of("Suffix")?.ok_or(Malformed)?;
    if suffix.is_empty() || suffix.contains('/') {
        let message = "The IndexDocument Suffix is not well formed";
        return Err(Failure::argument(message, "IndexDocument", suffix));
    }
    Ok(suffix.to_owned())
}

fn error(node: &Node<'_>) -> Outcome<String> {
    node.only(&["Key"])?;
    let key = node.text_of("Key")?.ok_or(Malformed)?;
    if key.is_empty() {
        let message = "The ErrorDocument Key is not well formed";
        return Err(Failure::argument(message, "ErrorDocument", key));
    }
    Ok(key.to_owned())
}

fn rules(node: &Node<'_>) -> Outcome<Vec<Rule>> {
    node.only(&["RoutingRule"])?;
    let count = node.children.len();
    if count > RULES_MAX {
        return Err(invalid(format!(
            "{count} routing rules provided, the number of routing rules in a website configuration is \
             limited to {RULES_MAX}."
        )));
    }
    node.children.iter().map(rule).collect()
}

fn rule(node: &Node<'_>) -> Outcome<Rule> {
    node.only(&["Condition", "Redirect"])?;
    let (mut prefix, mut error) = (None, None);
    if let Some(condition) = node.child("Condition")? {
        condition.only(&["KeyPrefixEquals", "HttpErrorCodeReturnedEquals"])?;
        if condition.children.is_empty() {
            return Err(Malformed.into());
        }
        prefix = condition.text_of("KeyPrefixEquals")?.map(str::to_owned);
        error = condition.text_of("HttpErrorCodeReturnedEquals")?.map(error_code).transpose()?;
    }
    let redirect = redirect(node.child("Redirect")?.ok_or(Malformed)?)?;
    Ok(Rule { prefix, error, redirect })
}

fn redirect(node: &Node<'_>) -> Outcome<Redirect> {
    const NAMES: [&str; 5] =
        ["HostName", "Protocol", "HttpRedirectCode", "ReplaceKeyWith", "ReplaceKeyPrefixWith"];
    node.only(&NAMES)?;
    if node.children.is_empty() {
        return Err(Malformed.into());
    }
    let protocol = protocol(node)?;
    let key = match (node.text_of("ReplaceKeyWith")?, node.text_of("ReplaceKeyPrefixWith")?) {
        (None, None) => NewKey::Same,
        (Some(key), None) => NewKey::Whole(key.to_owned()),
        (None, Some(prefix)) => NewKey::Prefix(prefix.to_owned()),
        (Some(_), Some(_)) => {
            let message = "You can only define ReplaceKeyPrefix or ReplaceKey but not both.";
            return Err(invalid(message.to_owned()));
        }
    };
    let code = node.text_of("HttpRedirectCode")?.map(redirect_code).transpose()?;
    let host = node.text_of("HostName")?.map(checked).transpose()?;
    Ok(Redirect { host, protocol, code, key })
}

/// A host that an address can name, so that nothing else of it is said by it.
fn checked(host: &str) -> Outcome<String> {
    let in_hosts = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if host.bytes().all(in_hosts) { Ok(host.to_owned()) } else { Err(Malformed.into()) }
}

fn protocol(node: &Node<'_>) -> Outcome<Option<&'static str>> {
    match node.text_of("Protocol")? {
        None => Ok(None),
        Some("http") => Ok(Some("http")),
        Some("https") => Ok(Some("https")),
        Some(_) => Err(invalid(
            "Invalid protocol, protocol can be http or https. If not defined the protocol will be \
             selected automatically."
                .to_owned(),
        )),
    }
}

fn number(text: &str) -> Result<i64, Malformed> {
    text.trim().parse().map_err(|_| Malformed)
}

fn redirect_code(text: &str) -> Outcome<u16> {
    let number = number(text)?;
    let code = u16::try_from(number).ok().filter(|code| matches!(code, 301..=305 | 307 | 308));
    code.ok_or_else(|| {
        invalid(format!(
            "The provided HTTP redirect code ({number}) is not valid. Valid codes are 3XX except 300."
        ))
    })
}

fn error_code(text: &str) -> Outcome<u16> {
    let number = number(text)?;
    let is_known = |code: &u16| ERRORS.iter().any(|range| range.contains(code));
    u16::try_from(number).ok().filter(is_known).ok_or_else(|| {
        invalid(format!(
            "The provided HTTP error code ({number}) is not valid. Valid codes are 4XX or 5XX."
        ))
    })
}
