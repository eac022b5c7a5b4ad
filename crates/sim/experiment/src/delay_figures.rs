//! What a task log says about delays, as tables, figures and sentences: Figs. 4–6 of the paper on
//! TOFEC.

use core::time::Duration;
use ripstop_delay::ShiftedExponential;
use ripstop_estimator::{
    Distribution, Empirical, Fit, KEPT, LogFit, LogRecord, OUTLIERS_MAX, SIZES_MAX, SPREAD_MIN,
    Sample,
};
use ripstop_figure::{Axis, Cell, Figure, Panel, Points, Series, Table, TableError};
use ripstop_model::Operation;

/// Points of each curve.
const CCDF_POINTS: usize = 200;
/// Curves in one figure.
const CURVES_MAX: usize = 7;
/// Steps by which the part below a quantile is summed up.
const STEPS: usize = 2000;

/// Fewer samples than this give no more than an idea; fewer than ten times as many a rough one.
const SAMPLES_MIN: u64 = 100;
/// A larger share of cancelled tasks than this is worth a word.
const CANCELLED_MAX: f64 = 0.2;
/// Where less than this quantile is known, that is worth saying.
const KNOWN_MIN: f64 = 0.88;
/// A larger share of outliers is worth a word.
const OUTLIERS_WORTH: f64 = 0.005;
/// Sizes whose means are further off the line than this share do not lie on one.
const RESIDUAL_MAX: f64 = 0.1;

/// Delays of each chunk size: `operation`, `bytes`, tasks `finished` and `cancelled`, mean and
/// deviation of all and of the fastest nine tenths (`kept_…`), percentiles, and which share of the
/// delays is `known`.
pub fn delay_size_table(records: &[LogRecord]) -> Table {
    let mut table = Table::new([
        "operation",
        "bytes",
        "finished",
        "cancelled",
        "mean_ms",
        "deviation_ms",
        "kept_mean_ms",
        "kept_deviation_ms",
        "p50_ms",
        "p99_ms",
        "known",
    ]);
    for (operation, bytes, delays) in distributions(records) {
        let quantile = |p| delays.quantile(p).map(|delay| delay.as_secs_f64() * 1000.0);
        let (kept_mean, kept_deviation) = kept(&delays);
        table.push([
            operation.name().into(),
            bytes.into(),
            delays.finished().into(),
            delays.cancelled().into(),
            delays.mean_ms().into(),
            delays.deviation_ms().into(),
            kept_mean.into(),
            kept_deviation.into(),
            quantile(0.5).into(),
            quantile(0.99).into(),
            delays.known().into(),
        ]);
    }
    table
}

/// The share of tasks of each `operation` and size (`bytes`) that take longer than `delay_ms`:
/// `share_longer`.
pub fn delay_ccdf_table(records: &[LogRecord]) -> Table {
    let mut table = Table::new(["operation", "bytes", "delay_ms", "share_longer"]);
    for (operation, bytes, delays) in distributions(records) {
        for (ms, share) in delays.ccdf_points(CCDF_POINTS) {
            table.push([operation.name().into(), bytes.into(), ms.into(), share.into()]);
        }
    }
    table
}

/// Every fit of a log: `operation`, `node` (a number, or `all`), `variant` (`corrected` or
/// `paper`), the four parameters, what they rest on, the shares of outliers that `corrected` leaves
/// out, and a node's [`NodePace`](ripstop_estimator::NodePace) beside the others.
pub fn delay_model_table(fit: &LogFit) -> Table {
    let mut table = Table::new([
        "operation",
        "node",
        "variant",
        "shift_ms",
        "shift_ms_per_mb",
        "mean_ms",
        "mean_ms_per_mb",
        "finished",
        "cancelled",
        "sizes",
        "bytes_min",
        "bytes_max",
        "kept_min",
        "mean_residual_ms",
        "deviation_residual_ms",
        "outliers_slow",
        "outliers_quick",
        "pace",
    ]);
    let all =
        fit.operations.iter().map(|(operation, one)| (*operation, "all".to_owned(), one, None));
    let each = fit.nodes.iter().map(|(key, one)| {
        (key.0, key.1.to_string(), one, fit.paces.get(key).map(|pace| pace.factor))
    });
    for (operation, node, fit, pace) in all.chain(each) {
        for (variant, model) in [("corrected", fit.model), ("paper", fit.literal)] {
            table.push([
                operation.name().into(),
                node.as_str().into(),
                variant.into(),
                model.shift_ms.into(),
                model.shift_ms_per_mb.into(),
                model.mean_ms.into(),
                model.mean_ms_per_mb.into(),
                fit.finished.into(),
                fit.cancelled.into(),
                fit.sizes.into(),
                fit.bytes_min.into(),
                fit.bytes_max.into(),
                fit.kept_min.into(),
                fit.mean_residual_ms.into(),
                fit.deviation_residual_ms.into(),
                fit.outliers.slow.into(),
                fit.outliers.quick.into(),
                pace.into(),
            ]);
        }
    }
    table
}

/// Mean and deviation against chunk size with the fitted lines (Figs. 5 and 6), from the tables
/// [`delay_size_table`] and [`delay_model_table`].
pub fn delay_size_figure(
    title: &str,
    sizes: &Table,
    models: &Table,
    operation: Operation,
) -> Result<Figure, TableError> {
    let sizes = sizes.only("operation", operation.name())?;
    let megabytes = |column: &str| -> Result<Points, TableError> {
        let series = sizes.series("operation", "bytes", column)?;
        let points = series.into_iter().flat_map(|(_, points)| points);
        Ok(points.map(|(bytes, y)| (bytes / 1e6, y)).collect())
    };
    let bytes_max = sizes.numbers("bytes")?.into_iter().fold(0.0, f64::max);
    let models = models_of(models, operation)?;
    let line = |value: &dyn Fn(&ShiftedExponential, u64) -> f64, model: &ShiftedExponential| {
        [0.0, bytes_max].map(|bytes| (bytes / 1e6, value(model, bytes as u64))).to_vec()
    };
    let panel =
        |title: &str, all: &str, kept: &str, value: &dyn Fn(&ShiftedExponential, u64) -> f64| {
            let x = Axis::linear("chunk size, MB").from(0.0);
            let mut panel = Panel::new(title, x, Axis::linear("delay, ms").from(0.0))
                .series(Series::points("measured", megabytes(all)?).style(0))
                .series(Series::points("… without the slowest tenth", megabytes(kept)?).style(1));
            for (index, (variant, model)) in models.iter().enumerate() {
                let name = format!("fit, {variant}");
                panel = panel.series(Series::line(name, line(value, model)).style(index));
            }
            Ok::<_, TableError>(panel)
        };
    let mean = |model: &ShiftedExponential, bytes| model.shift_at(bytes) + model.excess_at(bytes);
    let deviation = |model: &ShiftedExponential, bytes| model.excess_at(bytes);
    Ok(Figure::new(title).panel(panel("Mean", "mean_ms", "kept_mean_ms", &mean)?).panel(panel(
        "Standard deviation",
        "deviation_ms",
        "kept_deviation_ms",
        &deviation,
    )?))
}

/// The share of tasks that take longer, for some of the chunk sizes (Fig. 4), with what the
/// corrected fit says of the smallest and the largest; from the tables [`delay_ccdf_table`] and
/// [`delay_model_table`].
pub fn delay_ccdf_figure(
    title: &str,
    ccdf: &Table,
    models: &Table,
    operation: Operation,
) -> Result<Figure, TableError> {
    let ccdf = ccdf.only("operation", operation.name())?;
    let curves = few(ccdf.series("bytes", "delay_ms", "share_longer")?);
    let points = curves.iter().flat_map(|(_, points)| points);
    let (longest, rarest) = points.fold((0.0_f64, 1.0_f64), |(longest, rarest), &(ms, share)| {
        (longest.max(ms), if share > 0.0 { rarest.min(share) } else { rarest })
    });
    let x = Axis::linear("delay, ms").from(0.0);
    let mut panel = Panel::new("", x, Axis::log("share of tasks that take longer").to(1.0));
    let last = curves.len().saturating_sub(1);
    let model = models_of(models, operation)?.into_iter().find(|(name, _)| name == "corrected");
    for (index, (bytes, points)) in curves.into_iter().enumerate() {
        let size: u64 = bytes.parse().unwrap_or(0);
        panel = panel.series(Series::step(bytes_name(size), points).style(index));
        if let Some((_, model)) = model.as_ref().filter(|_| index == 0 || index == last) {
            let line = law(model, size, longest, rarest);
            let name = format!("fit, {}", bytes_name(size));
            panel =
                panel.series(Series::line(name, line).style(CURVES_MAX + usize::from(index > 0)));
        }
    }
    Ok(Figure::new(title).panel(panel))
}

/// How far a fit may be trusted, in a sentence or some.
pub fn delay_trust(fit: &Fit) -> String {
    let mut doubts = Vec::new();
    if fit.finished < SAMPLES_MIN {
        doubts.push(format!("{} samples are too few for more than an idea", fit.finished));
    } else if fit.finished < 10 * SAMPLES_MIN {
        doubts.push(format!("{} samples make it a rough one", fit.finished));
    }
    if fit.sizes == 1 {
        doubts.push(
            "one chunk size does not tell how delays grow with the size: they are taken for constant"
                .to_owned(),
        );
    } else if (fit.bytes_max as f64) < SPREAD_MIN * fit.bytes_min as f64 {
        doubts.push(
            "the sizes are too near to each other to tell how delays grow: they are taken for constant"
                .to_owned(),
        );
    }
    let cancelled = fit.cancelled as f64 / (fit.cancelled + fit.finished) as f64;
    if cancelled > CANCELLED_MAX {
        let known = if fit.kept_min < KNOWN_MIN {
            format!("delays are known up to the quantile {:.2} only, and ", fit.kept_min)
        } else {
            String::new()
        };
        doubts.push(format!(
            "{:.0} % of the tasks were cancelled: {known}if the tasks of a request are slow together the \
             fit is too slow",
            cancelled * 100.0
        ));
    }
    for (share, how) in [
        (fit.outliers.slow, "take longer than the law of the others allows"),
        (fit.outliers.quick, "end long before the others' law begins"),
    ] {
        if share > OUTLIERS_WORTH {
            let least = if share < OUTLIERS_MAX { "" } else { "at least " };
            doubts.push(format!(
                "{least}{:.1} % of the tasks {how}, and are left out",
                share * 100.0
            ));
        }
    }
    let middle = u64::midpoint(fit.bytes_min, fit.bytes_max);
    let mean = fit.model.shift_at(middle) + fit.model.excess_at(middle);
    if fit.mean_residual_ms > RESIDUAL_MAX * mean {
        doubts.push(format!(
            "the sizes' means are {:.0} % off the line: delays are not linear in the size, or the node \
             changed",
            fit.mean_residual_ms / mean * 100.0
        ));
    }
    if doubts.is_empty() {
        let (finished, sizes) = (fit.finished, fit.sizes);
        return format!(
            "Good: {finished} samples of {sizes} sizes, and their means lie on the line."
        );
    }
    let mut text = doubts.join("; ");
    text.push('.');
    text
}

/// A number of bytes as people read it.
pub(crate) fn bytes_name(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..1_000_000 => format!("{} kB", crate::text::trimmed(bytes as f64 / 1e3)),
        1_000_000.. => format!("{} MB", crate::text::trimmed(bytes as f64 / 1e6)),
    }
}

/// Operation, size and delays, ascending; at most [`SIZES_MAX`] sizes exactly.
fn distributions(records: &[LogRecord]) -> Vec<(Operation, u64, Distribution)> {
    let samples: Vec<Sample> = records.iter().filter_map(LogRecord::sample).collect();
    let empirical = Empirical::of(&samples);
    let of = |operation: Operation| {
        let sizes = empirical.sizes(operation);
        // Where sizes are classes there may be more of them; all are shown in the table.
        debug_assert!(sizes.len() <= SIZES_MAX * 8);
        sizes.iter().map(move |(bytes, delays)| (operation, *bytes, delays.clone()))
    };
    Operation::ALL.into_iter().flat_map(of).collect()
}

/// Mean and deviation of those delays that are not among the slowest tenth, or of as many of them
/// as are known, milliseconds.
pub(crate) fn kept(delays: &Distribution) -> (f64, f64) {
    let share = KEPT.min(delays.known());
    let quantile = |step: usize| delays.quantile(share * (step as f64 + 0.5) / STEPS as f64);
    let ms = |delay: Duration| delay.as_nanos() as f64 / 1e6;
    let all: Vec<f64> = (0..STEPS).filter_map(quantile).map(ms).collect();
    if all.is_empty() {
        return (0.0, 0.0);
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let square = all.iter().map(|ms| (ms - mean) * (ms - mean)).sum::<f64>() / all.len() as f64;
    (mean, square.sqrt())
}

/// Variant and parameters of the fits over all nodes.
fn models_of(
    models: &Table,
    operation: Operation,
) -> Result<Vec<(String, ShiftedExponential)>, TableError> {
    let rows = models.only("operation", operation.name())?.only("node", "all")?;
    let columns = ["variant", "shift_ms", "shift_ms_per_mb", "mean_ms", "mean_ms_per_mb"];
    let mut at = [0; 5];
    for (at, column) in at.iter_mut().zip(columns) {
        *at = rows.index(column)?;
    }
    let model = |row: &Vec<Cell>| {
        let number = |index: usize| row[at[index]].number().unwrap_or(0.0);
        let model = ShiftedExponential {
            shift_ms: number(1),
            shift_ms_per_mb: number(2),
            mean_ms: number(3),
            mean_ms_per_mb: number(4),
        };
        (row[at[0]].shown(), model)
    };
    Ok(rows.rows().iter().map(model).collect())
}

/// The model's own curve down to a share, not beyond a delay.
fn law(model: &ShiftedExponential, bytes: u64, longest_ms: f64, rarest: f64) -> Points {
    let (shift, excess) = (model.shift_at(bytes), model.excess_at(bytes).max(1e-9));
    let end = (shift - excess * libm::log(rarest)).min(longest_ms).max(shift);
    let end_share = libm::exp((shift - end) / excess);
    vec![(0.0, 1.0), (shift, 1.0), (end, end_share)]
}

/// At most [`CURVES_MAX`] of them, the first and the last among these.
fn few<T>(all: Vec<T>) -> Vec<T> {
    let count = all.len();
    if count <= CURVES_MAX {
        return all;
    }
    let wanted: Vec<usize> =
        (0..CURVES_MAX).map(|at| at * (count - 1) / (CURVES_MAX - 1)).collect();
    all.into_iter().enumerate().filter(|(at, _)| wanted.contains(at)).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_delay::{DelayModel as _, Dice};
    use ripstop_estimator::{LOG_HEADER, LoggedOutcome, fit_log};
    use ripstop_model::{NodeId, Timestamp};

    fn log(count: u64, sizes: u64, cancel_every: u64) -> Vec<LogRecord> {
        let (mut model, mut dice) = (ShiftedExponential::S3_2013_A, Dice::new(3));
        let record = |at: u64| {
            let (operation, bytes) = (Operation::Read, 500_000 * (1 + at % sizes));
            let served = model.sample(operation.into(), bytes, &mut dice);
            let cancelled = cancel_every > 0 && at.is_multiple_of(cancel_every);
            LogRecord {
                at: Timestamp::from_nanos(at),
                operation,
                node: NodeId((at / sizes % 2) as u16),
                bytes,
                served: if cancelled { served / 2 } else { served },
                outcome: if cancelled { LoggedOutcome::Cancelled } else { LoggedOutcome::Done },
                waited: Duration::ZERO,
                redundant: false,
            }
        };
        (0..count).map(record).collect()
    }

    fn fit(records: &[LogRecord]) -> LogFit {
        let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
        fit_log(&format!("{LOG_HEADER}\n{}\n", lines.join("\n"))).unwrap()
    }

    #[test]
    fn figures_come_from_the_tables_alone() {
        let records = log(20_000, 9, 0);
        let back = |table: Table| Table::from_csv(&table.to_csv()).unwrap();
        let models = back(delay_model_table(&fit(&records)));
        assert_eq!(models.rows().len(), 6, "two variants of all and of each of two nodes");
        let sizes = back(delay_size_table(&records));
        let figure = delay_size_figure("Sizes", &sizes, &models, Operation::Read).unwrap().svg();
        assert!(figure.contains("fit, paper") && figure.contains("Standard deviation"));
        let ccdf = back(delay_ccdf_table(&records));
        let figure = delay_ccdf_figure("CCDF", &ccdf, &models, Operation::Read).unwrap().svg();
        assert!(figure.contains("fit, 500 kB") && figure.contains("4.5 MB"), "{figure}");
        let empty = delay_ccdf_figure("CCDF", &ccdf, &models, Operation::Write).unwrap().svg();
        assert!(empty.starts_with("<svg"));
    }

    #[test]
    fn the_fastest_nine_tenths_are_on_the_paper_s_line() {
        let records = log(40_000, 4, 0);
        let (fit, sizes) = (fit(&records), delay_size_table(&records));
        let paper = fit.operations[&Operation::Read].literal;
        for (_, points) in sizes.series("operation", "bytes", "kept_deviation_ms").unwrap() {
            for (bytes, deviation) in points {
                let line = paper.excess_at(bytes as u64);
                assert!((deviation / line - 1.0).abs() < 0.05, "{bytes}: {deviation}, not {line}");
            }
        }
    }

    #[test]
    fn doubts_are_named() {
        let trust = |records: &[LogRecord]| {
            let fit = fit(records);
            delay_trust(&fit.operations[&Operation::Read])
        };
        assert!(trust(&log(20_000, 5, 0)).starts_with("Good: 20000 samples of 5 sizes"));
        assert!(trust(&log(60, 2, 0)).contains("60 samples are too few"));
        assert!(trust(&log(600, 2, 0)).contains("make it a rough one"));
        assert!(trust(&log(5000, 1, 0)).contains("one chunk size"));
        assert!(trust(&log(20_000, 5, 3)).contains("33 % of the tasks were cancelled"));
        let mut records = log(20_000, 5, 0);
        for record in records.iter_mut().step_by(20) {
            record.served *= 10;
        }
        let said = trust(&records);
        assert!(said.contains("% of the tasks take longer than the law of the others"), "{said}");
    }
}
