//! How what gateways have together is divided among them, by what each could use.
//!
//! Nobody is given what others still take ([`may_take`]): who is to have less lets go first, who is
//! to have more waits for that. So all together never take more than the whole, whoever decides on
//! what he saw last.

use alloc::vec::Vec;

/// Who wants nothing keeps one part of this many of an equal share, so that his first requests need
/// not wait for a division.
const IDLE_PARTS: u64 = 16;

/// What is taken is left as it is while no more than one part of this many is missing of a share.
const STEADY_PARTS: u64 = 32;

/// Divides a whole among those who want so much of it: each has what he wants as far as an equal
/// division of what is left over by others goes (max–min fair); what nobody wants is divided in the
/// proportions in which the rest is wanted.
///
/// Everybody has 1 at least. So all together have more than the whole where that is less than their
/// number, and never else: then it is the whole.
pub fn divide(whole: u64, wanted: &[u64]) -> Vec<u64> {
    let count = wanted.len() as u64;
    if count == 0 || whole <= count {
        return alloc::vec![1; wanted.len()];
    }
    let least = (whole / (count * IDLE_PARTS)).max(1);
    let mut left = whole - count * least;
    let mut shares = alloc::vec![least; wanted.len()];
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|at| wanted[*at]);
    for (at, waiting) in order.into_iter().zip((1..=count).rev()) {
        let given = wanted[at].saturating_sub(least).min(left / waiting);
        shares[at] += given;
        left -= given;
    }
    give_rest(&mut shares, left, wanted.iter().map(|wanted| (*wanted).max(least)));
    shares
}

/// Divides the rest by weights, which are not 0; what does not divide goes to the first.
fn give_rest(shares: &mut [u64], rest: u64, weights: impl Iterator<Item = u64> + Clone) {
    let sum: u128 = weights.clone().map(u128::from).sum();
    let mut left = rest;
    for (share, weight) in shares.iter_mut().zip(weights) {
        let part = u128::from(rest) * u128::from(weight) / sum;
        let part = u64::try_from(part).expect("a part is no more than the whole");
        *share += part;
        left -= part;
    }
    let parts = shares.len() as u64;
    for (at, share) in (0..parts).zip(shares) {
        *share += left / parts + u64::from(at < left % parts);
    }
}

/// Of a share, what may be taken beside what others take still; 0 if they take all.
pub fn may_take(whole: u64, share: u64, others: impl Iterator<Item = u64>) -> u64 {
    let taken = others.fold(0_u64, u64::saturating_add);
    share.min(whole.saturating_sub(taken))
}

/// Whether what is taken is so little below a share of the whole that it may stay as it is. What is
/// above it never may: others wait for that.
pub const fn is_steady(whole: u64, share: u64, taken: u64) -> bool {
    match share.checked_sub(taken) {
        Some(0) => true,
        Some(missing) => share != whole && missing <= share / STEADY_PARTS,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn those_who_want_have_what_the_others_do_not() {
        let table: [(u64, &[u64], &[u64]); 9] = [
            (16, &[], &[]),
            (16, &[0], &[16]),
            (16, &[0, 0], &[8, 8]),
            (16, &[100, 100], &[8, 8]),
            (16, &[100, 0], &[15, 1]),
            (16, &[100, 3, 0], &[12, 3, 1]),
            (16, &[4, 0], &[13, 3]),
            (3, &[9, 0, 0, 5], &[1, 1, 1, 1]),
            (3200, &[5000, 0], &[3100, 100]),
        ];
        for (whole, wanted, shares) in table {
            assert_eq!(divide(whole, wanted), shares, "{whole} among {wanted:?}");
        }
    }

    proptest! {
        #[test]
        fn a_division_is_whole_fair_and_leaves_nobody_without(
            whole in 1..u64::MAX, wanted in prop::collection::vec(any::<u64>(), 1..9),
        ) {
            let shares = divide(whole, &wanted);
            let count = wanted.len() as u64;
            let sum: u128 = shares.iter().copied().map(u128::from).sum();
            prop_assert_eq!(sum, u128::from(whole.max(count)));
            prop_assert!(shares.iter().all(|share| *share >= 1));
            for (share, wanted) in shares.iter().zip(&wanted) {
                // Less than is wanted has only who has as much as an equal division gives.
                prop_assert!(share >= wanted || *share >= (whole / count) - (whole / count / 8));
            }
        }

        /// Some gateways divide again and again, each on what it saw last, in any order.
        #[test]
        fn all_together_never_take_more_than_the_whole_and_come_to_a_division(
            whole in 8..2000_u64,
            steps in prop::collection::vec((0..4_usize, 0..3000_u64), 1..200),
        ) {
            let mut all = vec![(0_u64, 0_u64); 4];
            for (at, wanted) in steps {
                all[at].0 = wanted;
                turn(whole, &mut all, at);
                prop_assert!(all.iter().map(|(_, taken)| taken).sum::<u64>() <= whole);
            }
            for at in (0..4).cycle().take(12) {
                turn(whole, &mut all, at);
            }
            let wanted: Vec<u64> = all.iter().map(|(wanted, _)| *wanted).collect();
            for (share, (_, taken)) in divide(whole, &wanted).into_iter().zip(&all) {
                prop_assert!(*taken <= share && is_steady(whole, share, *taken), "{all:?}");
            }
        }
    }

    fn turn(whole: u64, all: &mut [(u64, u64)], at: usize) {
        let wanted: Vec<u64> = all.iter().map(|(wanted, _)| *wanted).collect();
        let share = divide(whole, &wanted)[at];
        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
        let may = may_take(whole, share, others.map(|(_, (_, taken))| *taken));
        if !is_steady(whole, share, all[at].1) {
            all[at].1 = may;
        }
    }
}
