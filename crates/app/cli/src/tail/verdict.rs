//! What was measured beside what was foretold, and what must hold of it.

use super::{Found, plan::Case};
use ripstop_experiment::{Delays, Outcome, text_columns};
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
/// The load from which on full capacity shows, and the least share of what arrived that must have been
/// served in the time.
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
    for whose in ["live", "foretold", "long_run"] {
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
        let foretold = live.as_ref().map(|_| &case.foretold);
        for outcome in [live.as_ref(), foretold, live.as_ref().map(|_| &case.in_the_long_run)] {
            let figures = outcome.map(|outcome| Figures::of(case, outcome).numbers());
            row.extend((0..FIGURES.len()).map(|at| figures.map(|numbers| numbers[at]).into()));
        }
        table.push(row);
    }
    table
}

/// The same for people: live, then foretold, then live over foretold.
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
        let (lived, foretold) = (Figures::of(case, live), Figures::of(case, &case.foretold));
        let mut row = vec![case.policy.to_string(), live.took_ns.len().to_string()];
        row.extend(shown(&lived));
        let mut beside = shown(&foretold);
        beside[0].insert_str(0, "| ");
        row.extend(beside);
        let (mean, p99) = off(case, live);
        row.extend([format!("| {mean:.3}"), format!("{p99:.3}")]);
        rows.push(row);
    }
    rows[0].resize(8, String::new());
    rows[0].push("| foretold".into());
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

/// Live over foretold: mean, p99.
fn off(case: &Case, live: &Outcome) -> (f64, f64) {
    let (live, foretold) = (live.delay(), case.foretold.delay());
    (live.mean_ms / foretold.mean_ms, live.p99_ms / foretold.p99_ms)
}

/// Something that must hold.
pub(super) struct Check {
    what: String,
    found: f64,
    least: Option<f64>,
    most: Option<f64>,
    /// The same by the simulator: for the live run's requests, and for many more.
    foretold: Option<(f64, f64)>,
}

impl Check {
    pub(super) fn holds(&self) -> bool {
        self.least.is_none_or(|least| self.found >= least)
            && self.most.is_none_or(|most| self.found <= most)
    }
}

/// Everything that must hold.
pub(super) fn checks(found: &[Found]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut groups: Vec<Vec<&Found>> = Vec::new();
    for one in found {
        let fits = |group: &&mut Vec<&Found>| {
            let case = &group[0].case;
            case.size == one.case.size && case.load.to_bits() == one.case.load.to_bits()
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    for group in &groups {
        against_others(group, &mut checks);
    }
    for Found { case, live } in found {
        let Some(live) = live else { continue };
        let name = format!("{}, {} B, {:.0} %", case.policy, case.size, case.load * 100.0);
        let (mean, p99) = off(case, live);
        for (what, found) in [("mean", mean), ("p99", p99)] {
            checks.push(Check {
                what: format!("{name}: {what}, live over foretold"),
                found,
                least: Some(1.0 - OFF_MAX),
                most: Some(1.0 + OFF_MAX),
                foretold: None,
            });
        }
        checks.push(Check {
            what: format!("{name}: requests that failed"),
            found: live.failed as f64,
            least: None,
            most: Some(0.0),
            foretold: None,
        });
    }
    checks
}

type Measure = fn(&Delays) -> f64;
type Sight = fn(&Found) -> Option<Delays>;

const LIVE: Sight = |found| found.live.as_ref().map(Outcome::delay);
const FORETOLD: Sight = |found| found.live.as_ref().map(|_| found.case.foretold.delay());
const LONG: Sight = |found| found.live.as_ref().map(|_| found.case.in_the_long_run.delay());

/// Ours beside the others at one load.
fn against_others(group: &[&Found], checks: &mut Vec<Check>) {
    let Some(ours) = group.iter().find(|found| found.case.policy.name() == OURS) else { return };
    let case = &ours.case;
    let at = format!("{} B, {:.0} %", case.size, case.load * 100.0);
    let p99: Measure = |delays| delays.p99_ms;
    let direct = group.iter().find(|found| found.case.policy.to_string() == DIRECT);
    let gain = GAINS.iter().find(|(load, _)| case.load <= *load);
    if let (Some(direct), Some((_, least))) = (direct, gain) {
        let gain = |sight: Sight| Some(p99(&sight(direct)?) / p99(&sight(ours)?));
        if let Some(found) = gain(LIVE) {
            let what = format!("{at}: p99 of direct fetches over that of {OURS}");
            let foretold = gain(FORETOLD).zip(gain(LONG));
            checks.push(Check { what, found, least: Some(*least), most: None, foretold });
        }
    }
    let measures: [(&str, Measure); 2] = [("mean", |delays| delays.mean_ms), ("p99", p99)];
    for (name, measure) in measures {
        let worse = |sight: Sight| {
            let others = group.iter().filter(|found| found.case.policy.name() != OURS);
            let best = others.filter_map(|found| Some(measure(&sight(found)?)));
            best.min_by(f64::total_cmp).zip(sight(ours)).map(|(best, ours)| measure(&ours) / best)
        };
        if let Some(found) = worse(LIVE) {
            let what = format!("{at}: {name} of {OURS} over the best of the others");
            let foretold = worse(FORETOLD).zip(worse(LONG));
            checks.push(Check { what, found, least: None, most: Some(WORSE_MAX), foretold });
        }
    }
    if let Some(live) = &ours.live
        && case.load >= FULL.0
    {
        let served = |outcome: &Outcome| outcome.took_ns.len() as f64 / outcome.span_s / case.rate;
        checks.push(Check {
            what: format!("{at}: served over arrived with {OURS}"),
            found: served(live),
            least: Some(FULL.1),
            most: None,
            foretold: Some((served(&case.foretold), served(&case.in_the_long_run))),
        });
    }
}

/// Those that compare policies one by one, the others summed up, and all that do not hold.
pub(super) fn checks_text(checks: &[Check]) -> String {
    let mut rows = vec![
        ["what", "live", "wanted", "foretold", "in the long run", ""].map(String::from).to_vec(),
    ];
    for check in checks.iter().filter(|check| check.foretold.is_some() || !check.holds()) {
        let number = |number: f64| format!("{number:.3}");
        let wanted = match (check.least, check.most) {
            (Some(least), Some(most)) => format!("{least:.2} to {most:.2}"),
            (Some(least), None) => format!("at least {least:.2}"),
            (None, most) => most.map_or(String::new(), |most| format!("at most {most:.2}")),
        };
        rows.push(vec![
            check.what.clone(),
            number(check.found),
            wanted,
            check.foretold.map_or(String::new(), |foretold| number(foretold.0)),
            check.foretold.map_or(String::new(), |foretold| number(foretold.1)),
            if check.holds() { "holds" } else { "DOES NOT HOLD" }.to_owned(),
        ]);
    }
    let held = checks.iter().filter(|check| check.holds()).count();
    format!("{}\n{held} of {} checks hold.", text_columns(&rows), checks.len())
}

/// All checks, a row each.
pub(super) fn checks_table(checks: &[Check]) -> Table {
    let columns = ["what", "live", "least", "most", "foretold", "long_run", "holds"];
    let mut table = Table::new(columns);
    for check in checks {
        table.push([
            check.what.as_str().into(),
            check.found.into(),
            check.least.into(),
            check.most.into(),
            check.foretold.map(|foretold| foretold.0).into(),
            check.foretold.map(|foretold| foretold.1).into(),
            if check.holds() { "yes" } else { "no" }.into(),
        ]);
    }
    table
}
