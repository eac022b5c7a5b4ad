//! `ripstop fit`: what a task log says about delays.

use anyhow::{Context as _, Result, bail};
use clap::Args;
use ripstop_delay::ShiftedExponential;
use ripstop_estimator::{LogFit, LogRecord, NodePace, fit_log, parse_log};
use ripstop_experiment::{
    Report, delay_ccdf_figure, delay_ccdf_table, delay_model_table, delay_size_figure,
    delay_size_table, delay_trust, text_columns,
};
use ripstop_model::Operation;
use ripstop_planner::read_log;
use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

/// Nodes differ if they do by this many deviations of chance.
const SURE: f64 = 3.0;

#[derive(Args, Debug)]
pub(crate) struct Fit {
    /// Task log: CSV, plain or gzip.
    ///
    /// Its header is `time_s,operation,node,bytes,served_ms,outcome`, optionally followed by
    /// `waited_ms,redundant`, or it is `operation,bytes,delay_ms`. Gateways and simulations write
    /// the same format. Several logs may follow one another, each with its header.
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Write figures, the CSV files they are drawn from, and report.html into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Fit) -> Result<ExitCode> {
    let text = read_log(&arguments.log)?;
    let named = || format!("task log {}", arguments.log.display());
    let fit = fit_log(&text).with_context(named)?;
    let records = parse_log(&text).with_context(named)?;
    if records.is_empty() {
        bail!("{} has no tasks", named());
    }
    if let Some(folder) = &arguments.out {
        report(&fit, &records)?.write(folder)?;
    }
    say!("{}", described(&fit))?;
    if let Some(folder) = &arguments.out {
        say_line!("\nWritten to {}: report.html and its figures and tables.", folder.display())?;
    }
    if fit.operations.is_empty() {
        bail!("{} says too little: no chunk size has ten finished tasks", named());
    }
    Ok(ExitCode::SUCCESS)
}

/// What the fits say, for a terminal.
fn described(fit: &LogFit) -> String {
    let mut text = format!(
        "{} tasks finished, {} were cancelled, {} failed (which says nothing about delays)\n",
        fit.done, fit.cancelled, fit.other
    );
    // Writing to a string does not fail.
    for (operation, one) in &fit.operations {
        let _ = writeln!(
            text,
            "\n{}: {} samples, {} cancelled, {} chunk sizes from {} to {} bytes",
            operation.name(),
            one.finished,
            one.cancelled,
            one.sizes,
            one.bytes_min,
            one.bytes_max
        );
        let mut rows = vec![header("delay of B megabytes")];
        rows.push(line("corrected", &one.model));
        let with_outliers = line("with outliers", &one.whole);
        if with_outliers[1..] != rows[1][1..] {
            rows.push(with_outliers);
        }
        rows.push(line("as the paper", &one.literal));
        text += &text_columns(&rows);
        let _ = writeln!(
            text,
            "off the lines (root mean square): means {:.2} ms, deviations {:.2} ms",
            one.mean_residual_ms, one.deviation_residual_ms
        );
        let _ = writeln!(text, "{}", delay_trust(one));
        text += &by_node(fit, *operation);
    }
    text
}

fn header(first: &str) -> Vec<String> {
    let columns = [first, "shift ms", "per MB", "exponential ms", "per MB"];
    columns.map(str::to_owned).to_vec()
}

fn line(name: &str, model: &ShiftedExponential) -> Vec<String> {
    let ShiftedExponential { shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb } = *model;
    let numbers = [shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb];
    std::iter::once(name.to_owned()).chain(numbers.map(|ms| format!("{ms:.2}"))).collect()
}

/// The nodes beside one another, if there are several.
fn by_node(fit: &LogFit, operation: Operation) -> String {
    let nodes: Vec<_> = fit.nodes.iter().filter(|((of, _), _)| *of == operation).collect();
    if nodes.len() < 2 {
        return String::new();
    }
    let mut rows = vec![header("node, corrected")];
    rows[0].extend(["samples", "beside the others"].map(str::to_owned));
    for (key, one) in &nodes {
        let mut row = line(&key.1.to_string(), &one.model);
        row.push(one.finished.to_string());
        row.push(fit.paces.get(key).map_or_else(String::new, |pace| format!("{:.2}", pace.factor)));
        rows.push(row);
    }
    let mut text = text_columns(&rows);
    let paces: Vec<_> = fit.paces.iter().filter(|((of, _), _)| *of == operation).collect();
    let by_factor = |a: &&(&_, &NodePace), b: &&(&_, &NodePace)| a.1.factor.total_cmp(&b.1.factor);
    let (slowest, fastest) = (paces.iter().max_by(by_factor), paces.iter().min_by(by_factor));
    if let (Some((slow, slowest)), Some((fast, fastest))) = (slowest, fastest) {
        let (slow, fast, ratio) = (slow.1, fast.1, slowest.factor / fastest.factor);
        let chance = slowest.deviation.hypot(fastest.deviation);
        let _ = writeln!(
            text,
            "node {slow} takes {ratio:.2} times as long as node {fast} for chunks of one size{}{}",
            if ratio.ln() < SURE * chance { ", which may be chance" } else { "" },
            if paces.iter().all(|(_, pace)| pace.tied) {
                ""
            } else {
                "; some served no size in common, so that this rests on the line through the sizes"
            }
        );
    }
    text
}

fn report(fit: &LogFit, records: &[LogRecord]) -> Result<Report> {
    let models = delay_model_table(fit);
    let (sizes, ccdf) = (delay_size_table(records), delay_ccdf_table(records));
    let mut intro = String::from(
        "The delay of a chunk of B megabytes is modelled as a shift that grows with B plus an exponential \
         whose mean grows with B, as in the paper on TOFEC. Its fit drops the slowest tenth of each size; \
         the corrected one allows for what that takes away.",
    );
    for (operation, one) in &fit.operations {
        let _ = write!(intro, "\n\n{}: {}", operation.name(), delay_trust(one));
    }
    let mut report = Report::new("Delays of tasks", intro);
    for operation in fit.operations.keys() {
        let name = operation.name();
        let figure = delay_ccdf_figure(&format!("Delays of {name}s"), &ccdf, &models, *operation)?;
        let caption = format!("The share of {name}s that take longer, for some chunk sizes.");
        report.figure(&format!("ccdf_{name}"), caption, &figure);
        let figure =
            delay_size_figure(&format!("Delays of {name}s by size"), &sizes, &models, *operation)?;
        let caption = format!("Mean and deviation of {name}s against chunk size, with the fits.");
        report.figure(&format!("sizes_{name}"), caption, &figure);
    }
    report.table("models", "The fits, of all nodes together and of each.", models);
    report.table("sizes", "Delays by chunk size.", sizes);
    report.long_table("ccdf", ccdf);
    Ok(report)
}
