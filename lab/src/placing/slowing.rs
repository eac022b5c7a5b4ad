//! `ripstop-lab replan`: a node becomes ten times slower under a gateway that plans itself.

use super::{
    beside::{Beside, OFF},
    case::placement,
    site::{self, K, NODES, STRIPE_BYTES, STRIPES},
    twin::{self, Reads, Twin},
};
use crate::load::{Answers, Sender, Server};
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use hyper::Method;
use ripstop_delay::{DelayModel, Dice};
use ripstop_experiment::Report;
use ripstop_figure::{Axis, Figure, Panel, Progress, Series, Table, mean};
use ripstop_gateway::{MachineSettings, ReadSelection};
use ripstop_placement::{Plan, planning::AutoPlan, solve};
use ripstop_planner::file_of;
use ripstop_telemetry::{PoolStatus, Status};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;

/// How far above the new optimum the mean may stay.
const ABOVE: f64 = 0.2;
/// The node that becomes slow: one of the fastest, which have most to do.
const SLOWED: u16 = 0;
/// How often the gateway plans.
const PLAN_EVERY: Duration = Duration::from_secs(10);
/// Left out at the beginning, seconds.
const WARM_UP_S: f64 = 5.0;
/// Width of the drawing's steps, seconds.
const STEP_S: f64 = 5.0;
/// With those of the stripe that tells of the bucket.
const FRAGMENTS: usize = (STRIPES + 1) * 7;
const ACCESS_KEY: &str = "reader";
const POOL: &str = "cloud";

#[derive(Args, Debug)]
pub(crate) struct Slowing {
    /// How long reads go on before the node becomes slow, in seconds.
    #[arg(long, default_value_t = 40.0)]
    pub before: f64,
    /// How long the gateway has to measure, plan and move, in seconds.
    #[arg(long, default_value_t = 100.0)]
    pub settle: f64,
    /// How long the measurement after that lasts, in seconds.
    #[arg(long, default_value_t = 60.0)]
    pub after: f64,
    /// How many times slower the node becomes.
    #[arg(long, default_value_t = 10.0)]
    pub factor: f64,
    /// Reads, as a share of what all nodes together can serve before that.
    #[arg(long, default_value_t = 0.6)]
    pub load: f64,
    /// By what fraction the bound on the mean must fall for stripes to be moved.
    #[arg(long, default_value_t = 0.03)]
    pub gain: f64,
    /// Seed of the arrivals.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write replan.csv, replan.svg and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Slowing {
    fn total(&self) -> f64 {
        self.before + self.settle + self.after
    }

    /// How slow a node is, once one has become slow.
    fn factor(&self, node: u16) -> f64 {
        let slower = if node == SLOWED { self.factor } else { 1.0 };
        site::factor(node) * slower
    }
}

/// Two gateways under one way to choose nodes: one whose node becomes slow, and one whose node was
/// slow from the start and which has the best plan for that.
struct Pair {
    selection: ReadSelection,
    adapting: Server,
    reference: Server,
    folder: TempDir,
}

/// What came of a pair.
struct Found {
    selection: ReadSelection,
    adapting: Answers,
    reference: Answers,
    /// The mean that the simulator predicts under the new optimum, seconds.
    predicted: f64,
    /// The adapting pool in the simulator: its reads, plans and moves since the node became slow.
    twin: Vec<Reads>,
    twin_counts: [f64; 2],
    /// What a task took live beyond its node's delay, seconds.
    overhead_s: f64,
    /// What the adapting gateway says of its pool before the node became slow, and at the end.
    stood: [PoolStatus; 2],
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
pub(crate) async fn run(arguments: &Slowing) -> Result<ExitCode> {
    for (name, seconds) in [("before", arguments.before), ("after", arguments.after)] {
        ensure!((10.0..3600.0).contains(&seconds), "--{name} must be from 10 to 3600");
    }
    ensure!((0.0..3600.0).contains(&arguments.settle), "--settle must be from 0 to 3600");
    ensure!((0.01..0.9).contains(&arguments.load), "--load must be from 0.01 to 0.9");
    ensure!((1.0..=1000.0).contains(&arguments.factor), "--factor must be from 1 to 1000");
    ensure!((0.0..1.0).contains(&arguments.gain), "--gain must be from 0 to less than 1");
    let rate = site::rate(arguments.load);
    let healthy = site::problem(rate);
    let mut slowed = healthy.clone();
    slowed.nodes[usize::from(SLOWED)].service = site::service(arguments.factor(SLOWED));
    let (before, best) = (solve(&healthy, None)?, solve(&slowed, None)?);
    println!("{}\n", intro(arguments, rate, &before, &best));
    let mut pairs = Vec::new();
    for selection in [ReadSelection::Probabilistic, ReadSelection::LeastWorkPlanned] {
        pairs.push(Pair::start(arguments, selection, &before, &best).await?);
    }
    let total = rate * arguments.total() * 2.0 * pairs.len() as f64;
    let progress = Arc::new(Progress::new(total as u64, "requests"));
    let runs = pairs.iter().map(|pair| pair.play(arguments, rate, &progress));
    let played = futures::future::try_join_all(runs).await;
    drop(progress);
    let mut found = Vec::new();
    for (pair, (adapting, reference, stood, overhead_s)) in pairs.into_iter().zip(played?) {
        let selection = pair.selection;
        let predicted = predicted(arguments, rate, selection, &best);
        let (twin, twin_counts) = simulated(arguments, rate, selection, &before, overhead_s)?;
        let found_one = Found {
            selection,
            adapting,
            reference,
            predicted,
            twin,
            twin_counts,
            overhead_s,
            stood,
        };
        found.push(found_one);
        pair.adapting.stop().await?;
        pair.reference.stop().await?;
    }
    print!("{}", text(arguments, &found));
    print!("\n{}", beside_the_twin(arguments, &found));
    if let Some(folder) = &arguments.out {
        write(arguments, &found, folder)?;
    }
    Ok(if verdict(arguments, &found) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn intro(arguments: &Slowing, rate: f64, before: &Plan, best: &Plan) -> String {
    format!(
        "{NODES} nodes in memory with one lane each, {STRIPES} objects of {} KiB under (7,{K}), {rate:.1} reads a \
         second; after {} s one of the fastest nodes becomes {} times slower. The pool plans itself every \
         {PLAN_EVERY:?}; beside it one that has the best plan for the slow node from the start\nbound on the mean: \
         {:.0} ms before, {:.0} ms under the new optimum",
        STRIPE_BYTES >> 10,
        arguments.before,
        arguments.factor,
        before.latency * 1000.0,
        best.latency * 1000.0,
    )
}

/// A recorded log of delays as slow as the middle site.
fn write_delays(path: &Path, seed: u64) -> Result<()> {
    const DELAYS: usize = 20_000;
    let mut dice = Dice::new(seed);
    let mut text = String::from("operation,bytes,delay_ms\n");
    for _ in 0..DELAYS {
        let delay = site::DELAY.shift_ms + site::DELAY.mean_ms * dice.exponential();
        writeln!(text, "get,{},{delay:.4}", STRIPE_BYTES / K)?;
    }
    Ok(fs::write(path, text)?)
}

impl Pair {
    /// Starts both, and stores the objects where their plans want them.
    async fn start(
        arguments: &Slowing,
        selection: ReadSelection,
        before: &Plan,
        best: &Plan,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        write_delays(&folder.path().join("delays.csv"), arguments.seed)?;
        let names: Vec<String> = (0..NODES).map(|node| format!("n{node}")).collect();
        for (name, plan) in [("before", before), ("best", best)] {
            let file = file_of(POOL, selection, &names, K, &plan.classes[0]);
            file.write(&folder.path().join(name))?;
        }
        let plan = |name: &str| format!("plan = \"{}\"\n", folder.path().join(name).display());
        let mut servers = Vec::new();
        for name in ["before", "best"] {
            // While they are stored no node takes any time.
            let fast = configuration(folder.path(), &plan(name), |_| 0.0);
            let server = Server::start(&[ACCESS_KEY], &fast).await?;
            server.fill(STRIPES, STRIPE_BYTES as usize).await?;
            servers.push(server);
        }
        let (reference, adapting) =
            servers.pop().zip(servers.pop()).context("two servers were started")?;
        let slow = configuration(folder.path(), &plan("best"), |node| arguments.factor(node));
        reference.reconfigure(&slow).await?;
        let pair = Self { selection, adapting, reference, folder };
        pair.adapting.reconfigure(&pair.automatic(arguments.gain, site::factor)).await?;
        Ok(pair)
    }

    /// The adapting gateway's configuration.
    fn automatic(&self, gain: f64, factor: impl Fn(u16) -> f64) -> String {
        let selection = self.selection.name();
        let plan = format!(
            "plan = \"auto\"\nplan_every = \"{}s\"\nplan_gain = {gain}\nselection = \"{selection}\"\n",
            PLAN_EVERY.as_secs()
        );
        configuration(self.folder.path(), &plan, factor)
    }

    async fn play(
        &self,
        arguments: &Slowing,
        rate: f64,
        progress: &Arc<Progress>,
    ) -> Result<(Answers, Answers, [PoolStatus; 2], f64)> {
        let span = Duration::from_secs_f64(arguments.total());
        let mut sent = Vec::new();
        for server in [&self.adapting, &self.reference] {
            let urls = server.urls(ACCESS_KEY, STRIPES).await?;
            let sender = Sender { address: server.address, urls, len: STRIPE_BYTES.into() };
            sent.push(tokio::spawn(sender.send(rate, span, arguments.seed, progress.clone())));
        }
        tokio::time::sleep(Duration::from_secs_f64(arguments.before)).await;
        let stood = self.status().await?;
        let log = self.adapting.ask(Method::GET, &format!("/pools/{POOL}/task-log")).await?;
        let overhead_s = twin::overhead_s(&log)?;
        let slow = self.automatic(arguments.gain, |node| arguments.factor(node));
        self.adapting.reconfigure(&slow).await?;
        let reference = sent.pop().context("two were sent")?.await??;
        let adapting = sent.pop().context("two were sent")?.await??;
        Ok((adapting, reference, [stood, self.status().await?], overhead_s))
    }

    /// How the adapting gateway's pool stands.
    async fn status(&self) -> Result<PoolStatus> {
        let status = self.adapting.ask(Method::GET, "/status").await?;
        let status: Status = serde_json::from_str(&status)?;
        status.pools.into_iter().next().context("it has a pool")
    }
}

/// The part of a configuration that is about the pool.
fn configuration(folder: &Path, plan: &str, factor: impl Fn(u16) -> f64) -> String {
    let parity = site::code().parity();
    let mut text = format!(
        "[[pool]]\nname = \"{POOL}\"\ncode = [{}, {K}]\npolicy = \"fixed\"\nanswer_extra = {parity}\n\
         answer_extra_min = {parity}\n{plan}",
        site::code().n()
    );
    for node in 0..NODES {
        write!(
            text,
            "[[node]]\nname = \"n{node}\"\nkind = \"memory\"\nlanes = 1\ndelay = \"{}\"\nseed = {node}\n\
             delay_scale = {:?}\n",
            folder.join("delays.csv").display(),
            factor(node),
        )
        .expect("a string takes all that is written to it");
    }
    text
}

/// What the simulator predicts of the new optimum, over many more reads: the mean, seconds.
fn predicted(arguments: &Slowing, rate: f64, selection: ReadSelection, best: &Plan) -> f64 {
    let times = site::times(rate, arguments.total() * 20.0, arguments.seed + 1);
    let places = ripstop_rehearsal::places(&best.classes[0], times.len(), arguments.seed + 1);
    let delay = |node| Box::new(site::delay(arguments.factor(node))) as Box<dyn DelayModel>;
    let rehearsal = site::rehearsal(MachineSettings::default(), &delay, arguments.seed + 1);
    mean(&rehearsal.play(&placement(best, selection), &places, &times)).unwrap_or(f64::NAN)
}

/// The adapting pool in the simulator, under the arrivals that are sent to the gateways.
fn simulated(
    arguments: &Slowing,
    rate: f64,
    selection: ReadSelection,
    before: &Plan,
    overhead_s: f64,
) -> Result<(Vec<Reads>, [f64; 2])> {
    let times = crate::load::times(rate, arguments.seed);
    let times: Vec<f64> =
        times.map(|at| at.as_secs_f64()).take_while(|&at| at <= arguments.total()).collect();
    let auto = AutoPlan { every: PLAN_EVERY, gain: arguments.gain, ..AutoPlan::default() };
    let slowed = (SLOWED, arguments.before, arguments.factor);
    let former = &before.classes[0];
    Twin { times: &times, selection, auto, former, slowed, overhead_s }.play()
}

impl Found {
    /// The adapting pool beside its twin.
    fn beside(&self, arguments: &Slowing) -> Beside<'_> {
        let (slow, settled) = (arguments.before, arguments.before + arguments.settle);
        let at_once = slow + arguments.settle.max(STEP_S) / 4.0;
        let counts = [[self.plans() as f64, self.moved().0 as f64], self.twin_counts];
        let windows = [(WARM_UP_S, slow), (slow, at_once), (settled, f64::INFINITY)];
        let name = self.selection.name();
        Beside { name, live: &self.adapting.done, twin: &self.twin, windows, counts }
    }

    /// The means of reads that were due from one second to another, of both gateways.
    fn means(&self, from: f64, to: f64) -> [f64; 2] {
        [&self.adapting, &self.reference].map(|answers| {
            let due = answers.done.iter().filter(|(due, _)| (from..to).contains(due));
            let took: Vec<f64> = due.map(|(_, took)| *took).collect();
            mean(&took).unwrap_or(f64::NAN)
        })
    }

    /// Fragments that were moved because of the slow node, and how many the plans said at most.
    fn moved(&self) -> (u64, u64) {
        let [before, end] = &self.stood;
        let planned = |status: &PoolStatus| status.plan.map_or(0.0, |plan| plan.moves_planned);
        let planned = (planned(end) - planned(before)) * FRAGMENTS as f64;
        (end.moves.fragments_moved - before.moves.fragments_moved, planned.round() as u64)
    }

    fn plans(&self) -> u64 {
        let [before, end] =
            self.stood.each_ref().map(|status| status.plan.map_or(0, |plan| plan.plans));
        end - before
    }

    fn failed(&self) -> usize {
        let of = |answers: &Answers| answers.failed + answers.refused;
        of(&self.adapting) + of(&self.reference)
    }
}

/// What the gateways' reads took and the simulator's, ms.
fn beside_the_twin(arguments: &Slowing, found: &[Found]) -> String {
    let head = ["", "came", "", "mean", "p50", "p95", "p99", "plans", "moved"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for found in found {
        let ms = found.overhead_s * 1000.0;
        rows.extend(found.beside(arguments).rows());
        rows.push(vec![format!(
            "a task took {ms:.1} ms more than its node's delay live: so it does simulated"
        )]);
    }
    ripstop_experiment::text_columns(&rows)
}

fn text(arguments: &Slowing, found: &[Found]) -> String {
    let mut text = format!(
        "{:<20} {:>9} {:>10} {:>9} {:>9} {:>9} {:>6} {:>6} {:>8} {:>5} {:>6}\n",
        "mean, ms",
        "before",
        "at once",
        "after",
        "optimum",
        "predicted",
        "ratio",
        "plans",
        "moved",
        "left",
        "failed"
    );
    let slow = arguments.before;
    for found in found {
        let [before, _] = found.means(WARM_UP_S, slow);
        let [at_once, _] = found.means(slow, slow + arguments.settle.max(STEP_S) / 4.0);
        let [after, optimum] = found.means(slow + arguments.settle, f64::INFINITY);
        let row = format!(
            "{:<20} {:>9.1} {:>10.1} {:>9.1} {:>9.1} {:>9.1} {:>6.3} {:>6} {:>8} {:>5} {:>6}\n",
            found.selection.name(),
            before * 1000.0,
            at_once * 1000.0,
            after * 1000.0,
            optimum * 1000.0,
            found.predicted * 1000.0,
            after / optimum,
            found.plans(),
            found.moved().0,
            found.stood[1].moves.fragments_left,
            found.failed(),
        );
        text.push_str(&row);
    }
    text
}

#[expect(clippy::print_stdout, reason = "what the command is for")]
fn verdict(arguments: &Slowing, found: &[Found]) -> bool {
    let answer = |yes| if yes { "holds" } else { "DOES NOT HOLD" };
    let mut all = true;
    println!();
    for found in found {
        let name = found.selection.name();
        let [after, optimum] = found.means(arguments.before + arguments.settle, f64::INFINITY);
        let above = (after / optimum).max(after / found.predicted) - 1.0;
        let near = above <= ABOVE;
        println!(
            "{name}: the mean is {:.1} % above the new optimum, live or predicted, at most {:.0} %: {}",
            above * 100.0,
            ABOVE * 100.0,
            answer(near)
        );
        let (moved, planned) = found.moved();
        let bounded = moved <= planned;
        println!(
            "{name}: {moved} fragments were moved, the plans said at most {planned} of {FRAGMENTS}: {}",
            answer(bounded)
        );
        let off = found.beside(arguments).off();
        let alike = off <= OFF;
        println!(
            "{name}: the simulator is off by {:.1} % at most in mean and p95 before and after, {:.0} % allowed: {}",
            off * 100.0,
            OFF * 100.0,
            answer(alike)
        );
        let whole = found.failed() == 0;
        println!("{name}: {} reads failed: {}", found.failed(), answer(whole));
        for failure in
            [&found.adapting, &found.reference].into_iter().filter_map(|of| of.failure.as_ref())
        {
            println!("  {failure}");
        }
        all &= near && bounded && alike && whole;
    }
    all
}

fn write(arguments: &Slowing, found: &[Found], folder: &Path) -> Result<()> {
    let mut table = Table::new(["selection", "gateway", "from_s", "mean_ms"]);
    let mut panel = Panel::new("", Axis::linear("time, s"), Axis::log("mean, ms"));
    for found in found {
        let mut lines = [Vec::new(), Vec::new()];
        let steps = (arguments.total() / STEP_S) as usize;
        for from in (0..steps).map(|step| step as f64 * STEP_S) {
            let means = found.means(from, from + STEP_S);
            for ((line, mean), gateway) in lines.iter_mut().zip(means).zip(GATEWAYS) {
                if mean.is_finite() {
                    line.push((from + STEP_S / 2.0, mean * 1000.0));
                    let name = found.selection.name();
                    table.push([name.into(), gateway.into(), from.into(), (mean * 1000.0).into()]);
                }
            }
        }
        for (line, gateway) in lines.into_iter().zip(GATEWAYS) {
            panel =
                panel.series(Series::line(format!("{}, {gateway}", found.selection.name()), line));
        }
    }
    let title = "A node becomes slow: mean of reads, by when they came";
    let mut report = Report::new("Planning again", text(arguments, found).replace('\n', "\n\n"));
    report.figure("replan", title, &Figure::new(title).panel(panel));
    report.table("replan", "The means of the drawing.", table);
    report.write(folder)?;
    Ok(())
}

const GATEWAYS: [&str; 2] = ["planned again", "new optimum from the start"];
