//! A pool that was measured live beside its twin in the simulator.

use super::twin::Reads;
use ripstop_experiment::Delays;

/// How far the simulator may be off in mean and 95th percentile.
pub(super) const OFF: f64 = 0.1;

/// Reads of both, by when they came.
pub(super) struct Beside<'a> {
    /// How they choose nodes.
    pub name: &'static str,
    pub live: &'a Reads,
    /// Of each run.
    pub twin: &'a [Reads],
    /// Windows of time, seconds: before the node becomes slow, at once, and after.
    pub windows: [(f64, f64); 3],
    /// Plans and moved fragments since it became slow, live and simulated.
    pub counts: [[f64; 2]; 2],
}

const NAMES: [&str; 3] = ["before", "at once", "after"];

/// How long reads took that came from one second to another.
fn delays<'a>(reads: impl IntoIterator<Item = &'a (f64, f64)>, window: (f64, f64)) -> Delays {
    let came = reads.into_iter().filter(|(due, _)| (window.0..window.1).contains(due));
    Delays::of(&mut came.map(|(_, took)| (took * 1e9) as u64).collect::<Vec<u64>>())
}

fn shown(delays: &Delays) -> [f64; 4] {
    let Delays { mean_ms, p50_ms, p95_ms, p99_ms, .. } = *delays;
    [mean_ms, p50_ms, p95_ms, p99_ms]
}

impl Beside<'_> {
    fn both(&self, window: (f64, f64)) -> [Delays; 2] {
        [delays(self.live, window), delays(self.twin.iter().flatten(), window)]
    }

    /// How far the simulator is off at most in mean and 95th percentile, before and after.
    pub(super) fn off(&self) -> f64 {
        let whole = [self.windows[0], self.windows[2]].map(|window| self.both(window));
        let pairs = whole
            .iter()
            .flat_map(|[live, twin]| [(live.mean_ms, twin.mean_ms), (live.p95_ms, twin.p95_ms)]);
        pairs.map(|(live, twin)| (twin / live - 1.0).abs()).fold(0.0, f64::max)
    }

    /// What reads took, ms: live, in all runs of the simulator, in the quickest and the slowest of
    /// them, and simulated over live.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for (window, name) in self.windows.into_iter().zip(NAMES) {
            let both = self.both(window);
            let runs: Vec<[f64; 4]> =
                self.twin.iter().map(|run| shown(&delays(run, window))).collect();
            let extreme = |pick: fn(f64, f64) -> f64, from: f64| {
                std::array::from_fn(|at| runs.iter().map(|run| run[at]).fold(from, pick))
            };
            let [live, twin] = both.each_ref().map(shown);
            let ratio = std::array::from_fn(|at| twin[at] / live[at]);
            let lines: [(&str, [f64; 4], usize); 5] = [
                ("live", live, 1),
                ("simulated", twin, 1),
                ("its quickest run", extreme(f64::min, f64::INFINITY), 1),
                ("its slowest run", extreme(f64::max, 0.0), 1),
                ("simulated/live", ratio, 3),
            ];
            for (at, (what, numbers, decimals)) in lines.into_iter().enumerate() {
                let mut row = [self.name, name, what].map(String::from).to_vec();
                row.extend(numbers.map(|number| format!("{number:.decimals$}")));
                let counts = self.counts.get(at).filter(|_| name == "after").into_iter().flatten();
                row.extend(counts.map(|count| format!("{count:.1}")));
                rows.push(row);
            }
        }
        rows
    }
}
