use super::{family as of, sheet::Sheet};
use ripstop_kms::KmsReading;
use std::fmt;

/// Writes what was asked of the key service.
pub(crate) fn encode(reading: &KmsReading, sheet: &mut Sheet<'_>) -> fmt::Result {
    let mut rows = sheet.family(&of::KMS_CALLS)?;
    for (call, ends, _) in &reading.calls {
        for (outcome, count) in ["done", "refused", "unavailable"].into_iter().zip(ends) {
            rows.count(&[("call", call.name()), ("outcome", outcome)], &(*count).into())?;
        }
    }
    let mut rows = sheet.family(&of::KMS_SECONDS)?;
    for (call, _, took) in &reading.calls {
        rows.seconds(&[("call", call.name())], took.as_nanos() as u64)?;
    }
    sheet.family(&of::KMS_FOUND)?.count(&[], &reading.found.into())?;
    sheet.family(&of::KMS_TURNED_AWAY)?.count(&[], &reading.turned_away.into())?;
    sheet.family(&of::KMS_CACHED)?.gauge(&[], reading.cached as f64)
}
