//! What a rule does, and when.

use super::{
    number::{midnight, newer, positive},
    transition,
};
use crate::{
    error::{Code, Failure, Outcome},
    xml::{Malformed, Node},
};
use ripstop_lifecycle::{Due, Expiration, LifecycleRule, Noncurrent};

/// Adds to a rule what it does.
pub(super) fn add(node: &Node<'_>, rule: LifecycleRule) -> Outcome<LifecycleRule> {
    let expiration = node.child("Expiration")?;
    let noncurrent = node.child("NoncurrentVersionExpiration")?;
    let uploads = node.child("AbortIncompleteMultipartUpload")?;
    let moves = node.children.iter().any(|child| child.name.ends_with("Transition"));
    if expiration.or(noncurrent).or(uploads).is_none() && !moves {
        let message = "At least one action needs to be specified in a rule";
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    let (expiration, noncurrent, uploads_after_days) = (
        expiration.map(expire).transpose()?.flatten(),
        noncurrent.map(expire_noncurrent).transpose()?,
        uploads.map(end_uploads).transpose()?,
    );
    let transitions = node.all("Transition").map(transition::of_latest);
    let others = node.all("NoncurrentVersionTransition").map(transition::of_others);
    let (transitions, noncurrent_transitions) =
        (transitions.collect::<Outcome<_>>()?, others.collect::<Outcome<_>>()?);
    let rule = LifecycleRule {
        expiration,
        noncurrent,
        uploads_after_days,
        transitions,
        noncurrent_transitions,
        ..rule
    };
    check_filter(&rule)?;
    Ok(rule)
}

/// Refuses what is asked of objects' tags or lengths and done to what has none.
fn check_filter(rule: &LifecycleRule) -> Outcome<()> {
    let what = if rule.uploads_after_days.is_some() {
        "AbortIncompleteMultipartUpload"
    } else if rule.expiration == Some(Expiration::LoneMarkers) {
        "ExpiredObjectDeleteMarker"
    } else {
        return Ok(());
    };
    let filter = &rule.filter;
    let with = if !filter.tags.is_empty() {
        "Tags"
    } else if filter.longer_than.is_some() || filter.shorter_than.is_some() {
        "Object Size"
    } else {
        return Ok(());
    };
    let message = format!("{what} cannot be specified with {with}.");
    Err(Failure::new(Code::InvalidRequest, message))
}

/// What an `Expiration` says; a marker that is `false` says nothing.
fn expire(node: &Node<'_>) -> Outcome<Option<Expiration>> {
    node.only(&["Days", "Date", "ExpiredObjectDeleteMarker"])?;
    let (days, date) = (node.text_of("Days")?, node.text_of("Date")?);
    match (days, date, node.text_of("ExpiredObjectDeleteMarker")?) {
        (Some(days), None, None) => {
            let days = positive(days, "Days", "Expiration")?;
            Ok(Some(Expiration::Objects(Due::AfterDays(days))))
        }
        (None, Some(date), None) => Ok(Some(Expiration::Objects(Due::At(midnight(date)?)))),
        (None, None, Some("true")) => Ok(Some(Expiration::LoneMarkers)),
        (None, None, Some("false")) => Ok(None),
        _ => Err(Malformed.into()),
    }
}

fn expire_noncurrent(node: &Node<'_>) -> Outcome<Noncurrent> {
    const ACTION: &str = "NoncurrentVersionExpiration";
    node.only(&["NoncurrentDays", "NewerNoncurrentVersions"])?;
    let days = node.text_of("NoncurrentDays")?.ok_or(Malformed)?;
    let after_days = positive(days, "NoncurrentDays", ACTION)?;
    let kept = node.text_of("NewerNoncurrentVersions")?;
    Ok(Noncurrent { after_days, kept: kept.map_or(Ok(0), |kept| newer(kept, ACTION))? })
}

fn end_uploads(node: &Node<'_>) -> Outcome<u32> {
    node.only(&["DaysAfterInitiation"])?;
    let days = node.text_of("DaysAfterInitiation")?.ok_or(Malformed)?;
    positive(days, "DaysAfterInitiation", "AbortIncompleteMultipartUpload")
}
