use crate::NodeIndex;
use alloc::vec::Vec;
use core::mem;
use core::ops::Index;
use ripstop_model::{NodeId, Timestamp};
use serde::{Deserialize, Serialize};

/// A node as it is configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Unique among the nodes.
    pub id: NodeId,
    /// Tasks it serves at once; at least 1.
    pub lanes: u16,
}

/// One node: its lanes, whether it serves, and who must keep off it.
#[derive(Clone, Debug)]
pub struct Lanes {
    id: NodeId,
    count: u16,
    busy: u16,
    ending: u16,
    waiting: u32,
    needed_waiting: u32,
    up: bool,
    failures: u32,
    refused_until: Timestamp,
    reserved: u64,
}

impl Lanes {
    /// The node's configured id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Tasks it serves at once.
    pub fn lanes(&self) -> u16 {
        self.count
    }

    /// Lanes on which a task runs, cancelled ones counted.
    pub fn busy(&self) -> u16 {
        self.busy
    }

    /// Busy lanes whose task was told to stop.
    pub fn ending(&self) -> u16 {
        self.ending
    }

    /// Tasks in its queue that are needed.
    pub fn needed_waiting(&self) -> usize {
        self.needed_waiting as usize
    }

    /// Tasks in its queue.
    pub fn waiting(&self) -> usize {
        self.waiting as usize
    }

    /// Whether it serves.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Whether a task that is needed could start right away.
    pub fn is_ready(&self) -> bool {
        self.up && self.busy < self.count && self.needed_waiting == 0
    }

    /// Whether it can be given one more task: to start right away, or to wait with fewer than
    /// `tasks_waiting_max` others.
    pub fn has_room(&self, tasks_waiting_max: usize) -> bool {
        self.is_ready() || self.waiting() < tasks_waiting_max
    }

    /// Outstanding work per lane, in 1/256.
    pub fn load(&self) -> u32 {
        (u32::from(self.busy) + self.waiting) * 256 / u32::from(self.count)
    }

    /// Whether it refused a write so recently that others are better.
    pub fn refuses(&self, now: Timestamp) -> bool {
        now < self.refused_until
    }

    /// Whether an earlier request of this look at the queue waits for it.
    pub fn is_reserved(&self, look: u64) -> bool {
        self.reserved == look
    }
}

/// Sums over nodes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Nodes that are up.
    pub nodes_up: usize,
    /// Nodes on which a needed task could start right away.
    pub nodes_ready: usize,
    /// Lanes of the nodes that are up.
    pub lanes_up: usize,
    /// Those of them on which a task runs.
    pub lanes_up_busy: usize,
    /// Lanes of all nodes on which a task runs.
    pub lanes_busy: usize,
}

/// All nodes, by index.
#[derive(Clone, Debug)]
pub struct Nodes {
    all: Vec<Lanes>,
    by_id: Vec<Option<NodeIndex>>,
    totals: Totals,
}

/// Most nodes.
const NODES_MAX: usize = 65_534;

impl Nodes {
    /// The nodes, all up and idle; a node without lanes gets one.
    ///
    /// # Panics
    /// If two have the same id, or there are more than 65,534.
    pub fn new(specs: &[NodeSpec]) -> Self {
        assert!(specs.len() <= NODES_MAX, "there are at most 65,534 nodes");
        let ids = specs.iter().map(|spec| usize::from(spec.id.0) + 1).max().unwrap_or(0);
        let mut by_id = alloc::vec![None; ids];
        let mut nodes = Self { all: Vec::new(), by_id: Vec::new(), totals: Totals::default() };
        for (index, spec) in specs.iter().enumerate() {
            let known = &mut by_id[usize::from(spec.id.0)];
            assert!(known.is_none(), "node ids are unique");
            *known = Some(NodeIndex::new(index));
            let lanes = spec.lanes.max(1);
            nodes.all.push(Lanes {
                id: spec.id,
                count: lanes,
                busy: 0,
                ending: 0,
                waiting: 0,
                needed_waiting: 0,
                up: true,
                failures: 0,
                refused_until: Timestamp::ZERO,
                reserved: 0,
            });
            nodes.totals.lanes_up += usize::from(lanes);
        }
        nodes.totals.nodes_up = specs.len();
        nodes.totals.nodes_ready = specs.len();
        nodes.by_id = by_id;
        nodes
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The nodes by index.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIndex, &Lanes)> {
        self.all.iter().enumerate().map(|(index, lanes)| (NodeIndex::new(index), lanes))
    }

    /// Their indices, ascending.
    pub fn indices(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        (0..self.all.len()).map(NodeIndex::new)
    }

    /// The index of a node.
    pub fn find(&self, id: NodeId) -> Option<NodeIndex> {
        self.by_id.get(usize::from(id.0)).copied().flatten()
    }

    /// Sums over the nodes.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// A task takes a lane of a node that is up and has one idle.
    ///
    /// # Panics
    /// If the node has no such lane.
    pub fn start(&mut self, node: NodeIndex) {
        let ready = self.before(node);
        let lanes = &mut self.all[node.get()];
        assert!(
            lanes.up && lanes.busy < lanes.count,
            "tasks start on idle lanes of nodes in service"
        );
        lanes.busy += 1;
        self.totals.lanes_busy += 1;
        self.totals.lanes_up_busy += 1;
        self.after(node, ready);
    }

    /// A task gives its lane back.
    ///
    /// # Panics
    /// If no lane of the node is taken.
    pub fn end(&mut self, node: NodeIndex) {
        let ready = self.before(node);
        let lanes = &mut self.all[node.get()];
        assert!(lanes.busy > 0, "only what runs can end");
        lanes.busy -= 1;
        self.totals.lanes_busy -= 1;
        self.totals.lanes_up_busy -= usize::from(lanes.up);
        self.after(node, ready);
    }

    /// A task on a lane is told to stop, or (`false`) has ended after it was.
    pub fn ending(&mut self, node: NodeIndex, told: bool) {
        let ending = &mut self.all[node.get()].ending;
        *ending = if told { *ending + 1 } else { *ending - 1 };
    }

    /// A task joins a node's queue.
    pub fn join(&mut self, node: NodeIndex, needed: bool) {
        let ready = self.before(node);
        let lanes = &mut self.all[node.get()];
        lanes.waiting += 1;
        lanes.needed_waiting += u32::from(needed);
        self.after(node, ready);
    }

    /// A task leaves a node's queue.
    pub fn leave(&mut self, node: NodeIndex, needed: bool) {
        let ready = self.before(node);
        let lanes = &mut self.all[node.get()];
        lanes.waiting -= 1;
        lanes.needed_waiting -= u32::from(needed);
        self.after(node, ready);
    }

    /// From now on a node serves this many tasks at once, one at least. Where more run, none starts
    /// until enough of them have ended.
    pub fn set_lanes(&mut self, node: NodeIndex, count: u16) {
        let ready = self.before(node);
        let lanes = &mut self.all[node.get()];
        let former = mem::replace(&mut lanes.count, count.max(1));
        if lanes.up {
            let totals = &mut self.totals.lanes_up;
            *totals = *totals - usize::from(former) + usize::from(lanes.count);
        }
        self.after(node, ready);
    }

    /// Takes a node into service or out of it; false if it was so already.
    pub fn set_up(&mut self, node: NodeIndex, up: bool) -> bool {
        let ready = self.before(node);
        let lanes = &mut self.all[node.get()];
        lanes.failures = 0;
        if lanes.up == up {
            return false;
        }
        lanes.up = up;
        let totals = &mut self.totals;
        if up {
            totals.nodes_up += 1;
            totals.lanes_up += usize::from(lanes.count);
            totals.lanes_up_busy += usize::from(lanes.busy);
        } else {
            totals.nodes_up -= 1;
            totals.lanes_up -= usize::from(lanes.count);
            totals.lanes_up_busy -= usize::from(lanes.busy);
        }
        self.after(node, ready);
        true
    }

    /// Counts a failure; returns how many there were in a row.
    pub fn failed(&mut self, node: NodeIndex) -> u32 {
        let failures = &mut self.all[node.get()].failures;
        *failures = failures.saturating_add(1);
        *failures
    }

    /// The node answered: failures are counted from none.
    pub fn answered(&mut self, node: NodeIndex) {
        self.all[node.get()].failures = 0;
    }

    /// The node refused a write: others are better until then.
    pub fn refused(&mut self, node: NodeIndex, until: Timestamp) {
        self.all[node.get()].refused_until = until;
    }

    /// Keeps later requests of this look off a node; true if that withdrew a ready node.
    pub fn reserve(&mut self, node: NodeIndex, look: u64) -> bool {
        let lanes = &mut self.all[node.get()];
        let withdrawn = lanes.reserved != look && lanes.is_ready();
        lanes.reserved = look;
        withdrawn
    }

    fn before(&self, node: NodeIndex) -> bool {
        self.all[node.get()].is_ready()
    }

    fn after(&mut self, node: NodeIndex, was_ready: bool) {
        let ready = self.all[node.get()].is_ready();
        self.totals.nodes_ready += usize::from(ready);
        self.totals.nodes_ready -= usize::from(was_ready);
    }
}

impl Index<NodeIndex> for Nodes {
    type Output = Lanes;
    fn index(&self, node: NodeIndex) -> &Lanes {
        &self.all[node.get()]
    }
}
