//! Object lock: what requests and buckets say of how long versions stay.

use crate::{
    date,
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node},
};
use http::HeaderMap;
use ripstop_catalog::{Attributes, Bucket, ObjectLock, Retention, RetentionMode};

/// What the bucket's document is called. A bucket that has it has object lock, for good.
pub(crate) const DOCUMENT: &str = "object-lock";
/// Passes a retention in governance mode by.
pub(crate) const BYPASS: &str = "x-amz-bypass-governance-retention";
/// Longest default retention.
const DAYS_MAX: u64 = 36_500;
const YEARS_MAX: u64 = 100;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

const MODE: &str = "x-amz-object-lock-mode";
const UNTIL: &str = "x-amz-object-lock-retain-until-date";
const HOLD: &str = "x-amz-object-lock-legal-hold";
const PREFIX: &str = "x-amz-object-lock-";

/// How long versions stay of which nothing is said as they are put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Period {
    Days(u64),
    Years(u64),
}

impl Period {
    /// A year is 365 days long, as in S3.
    const fn ms(self) -> u64 {
        match self {
            Self::Days(days) => days * DAY_MS,
            Self::Years(years) => years * 365 * DAY_MS,
        }
    }
}

/// What a bucket with object lock says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LockRule {
    default: Option<(RetentionMode, Period)>,
}

impl LockRule {
    /// The rule of a document that a client sent.
    pub(crate) fn from_root(root: &Node<'_>) -> Outcome<Self> {
        let root = root.named("ObjectLockConfiguration")?;
        if root.text_of("ObjectLockEnabled")? != Some("Enabled") {
            return Err(Malformed.into());
        }
        let Some(rule) = root.child("Rule")? else { return Ok(Self::default()) };
        let retention = rule.child("DefaultRetention")?.ok_or(Malformed)?;
        let (days, years) = (count(retention, "Days")?, count(retention, "Years")?);
        let mode = retention.text_of("Mode")?.and_then(mode_named).ok_or(Malformed)?;
        let period = match (days, years) {
            (Some(days), None) => Period::Days(within(days, DAYS_MAX)?),
            (None, Some(years)) => Period::Years(within(years, YEARS_MAX)?),
            (Some(_), Some(_)) | (None, None) => return Err(Malformed.into()),
        };
        Ok(Self { default: Some((mode, period)) })
    }

    /// The bucket's rule, if it has object lock.
    fn of(bucket: &Bucket) -> Outcome<Option<Self>> {
        let Some(document) = bucket.documents.get(DOCUMENT) else { return Ok(None) };
        let limits = Limits { bytes: document.len(), depth: 8, elements: 64 };
        let root = xml::parse(document.as_bytes(), limits).map_err(Failure::from);
        // Written by `document`. What is put by a rule that cannot be read would not be kept.
        let rule = root.and_then(|root| Self::from_root(&root));
        rule.map(Some).map_err(|_| Code::InternalError.into())
    }

    /// The document that the bucket keeps, and answers.
    pub(crate) fn document(self) -> String {
        let mut root = Element::in_namespace("ObjectLockConfiguration");
        root.text("ObjectLockEnabled", "Enabled");
        if let Some((mode, period)) = self.default {
            root.child("Rule", |rule| {
                rule.child("DefaultRetention", |retention| {
                    retention.text("Mode", mode_word(mode));
                    match period {
                        Period::Days(days) => retention.value("Days", days),
                        Period::Years(years) => retention.value("Years", years),
                    };
                });
            });
        }
        root.document()
    }

    /// The retention of what is put now and says none.
    fn retention(self, now_ms: u64) -> Option<Retention> {
        let (mode, period) = self.default?;
        Some(Retention { mode, until_ms: now_ms.saturating_add(period.ms()) })
    }
}

/// A number of days or years, in whatever form a client writes a number.
fn count(node: &Node<'_>, name: &str) -> Outcome<Option<i64>> {
    let Some(text) = node.text_of(name)? else { return Ok(None) };
    Ok(Some(text.trim().parse().map_err(|_| Malformed)?))
}

fn within(count: i64, max: u64) -> Outcome<u64> {
    let invalid = |message| Failure::new(Code::InvalidRetentionPeriod, message);
    match u64::try_from(count) {
        Ok(0) | Err(_) => Err(invalid("Default retention period must be a positive integer value")),
        Ok(count) if count > max => Err(invalid("Default retention period too large")),
        Ok(count) => Ok(count),
    }
}

/// Whether the bucket has object lock.
pub(crate) fn is_on(bucket: &Bucket) -> bool {
    bucket.documents.get(DOCUMENT).is_some()
}

/// Refuses what only a bucket with object lock takes.
pub(crate) fn must_be_on(bucket: &Bucket) -> Outcome<()> {
    if is_on(bucket) {
        return Ok(());
    }
    Err(Failure::new(Code::InvalidRequest, "Bucket is missing Object Lock Configuration"))
}

/// The lock that a request's headers ask for.
pub(crate) fn asked(headers: &HeaderMap) -> Outcome<ObjectLock> {
    if !headers.keys().any(|name| name.as_str().starts_with(PREFIX)) {
        return Ok(ObjectLock::default());
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let retention = match (text(MODE), text(UNTIL)) {
        (None, None) => None,
        (Some(mode), Some(until)) => {
            let unknown = || Failure::argument("Unknown wormMode directive.", MODE, mode);
            let mode = mode_named(mode).ok_or_else(unknown)?;
            let wrong = "The retain until date must be provided in ISO 8601 format";
            let at = date::parse_document(until);
            let until_ms = at.and_then(to_come).ok_or(at);
            let until_ms = until_ms.map_err(|at| match at {
                None => Failure::argument(wrong, UNTIL, until),
                Some(_) => past(UNTIL, until),
            })?;
            Some(Retention { mode, until_ms })
        }
        (mode, _) => {
            let message = format!("{UNTIL} and {MODE} must both be supplied");
            let missing = if mode.is_some() { UNTIL } else { MODE };
            return Err(Failure::argument(message, missing, ""));
        }
    };
    let unknown = |hold| {
        let message = "Legal Hold must be either of 'ON' or 'OFF'";
        Failure::argument(message, HOLD, hold)
    };
    let legal_hold = text(HOLD).map(|hold| is_held(hold).ok_or_else(|| unknown(hold)));
    Ok(ObjectLock { retention, legal_hold: legal_hold.transpose()? })
}

fn past(argument: &str, until: &str) -> Failure {
    Failure::argument("The retain until date must be in the future!", argument, until)
}

/// In milliseconds, if it is yet to come.
fn to_come(at_s: i64) -> Option<u64> {
    let at_ms = u64::try_from(at_s).ok()?.checked_mul(1000)?;
    (at_ms > date::now_ms()).then_some(at_ms)
}

/// The attributes of what is put into a bucket: with the lock that was asked for, or else the
/// bucket's own.
pub(crate) fn apply(attributes: &mut Attributes, bucket: &Bucket) -> Outcome<()> {
    let Some(rule) = LockRule::of(bucket)? else {
        return if attributes.lock == ObjectLock::default() { Ok(()) } else { must_be_on(bucket) };
    };
    if attributes.lock.retention.is_none() {
        attributes.lock.retention = rule.retention(date::now_ms());
    }
    Ok(())
}

/// The retention that a document asks for; `None` if it is to end.
pub(crate) fn retention_from(root: &Node<'_>) -> Outcome<Option<Retention>> {
    let root = root.named("Retention")?;
    let (mode, until) = (root.text_of("Mode")?, root.text_of("RetainUntilDate")?);
    let (mode, until) = match (mode, until) {
        (None, None) => return Ok(None),
        (mode, until) => (mode.ok_or(Malformed)?, until.ok_or(Malformed)?),
    };
    let mode = mode_named(mode).ok_or(Malformed)?;
    let at = date::parse_document(until.trim()).ok_or(Malformed)?;
    let until_ms = to_come(at).ok_or_else(|| past("RetainUntilDate", until))?;
    Ok(Some(Retention { mode, until_ms }))
}

/// The document of a retention.
pub(crate) fn retention_document(retention: Retention) -> String {
    let mut root = Element::in_namespace("Retention");
    root.text("Mode", mode_word(retention.mode));
    root.text("RetainUntilDate", &date::document(retention.until_ms));
    root.document()
}

/// Whether a document asks for a legal hold, or for its end.
pub(crate) fn hold_from(root: &Node<'_>) -> Outcome<bool> {
    let status = root.named("LegalHold")?.text_of("Status")?;
    Ok(status.and_then(is_held).ok_or(Malformed)?)
}

/// The document of a legal hold.
pub(crate) fn hold_document(is_held: bool) -> String {
    let mut root = Element::in_namespace("LegalHold");
    root.text("Status", hold_word(is_held));
    root.document()
}

/// The headers of an answer that shows an object.
pub(crate) fn show(lock: &ObjectLock, mut put: impl FnMut(&str, &str)) {
    if let Some(Retention { mode, until_ms }) = lock.retention {
        put(MODE, mode_word(mode));
        put(UNTIL, &date::document(until_ms));
    }
    if let Some(is_held) = lock.legal_hold {
        put(HOLD, hold_word(is_held));
    }
}

fn mode_named(word: &str) -> Option<RetentionMode> {
    match word {
        "GOVERNANCE" => Some(RetentionMode::Governance),
        "COMPLIANCE" => Some(RetentionMode::Compliance),
        _ => None,
    }
}

const fn mode_word(mode: RetentionMode) -> &'static str {
    match mode {
        RetentionMode::Governance => "GOVERNANCE",
        RetentionMode::Compliance => "COMPLIANCE",
    }
}

fn is_held(word: &str) -> Option<bool> {
    match word {
        "ON" => Some(true),
        "OFF" => Some(false),
        _ => None,
    }
}

const fn hold_word(is_held: bool) -> &'static str {
    if is_held { "ON" } else { "OFF" }
}
