//! What planning came to in a scenario's runs: what was seen and decided when, what was moved, and
//! how long requests took before a node changed, and after.

use crate::{
    Delays, Played, Report, Scenario,
    summary::groups,
    text::{number, percent, trimmed},
    text_columns,
};
use core::fmt::Write as _;
use ripstop_figure::{Axis, Cell, Figure, Panel, Points, Series, Table, TableError};
use ripstop_model::Timestamp;
use ripstop_rehearsal::{PlanCourse, PlanLook, PlanVerdict};
use ripstop_world::Trouble;
use std::collections::BTreeMap;

/// Pieces into which the time of a run is cut in drawings.
const BINS: u64 = 80;
/// Of more nodes none is drawn.
const NODES_DRAWN_MAX: usize = 16;
/// Decisions of a run that are shown on a terminal.
const LOOKS_SHOWN: usize = 12;

const PHASES: [&str; 3] = ["before", "during", "after"];
const PERCENTILES: [(&str, &str); 4] =
    [("mean_ms", "mean"), ("p50_ms", "p50"), ("p95_ms", "p95"), ("p99_ms", "p99")];

fn seconds(at: Timestamp) -> f64 {
    at.as_nanos() as f64 / 1e9
}

impl Scenario {
    /// When the first node changes, if one does.
    fn changes_at(&self) -> Option<Timestamp> {
        let changes = self.setting.nodes.iter().flat_map(|node| &node.changes);
        changes.map(|change| change.from).min()
    }

    /// How long requests took that came before the first node changed, in the first half of the
    /// time after that, and in the second.
    pub(crate) fn phases(&self, played: &Played) -> Vec<(f64, f64, Delays)> {
        let courses = &played.outcome.courses;
        let (Some(change), Some(last)) = (self.changes_at(), courses.last()) else {
            return Vec::new();
        };
        let (from, end) = (seconds(change), seconds(last.arrived).max(seconds(change)));
        let bounds = [0.0, from, f64::midpoint(from, end), f64::INFINITY];
        let phase = |pair: &[f64]| {
            let came = |at: Timestamp| (pair[0]..pair[1]).contains(&seconds(at));
            let took = courses.iter().filter(|course| came(course.arrived));
            let mut took: Vec<u64> = took.map(|course| course.took_ns).collect();
            (pair[0], pair[1].min(end), Delays::of(&mut took))
        };
        bounds.windows(2).map(phase).collect()
    }

    fn phase_table(&self, played: &[Played]) -> Table {
        let columns = ["policy", "rate_per_s", "seed", "phase", "from_s", "until_s", "requests"];
        let columns = columns.into_iter().chain(PERCENTILES.map(|(column, _)| column));
        let mut table = Table::new(columns);
        for one in played {
            for ((from, until, delays), phase) in self.phases(one).into_iter().zip(PHASES) {
                let Delays { count, mean_ms, p50_ms, p95_ms, p99_ms, .. } = delays;
                let known = |ms: f64| Cell::from((count > 0).then_some(ms));
                let head: [Cell; 7] = [
                    self.label_of(one).into(),
                    one.rate_per_s.into(),
                    (one.seed as f64).into(),
                    phase.into(),
                    from.into(),
                    until.into(),
                    (count as f64).into(),
                ];
                table.push(head.into_iter().chain([mean_ms, p50_ms, p95_ms, p99_ms].map(known)));
            }
        }
        table
    }

    fn look_table(&self, played: &[Played]) -> Table {
        let columns = ["policy", "rate_per_s", "seed", "at_s", "verdict", "saved", "groups"];
        let columns = columns.into_iter().chain(["bound_ms", "moved_share", "changed"]);
        let mut table = Table::new(columns);
        for (one, course) in planned(played) {
            for look in &course.looks {
                let (name, numbers) = match &look.verdict {
                    PlanVerdict::Unknown => ("unknown", [None; 4]),
                    PlanVerdict::Kept { saved } => ("kept", [Some(*saved), None, None, None]),
                    PlanVerdict::Followed { groups, bound_s, moved } => {
                        let groups = groups.len() as f64;
                        ("followed", [None, Some(groups), Some(bound_s * 1e3), Some(*moved)])
                    }
                    PlanVerdict::Failed(_) => ("failed", [None; 4]),
                };
                let head: [Cell; 5] = [
                    self.label_of(one).into(),
                    one.rate_per_s.into(),
                    (one.seed as f64).into(),
                    seconds(look.at).into(),
                    name.into(),
                ];
                let numbers = numbers.map(|number| Cell::from(number.filter(|n| n.is_finite())));
                let changed = Cell::from(changed(look));
                table.push(head.into_iter().chain(numbers).chain([changed]));
            }
        }
        table
    }

    fn move_table(&self, played: &[Played]) -> Table {
        let mut table = Table::new(["policy", "rate_per_s", "seed", "at_s", "from", "to"]);
        for (one, course) in planned(played) {
            for moved in &course.moves {
                table.push([
                    Cell::from(self.label_of(one)),
                    one.rate_per_s.into(),
                    (one.seed as f64).into(),
                    seconds(moved.at).into(),
                    moved.from.map(|node| f64::from(node.0 + 1)).into(),
                    f64::from(moved.to.0 + 1).into(),
                ]);
            }
        }
        table
    }

    fn load_table(&self, played: &[Played]) -> Table {
        let columns =
            ["policy", "rate_per_s", "seed", "node", "reads", "read_s", "stored", "lanes_busy_s"];
        let mut table = Table::new(columns);
        for (one, course) in planned(played) {
            for (load, node) in course.load.iter().zip(1..) {
                table.push([
                    Cell::from(self.label_of(one)),
                    one.rate_per_s.into(),
                    (one.seed as f64).into(),
                    f64::from(node).into(),
                    (load.reads as f64).into(),
                    load.read_s.into(),
                    (load.writes as f64).into(),
                    load.write_s.into(),
                ]);
            }
        }
        table
    }

    /// What planning came to, as text: of each policy and load what was decided under the first
    /// seed, and how long requests took, on average over the seeds. Empty if no stripes were known.
    pub fn plan_text(&self, played: &[Played]) -> Result<String, TableError> {
        let mut text = String::new();
        let first = planned(played).filter(|(one, _)| Some(&one.seed) == self.seeds.first());
        for (one, course) in first.filter(|(one, _)| one.plans) {
            let (label, rate) = (self.label_of(one), trimmed(one.rate_per_s));
            let seed = one.seed;
            writeln!(text, "\n{label}, {rate} requests/s, seed {seed}: plans")
                .expect("a string takes all that is written to it");
            text += &text_columns(&self.story(course));
        }
        let phases = self.phase_table(played);
        if phases.rows().is_empty() || self.setting.plan.is_none() {
            return Ok(text);
        }
        let mut header = vec!["policy".to_owned(), "rate".to_owned(), "came".to_owned()];
        header.extend(PERCENTILES.map(|(_, name)| format!("{name} ms")));
        let mut rows = vec![header];
        let labels = self.labels();
        let by = ["policy", "rate_per_s", "phase"];
        for group in groups(&phases, &by)? {
            let shown = |column: &str| Ok::<_, TableError>(group[0][phases.index(column)?].shown());
            if !labels.contains(&shown("policy")?) {
                continue;
            }
            let mut row = vec![shown("policy")?, shown("rate_per_s")?, shown("phase")?];
            for (column, _) in PERCENTILES {
                let at = phases.index(column)?;
                let values: Vec<f64> = group.iter().filter_map(|row| row[at].number()).collect();
                row.push(ripstop_figure::mean(&values).map_or_else(|| "-".into(), number));
            }
            rows.push(row);
        }
        text += "\nrequests by when they came: before the first node changed, in the first half of the \
                 time after, in the second\n";
        Ok(text + &text_columns(&rows))
    }

    /// What happened in a run, in the order of time: a line for each.
    fn story(&self, course: &PlanCourse) -> Vec<Vec<String>> {
        let mut lines: Vec<(Timestamp, String)> = Vec::new();
        for (node, setting) in (1..).zip(&self.setting.nodes) {
            for change in &setting.changes {
                let what = match change.trouble {
                    Trouble::Slow(factor) => format!("takes {} times as long", trimmed(factor)),
                    Trouble::Lost => "is gone".to_owned(),
                };
                lines.push((change.from, format!("node {node} {what}")));
            }
        }
        let mut known: Vec<u16> = Vec::new();
        for look in &course.looks {
            let now = look.changed.iter().map(|&(node, ..)| node).collect();
            let is_new = known != now;
            known = now;
            lines.extend(told(look, is_new).map(|line| (look.at, line)));
        }
        let moved = format!("{} fragments moved so far", course.fragments_moved);
        let since = self.changes_at().unwrap_or_default();
        if let Some(at) = course.settled(since) {
            let until = course.moves.iter().filter(|moved| moved.at <= at).count();
            let text =
                format!("all stripes are where the plan wants them: {until} fragments moved");
            lines.push((at, text));
        } else if course.fragments_moved > 0 {
            let end = course.moves.last().map_or(since, |moved| moved.at);
            lines.push((end, format!("{moved}, some are left")));
        }
        lines.sort_by_key(|(at, _)| *at);
        let more = lines.len().saturating_sub(LOOKS_SHOWN);
        let line =
            |(at, text): &(Timestamp, String)| vec![format!("{:>9.1} s  {text}", seconds(*at))];
        let mut rows: Vec<Vec<String>> = lines.iter().take(LOOKS_SHOWN).map(line).collect();
        if more > 0 {
            rows.push(vec![format!("{more} more lines: see plan_looks.csv of --out")]);
        }
        let reads: f64 = course.load.iter().map(|load| load.read_s).sum();
        let writes: f64 = course.load.iter().map(|load| load.write_s).sum();
        rows.push(vec![format!(
            "moves: {} fragments, {} failed, {:.1} MB; they read for {} s beside the lanes, and kept lanes \
             busy for {} s",
            course.fragments_moved,
            course.failed,
            course.bytes_moved as f64 / 1e6,
            number(reads),
            number(writes)
        )]);
        rows
    }

    /// Adds what planning came to.
    pub(crate) fn report_plans(&self, played: &[Played], report: &mut Report) {
        if self.setting.plan.is_none() {
            return;
        }
        let caption = "Percentiles of requests by when they came, the part of the plan's reads that goes to \
                       each node, and fragments moved: under the first seed.";
        report.figure("plan", caption, &self.plan_figure(played));
        let phases = self.phase_table(played);
        if !phases.rows().is_empty() {
            let caption = "Requests that came before the first node changed, in the first half of the time \
                           after that, and in the second.";
            report.table("plan_phases", caption, phases);
        }
        report.table(
            "plan_looks",
            "What the pool decided when it planned.",
            self.look_table(played),
        );
        report.table("plan_load", "What moving stripes cost nodes.", self.load_table(played));
        report.long_table("plan_moves", self.move_table(played));
    }

    /// Of the first load and seed.
    fn plan_figure(&self, played: &[Played]) -> Figure {
        let rate = played.first().map(|one| one.rate_per_s);
        let is_first = |one: &Played| {
            Some(&one.seed) == self.seeds.first()
                && rate.is_some_and(|rate| one.rate_per_s.total_cmp(&rate).is_eq())
        };
        let time = || Axis::linear("time, s").from(0.0);
        let mut delays = Panel::new("", time(), Axis::log("delay, ms"));
        let mut moved = Panel::new("", time(), Axis::linear("fragments moved").from(0.0));
        let mut parts = Panel::new("", time(), Axis::linear("part of the plan's reads").from(0.0));
        let mut ruled = None;
        for (one, course) in planned(played).filter(|(one, _)| is_first(one)) {
            let label = self.label_of(one);
            for (name, points) in percentiles(one) {
                delays = delays.series(Series::line(format!("{label}: {name}"), points));
            }
            if !one.plans {
                continue;
            }
            let steps = course
                .moves
                .iter()
                .zip(1..)
                .map(|(moved, so_far)| (seconds(moved.at), f64::from(so_far)));
            moved =
                moved.series(Series::step(&label, [(0.0, 0.0)].into_iter().chain(steps).collect()));
            if ruled.is_none() {
                for (name, points) in self.parts(one, course) {
                    parts = parts.series(Series::step(name, points));
                }
            }
            ruled.get_or_insert(course);
        }
        if let (Some(since), Some(course)) = (self.changes_at(), ruled) {
            let noticed = course.noticed(since).map(|look| look.at);
            let moments = [
                (Some(since), "a node changes"),
                (noticed, "seen"),
                (course.settled(since), "all is moved"),
            ];
            for (at, what) in
                moments.into_iter().filter_map(|(at, what)| Some((seconds(at?), what)))
            {
                delays = delays.rule_x(at, what);
                moved = moved.rule_x(at, "");
                parts = parts.rule_x(at, "");
            }
        }
        Figure::new("Plans").columns(1).panel(delays).panel(parts).panel(moved)
    }

    /// Which part of reads the plans have each node asked for, over time.
    fn parts(&self, one: &Played, course: &PlanCourse) -> Vec<(String, Points)> {
        let nodes = self.setting.nodes.len();
        if nodes > NODES_DRAWN_MAX {
            return Vec::new();
        }
        let end = one.outcome.courses.last().map_or(0.0, |course| seconds(course.arrived));
        let mut lines: Vec<Points> = vec![Vec::new(); nodes];
        for look in &course.looks {
            let PlanVerdict::Followed { groups, .. } = &look.verdict else { continue };
            let mut asked = vec![0.0; nodes];
            for group in groups {
                for (&node, p) in group.nodes.iter().zip(&group.probabilities) {
                    asked[usize::from(node)] += p * group.files as f64;
                }
            }
            let all: f64 = asked.iter().sum();
            for (line, asked) in lines.iter_mut().zip(&asked) {
                line.push((seconds(look.at), asked / all));
            }
        }
        let named = lines.into_iter().zip(1..).map(|(mut line, node)| {
            line.extend(line.last().map(|last| (end, last.1)));
            (format!("node {node}"), line)
        });
        named.filter(|(_, line)| !line.is_empty()).collect()
    }
}

/// The runs whose stripes were known one by one, and what planning came to in them.
fn planned(played: &[Played]) -> impl Iterator<Item = (&Played, &PlanCourse)> {
    played.iter().filter_map(|one| Some((one, one.outcome.plan.as_ref()?)))
}

/// Percentiles of requests that came in the same piece of the time.
fn percentiles(one: &Played) -> Vec<(&'static str, Points)> {
    let courses = &one.outcome.courses;
    let end = courses.last().map_or(0, |course| course.arrived.as_nanos());
    let width = (end / BINS).max(1);
    let mut bins = BTreeMap::<u64, Vec<u64>>::new();
    for course in courses {
        bins.entry(course.arrived.as_nanos() / width).or_default().push(course.took_ns);
    }
    let mut lines = [("p50", Vec::new()), ("p95", Vec::new()), ("p99", Vec::new())];
    for (bin, mut took) in bins {
        let (at, delays) = ((bin as f64 + 0.5) * width as f64 / 1e9, Delays::of(&mut took));
        let values = [delays.p50_ms, delays.p95_ms, delays.p99_ms];
        for ((_, line), value) in lines.iter_mut().zip(values) {
            line.push((at, value));
        }
    }
    lines.into()
}

/// The nodes that were seen to have changed.
fn changed(look: &PlanLook) -> String {
    let node = |&(node, since, mean): &(u16, Timestamp, f64)| {
        format!("node {} since {:.1} s: {} ms", node + 1, seconds(since), number(mean * 1000.0))
    };
    look.changed.iter().map(node).collect::<Vec<_>>().join("; ")
}

/// A decision as a line; none of one that changes nothing and saw nothing that `is_new`.
fn told(look: &PlanLook, is_new: bool) -> Option<String> {
    let seen = if look.changed.is_empty() { String::new() } else { format!("; {}", changed(look)) };
    match &look.verdict {
        PlanVerdict::Unknown => None,
        PlanVerdict::Kept { .. } if !is_new || look.changed.is_empty() => None,
        PlanVerdict::Kept { .. } => Some(format!("plan kept{seen}")),
        PlanVerdict::Followed { groups, bound_s, moved } => Some(format!(
            "plan followed: {} groups, mean at most {} ms, {} of fragments to move{seen}",
            groups.len(),
            number(bound_s * 1000.0),
            percent(*moved)
        )),
        PlanVerdict::Failed(why) => Some(format!("no plan: {why}")),
    }
}
