use super::{
    family::{self as of, Family},
    plan_rows,
    pool::{
        ANSWERS, FATES, LOSSES, NodeOperationCounts, OPERATIONS, OUTCOMES, PoolCounts, REQUESTS,
        Seen, WASTES,
    },
    sheet::{Labels, Sheet},
};
use ripstop_gateway::{NodeGauge, NodeState};
use ripstop_roster::PoolGauges;
use std::{fmt, sync::atomic::AtomicU64};

/// Writes everything about the pools.
pub(crate) fn encode(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    encode_gauges(pools, sheet)?;
    encode_counts(pools, sheet)?;
    plan_rows::encode(pools, sheet)?;
    encode_nodes(pools, sheet)
}

/// One gauge of pools: its family and how to read it.
type PoolGauge = (&'static Family, fn(&PoolCounts, &PoolGauges) -> usize);
const POOL_GAUGES: [PoolGauge; 10] = [
    (&of::BACKLOG, |_, now| now.load.backlog),
    (&of::SERVING, |_, now| now.load.serving),
    (&of::ENCODING, |_, now| now.encoding),
    (&of::MENDS_WAITING, |_, now| now.mends_waiting),
    (&of::LANES, |_, now| now.load.lanes),
    (&of::LANES_BUSY, |_, now| now.load.lanes - now.load.lanes_idle),
    (&of::LANES_REDUNDANT, |_, now| now.load.lanes_redundant),
    (&of::TASKS_WAITING, |_, now| now.load.tasks_waiting),
    (&of::NODES_UP, |_, now| now.nodes.iter().filter(|node| is_up(node)).count()),
    (&of::NODES_NEEDED, |counts, _| counts.roster.names().nodes_needed),
];

type NodeGaugeOf = (&'static Family, fn(&NodeGauge) -> usize);
const NODE_GAUGES: [NodeGaugeOf; 4] = [
    (&of::NODE_UP, |node| usize::from(is_up(node))),
    (&of::NODE_LANES, |node| node.lanes.into()),
    (&of::NODE_LANES_BUSY, |node| node.lanes_busy.into()),
    (&of::NODE_WAITING, |node| node.tasks_waiting),
];

pub(crate) fn is_up(node: &NodeGauge) -> bool {
    node.state == NodeState::Up
}

fn encode_gauges(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    let watched = || pools.iter().filter_map(|(counts, now)| Some((counts, now.as_ref()?)));
    for (family, read) in POOL_GAUGES {
        let mut rows = sheet.family(family)?;
        for (counts, now) in watched() {
            rows.gauge(&[("pool", &counts.roster.names().name)], read(counts, now) as f64)?;
        }
    }
    let mut rows = sheet.family(&of::DELAY_MODEL)?;
    for (counts, now) in watched() {
        for (operation, model) in OPERATIONS.into_iter().zip(now.delay_models) {
            let Some(model) = model else { continue };
            for (parameter, ms) in [
                ("shift", model.shift_ms),
                ("shift_per_mb", model.shift_ms_per_mb),
                ("mean", model.mean_ms),
                ("mean_per_mb", model.mean_ms_per_mb),
            ] {
                let pool = ("pool", &*counts.roster.names().name);
                rows.gauge(&[pool, ("operation", operation), ("parameter", parameter)], ms / 1e3)?;
            }
        }
    }
    for (family, read) in NODE_GAUGES {
        let mut rows = sheet.family(family)?;
        for (counts, now) in watched() {
            for node in &now.nodes {
                let labels = [
                    ("pool", &*counts.roster.names().name),
                    ("node", counts.roster.names().node(node.id)),
                ];
                rows.gauge(&labels, read(node) as f64)?;
            }
        }
    }
    Ok(())
}

fn encode_counts(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    let mut rows = sheet.family(&of::QUEUEING)?;
    for (counts, _) in pools {
        rows.histogram(&[("pool", &counts.roster.names().name)], &counts.queueing.buckets())?;
    }
    encode_operations(pools, sheet)?;
    let mut rows = sheet.family(&of::WASTED)?;
    for (counts, _) in pools {
        for (outcome, count) in WASTES.into_iter().zip(&counts.wasted) {
            rows.count(&[("pool", &counts.roster.names().name), ("outcome", outcome)], count)?;
        }
    }
    let mut rows = sheet.family(&of::LOST)?;
    for (counts, _) in pools {
        for (outcome, count) in LOSSES.into_iter().zip(&counts.lost) {
            rows.count(&[("pool", &counts.roster.names().name), ("outcome", outcome)], count)?;
        }
    }
    let mut rows = sheet.family(&of::DECODE)?;
    for (counts, _) in pools {
        rows.histogram(&[("pool", &counts.roster.names().name)], &counts.decode.buckets())?;
    }
    let mut rows = sheet.family(&of::LOG_MISSED)?;
    for (counts, _) in pools {
        let missed = AtomicU64::new(counts.roster.task_log().missed());
        rows.count(&[("pool", &counts.roster.names().name)], &missed)?;
    }
    Ok(())
}

/// What reads and writes are counted by.
fn encode_operations(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    let each = || {
        pools.iter().flat_map(|(counts, _)| {
            let named = REQUESTS.into_iter().zip(&counts.operations);
            named.map(|(operation, of)| {
                ([("pool", &*counts.roster.names().name), ("operation", operation)], of)
            })
        })
    };
    let mut rows = sheet.family(&of::STARTED)?;
    for ([pool, operation], counts) in each() {
        for (code, count) in counts.codes.iter() {
            rows.count(&[pool, operation, ("code", &code.to_string())], count)?;
        }
        rows.count(&[pool, operation, ("code", "other")], &counts.codes.other)?;
    }
    let mut rows = sheet.family(&of::ANSWERED)?;
    for (labels, counts) in each() {
        for (labels, count) in outcomes(&labels, &ANSWERS, &counts.answers) {
            rows.count(&labels, count)?;
        }
    }
    let mut rows = sheet.family(&of::ANSWER_SECONDS)?;
    for (labels, counts) in each() {
        rows.histogram(&labels, &counts.took.buckets())?;
    }
    let mut rows = sheet.family(&of::TASK_QUEUEING)?;
    for (labels, counts) in each() {
        rows.histogram(&labels, &counts.task_queueing.buckets())?;
    }
    let mut rows = sheet.family(&of::REDUNDANT)?;
    for (labels, counts) in each() {
        for (labels, count) in outcomes(&labels, &OUTCOMES, &counts.redundant) {
            rows.count(&labels, count)?;
        }
    }
    let mut rows = sheet.family(&of::EXTRA)?;
    for (labels, counts) in each() {
        for (labels, count) in outcomes(&labels, &FATES, &counts.extra) {
            rows.count(&labels, count)?;
        }
    }
    Ok(())
}

fn encode_nodes(pools: &[Seen], sheet: &mut Sheet<'_>) -> fmt::Result {
    let nodes = || {
        pools.iter().flat_map(|(pool, _)| {
            let named = pool.roster.names().nodes.iter().zip(&pool.nodes);
            named.map(|((_, node), counts)| {
                ([("pool", &*pool.roster.names().name), ("node", &**node)], counts)
            })
        })
    };
    let mut rows = sheet.family(&of::NODE_OUTAGES)?;
    for (labels, counts) in nodes() {
        rows.count(&labels, &counts.outages)?;
    }
    let mut rows = sheet.family(&of::NODE_REFUSES)?;
    for (pool, _) in pools {
        for (id, node) in pool.roster.nodes() {
            let labels = [("pool", pool.name()), ("node", &**node)];
            rows.gauge(&labels, f64::from(u8::from(pool.roster.refuses(*id))))?;
        }
    }
    let each = || {
        nodes().flat_map(|([pool, node], counts)| {
            let named = OPERATIONS.into_iter().zip(&counts.operations);
            named.map(move |(operation, of)| ([pool, node, ("operation", operation)], of))
        })
    };
    let mut rows = sheet.family(&of::TASKS)?;
    for (labels, counts) in each() {
        for (labels, count) in outcomes(&labels, &OUTCOMES, &counts.tasks) {
            rows.count(&labels, count)?;
        }
    }
    let mut rows = sheet.family(&of::TASK_BYTES)?;
    for (labels, NodeOperationCounts { bytes, .. }) in each() {
        rows.count(&labels, bytes)?;
    }
    let mut rows = sheet.family(&of::SERVICE)?;
    for (labels, NodeOperationCounts { service, .. }) in each() {
        rows.histogram(&labels, &service.buckets())?;
    }
    Ok(())
}

/// One row for each outcome, the label added to the others.
fn outcomes<'a>(
    labels: Labels<'a>,
    names: &'a [&'static str],
    counts: &'a [AtomicU64],
) -> impl Iterator<Item = (Vec<(&'static str, &'a str)>, &'a AtomicU64)> {
    names.iter().zip(counts).map(|(name, count)| {
        let labels = labels.iter().copied().chain([("outcome", *name)]).collect();
        (labels, count)
    })
}
