use super::{family as of, sheet::Sheet};
use ripstop_kv::KvStatus;
use std::{fmt, sync::Arc};

/// What the door that speaks memcached did, whenever it is asked.
pub(crate) type KvWatch = Arc<dyn Fn() -> KvStatus + Send + Sync>;

/// Writes what the door did and its shelf has.
pub(crate) fn encode(watch: &KvWatch, sheet: &mut Sheet<'_>) -> fmt::Result {
    let status = watch();
    let mut rows = sheet.family(&of::KV_COMMANDS)?;
    for (command, outcome, count) in status.commands {
        rows.count(&[("command", command), ("outcome", outcome)], &count.into())?;
    }
    let shelf = status.shelf;
    for (family, value) in [
        (&of::KV_CONNECTIONS, status.connections),
        (&of::KV_ITEMS, shelf.items),
        (&of::KV_ITEM_BYTES, shelf.bytes),
    ] {
        sheet.family(family)?.gauge(&[], value as f64)?;
    }
    let singles = [
        (&of::KV_ACCEPTED, status.accepted),
        (&of::KV_KICKED, status.kicked),
        (&of::KV_RECEIVED, status.received),
        (&of::KV_SENT, status.sent),
        (&of::KV_FAILED, status.failed),
        (&of::KV_EVICTED, shelf.evicted),
    ];
    for (family, value) in singles {
        sheet.family(family)?.single(value as f64)?;
    }
    Ok(())
}
