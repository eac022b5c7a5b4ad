//! A failing drill with as little in it as still fails.

use crate::{
    plan::{Less, Plan},
    run::{Wanted, play},
};

/// Drills that are tried for a smaller one, at most.
const TRIES_MAX: usize = 80;

/// Leaves out of a failing drill what it fails without.
pub fn shrink(plan: &Plan, less: Less) -> Less {
    let mut tries = 0;
    let mut fails = |less: &Less| {
        tries += 1;
        tries <= TRIES_MAX && play(&plan.clone().less(less), Wanted::default()).failure.is_some()
    };
    let mut best = less;
    for sessions in 1..plan.sessions.len() {
        let fewer = Less { sessions: Some(sessions), ..best.clone() };
        if fails(&fewer) {
            best = fewer;
            break;
        }
    }
    for number in plan.clone().less(&best).numbers() {
        let mut fewer = best.clone();
        fewer.without.insert(number);
        if fails(&fewer) {
            best = fewer;
        }
    }
    let most = plan.sessions.iter().map(|session| session.clients.len()).max().unwrap_or(1);
    for clients in 1..most {
        let fewer = Less { clients: Some(clients), ..best.clone() };
        if fails(&fewer) {
            best = fewer;
            break;
        }
    }
    let operations = plan.sessions.iter().flat_map(|session| &session.clients).max();
    let (mut low, mut high) = (0, *operations.unwrap_or(&1));
    while low + 1 < high {
        let middle = low.midpoint(high);
        let fewer = Less { operations: Some(middle), ..best.clone() };
        if fails(&fewer) {
            (best, high) = (fewer, middle);
        } else {
            low = middle;
        }
    }
    best
}
