//! That no gateway serves from a catalog in a database, which has no lock to tell.

use crate::progress::progress;
use anyhow::{Result, bail, ensure};
use ripstop_catalog::{Catalog, Session};
use std::{collections::BTreeMap, time::Duration};

/// How often it is looked whether a gateway is alive.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How far ahead a gateway says at most that it is alive; what is further is a clock's mistake.
const ALIVE_MAX: Duration = Duration::from_mins(2);

/// Waits until every gateway that was alive as this begins counts as dead; refuses as soon as one
/// says again that it is alive.
pub(crate) async fn must_be_alone(catalog: &dyn Catalog) -> Result<()> {
    let begun_ms = ripstop_host::unix_ms();
    let first = alive(catalog, begun_ms).await?;
    let mut last = first.clone();
    let bar = progress("s until gateways that were stopped count as dead");
    while let Some((session, until_ms)) = last.iter().max_by_key(|(_, until_ms)| **until_ms) {
        let session = format!("{:08x}", session.0);
        ensure!(
            *until_ms < begun_ms + ALIVE_MAX.as_millis() as u64,
            "session {session} of a gateway counts as alive for more than {} s: its clock, or this one, is wrong",
            ALIVE_MAX.as_secs()
        );
        bar.set_position(until_ms.saturating_sub(ripstop_host::unix_ms()) / 1000);
        tokio::time::sleep(LOOK_EVERY).await;
        last = alive(catalog, ripstop_host::unix_ms()).await?;
        let renewed = last.iter().any(|(session, until_ms)| first.get(session) < Some(until_ms));
        if renewed {
            bail!("a gateway serves from this catalog: stop all of them first");
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Until when each session counts as alive that does.
async fn alive(catalog: &dyn Catalog, now_ms: u64) -> Result<BTreeMap<Session, u64>> {
    let watermarks = catalog.watermarks().await?.into_iter();
    let alive = watermarks.filter(|(_, it)| !it.is_retired && it.alive_until_ms >= now_ms);
    Ok(alive.map(|(session, it)| (session, it.alive_until_ms)).collect())
}
