//! Histories of one register, and whether one order of their calls explains them (Wing and Gong,
//! JPDC 1993; with what was seen before remembered, as Lowe has it, 2017).

use std::collections::HashSet;

/// What a call did. Values are numbers of writes; none is no value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Deed {
    /// It saw this.
    Read(Option<u64>),
    /// It left this.
    Write(Option<u64>),
    /// It left this if there was no value.
    Add(u64),
    /// There was a value, so nothing was added.
    NotAdded,
}

/// A call, from when it was made to when it was answered; without an answer it may have been done
/// at any time since, or never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) asked: u64,
    pub(crate) answered: Option<u64>,
    pub(crate) deed: Deed,
}

impl Deed {
    /// Whether it can be done to this register, which then has what it leaves.
    fn is_done_to(self, register: &mut Option<u64>) -> bool {
        let before = *register;
        match self {
            Self::Read(seen) => seen == before,
            Self::NotAdded => before.is_some(),
            Self::Write(left) => {
                *register = left;
                true
            }
            Self::Add(left) => {
                *register = Some(left);
                before.is_none()
            }
        }
    }
}

/// Whether some order of the calls, in which none that was answered comes behind one that was made
/// later, explains what each saw.
pub(crate) fn is_linearizable(history: &[Call]) -> bool {
    let mut calls = history.to_vec();
    calls.sort_by_key(|call| call.asked);
    let mut seen = HashSet::new();
    let words = calls.len().div_ceil(64);
    // What was done, and the register after it.
    let mut states = vec![(vec![0_u64; words], None)];
    while let Some((done, register)) = states.pop() {
        let is_done = |at: usize| done[at / 64] >> (at % 64) & 1 == 1;
        let left = || calls.iter().enumerate().filter(|(at, _)| !is_done(*at));
        if left().all(|(_, call)| call.answered.is_none()) {
            return true;
        }
        // What was made after another was answered comes behind it.
        let first_end = left().filter_map(|(_, call)| call.answered).min().unwrap_or(u64::MAX);
        for (at, call) in left().take_while(|(_, call)| call.asked <= first_end) {
            let mut register = register;
            if call.deed.is_done_to(&mut register) {
                let mut done = done.clone();
                done[at / 64] |= 1 << (at % 64);
                if seen.insert((done.clone(), register)) {
                    states.push((done, register));
                }
            }
        }
    }
    false
}

#[test]
fn what_no_order_explains_is_found() {
    let call = |asked, answered, deed| Call { asked, answered, deed };
    let write = |asked, answered, value| call(asked, answered, Deed::Write(Some(value)));
    let read = |asked, answered, value| call(asked, Some(answered), Deed::Read(value));
    assert!(is_linearizable(&[]));
    let two = [write(0, Some(10), 1), write(5, Some(15), 2)];
    let and = |more: &[Call]| is_linearizable(&[&two[..], more].concat());
    assert!(and(&[read(20, 21, Some(1))]) && and(&[read(20, 21, Some(2))]));
    assert!(!and(&[read(20, 21, Some(1)), read(22, 23, Some(2))]), "it went back");
    assert!(!and(&[read(20, 21, None)]), "it was lost");
    assert!(!and(&[read(20, 21, Some(3))]), "it was never written");
    assert!(and(&[read(1, 2, None), read(3, 4, Some(1))]));
    assert!(!and(&[read(1, 2, Some(2))]), "it was read before it was written");
    // One that was not answered may have been done, once, or not.
    let lost = write(0, None, 1);
    assert!(is_linearizable(&[lost, read(5, 6, None), read(7, 8, Some(1))]));
    assert!(is_linearizable(&[lost, read(5, 6, None)]));
    assert!(!is_linearizable(&[lost, read(5, 6, Some(1)), read(7, 8, None)]));
    let added = call(0, Some(1), Deed::Add(1));
    assert!(!is_linearizable(&[added, call(2, Some(3), Deed::Add(2))]));
    assert!(is_linearizable(&[added, call(2, Some(3), Deed::NotAdded)]));
    assert!(!is_linearizable(&[call(2, Some(3), Deed::NotAdded)]));
}
