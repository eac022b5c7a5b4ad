//! What is there when no gateway is: nodes, the bytes of the catalog's disk, the wall clock.

use crate::{
    held::Held,
    manner::Manner,
    plan::{Fault, Plan},
    trace::Trace,
};
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Where the wall clock begins: far from now, so that a look at another clock shows.
const WALL: Duration = Duration::from_hours(24 * 365 * 80);

/// Everything that outlives a gateway.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) trace: Trace,
    /// What a node that is well takes on average.
    pub(crate) node_mean: Duration,
    nodes: Vec<Mutex<Held>>,
    manners: Mutex<Vec<Manner>>,
    down: Mutex<Vec<bool>>,
    disk: Mutex<Vec<u8>>,
    wall: Mutex<SystemTime>,
    /// What the wall clock showed as the session began, and when that was.
    steady: Mutex<Option<(SystemTime, Instant)>>,
    /// What was deleted while too few nodes took the record of it: a rebuild may find it.
    untold: Mutex<BTreeSet<(String, String)>>,
}

fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(plan: &Plan, trace: Trace) -> Self {
        let count = plan.all_nodes();
        let held = (0..count).map(|node| Mutex::new(Held::new(plan.seed, node)));
        Self {
            trace,
            node_mean: plan.tempo.node(),
            nodes: held.collect(),
            manners: Mutex::new(vec![Manner::default(); count]),
            down: Mutex::new(vec![false; count]),
            disk: Mutex::new(Vec::new()),
            wall: Mutex::new(UNIX_EPOCH + WALL),
            steady: Mutex::new(None),
            untold: Mutex::new(BTreeSet::new()),
        }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn held(&self, node: usize) -> MutexGuard<'_, Held> {
        lock(&self.nodes[node])
    }

    pub(crate) fn manner(&self, node: usize) -> Manner {
        lock(&self.manners)[node]
    }

    pub(crate) fn is_down(&self, node: usize) -> bool {
        lock(&self.down)[node]
    }

    pub(crate) fn set_down(&self, node: usize, is_down: bool) {
        self.trace.note(format_args!("node {node} is down: {is_down}"));
        lock(&self.down)[node] = is_down;
    }

    /// From now on nodes behave as these faults say.
    pub(crate) fn harm(&self, victim: usize, faults: &[(u64, Fault)]) {
        for (node, manner) in lock(&self.manners).iter_mut().enumerate() {
            *manner = Manner::of(node, victim, faults);
        }
    }

    /// From now on all nodes are well.
    pub(crate) fn heal(&self) {
        self.harm(0, &[]);
        lock(&self.down).fill(false);
    }

    /// What the disk of the catalog holds.
    pub(crate) fn disk(&self) -> Vec<u8> {
        lock(&self.disk).clone()
    }

    /// … which somebody has from now on, and brings back.
    pub(crate) fn take_disk(&self) -> Vec<u8> {
        std::mem::take(&mut *lock(&self.disk))
    }

    pub(crate) fn set_disk(&self, content: Vec<u8>) {
        *lock(&self.disk) = content;
    }

    /// A name of the catalog was deleted, which nodes have a record of or not.
    pub(crate) fn note_deletion(&self, name: (String, String), is_told: bool) {
        let mut untold = lock(&self.untold);
        if is_told {
            untold.remove(&name);
        } else {
            untold.insert(name);
        }
    }

    /// What was deleted without a record at the nodes.
    pub(crate) fn untold(&self) -> BTreeSet<(String, String)> {
        lock(&self.untold).clone()
    }

    pub(crate) fn wall(&self) -> SystemTime {
        *lock(&self.wall)
    }

    /// A session begins now.
    pub(crate) fn begin_steady(&self, shown: SystemTime) {
        *lock(&self.steady) = Some((shown, ripstop_host::now()));
    }

    /// How long ago the session began.
    pub(crate) fn passed(&self) -> Duration {
        lock(&self.steady).map_or(Duration::ZERO, |(_, begun)| ripstop_host::since(begun))
    }

    /// What the wall clock would show if it had not jumped in this session, milliseconds since
    /// 1970.
    pub(crate) fn steady_ms(&self) -> u64 {
        let Some((shown, begun)) = *lock(&self.steady) else { return 0 };
        let steady = shown + ripstop_host::since(begun);
        steady.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
    }

    pub(crate) fn set_wall(&self, shown: SystemTime) {
        *lock(&self.wall) = shown;
    }
}
