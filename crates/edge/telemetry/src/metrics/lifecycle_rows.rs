use super::{family as of, sheet::Sheet};
use ripstop_keeper::Aged;
use std::fmt;

/// Writes what was done by buckets' rules.
pub(crate) fn encode(aged: &Aged, sheet: &mut Sheet<'_>) -> fmt::Result {
    let Aged { objects, versions, markers, uploads, skipped, failed, .. } = *aged;
    let Aged { moved, moved_bytes, .. } = *aged;
    let removed =
        [("object", objects), ("version", versions), ("marker", markers), ("upload", uploads)];
    let mut rows = sheet.family(&of::LIFECYCLE_REMOVED)?;
    for (what, count) in removed {
        rows.count(&[("what", what)], &count.into())?;
    }
    sheet.family(&of::LIFECYCLE_MOVED)?.count(&[], &moved.into())?;
    sheet.family(&of::LIFECYCLE_MOVED_BYTES)?.count(&[], &moved_bytes.into())?;
    let mut rows = sheet.family(&of::LIFECYCLE_LEFT)?;
    for (why, count) in [("refused", skipped), ("failed", failed)] {
        rows.count(&[("why", why)], &count.into())?;
    }
    Ok(())
}
