//! Who goes where so that as little as possible is moved: the transportation problem, by cancelling
//! cycles (Klein 1967).

use alloc::{vec, vec::Vec};

/// Cycles that are cancelled at most: from there on the answer is feasible, and may not be the
/// least.
const CYCLES_MAX: usize = 1000;

/// How much of each row goes to each column. Rows have `supply`, columns room for `room`, which
/// together is no less; `cost` is that of one unit, by row and column. What a row leaves open is 0.
pub(super) fn transport(supply: &[u64], room: &[u64], cost: &[Vec<u8>]) -> Vec<Vec<u64>> {
    let slack = room.iter().sum::<u64>().saturating_sub(supply.iter().sum());
    let mut rows: Vec<Row> =
        supply.iter().zip(cost).map(|(&left, cost)| Row::new(left, cost)).collect();
    // What stays empty costs nothing, wherever it is.
    rows.push(Row::new(slack, &vec![0; room.len()]));
    fill(&mut rows, room);
    for _ in 0..CYCLES_MAX {
        let Some(cycle) = dearer(&rows, room.len()) else { break };
        turn(&mut rows, &cycle);
    }
    rows.pop();
    rows.into_iter().map(|row| row.share).collect()
}

#[derive(Debug)]
struct Row {
    left: u64,
    cost: Vec<i32>,
    share: Vec<u64>,
}

impl Row {
    fn new(left: u64, cost: &[u8]) -> Self {
        let share = vec![0; cost.len()];
        Self { left, cost: cost.iter().map(|&cost| cost.into()).collect(), share }
    }
}

/// A unit of `row` that goes to `to` instead of `from`.
#[derive(Clone, Copy, Debug)]
struct Step {
    row: usize,
    from: usize,
    to: usize,
    gain: i32,
}

/// Cheapest pairs first; the last row takes what is left of the room.
fn fill(rows: &mut [Row], room: &[u64]) {
    let mut open = room.to_vec();
    let last = rows.len() - 1;
    let cells = rows.iter().enumerate().flat_map(|(row, of)| {
        of.cost.iter().enumerate().map(move |(column, &cost)| (row == last, cost, row, column))
    });
    let mut cells: Vec<_> = cells.collect();
    cells.sort_unstable();
    for (_, _, row, column) in cells {
        let units = rows[row].left.min(open[column]);
        rows[row].share[column] += units;
        rows[row].left -= units;
        open[column] -= units;
    }
}

/// A cycle of steps that together save something, if there is one (Bellman and Ford).
fn dearer(rows: &[Row], columns: usize) -> Option<Vec<Step>> {
    let steps = steps(rows, columns);
    let mut dearness = vec![0i64; columns];
    let mut by: Vec<Option<Step>> = vec![None; columns];
    let mut last = None;
    for _ in 0..=columns {
        last = None;
        for step in &steps {
            let via = dearness[step.from] + i64::from(step.gain);
            if via < dearness[step.to] {
                dearness[step.to] = via;
                by[step.to] = Some(*step);
                last = Some(step.to);
            }
        }
        last?;
    }
    // Back far enough to be within the cycle, then once around.
    let mut at = last?;
    for _ in 0..columns {
        at = by[at]?.from;
    }
    let (start, mut cycle) = (at, Vec::new());
    loop {
        let step = by[at]?;
        cycle.push(step);
        at = step.from;
        if at == start {
            return Some(cycle);
        }
    }
}

/// From each column to each other the step that costs least.
fn steps(rows: &[Row], columns: usize) -> Vec<Step> {
    let mut best: Vec<Option<Step>> = vec![None; columns * columns];
    for (row, of) in rows.iter().enumerate() {
        for from in (0..columns).filter(|&from| of.share[from] > 0) {
            for to in (0..columns).filter(|&to| to != from) {
                let gain = of.cost[to] - of.cost[from];
                let known = &mut best[from * columns + to];
                if known.is_none_or(|known| gain < known.gain) {
                    *known = Some(Step { row, from, to, gain });
                }
            }
        }
    }
    best.into_iter().flatten().collect()
}

fn turn(rows: &mut [Row], cycle: &[Step]) {
    let units = cycle.iter().map(|step| rows[step.row].share[step.from]).min().unwrap_or(0);
    for step in cycle {
        rows[step.row].share[step.from] -= units;
        rows[step.row].share[step.to] += units;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(share: &[Vec<u64>], cost: &[Vec<u8>]) -> u64 {
        let cells = share.iter().flatten().zip(cost.iter().flatten());
        cells.map(|(units, &cost)| units * u64::from(cost)).sum()
    }

    /// The least by trying everything, one unit after the other.
    fn least(supply: &mut [u64], room: &mut [u64], cost: &[Vec<u8>]) -> u64 {
        let Some(row) = supply.iter().position(|&left| left > 0) else { return 0 };
        supply[row] -= 1;
        let mut best = u64::MAX;
        for column in 0..room.len() {
            if room[column] > 0 {
                room[column] -= 1;
                let rest = least(supply, room, cost);
                best = best.min(rest.saturating_add(cost[row][column].into()));
                room[column] += 1;
            }
        }
        supply[row] += 1;
        best
    }

    #[test]
    fn the_answer_costs_the_least_there_is() {
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut supply: Vec<u64> = (0..3).map(|_| draw(3)).collect();
            let all: u64 = supply.iter().sum();
            let mut room: Vec<u64> = (0..3).map(|_| draw(4)).collect();
            room[0] += (all + draw(2)).saturating_sub(room.iter().sum());
            let cost: Vec<Vec<u8>> =
                (0..3).map(|_| (0..3).map(|_| draw(5) as u8).collect()).collect();
            let share = transport(&supply, &room, &cost);
            for (row, share) in supply.iter().zip(&share) {
                assert_eq!(share.iter().sum::<u64>(), *row);
            }
            for (column, room) in room.iter().enumerate() {
                assert!(share.iter().map(|row| row[column]).sum::<u64>() <= *room);
            }
            assert_eq!(total(&share, &cost), least(&mut supply, &mut room, &cost));
        }
    }
}
