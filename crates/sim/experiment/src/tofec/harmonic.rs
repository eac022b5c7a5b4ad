//! Figure 7.

use ripstop_figure::{Axis, Figure, Panel, Series, Table, TableError};

/// Each k that is shown.
const KS: [u64; 6] = [1, 2, 3, 4, 6, 12];
/// n − k of the gap's curves.
const SPARES: [u64; 4] = [1, 2, 3, 6];
/// Largest n of the search for the widest gap.
const N_MAX: u64 = 1 << 20;

/// 1 − γ, which the gap comes near to and never reaches.
pub(super) const GAP_LEAST_BOUND: f64 = 1.0 - 0.577_215_664_901_532_9;

/// H(n) − H(n−k): the mean of the k-th smallest of n exponentials of mean 1.
fn harmonic(n: u64, k: u64) -> f64 {
    (n - k + 1..=n).map(|i| 1.0 / i as f64).sum()
}

/// ln(r/(r−1)), r = n/k.
fn bound(n: u64, k: u64) -> f64 {
    libm::log(n as f64 / (n - k) as f64)
}

/// The widest gap between the two for any n up to 2^20; n, k and the gap. For a given n it is
/// widest where n − k = 1, because H(m) − ln m falls as m = n − k grows.
pub(super) fn widest() -> (u64, u64, f64) {
    let mut sum = 0.0;
    let mut widest = (2, 1, 0.0);
    for n in 2..=N_MAX {
        // Term by term: H(n) − H(1), and ln n.
        sum += 1.0 / n as f64;
        let gap = libm::log(n as f64) - sum;
        if gap > widest.2 {
            widest = (n, n - 1, gap);
        }
    }
    widest
}

/// The sum and its bound by n and k.
pub(super) fn table() -> Table {
    let mut table = Table::new(["curve", "n", "k", "redundancy", "sum", "bound", "gap"]);
    let mut push = |curve: String, n: u64, k: u64| {
        let (sum, bound) = (harmonic(n, k), bound(n, k));
        let redundancy = n as f64 / k as f64;
        table.push([
            curve.into(),
            n.into(),
            k.into(),
            redundancy.into(),
            sum.into(),
            bound.into(),
            (bound - sum).into(),
        ]);
    };
    for k in KS {
        for n in k + 1..=3 * k.max(2) {
            push(format!("k = {k}"), n, k);
        }
    }
    for spare in SPARES {
        for k in 1..=60 {
            push(format!("n − k = {spare}"), k + spare, k);
        }
    }
    table
}

/// The sum against r with its bound, and the gap against k.
pub(super) fn draw(table: &Table, title: &str) -> Result<Figure, TableError> {
    let x = Axis::linear("r = n/k").from(1.0).to(3.0);
    let y = Axis::linear("H(n) − H(n−k)").from(0.0).to(3.0);
    let mut sums = Panel::new("sum and bound", x, y);
    let curve = (1..=200).map(|step| 1.0 + 0.01 * f64::from(step));
    let bound = curve.map(|r| (r, libm::log(r / (r - 1.0)))).collect();
    sums = sums.series(Series::line("bound ln(r/(r−1))", bound));
    let y = Axis::linear("bound less sum").from(0.0).to(0.5);
    let mut gaps = Panel::new("gap", Axis::linear("k").from(0.0), y);
    let all = table.series("curve", "redundancy", "sum")?;
    for (name, points) in all.into_iter().filter(|(name, _)| name.starts_with("k =")) {
        sums = sums.series(Series::points(name, points));
    }
    let all = table.series("curve", "k", "gap")?;
    for (name, points) in all.into_iter().filter(|(name, _)| name.starts_with('n')) {
        gaps = gaps.series(Series::line(name, points));
    }
    gaps = gaps.rule_y(GAP_LEAST_BOUND, "1 − γ = 0.4228");
    Ok(Figure::new(title).panel(sums).panel(gaps).size(1000, 440))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_widest_where_one_task_is_spare() {
        let (n, k, gap) = widest();
        assert_eq!((n, k), (N_MAX, N_MAX - 1));
        // 1 − γ − 1/2n.
        assert!((GAP_LEAST_BOUND - gap - 0.5 / n as f64).abs() < 1e-9, "{gap}");
        for n in 2..60 {
            let gap = |k: u64| bound(n, k) - harmonic(n, k);
            assert!((1..n).all(|k| gap(k) > 0.0 && gap(k) <= gap(n - 1)), "{n}");
        }
        assert!((bound(2, 1) - harmonic(2, 1) - (core::f64::consts::LN_2 - 0.5)).abs() < 1e-12);
    }
}
