//! To which classes of storage a rule moves objects, and when.

use super::number::{midnight, newer, not, number};
use crate::{
    error::{Code, Failure, Outcome},
    storage_class::{self, STANDARD},
    xml::{Malformed, Node},
};
use ripstop_lifecycle::{Due, Expiration, LifecycleRule, Noncurrent, Transition};

/// S3's classes to which a rule may move objects.
const CLASSES: [&str; 6] =
    ["STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"];
/// Those of them to which no object goes sooner than after [`EARLY_DAYS`].
const NOT_EARLY: [&str; 2] = ["STANDARD_IA", "ONEZONE_IA"];
const EARLY_DAYS: u32 = 30;

/// What a `Transition` says.
pub(super) fn of_latest(node: &Node<'_>) -> Outcome<Transition<Due>> {
    node.only(&["Days", "Date", "StorageClass"])?;
    let class = class(node)?;
    let when = match (node.text_of("Days")?, node.text_of("Date")?) {
        (Some(days), None) => Due::AfterDays(days_of(days, "Days", "Transition")?),
        (None, Some(date)) => Due::At(midnight(date)?),
        _ => return Err(Malformed.into()),
    };
    Ok(Transition { class, when })
}

/// What a `NoncurrentVersionTransition` says.
pub(super) fn of_others(node: &Node<'_>) -> Outcome<Transition<Noncurrent>> {
    const ACTION: &str = "NoncurrentVersionTransition";
    node.only(&["NoncurrentDays", "NewerNoncurrentVersions", "StorageClass"])?;
    let class = class(node)?;
    let days = node.text_of("NoncurrentDays")?.ok_or(Malformed)?;
    let after_days = days_of(days, "NoncurrentDays", ACTION)?;
    let kept = node.text_of("NewerNoncurrentVersions")?;
    let kept = kept.map_or(Ok(0), |kept| newer(kept, ACTION))?;
    Ok(Transition { class, when: Noncurrent { after_days, kept } })
}

fn class(node: &Node<'_>) -> Outcome<String> {
    let class = node.text_of("StorageClass")?.ok_or(Malformed)?;
    if class.is_empty() || class == STANDARD { Err(Malformed.into()) } else { Ok(class.to_owned()) }
}

fn days_of(text: &str, name: &str, action: &str) -> Outcome<u32> {
    let days = u32::try_from(number(text)?);
    days.map_err(|_| not(name, action, "a nonnegative integer", text))
}

/// Refuses a rule that moves objects to classes that there are not, or in another order than
/// theirs, or later than it removes them.
pub(super) fn check(rule: &LifecycleRule, classes: &[String]) -> Outcome<()> {
    let named = rule.transitions.iter().map(|it| &*it.class);
    let others = rule.noncurrent_transitions.iter().map(|it| &*it.class);
    named.chain(others).try_for_each(|class| must_be_there(class, classes))?;
    check_dates(rule)?;
    let days = |it: &Transition<Due>| match it.when {
        Due::AfterDays(days) => u64::from(days),
        Due::At(ms) => ms,
    };
    let latest: Vec<_> = rule.transitions.iter().map(|it| (&*it.class, days(it))).collect();
    let removed = match rule.expiration {
        Some(Expiration::Objects(Due::AfterDays(days))) => Some(u64::from(days)),
        Some(Expiration::Objects(Due::At(ms))) => Some(ms),
        Some(Expiration::LoneMarkers) | None => None,
    };
    let is_by_date = rule.transitions.iter().any(|it| matches!(it.when, Due::At(_)));
    let words = if is_by_date { DATES } else { DAYS };
    check_order(rule, &latest, removed, classes, &words)?;
    let day = |it: &Transition<Noncurrent>| u64::from(it.when.after_days);
    let others = rule.noncurrent_transitions.iter();
    let others: Vec<_> = others.map(|it| (&*it.class, day(it))).collect();
    let removed = rule.noncurrent.map(|noncurrent| noncurrent.after_days.into());
    check_order(rule, &others, removed, classes, &NONCURRENT)
}

/// What S3 calls what is compared.
struct Words {
    name: &'static str,
    moves: &'static str,
    removes: &'static str,
    /// Whether days are counted.
    is_days: bool,
}

const DAYS: Words =
    Words { name: "Days", moves: "Transition", removes: "Expiration", is_days: true };
const DATES: Words =
    Words { name: "Date", moves: "Transition", removes: "Expiration", is_days: false };
const NONCURRENT: Words = Words {
    name: "NoncurrentDays",
    moves: "NoncurrentVersionTransition",
    removes: "NoncurrentVersionExpiration",
    is_days: true,
};

fn must_be_there(class: &str, classes: &[String]) -> Outcome<()> {
    if classes.iter().any(|known| known == class) {
        return Ok(());
    }
    // No name of any class is a mistake of another kind.
    let is_class = CLASSES.contains(&class);
    Err(if is_class { storage_class::invalid(class) } else { Malformed.into() })
}

/// Refuses a rule that counts days and names dates.
fn check_dates(rule: &LifecycleRule) -> Outcome<()> {
    let is_date = |due: &Due| matches!(due, Due::At(_));
    let dues: Vec<_> = rule.transitions.iter().map(|it| it.when).collect();
    let prefix = &rule.filter.prefix;
    if dues.iter().any(is_date) && !dues.iter().all(is_date) {
        let message = format!(
            "Found mixed 'Date' and 'Days' based Transition actions in lifecycle rule for prefix '{prefix}'"
        );
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    if let (Some(Expiration::Objects(removed)), Some(moved)) = (&rule.expiration, dues.first())
        && is_date(removed) != is_date(moved)
    {
        let message = format!(
            "Found mixed 'Date' and 'Days' based Expiration and Transition actions in lifecycle rule \
             for prefix '{prefix}'"
        );
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    Ok(())
}

/// Refuses classes that come twice, too early, or not in their order, and a removal before the last
/// of them.
fn check_order(
    rule: &LifecycleRule,
    moves: &[(&str, u64)],
    removed: Option<u64>,
    classes: &[String],
    words: &Words,
) -> Outcome<()> {
    let Words { name, moves: action, removes, is_days } = *words;
    let prefix = &rule.filter.prefix;
    let rank = |class: &str| classes.iter().position(|known| known == class);
    let mut ordered = moves.to_vec();
    ordered.sort_by_key(|(class, _)| rank(class));
    for &(class, at) in &ordered {
        if is_days && NOT_EARLY.contains(&class) && at < EARLY_DAYS.into() {
            let message = format!(
                "'{name}' in {action} action must be greater than or equal to {EARLY_DAYS} for \
                 storageClass '{class}'"
            );
            return Err(Failure::argument(message, name, &at.to_string()));
        }
    }
    for pair in ordered.windows(2) {
        let ((before, at), (class, later)) = (pair[0], pair[1]);
        if before == class {
            let message = format!(
                "'StorageClass' must be different for '{action}' actions in same 'Rule' with prefix '{prefix}'"
            );
            return Err(Failure::new(Code::InvalidRequest, message));
        }
        if later <= at {
            let message = format!(
                "'{name}' in the '{action}' action for StorageClass '{class}' for prefix '{prefix}' must be \
                 greater than '{name}' in the '{action}' action for StorageClass '{before}'"
            );
            return Err(Failure::new(Code::InvalidArgument, message));
        }
    }
    if let (Some(removed), Some((_, last))) = (removed, ordered.last())
        && removed <= *last
    {
        let than = if is_days { "greater" } else { "later" };
        let message = format!(
            "'{name}' in the {removes} action for prefix '{prefix}' must be {than} than '{name}' in the \
             {action} action"
        );
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    Ok(())
}
