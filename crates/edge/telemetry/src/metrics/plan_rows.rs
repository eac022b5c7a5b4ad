use super::{
    family::{self as of, Family},
    pool::Seen,
    sheet::Sheet,
};
use ripstop_keeper::MoveProgress;
use ripstop_roster::PlanStanding;
use std::{fmt, sync::atomic::AtomicU64};

type MoveCount = (&'static Family, fn(&MoveProgress) -> u64);
const MOVE_COUNTS: [MoveCount; 3] = [
    (&of::MOVED, |moves| moves.fragments_moved),
    (&of::MOVED_BYTES, |moves| moves.bytes_moved),
    (&of::MOVES_FAILED, |moves| moves.failed),
];

type PlanGauge = (&'static Family, fn(&PlanStanding) -> f64);
const PLAN_GAUGES: [PlanGauge; 2] = [
    (&of::PLAN_GROUPS, |plan| plan.groups as f64),
    (&of::PLAN_BOUND, |plan| plan.latency_bound_seconds),
];

/// Writes which plans pools follow, and how far their stripes are where plans want them.
pub(crate) fn encode(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    let plans =
        || pools.iter().filter_map(|(counts, _)| Some((counts.name(), counts.roster().plan()?)));
    let mut rows = sheet.family(&of::PLANS)?;
    for (pool, plan) in plans() {
        rows.count(&[("pool", pool)], &AtomicU64::new(plan.plans))?;
    }
    for (family, read) in PLAN_GAUGES {
        let mut rows = sheet.family(family)?;
        for (pool, plan) in plans() {
            rows.gauge(&[("pool", pool)], read(&plan))?;
        }
    }
    let moves =
        || pools.iter().filter_map(|(counts, now)| Some((counts.name(), now.as_ref()?.moves)));
    for (family, read) in MOVE_COUNTS {
        let mut rows = sheet.family(family)?;
        for (pool, moves) in moves() {
            rows.count(&[("pool", pool)], &AtomicU64::new(read(&moves)))?;
        }
    }
    let mut rows = sheet.family(&of::MOVES_LEFT)?;
    for (pool, moves) in moves() {
        rows.gauge(&[("pool", pool)], moves.fragments_left as f64)?;
    }
    Ok(())
}
