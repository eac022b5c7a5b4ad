//! Which k of a stripe's n nodes serve a request: pure functions over small arrays, without
//! allocation.

use ripstop_delay::Dice;

/// A request has at most this many nodes.
pub const NODES_MAX: usize = 256;

/// Which positions are selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    positions: [u8; NODES_MAX],
    len: u16,
}

impl Selection {
    const NONE: Self = Self { positions: [0; NODES_MAX], len: 0 };

    /// The selected positions; of the functions here that order nodes, the most wanted first.
    pub fn positions(&self) -> &[u8] {
        &self.positions[..usize::from(self.len)]
    }

    fn push(&mut self, position: usize) {
        self.positions[usize::from(self.len)] = position as u8;
        self.len += 1;
    }
}

/// Madow's systematic sampling: every position is selected with exactly its probability.
///
/// The positions are put in an order that `luck` decides (64 random bits), their probabilities,
/// which sum to k, are laid end to end, and where U, 1 + U, 2 + U … fall is selected, U being
/// uniform in [0, 1).
///
/// # Panics
/// With more than [`NODES_MAX`] probabilities.
pub fn systematic(probabilities: &[f64], luck: u64) -> Selection {
    let n = probabilities.len();
    let mut order = [0u8; NODES_MAX];
    for (at, place) in order[..n].iter_mut().enumerate() {
        *place = at as u8;
    }
    let mut dice = Dice::new(luck);
    for at in (1..n).rev() {
        let other = dice.below(at as u64 + 1) as usize;
        order.swap(at, other);
    }
    let start = (dice.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let total: f64 = probabilities.iter().sum();
    let k = (total + 0.5) as usize;
    let mut selection = Selection::NONE;
    let (mut reached, mut chosen) = (0.0, 0);
    let mut skipped = None;
    for (at, &position) in order[..n].iter().enumerate() {
        let position = usize::from(position);
        reached += probabilities[position];
        if chosen < k && reached > start + chosen as f64 {
            selection.push(position);
            chosen += 1;
        } else if probabilities[position] > 0.0 {
            skipped = Some(at);
        }
    }
    // Sums are rounded: the last point can lie a hair beyond the end.
    if let Some(at) = skipped.filter(|_| chosen + 1 == k) {
        selection.push(usize::from(order[at]));
    }
    selection
}

/// The k positions with the least outstanding work, the least first; among equals, those after a
/// position that `luck` decides.
///
/// # Panics
/// With more than [`NODES_MAX`] nodes.
pub fn least_work(outstanding: &[f64], k: usize, luck: u64) -> Selection {
    least(outstanding.len(), k, luck, |at| outstanding[at])
}

/// As [`least_work`], but a node that the plan wants little counts as busier: with `weight` times
/// 1 − π more work, in the unit of the work. With weight 0 it is [`least_work`], with a large one
/// the k nodes the plan wants most; about one mean service time keeps both in view.
///
/// # Panics
/// With more than [`NODES_MAX`] nodes, or fewer probabilities than nodes.
pub fn least_work_planned(
    outstanding: &[f64],
    probabilities: &[f64],
    weight: f64,
    k: usize,
    luck: u64,
) -> Selection {
    least(outstanding.len(), k, luck, |at| outstanding[at] + weight * (1.0 - probabilities[at]))
}

fn least(n: usize, k: usize, luck: u64, score: impl Fn(usize) -> f64) -> Selection {
    assert!(n <= NODES_MAX, "{n} nodes");
    let first = ((u128::from(luck) * n as u128) >> 64) as usize;
    let mut best = [0.0; NODES_MAX];
    let mut selection = Selection::NONE;
    let k = k.min(n);
    for step in 0..n {
        let position = if first + step < n { first + step } else { first + step - n };
        let mine = score(position);
        let len = usize::from(selection.len);
        if len == k && (k == 0 || mine >= best[k - 1]) {
            continue;
        }
        let mut at = if len < k { len } else { k - 1 };
        while at > 0 && best[at - 1] > mine {
            best[at] = best[at - 1];
            selection.positions[at] = selection.positions[at - 1];
            at -= 1;
        }
        best[at] = mine;
        selection.positions[at] = position as u8;
        selection.len = (len + 1).min(k) as u16;
    }
    selection
}
