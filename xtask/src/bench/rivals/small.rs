//! `cargo xtask bench small`: small objects in packs, beside a stripe for each and beside rivals.

use super::{
    Arguments,
    cell::Cell,
    compare,
    contender::{Contender, Kind},
    report::{self, Verdict},
    round::Observation,
};
use anyhow::Result;

/// What is measured where nothing else is asked for.
pub(super) const CELLS: &str = "put-4k-1,put-4k-64,get-4k-64,put-4k-256,put-256-256,get-256-64";

/// A rate that holds on a disk which syncs a small file in this many milliseconds.
const SYNC_MS: f64 = 3.4;

/// A configuration that has Ripstop write each small object by itself.
const LONE: &str = "[[pool]]\nname = \"default\"\npack_below = 0\n";

/// What should hold in a cell.
#[derive(Clone, Copy)]
enum Bound {
    /// This many times a rival's rate, at least.
    Times(Kind, f64),
    /// A client waits at most this many times as long as at a rival.
    Wait(Kind, f64),
    /// Requests a second, at least, where the disk syncs as fast as [`SYNC_MS`].
    Rate(f64),
}

const BOUNDS: [(&str, Bound); 9] = [
    ("put-4k-1", Bound::Wait(Kind::Lone, 1.1)),
    ("put-4k-64", Bound::Times(Kind::Lone, 5.0)),
    ("put-4k-64", Bound::Times(Kind::Minio, 10.0)),
    ("put-4k-64", Bound::Times(Kind::Versitygw, 3.0)),
    ("put-4k-256", Bound::Times(Kind::Lone, 10.0)),
    ("put-4k-256", Bound::Rate(8000.0)),
    ("put-256-256", Bound::Rate(10_000.0)),
    ("get-4k-64", Bound::Times(Kind::Lone, 1.0)),
    ("get-256-64", Bound::Times(Kind::Lone, 1.0)),
];

/// Measures Ripstop with packs, without them, and rivals; fails where something does not hold.
pub(crate) fn small(arguments: &Arguments) -> Result<()> {
    let more = |contenders: &mut Vec<Contender>| {
        let ours = &contenders[0];
        let (program, version) = (ours.program.clone(), ours.version.clone());
        let lone = Contender { kind: Kind::Lone, program, version, config: Some(LONE) };
        contenders.insert(1, lone);
    };
    compare(arguments, "small", CELLS, more, verdicts)
}

/// What should hold of the cells that were measured.
fn verdicts(all: &[Observation], cells: &[Cell], sync_ms: f64) -> Vec<Verdict> {
    let bounds = BOUNDS.iter().map(|(name, bound)| {
        let cell: Cell = name.parse().expect("the names of the bounds are cells'");
        (cell, *bound)
    });
    let measured = bounds.filter(|(cell, _)| cells.contains(cell));
    measured.filter_map(|(cell, bound)| bound.judge(all, cell, sync_ms)).collect()
}

impl Bound {
    /// Nothing where there is nothing to compare.
    fn judge(self, all: &[Observation], cell: Cell, sync_ms: f64) -> Option<Verdict> {
        let (holds, wanted, seen) = match self {
            Self::Times(rival, least) => {
                let seen = report::ratio(all, rival, cell, |one| one.per_s)?.median;
                (
                    seen >= least,
                    format!("at least {least} × {}", rival.name()),
                    format!("{seen:.2} ×"),
                )
            }
            Self::Wait(rival, most) => {
                let seen = report::ratio(all, rival, cell, |one| one.p50_ms)?.median;
                let wanted = format!("a median wait of at most {most} × {}'s", rival.name());
                (seen <= most, wanted, format!("{seen:.2} ×"))
            }
            Self::Rate(least) => {
                let seen = report::median(all, Kind::Ripstop, cell, |one| one.per_s)?;
                let wanted = format!(
                    "at least {least}/s where a small file is synced in {SYNC_MS} ms (here {sync_ms:.1})"
                );
                (seen >= least || sync_ms > SYNC_MS, wanted, format!("{seen:.0}/s"))
            }
        };
        let word = if holds { "holds" } else { "does not hold" };
        Some(Verdict { holds, line: format!("{word}: {cell}: {wanted} ({seen})") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(kind: Kind, name: &str, per_s: f64, p50_ms: f64) -> Observation {
        Observation {
            kind,
            cell: name.parse().unwrap(),
            round: 0,
            seconds: 4.0,
            requests: 1,
            per_s,
            mib_per_s: 1.0,
            p50_ms,
            p99_ms: 1.0,
            server_cpus: 1.0,
            loader_cpus: 1.0,
        }
    }

    #[test]
    fn bounds_are_on_cells_that_are_measured() {
        let cells: Vec<&str> = CELLS.split(',').collect();
        assert!(BOUNDS.iter().all(|(name, _)| cells.contains(name)));
    }

    #[test]
    fn what_falls_short_is_said() {
        let cells = ["put-4k-1".parse().unwrap(), "put-4k-256".parse().unwrap()];
        let all = [
            observed(Kind::Ripstop, "put-4k-1", 100.0, 12.0),
            observed(Kind::Lone, "put-4k-1", 100.0, 10.0),
            observed(Kind::Ripstop, "put-4k-256", 7000.0, 12.0),
            observed(Kind::Lone, "put-4k-256", 700.0, 12.0),
        ];
        let holds = |sync_ms| -> Vec<bool> {
            verdicts(&all, &cells, sync_ms).iter().map(|verdict| verdict.holds).collect()
        };
        assert_eq!(holds(3.0), [false, true, false]);
        assert_eq!(holds(5.0), [false, true, true], "a slow disk excuses a rate, no ratio");
        let lines = verdicts(&all, &cells, 3.0);
        let wanted = "does not hold: PUT 4 KiB, 1 clients: a median wait of at most 1.1 × Ripstop, \
                      no packs's (1.20 ×)";
        assert_eq!(lines[0].line, wanted);
    }
}
