//! An ordered tree that keeps sums of costs and the least slack of its subtrees: a treap (Seidel,
//! Aragon, "Randomized search trees", Algorithmica 16, 1996) with priorities scrambled from arrival
//! numbers, so that equal calls build equal trees.

use alloc::vec::Vec;
use ripstop_model::Timestamp;

const NONE: u32 = u32::MAX;

/// By deadline, then arrival.
pub(super) type Key = (Timestamp, u64);

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    cost: i128,
    limit: i128,
    /// Of all costs below and here.
    cost_sum: i128,
    /// Over all below and here: the least limit less the costs up to it within this subtree.
    slack_min: i128,
    children: [u32; 2],
}

/// Requests in order, each with a limit on the sum of the costs up to and including its own. Its
/// slack is what remains of the limit.
#[derive(Clone, Debug)]
pub(super) struct SlackTree {
    /// By seat.
    nodes: Vec<Node>,
    root: u32,
}

impl Default for SlackTree {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NONE }
    }
}

fn priority(key: Key) -> u64 {
    let mixed = (key.1 ^ (key.1 >> 30)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl SlackTree {
    /// The seat of the first request.
    pub(super) fn first(&self) -> Option<u32> {
        let mut at = (self.root != NONE).then_some(self.root)?;
        while self.node(at).children[0] != NONE {
            at = self.node(at).children[0];
        }
        Some(at)
    }

    /// The key of a request in the tree.
    pub(super) fn key(&self, seat: u32) -> Key {
        self.node(seat).key
    }

    /// The least slack; none if the tree is empty.
    pub(super) fn least(&self) -> Option<i128> {
        (self.root != NONE).then(|| self.node(self.root).slack_min)
    }

    /// The costs up to `key`, and the least slack behind it (`i128::MAX` with none).
    pub(super) fn around(&self, key: Key) -> (i128, i128) {
        let (mut at, mut before, mut behind) = (self.root, 0, i128::MAX);
        while at != NONE {
            let node = self.node(at);
            let [left, right] = node.children;
            let through = before + self.cost_sum(left) + node.cost;
            if key < node.key {
                behind = behind.min(node.limit - through).min(self.slack_min(right, through));
                at = left;
            } else {
                before = through;
                at = right;
            }
        }
        (before, behind)
    }

    /// Adds a request whose key is new.
    pub(super) fn insert(&mut self, seat: u32, key: Key, cost: i128, limit: i128) {
        let children = [NONE; 2];
        let slack_min = limit - cost;
        let node = Node { key, cost, limit, cost_sum: cost, slack_min, children };
        let place = seat as usize;
        if self.nodes.len() <= place {
            self.nodes.resize(place + 1, node);
        }
        self.nodes[place] = node;
        self.root = self.insert_at(self.root, seat);
    }

    fn insert_at(&mut self, at: u32, seat: u32) -> u32 {
        let key = self.key(seat);
        if at == NONE || priority(key) > priority(self.key(at)) {
            self.node_mut(seat).children = self.divide(at, key);
            self.sum_up(seat);
            return seat;
        }
        let side = usize::from(key > self.key(at));
        let child = self.insert_at(self.node(at).children[side], seat);
        self.node_mut(at).children[side] = child;
        self.sum_up(at);
        at
    }

    /// Takes out a request that is in the tree.
    pub(super) fn remove(&mut self, seat: u32) {
        self.root = self.remove_at(self.root, seat);
    }

    fn remove_at(&mut self, at: u32, seat: u32) -> u32 {
        if at == seat {
            let [left, right] = self.node(at).children;
            return self.join(left, right);
        }
        let side = usize::from(self.key(seat) > self.key(at));
        let child = self.remove_at(self.node(at).children[side], seat);
        self.node_mut(at).children[side] = child;
        self.sum_up(at);
        at
    }

    /// The requests of a subtree before `key`, and those behind it.
    fn divide(&mut self, at: u32, key: Key) -> [u32; 2] {
        if at == NONE {
            return [NONE; 2];
        }
        let side = usize::from(key > self.key(at));
        let mut parts = self.divide(self.node(at).children[side], key);
        self.node_mut(at).children[side] = parts[1 - side];
        self.sum_up(at);
        parts[1 - side] = at;
        parts
    }

    fn join(&mut self, left: u32, right: u32) -> u32 {
        if left == NONE || right == NONE {
            return if left == NONE { right } else { left };
        }
        if priority(self.key(left)) > priority(self.key(right)) {
            let child = self.join(self.node(left).children[1], right);
            self.node_mut(left).children[1] = child;
            self.sum_up(left);
            left
        } else {
            let child = self.join(left, self.node(right).children[0]);
            self.node_mut(right).children[0] = child;
            self.sum_up(right);
            right
        }
    }

    fn sum_up(&mut self, at: u32) {
        let Node { cost, limit, children: [left, right], .. } = *self.node(at);
        let through = self.cost_sum(left) + cost;
        let cost_sum = through + self.cost_sum(right);
        let below = self.slack_min(left, 0).min(self.slack_min(right, through));
        let node = self.node_mut(at);
        node.cost_sum = cost_sum;
        node.slack_min = below.min(limit - through);
    }

    fn cost_sum(&self, at: u32) -> i128 {
        if at == NONE { 0 } else { self.node(at).cost_sum }
    }

    fn slack_min(&self, at: u32, before: i128) -> i128 {
        if at == NONE { i128::MAX } else { self.node(at).slack_min - before }
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn naive_least(requests: &[(Key, u32, i128, i128)]) -> Option<i128> {
        let mut before = 0;
        let slack = |&(_, _, cost, limit): &(Key, u32, i128, i128)| {
            before += cost;
            limit - before
        };
        requests.iter().map(slack).min()
    }

    proptest! {
        #[test]
        fn the_tree_answers_like_a_sorted_list(
            steps in prop::collection::vec((0..24u32, 0..9u64, 1..20i128, 0..200i128), 0..120),
        ) {
            let mut tree = SlackTree::default();
            let mut model: Vec<(Key, u32, i128, i128)> = Vec::new();
            for (sequence, (seat, deadline, cost, limit)) in (0..).zip(steps) {
                if let Some(place) = model.iter().position(|request| request.1 == seat) {
                    tree.remove(seat);
                    model.remove(place);
                } else {
                    let key = (Timestamp::from_nanos(deadline), sequence);
                    tree.insert(seat, key, cost, limit);
                    model.push((key, seat, cost, limit));
                    model.sort_unstable();
                }
                prop_assert_eq!(tree.first(), model.first().map(|request| request.1));
                prop_assert_eq!(tree.least(), naive_least(&model));
                let key = (Timestamp::from_nanos(deadline), u64::MAX);
                let place = model.partition_point(|request| request.0 <= key);
                let before: i128 = model[..place].iter().map(|request| request.2).sum();
                let behind = naive_least(&model[place..]).map_or(i128::MAX, |least| least - before);
                prop_assert_eq!(tree.around(key), (before, behind));
            }
        }
    }

    #[test]
    fn requests_in_order_do_not_make_a_list_of_it() {
        let mut tree = SlackTree::default();
        for seat in 0..100_000 {
            tree.insert(seat, (Timestamp::from_nanos(u64::from(seat)), u64::from(seat)), 1, 0);
        }
        let mut deepest = 0;
        let mut open = std::vec![(tree.root, 1)];
        while let Some((at, depth)) = open.pop() {
            deepest = deepest.max(depth);
            let children = tree.node(at).children;
            open.extend(children.iter().filter(|&&child| child != NONE).map(|&c| (c, depth + 1)));
        }
        assert!(deepest < 60, "{deepest} levels for 100,000 requests");
    }
}
