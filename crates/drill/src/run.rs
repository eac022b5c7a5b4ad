//! A drill from its beginning to its verdict.

use crate::{
    actor::{KEEPS, LOCKS},
    again, age,
    history::{Call, History},
    order::{self, Order},
    panics,
    plan::{End, Kill, Plan},
    session::{self, Stage},
    tempo::Tempo,
    together,
    trace::Trace,
    world::World,
};
use std::{collections::BTreeMap, sync::Arc};

/// What is to be told of a drill beside its verdict.
#[derive(Clone, Copy, Default, Debug)]
pub struct Wanted {
    /// The trace is summed up to this step only.
    pub until: Option<u64>,
    /// Whether the trace's lines are kept.
    pub lines: bool,
}

/// What a drill came to.
#[derive(Clone, Default, Debug)]
pub struct Played {
    /// All that happened, as a number: of equal drills it is equal.
    pub hash: u64,
    /// How many steps it sums up.
    pub steps: u64,
    /// Requests that clients sent.
    pub requests: u64,
    /// What was not as it must be.
    pub failure: Option<String>,
    /// What clients asked for and what came of it, a line of JSON each.
    pub history: Vec<String>,
    /// The trace, if it was wanted.
    pub lines: Vec<String>,
    /// Of each session: steps of tasks, operations of the catalog's disk, operations of nodes.
    pub points: Vec<[u64; 3]>,
    /// Keys of which it would take too long to find out whether one order explains what was told.
    pub undecided: u64,
}

/// What the search for orders came to.
#[derive(Default)]
struct Disorder {
    failure: Option<String>,
    undecided: u64,
}

/// Plays a drill.
pub fn play(plan: &Plan, wanted: Wanted) -> Played {
    let trace = Trace::new(wanted.until, wanted.lines);
    let world = Arc::new(World::new(plan, trace));
    let history = Arc::new(History::default());
    let mut points = Vec::new();
    let (came, panics) = panics::watch(|| sessions(plan, &world, &history, &mut points));
    let (mut failures, mut undecided) = (panics, 0);
    failures.extend(came.err());
    failures.extend(history.complaints());
    if failures.is_empty() {
        let found = disorder(&history.calls(), plan.taste.day_ms > 0);
        undecided = found.undecided;
        failures.extend(found.failure);
    }
    let (hash, steps) = world.trace.sum();
    Played {
        hash,
        steps,
        requests: history.requests(),
        failure: (!failures.is_empty()).then(|| failures.join("\n")),
        history: history.lines(),
        lines: world.trace.lines(),
        points,
        undecided,
    }
}

fn sessions(
    plan: &Plan,
    world: &Arc<World>,
    history: &Arc<History>,
    points: &mut Vec<[u64; 3]>,
) -> Result<(), String> {
    let shown = |error: anyhow::Error| format!("{error:#}");
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let config = Arc::new(session::config(plan, folder.path()).map_err(shown)?);
    let (plan, world) = (Arc::new(plan.clone()), world.clone());
    let stage = Stage { plan: plan.clone(), world, history: history.clone(), config };
    if let Some(fleet) = &plan.fleet {
        return together::play(&stage, fleet);
    }
    session::make_catalog(&stage.world)?;
    for (at, session) in plan.sessions.iter().enumerate() {
        let left = session::play(&stage, at, session);
        points.push(left.points);
        left.came.map_err(|error| format!("session {at}: {error}"))?;
        if !history.complaints().is_empty() {
            break;
        }
        let End { kill, loses_catalog, .. } = session.end;
        if kill.is_none() {
            again::compare(&stage, loses_catalog)
                .map_err(|error| format!("session {at}: {error:#}"))?;
        }
    }
    Ok(())
}

/// What of what clients were told no order explains.
fn disorder(calls: &[Call], is_aging: bool) -> Disorder {
    let mut by_key = BTreeMap::<(&str, &str), Vec<Call>>::new();
    for call in calls {
        by_key.entry((call.bucket, &call.key)).or_default().push(call.clone());
    }
    let mut found = Disorder::default();
    for ((bucket, key), calls) in by_key {
        let calls = if is_aging { age::with_expiry(bucket, key, calls) } else { calls };
        match order::check(&calls, [KEEPS, LOCKS].contains(&bucket)) {
            Ok(Order::Found) => {}
            Ok(Order::Unknown) => found.undecided += 1,
            Err(error) => {
                found.failure = Some(format!("{bucket}/{key}: {error}"));
                break;
            }
        }
    }
    found
}

impl Plan {
    /// One session without faults that is killed, or not, and one that follows it and comes to
    /// rest.
    pub fn scripted(seed: u64, kill: Option<Kill>, is_power: bool) -> Self {
        let mut plan = Self { tempo: Tempo::USUAL, ..Self::draw(seed) };
        let mut first = plan.sessions[0].clone();
        first.faults.clear();
        first.clients = vec![20, 20, 20];
        let mut last = first.clone();
        last.clients = vec![4];
        first.end = End { kill, is_power, loses_catalog: false };
        last.end = End { kill: None, is_power: false, loses_catalog: true };
        plan.sessions = vec![first, last];
        plan
    }
}
