use crate::{NodeWorld, Trouble};
use core::time::Duration;
use ripstop_delay::{Correlated, Correlation, Dice, StorageOperation};
use ripstop_model::{NodeId, Operation, RequestId, Timestamp};

/// Streams of random numbers that belong to chunks; nodes and arrivals use smaller numbers.
const CHUNKS: u64 = 1 << 40;

/// All nodes, and what everything costs that takes time.
#[derive(Debug)]
pub struct World {
    seed: u64,
    nodes: Vec<NodeWorld>,
    /// Index of each node by its id.
    by_id: Vec<Option<usize>>,
    /// How much alike the delays of one request's tasks are; TOFEC measured 0.11 to 0.17.
    pub correlation: Correlation,
    /// How long a lane is busy after its task was told to stop.
    pub cancellation: Duration,
    /// Whether a request's chunks are as lucky whatever else happens, when they are first asked
    /// for: runs with different policies then differ by their policies alone. Else luck comes in
    /// the order in which tasks start at a node, as at a live one that is slowed down with the seed
    /// [`World::node_seed`].
    pub paired: bool,
    /// How long encoding or decoding takes, per byte of payload.
    pub coding_s_per_byte: f64,
}

impl World {
    /// A world without nodes, correlation and costs.
    pub fn new(seed: u64) -> Self {
        let correlation = Correlation::new(0.0);
        let (cancellation, coding_s_per_byte) = (Duration::ZERO, 0.0);
        let (nodes, by_id) = (Vec::new(), Vec::new());
        let paired = true;
        Self { seed, nodes, by_id, correlation, cancellation, paired, coding_s_per_byte }
    }

    /// Adds a node; its luck depends on the world's seed and its id alone.
    pub fn add(&mut self, mut node: NodeWorld) {
        let at = usize::from(node.id.0);
        if self.by_id.len() <= at {
            self.by_id.resize(at + 1, None);
        }
        node.dice = Dice::new(Self::node_seed(self.seed, node.id));
        self.by_id[at] = Some(self.nodes.len());
        self.nodes.push(node);
    }

    /// The seed of a node's own luck in the world of `seed`.
    pub const fn node_seed(seed: u64, node: NodeId) -> u64 {
        Dice::numbered_seed(seed, node.0 as u64)
    }

    /// The nodes in the order they were added.
    pub fn nodes(&self) -> &[NodeWorld] {
        &self.nodes
    }

    /// How long a task takes that starts now, for this chunk of this request, which is asked for
    /// the `first` time or again; `None` if the node is gone.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn delay(
        &mut self,
        now: Timestamp,
        node: NodeId,
        (request, chunk, first): (RequestId, u8, bool),
        operation: Operation,
        bytes: u64,
    ) -> Option<Duration> {
        let index = self.by_id[usize::from(node.0)].expect("the world has all nodes");
        let node = &mut self.nodes[index];
        let factor = if node.changes.is_empty() {
            node.scale
        } else if node.is_lost(now) {
            return None;
        } else {
            node.factor(now)
        };
        let operation = match operation {
            Operation::Read => StorageOperation::Get,
            Operation::Write => StorageOperation::Put,
        };
        let mut own = if self.paired {
            Dice::numbered(self.seed, CHUNKS + (request.0 << 8) + u64::from(chunk))
        } else {
            Dice::new(node.dice.next_u64())
        };
        let dice = if self.paired && !first { &mut node.dice } else { &mut own };
        let delay = if self.correlation.of_normals() == 0.0 {
            node.model.sample(operation, bytes, dice)
        } else {
            let mut luck = Correlated::new(self.correlation, self.seed, request, dice);
            node.model.sample(operation, bytes, &mut luck)
        };
        #[expect(clippy::float_cmp, reason = "1 is what a node has to which nothing happens")]
        let same = factor == 1.0;
        let slowed = || Duration::try_from_secs_f64(delay.as_secs_f64() * factor);
        Some(if same { delay } else { slowed().unwrap_or(Duration::MAX) })
    }

    /// Whether a node is gone now.
    pub fn is_lost(&self, now: Timestamp, node: NodeId) -> bool {
        let index = self.by_id[usize::from(node.0)].expect("the world has all nodes");
        self.nodes[index].is_lost(now)
    }

    /// How long it takes to encode or decode a payload of this many bytes.
    pub fn coding(&self, bytes: u64) -> Duration {
        Duration::from_secs_f64(self.coding_s_per_byte * bytes as f64)
    }

    /// When nodes are lost: their running tasks end then.
    pub fn losses(&self) -> Vec<(Timestamp, NodeId)> {
        let lost = |node: &NodeWorld| {
            let id = node.id;
            let losses = node.changes.iter().filter(|change| change.trouble == Trouble::Lost);
            losses.map(|change| (change.from, id)).collect::<Vec<_>>()
        };
        let mut losses: Vec<_> = self.nodes.iter().flat_map(lost).collect();
        losses.sort_unstable();
        losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;
    use ripstop_delay::Preset;

    fn world(seed: u64, changes: Vec<Change>) -> World {
        let mut world = World::new(seed);
        let mut node = NodeWorld::new(NodeId(3), Preset::S3In2013A.model());
        node.changes = changes;
        world.add(node);
        world
    }

    fn delay(world: &mut World, at_s: u64) -> Option<Duration> {
        let now = Timestamp::from_nanos(at_s * 1_000_000_000);
        world.delay(now, NodeId(3), (RequestId(0), at_s as u8, true), Operation::Read, 1_000_000)
    }

    #[test]
    fn equal_seeds_give_equal_delays_and_others_do_not() {
        let (mut one, mut two, mut other) = (world(1, vec![]), world(1, vec![]), world(2, vec![]));
        let first = delay(&mut one, 0);
        assert_eq!(first, delay(&mut two, 0));
        assert_ne!(first, delay(&mut other, 0));
    }

    #[test]
    fn unpaired_luck_is_that_of_a_live_node_with_the_nodes_seed() {
        let mut world = World { paired: false, ..world(1, vec![]) };
        // What the live side does: a seed for each start.
        let mut starts = Dice::new(World::node_seed(1, NodeId(3)));
        let mut model = Preset::S3In2013A.model();
        for second in 0..3 {
            let mut dice = Dice::new(starts.next_u64());
            let live = model.sample(StorageOperation::Get, 1_000_000, &mut dice);
            assert_eq!(delay(&mut world, second), Some(live));
        }
    }

    #[test]
    fn a_delay_that_has_no_end_is_no_accident() {
        let (from, until) = (Timestamp::ZERO, Timestamp::from_nanos(u64::MAX));
        let change = Change { from, until, trouble: Trouble::Slow(1e300) };
        let found = delay(&mut world(1, vec![change; 2]), 0).expect("the node is there");
        assert_eq!(from + found, until);
    }

    #[test]
    fn troubles_hold_in_their_time_only() {
        let at = |s| Timestamp::from_nanos(s * 1_000_000_000);
        let changes = vec![
            Change { from: at(1), until: at(2), trouble: Trouble::Slow(100.0) },
            Change { from: at(3), until: at(4), trouble: Trouble::Lost },
        ];
        let (mut plain, mut troubled) = (world(1, vec![]), world(1, changes));
        for second in 0..5 {
            let (expected, found) = (delay(&mut plain, second), delay(&mut troubled, second));
            match second {
                1 => assert_eq!(expected.map(|d| d * 100), found),
                3 => assert_eq!(found, None),
                _ => {}
            }
            assert_eq!(troubled.is_lost(at(second), NodeId(3)), second == 3);
        }
        assert_eq!(troubled.losses(), [(at(3), NodeId(3))]);
    }
}
