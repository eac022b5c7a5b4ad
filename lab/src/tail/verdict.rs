//! What was measured beside what was predicted, and what must hold of it.

use super::{
    case::{Case, Found},
    luck::{Ratio, Sample},
};
use ripstop_experiment::{Delays, Expected, Outcome, Verdict, text_columns};
use ripstop_figure::{Cell, Table};

/// The policy whose rank is checked, and the one that it is to beat by [`GAINS`].
const OURS: &str = "backfill";
const DIRECT: &str = "fixed(1,1)";
/// How many times lower p99 must be than with direct fetches, up to which load.
const GAINS: [(f64, f64); 2] = [(0.1, 1.5), (0.5, 1.3)];
/// How much worse than the best of the others it may be.
const WORSE_MAX: f64 = 1.05;
/// How far the simulator may be off.
const OFF_MAX: f64 = 0.1;
/// The load from which on full capacity shows, and the least share of what arrived that must have
/// been served in the time.
const FULL: (f64, f64) = (0.95, 0.97);

/// The figures of one outcome.
struct Figures {
    delays: Delays,
    /// Tasks that had a lane, per request.
    tasks: f64,
    /// Bytes that they were to move beyond one payload, per byte of payload.
    extra: f64,
}

impl Figures {
    fn of(case: &Case, outcome: &Outcome) -> Self {
        let requests = (outcome.took_ns.len() as u64 + outcome.failed).max(1) as f64;
        let payload = case.setting.classes[0].bytes as f64;
        let (tasks, bytes) = (outcome.tasks.served as f64, outcome.tasks.bytes as f64);
        let (tasks, extra) = (tasks / requests, bytes / requests / payload - 1.0);
        Self { delays: outcome.delay(), tasks, extra }
    }

    fn numbers(&self) -> [f64; 6] {
        let Delays { mean_ms, p50_ms, p99_ms, p999_ms, .. } = self.delays;
        [mean_ms, p50_ms, p99_ms, p999_ms, self.tasks, self.extra]
    }
}

const FIGURES: [&str; 6] = ["mean_ms", "p50_ms", "p99_ms", "p999_ms", "tasks", "extra_bytes"];

/// A row for each case.
pub(super) fn table(found: &[Found]) -> Table {
    let mut columns: Vec<String> =
        ["bytes", "load", "rate_per_s", "policy", "requests", "failed"].map(String::from).into();
    for whose in ["live", "predicted", "long_run"] {
        columns.extend(FIGURES.map(|figure| format!("{whose}_{figure}")));
    }
    let mut table = Table::new(columns);
    for Found { case, live } in found {
        let requests = live.as_ref().map(|live| live.took_ns.len() as f64);
        let failed = live.as_ref().map(|live| live.failed as f64);
        let mut row: Vec<Cell> = vec![
            u64::from(case.size).into(),
            case.load.into(),
            case.rate.into(),
            case.policy.to_string().into(),
            requests.into(),
            failed.into(),
        ];
        let predicted = live.as_ref().map(|_| &case.predicted);
        for outcome in [live.as_ref(), predicted, live.as_ref().map(|_| &case.in_the_long_run)] {
            let figures = outcome.map(|outcome| Figures::of(case, outcome).numbers());
            row.extend((0..FIGURES.len()).map(|at| figures.map(|numbers| numbers[at]).into()));
        }
        table.push(row);
    }
    table
}

/// The same for people: live, then predicted, then live over predicted.
pub(super) fn text(found: &[Found]) -> String {
    let head = [
        "policy", "requests", "mean", "p50", "p99", "p99.9", "tasks", "extra", "| mean", "p50",
        "p99", "p99.9", "tasks", "extra", "| mean", "p99",
    ];
    let mut rows = vec![
        vec!["milliseconds".to_owned(), String::new(), "live".to_owned()],
        head.map(String::from).to_vec(),
    ];
    let mut group = None;
    for Found { case, live } in found {
        let here = (case.size, case.load.to_bits());
        if group != Some(here) {
            group = Some(here);
            let (load, rate) = (case.load * 100.0, case.rate);
            rows.push(vec![]);
            rows.push(vec![format!("{} B, {load:.0} %, {rate:.1}/s", case.size)]);
        }
        let Some(live) = live else {
            rows.push(vec![case.policy.to_string(), "more than the lanes can serve".into()]);
            continue;
        };
        let (lived, predicted) = (Figures::of(case, live), Figures::of(case, &case.predicted));
        let mut row = vec![case.policy.to_string(), live.took_ns.len().to_string()];
        row.extend(shown(&lived));
        let mut beside = shown(&predicted);
        beside[0].insert_str(0, "| ");
        row.extend(beside);
        let [mean, p99] =
            MEASURES.map(|(_, measure)| measure(&lived.delays) / measure(&predicted.delays));
        row.extend([format!("| {mean:.3}"), format!("{p99:.3}")]);
        rows.push(row);
    }
    rows[0].resize(8, String::new());
    rows[0].push("| predicted".into());
    rows[0].resize(14, String::new());
    rows[0].push("| ratio".into());
    text_columns(&rows)
}

fn shown(figures: &Figures) -> [String; 6] {
    let [mean, p50, p99, p999, tasks, extra] = figures.numbers();
    let ms = |ms: f64| format!("{ms:.1}");
    let extra = format!("{:.1} %", extra * 100.0);
    [ms(mean), ms(p50), ms(p99), ms(p999), format!("{tasks:.2}"), extra]
}

/// Something that must hold.
pub(super) struct Check {
    what: String,
    found: Ratio,
    expected: Expected,
    /// The same by the simulator: for the live run's requests, and for many more.
    predicted: Option<(f64, f64)>,
}

impl Check {
    pub(super) fn verdict(&self) -> Verdict {
        self.expected.verdict(self.found.value, self.found.half_width)
    }
}

/// What was run live.
struct Run<'a> {
    case: &'a Case,
    outcome: &'a Outcome,
    live: Sample,
    predicted: Sample,
    /// Of the much longer simulated run.
    long: Delays,
}

impl Run<'_> {
    fn is_ours(&self) -> bool {
        self.case.policy.name() == OURS
    }
}

/// Everything that must hold.
pub(super) fn checks(found: &[Found]) -> Vec<Check> {
    let lived =
        found.iter().filter_map(|found| found.live.as_ref().map(|live| (&found.case, live)));
    let runs: Vec<Run<'_>> = lived
        .map(|(case, outcome)| {
            let (live, predicted) = (Sample::of(outcome), Sample::of(&case.predicted));
            let long = case.in_the_long_run.delay();
            Run { case, outcome, live, predicted, long }
        })
        .collect();
    let is_like = |a: &Run<'_>, b: &Run<'_>| {
        a.case.size == b.case.size && a.case.load.to_bits() == b.case.load.to_bits()
    };
    let mut checks = Vec::new();
    for group in runs.chunk_by(is_like) {
        against_others(group, &mut checks);
    }
    for run in &runs {
        let Run { case, outcome, live, predicted, .. } = run;
        let name = format!("{}, {} B, {:.0} %", case.policy, case.size, case.load * 100.0);
        for (what, measure) in MEASURES {
            checks.push(Check {
                what: format!("{name}: {what}, live over predicted"),
                found: live.over(predicted, measure),
                expected: Expected::Between(1.0 - OFF_MAX, 1.0 + OFF_MAX),
                predicted: None,
            });
        }
        checks.push(Check {
            what: format!("{name}: requests that failed"),
            found: Ratio { value: outcome.failed as f64, half_width: None },
            expected: Expected::AtMost(0.0),
            predicted: None,
        });
    }
    checks
}

type Measure = fn(&Delays) -> f64;

const P99: Measure = |delays| delays.p99_ms;
const MEASURES: [(&str, Measure); 2] = [("mean", |delays| delays.mean_ms), ("p99", P99)];

/// Ours beside the others at one load.
fn against_others(group: &[Run<'_>], checks: &mut Vec<Check>) {
    let Some(ours) = group.iter().find(|run| run.is_ours()) else { return };
    let case = ours.case;
    let at = format!("{} B, {:.0} %", case.size, case.load * 100.0);
    let direct = group.iter().find(|run| run.case.policy.to_string() == DIRECT);
    let gain = GAINS.iter().find(|(load, _)| case.load <= *load);
    if let (Some(direct), Some((_, least))) = (direct, gain) {
        let long = direct.long.p99_ms / ours.long.p99_ms;
        checks.push(Check {
            what: format!("{at}: p99 of direct fetches over that of {OURS}"),
            found: direct.live.over(&ours.live, P99),
            expected: Expected::AtLeast(*least),
            predicted: Some((direct.predicted.over(&ours.predicted, P99).value, long)),
        });
    }
    for (name, measure) in MEASURES {
        // The best live, predicted and in the long run need not be the same.
        let best = |of: &dyn Fn(&Run<'_>) -> f64| {
            let others = group.iter().filter(|run| !run.is_ours());
            others.min_by(|a, b| of(a).total_cmp(&of(b)))
        };
        let Some(best_live) = best(&|run| measure(&run.live.whole)) else { continue };
        let predicted = |run: &Run<'_>| measure(&run.predicted.whole);
        let long = |run: &Run<'_>| measure(&run.long);
        let worse = |of: &dyn Fn(&Run<'_>) -> f64| of(ours) / best(of).map_or(f64::NAN, of);
        checks.push(Check {
            what: format!("{at}: {name} of {OURS} over the best of the others"),
            found: ours.live.over(&best_live.live, measure),
            expected: Expected::AtMost(WORSE_MAX),
            predicted: Some((worse(&predicted), worse(&long))),
        });
    }
    if case.load >= FULL.0 {
        let served = |outcome: &Outcome| outcome.took_ns.len() as f64 / outcome.span_s / case.rate;
        checks.push(Check {
            what: format!("{at}: served over arrived with {OURS}"),
            found: Ratio { value: served(ours.outcome), half_width: None },
            expected: Expected::AtLeast(FULL.1),
            predicted: Some((served(&case.predicted), served(&case.in_the_long_run))),
        });
    }
}

/// How many hold, are within their error, and do not hold.
pub(super) fn counts(checks: &[Check]) -> [usize; 3] {
    Verdict::counts(checks.iter().map(Check::verdict))
}

/// Those that compare policies one by one, the others summed up, and all that do not hold.
pub(super) fn checks_text(checks: &[Check]) -> String {
    let mut rows = vec![
        ["what", "live", "wanted", "predicted", "in the long run", ""].map(String::from).to_vec(),
    ];
    let told = |check: &&Check| check.predicted.is_some() || check.verdict() != Verdict::Holds;
    for check in checks.iter().filter(told) {
        let number = |number: f64| format!("{number:.3}");
        let half = check.found.half_width.map_or(String::new(), |half| format!(" ± {half:.3}"));
        rows.push(vec![
            check.what.clone(),
            number(check.found.value) + &half,
            check.expected.to_string(),
            check.predicted.map_or(String::new(), |predicted| number(predicted.0)),
            check.predicted.map_or(String::new(), |predicted| number(predicted.1)),
            check.verdict().name().to_owned(),
        ]);
    }
    let [hold, within, fail] = counts(checks);
    format!(
        "{}\n{hold} checks hold, {within} within the error of so few requests, {fail} do not hold.",
        text_columns(&rows)
    )
}

/// All checks, a row each.
pub(super) fn checks_table(checks: &[Check]) -> Table {
    let columns = ["what", "live", "half_width", "expected", "predicted", "long_run", "verdict"];
    let mut table = Table::new(columns);
    for check in checks {
        table.push([
            check.what.as_str().into(),
            check.found.value.into(),
            check.found.half_width.into(),
            check.expected.to_string().into(),
            check.predicted.map(|predicted| predicted.0).into(),
            check.predicted.map(|predicted| predicted.1).into(),
            check.verdict().name().into(),
        ]);
    }
    table
}
