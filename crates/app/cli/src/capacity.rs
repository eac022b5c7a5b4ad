//! `ripstop capacity`: how much capacity a promise takes on a trace.

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::{Args, ValueEnum};
use ripstop_capacity::{BOUNDS, CapacityError, Comparison, FRACTIONS, Study, Trace, TraceOptions};
use ripstop_figure::Progress;
use ripstop_shaping::{Bound, Fraction, Promise, Rule, Tier};
use ripstop_trace::{Format, OnBadLine, Spread, Summary};
use std::{fmt::Write as _, num::NonZero, path::PathBuf, process::ExitCode, time::Duration};

#[derive(Args, Debug)]
pub(crate) struct Capacity {
    /// When requests arrived: a block trace (SPC, or blank-separated sectors), an S3 server access
    /// log, Ripstop's own JSON lines, or CSV with a header; plain, gzip or zstd.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// A tier of the promise: of all requests, this fraction within this bound (0.95:10ms). Give it
    /// once for each tier, the tightest first, or several with commas between them.
    #[arg(long, value_name = "FRACTION:BOUND", value_delimiter = ',')]
    pub promise: Vec<Tier>,
    /// The rule by which a tier takes requests: exact (by when they would end), count (by how many
    /// are outstanding, as in the paper), floor (count that never misses), or several with commas
    /// [default: all of them for the promise; exact for comparisons, sweep and figures]. The first
    /// one given is used for comparisons, sweep and figures.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub rule: Vec<Rule>,
    /// Fractions of the sweep [default: 0.9,0.95,0.99,0.995,0.999,1].
    #[arg(long, value_name = "FRACTIONS", value_delimiter = ',')]
    pub fractions: Vec<Fraction>,
    /// Bounds of the sweep [default: those of the promise, or 10ms,20ms,50ms].
    #[arg(long, value_name = "BOUNDS", value_delimiter = ',')]
    pub bounds: Vec<Bound>,
    /// The windows of the min–max load heuristic (MML), with which decomposition is compared.
    #[arg(long, value_name = "SPAN", default_value = "100ms")]
    pub window: Bound,
    /// Seed for the choice of what MML drops.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Format of the trace: s3, ripstop, csv, spc, sectors [default: detected].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// What to do with a line that cannot be read.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = BadLines::Refuse)]
    pub on_bad_line: BadLines,
    /// Sort times that go back, within 65,536 requests, instead of refusing them.
    #[arg(long)]
    pub sort: bool,
    /// Spread requests at random over their second if times are whole seconds. Their burstiness is
    /// then made up, and so is the answer.
    #[arg(long, conflicts_with = "trust_times")]
    pub spread: bool,
    /// Take times as they are, even if they are coarser than a bound.
    #[arg(long)]
    pub trust_times: bool,
    /// Only this many requests from the trace's beginning.
    #[arg(long, value_name = "N")]
    pub first: Option<NonZero<u64>>,
    /// Write tables, figures and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadLines {
    /// The answer is refused, and the line named.
    Refuse,
    /// The line is left out, counted and named.
    Skip,
}

pub(crate) fn run(arguments: &Capacity) -> Result<ExitCode> {
    let promise = promise(&arguments.promise)?;
    let bounds = bounds(arguments, promise.as_ref())?;
    let told = promise.iter().flat_map(Promise::tiers).map(Tier::bound);
    let bound_min = bounds.iter().copied().chain(told).min().unwrap_or(BOUNDS[0]);
    let trace = read(arguments, bound_min)?;
    let study = study(arguments, &trace, promise, bounds)?;
    arguments.out.as_deref().map_or(Ok(()), ripstop_figure::ready_folder)?;
    let intro = intro(&study, &trace, bound_min);
    say_line!("{intro}")?;
    let plans = study.plans();
    let comparison = plans.first().and_then(|plan| Comparison::new(&study, plan));
    if let (Some(plan), Some(comparison)) = (plans.first(), &comparison) {
        say_line!("\n{}", study.plans_text(&plans).trim_end())?;
        say_line!("\n{}", study.comparison_text(plan, comparison).trim_end())?;
    }
    let cells = study.sweep(bar("sweep").as_mut());
    say_line!("\n{}", study.sweep_text(&cells).trim_end())?;
    if let Some(folder) = &arguments.out {
        let intro = intro.replace('\n', "\n\n");
        let mut seen = bar("figures");
        let report = study.report(&intro, &plans, comparison.as_ref(), &cells, seen.as_mut())?;
        report.write(folder)?;
        say_line!("\nWritten to {}: report.html and its figures and tables.", folder.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn promise(tiers: &[Tier]) -> Result<Option<Promise>> {
    if tiers.is_empty() {
        return Ok(None);
    }
    Ok(Some(Promise::new(tiers.to_vec()).context("--promise")?))
}

/// The bounds of the sweep.
fn bounds(arguments: &Capacity, promise: Option<&Promise>) -> Result<Vec<Duration>> {
    let given = &arguments.bounds;
    ensure!(given.iter().all(|bound| !bound.0.is_zero()), "--bounds: a bound must be above 0");
    ensure!(!arguments.window.0.is_zero(), "--window must be above 0");
    Ok(match promise {
        _ if !given.is_empty() => given.iter().map(|bound| bound.0).collect(),
        Some(promise) => promise.tiers().iter().map(Tier::bound).collect(),
        None => BOUNDS.to_vec(),
    })
}

fn read(arguments: &Capacity, bound_min: Duration) -> Result<Trace> {
    let options = TraceOptions {
        format: arguments.format,
        on_bad_line: match arguments.on_bad_line {
            BadLines::Refuse => OnBadLine::Refuse,
            BadLines::Skip => OnBadLine::Skip,
        },
        sort: arguments.sort,
        spread: if arguments.spread {
            Spread::Random { seed: arguments.seed }
        } else {
            Spread::Off
        },
        trust_times: arguments.trust_times,
        requests_max: arguments.first,
    };
    Trace::open(&arguments.trace, &options, bound_min).map_err(|error| {
        let advice = match &error {
            CapacityError::Backwards { .. } => " (--sort sorts them)",
            CapacityError::Line { .. } => " (--on-bad-line skip leaves it out)",
            CapacityError::Coarse { .. } => {
                " (--spread makes finer ones up, --trust-times takes them as they are)"
            }
            CapacityError::Trace(_) | CapacityError::Empty => "",
        };
        let said = anyhow::Error::new(error);
        anyhow!("trace {}: {said:#}{advice}", arguments.trace.display())
    })
}

fn study<'trace>(
    arguments: &Capacity,
    trace: &'trace Trace,
    promise: Option<Promise>,
    bounds: Vec<Duration>,
) -> Result<Study<'trace>> {
    let mut fractions = arguments.fractions.clone();
    if fractions.is_empty() {
        fractions = FRACTIONS.iter().map(|share| share.parse()).collect::<Result<_, _>>()?;
    }
    let given = &arguments.rule;
    let rules = if given.is_empty() { Rule::ALL.to_vec() } else { given.clone() };
    let (window, seed, arrivals) = (arguments.window.0, arguments.seed, trace.arrivals());
    Ok(Study { arrivals, promise, rules, fractions, bounds, window, seed })
}

/// What was read, and what is doubtful about it.
fn intro(study: &Study<'_>, trace: &Trace, bound_min: Duration) -> String {
    let Summary { span, failed, ignored, skipped, skipped_first, out_of_order, .. } =
        &trace.summary;
    let mut text = format!(
        "{} requests in {:.3} s, {:.1} a second ({}, {})",
        study.arrivals.count(),
        span.as_secs_f64(),
        trace.summary.rate_per_s(),
        trace.summary.format,
        trace.summary.compression.name(),
    );
    // Writing to a string does not fail.
    if failed + ignored > 0 {
        let _ = write!(text, "\nleft out: {failed} that failed, {ignored} that moved no bytes");
    }
    if *out_of_order > 0 {
        let _ = write!(text, "\n{out_of_order} were out of order and have been sorted");
    }
    if *skipped > 0 {
        let _ = write!(text, "\n{skipped} lines could not be read and were skipped:");
        for line in skipped_first {
            let _ = write!(text, "\n  line {}: {}", line.line, line.reason);
        }
        if *skipped > skipped_first.len() as u64 {
            let _ = write!(text, "\n  and so on");
        }
    }
    if let Some(promise) = &study.promise {
        let _ = write!(text, "\npromise {promise}");
    }
    if let Some(doubt) = trace.doubt(bound_min) {
        let _ = write!(text, "\ncareful: {doubt}");
    }
    text
}

/// A bar that shows how much of a search is left, on a terminal.
fn bar(name: &'static str) -> Box<dyn FnMut(u32)> {
    let mut bar = None;
    Box::new(move |left| {
        let (all, bar) = bar.get_or_insert_with(|| (left, Progress::new(left.into(), name)));
        let done = u64::from(*all - left.min(*all));
        bar.advance(done.saturating_sub(bar.done()));
    })
}
