//! Where a pack's directory and members lie in its payload.

use ripstop_model::{BlockLen, STRIPE_PAYLOAD_MAX};
use std::{cmp::Reverse, collections::BTreeSet, ops::Range};

/// Strips are this long, or a multiple: they begin where headers end, which are.
const ALIGN: u32 = 64;
/// Longer strips than the shortest are tried in steps of this part of their length.
const STEP: u32 = 64;
/// Members lie whole in one strip each unless gaps would then take more than one byte in four.
const GAPS_MAX: u32 = 4;
/// Gaps do not count in strips up to this length: the disk below stores no less.
const STRIP_LEN_FREE: u32 = 2048;
/// Members up to this length lie whole in one block, so that reading one moves no other.
const IN_BLOCK_MAX: u32 = BlockLen::SHORTEST.bytes() / 8;
/// Runs that are tried for a member that does not fit one as it begins, before the longest is.
const RUNS_TRIED: usize = 8;

/// How a pack is laid out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackLayout {
    /// Bytes of payload: directory, members, and what is left between them.
    pub payload_len: u32,
    /// Where each member begins in the payload; 0 for one without bytes.
    pub offsets: Vec<u32>,
    /// Whether each member lies whole in one strip. Where few members, or very unequal ones, would
    /// leave too much of strips unused for that, they lie one behind the other, and those at the
    /// end of a strip cross into the next.
    pub is_whole: bool,
}

/// Lays out a pack of K data strips: the directory first, across as many strips as it takes, and
/// then members of these lengths. `None` if it is more than a stripe may hold.
pub fn lay_out(k: usize, directory_len: u32, lens: &[u32]) -> Option<PackLayout> {
    let strips = u32::try_from(k).ok().filter(|strips| *strips > 0)?;
    let members: u64 = lens.iter().copied().map(u64::from).sum();
    let used = u32::try_from(u64::from(directory_len) + members).ok()?;
    if used > STRIPE_PAYLOAD_MAX {
        return None;
    }
    let mut order: Vec<usize> = (0..lens.len()).filter(|&at| lens[at] > 0).collect();
    order.sort_by_key(|&at| (Reverse(lens[at]), at));
    let longest = order.first().map_or(0, |&at| lens[at]);
    let mut strip_len = used.div_ceil(strips).max(longest).max(1).next_multiple_of(ALIGN);
    while is_worth(strip_len, strips, used) {
        if let Some(offsets) = whole(strip_len, strips, directory_len, lens, &order) {
            return Some(PackLayout { payload_len: strip_len * strips, offsets, is_whole: true });
        }
        strip_len += (strip_len / STEP).max(1).next_multiple_of(ALIGN);
    }
    // The short ones first: no more than K − 1 cross then that are shorter than a strip.
    let (mut at, mut offsets) = (directory_len, vec![0; lens.len()]);
    for &member in order.iter().rev() {
        offsets[member] = at;
        at += lens[member];
    }
    Some(PackLayout { payload_len: at, offsets, is_whole: false })
}

/// Whether strips of this length leave little enough unused.
fn is_worth(strip_len: u32, strips: u32, used: u32) -> bool {
    let all = u64::from(strip_len) * u64::from(strips);
    let gaps = all.saturating_sub(used.into());
    let is_little = gaps * u64::from(GAPS_MAX) <= all || strip_len <= STRIP_LEN_FREE;
    is_little && all <= STRIPE_PAYLOAD_MAX.into()
}

/// Where members begin that lie whole in strips of this length, the longest placed first, each in
/// the shortest run that has room; `None` if one fits nowhere.
fn whole(
    strip_len: u32,
    strips: u32,
    directory_len: u32,
    lens: &[u32],
    order: &[usize],
) -> Option<Vec<u32>> {
    let mut runs = Runs(BTreeSet::new());
    for strip in 0..strips {
        let start = strip * strip_len;
        runs.add(start.max(directory_len)..start + strip_len);
    }
    let mut offsets = vec![0; lens.len()];
    for &member in order {
        offsets[member] = runs.place(lens[member], strip_len)?;
    }
    Some(offsets)
}

/// Unused runs of strips, by length and start.
struct Runs(BTreeSet<(u32, u32)>);

impl Runs {
    fn add(&mut self, run: Range<u32>) {
        if !run.is_empty() {
            self.0.insert((run.end - run.start, run.start));
        }
    }

    fn place(&mut self, len: u32, strip_len: u32) -> Option<u32> {
        let fits = |&(run_len, start): &(u32, u32)| {
            let at = begin(start, len, strip_len);
            (at - start + len <= run_len).then_some((run_len, start, at))
        };
        let shortest = self.0.range((len, 0)..).take(RUNS_TRIED).find_map(fits);
        let (run_len, start, at) = shortest.or_else(|| self.0.last().and_then(fits))?;
        self.0.remove(&(run_len, start));
        self.add(start..at);
        self.add(at + len..start + run_len);
        Some(at)
    }
}

/// Where a member begins in a run from `start` on: in the next block if it is short and would else
/// lie in two.
fn begin(start: u32, len: u32, strip_len: u32) -> u32 {
    let block = BlockLen::SHORTEST;
    let column = start % strip_len;
    let is_in_one = block.of(column) == block.of(column + len - 1);
    if len > IN_BLOCK_MAX || is_in_one {
        return start;
    }
    start - column + block.start(block.of(column) + 1)
}

#[cfg(test)]
mod tests;
