//! What keeps an object, as three fields.

use crate::{Fields, Found, Unreadable};
use ripstop_object::{ObjectLock, Retention, RetentionMode};

/// The retention's mode and end, and the legal hold: none where nothing was said.
pub(crate) fn write(to: &mut Fields, first: u64, lock: &ObjectLock) {
    if let Some(Retention { mode, until_ms }) = lock.retention {
        to.number(first, mode_number(mode));
        to.number(first + 1, until_ms);
    }
    to.number(first + 2, lock.legal_hold.map_or(0, hold_number));
}

pub(crate) fn read(
    member: u64,
    from: &mut Found<'_>,
    lock: &mut ObjectLock,
) -> Result<(), Unreadable> {
    match (member, &mut lock.retention) {
        (0, retention) => *retention = Some(Retention { mode: read_mode(from)?, until_ms: 0 }),
        (1, Some(retention)) => retention.until_ms = from.number()?,
        (1, None) => return Err(from.wrong("has no mode before it")),
        _ => lock.legal_hold = Some(read_hold(from)?),
    }
    Ok(())
}

const fn mode_number(mode: RetentionMode) -> u64 {
    match mode {
        RetentionMode::Governance => 1,
        RetentionMode::Compliance => 2,
    }
}

fn read_mode(from: &mut Found<'_>) -> Result<RetentionMode, Unreadable> {
    Ok(match from.number()? {
        1 => RetentionMode::Governance,
        2 => RetentionMode::Compliance,
        _ => return Err(from.wrong("is no mode of a retention that is known")),
    })
}

/// A hold that was taken back is not the same as none.
fn hold_number(is_held: bool) -> u64 {
    if is_held { 1 } else { 2 }
}

fn read_hold(from: &mut Found<'_>) -> Result<bool, Unreadable> {
    Ok(match from.number()? {
        1 => true,
        2 => false,
        _ => return Err(from.wrong("is no legal hold that is known")),
    })
}
