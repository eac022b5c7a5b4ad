use super::{
    cell::{Cell, Operation},
    contender::{Contender, Kind},
    round::Observation,
};
use std::fmt::Write as _;

/// How much faster than MinIO, at least.
const OVER_MINIO: f64 = 1.2;
/// And than versitygw, which does not code, where a write is not mostly waiting for the disk.
const OVER_VERSITYGW: f64 = 1.0;
/// From this size on puts are compared with versitygw's, which does not sync.
const VERSITYGW_PUT_FROM: u64 = 256 << 10;

/// The least, the middle and the greatest of some numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) greatest: f64,
}

impl Spread {
    fn of(numbers: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.filter(|number| number.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self { least, median: f64::midpoint(low, high), greatest })
    }
}

fn of(all: &[Observation], kind: Kind, cell: Cell) -> impl Iterator<Item = &Observation> {
    all.iter().filter(move |one| one.kind == kind && one.cell == cell)
}

/// How many times a rival's figure Ripstop's was, round by round.
pub(super) fn ratio(
    all: &[Observation],
    rival: Kind,
    cell: Cell,
    figure: fn(&Observation) -> f64,
) -> Option<Spread> {
    Spread::of(of(all, Kind::Ripstop, cell).filter_map(|ours| {
        let theirs = of(all, rival, cell).find(|theirs| theirs.round == ours.round)?;
        Some(figure(ours) / figure(theirs))
    }))
}

/// The middle of a server's figures.
pub(super) fn median(
    all: &[Observation],
    kind: Kind,
    cell: Cell,
    figure: fn(&Observation) -> f64,
) -> Option<f64> {
    Spread::of(of(all, kind, cell).map(figure)).map(|spread| spread.median)
}

/// How many times as fast as a rival Ripstop was.
fn speed(all: &[Observation], rival: Kind, cell: Cell) -> Option<Spread> {
    ratio(all, rival, cell, |one| one.per_s)
}

/// The table of medians, in Markdown.
pub(super) fn table(all: &[Observation], contenders: &[Contender], cells: &[Cell]) -> String {
    let mut text = String::from(
        "| | server | requests/s | least–most | MiB/s | p50 ms | p99 ms | processors: server, load | \
         Ripstop is |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for &cell in cells {
        let mut name = cell.to_string();
        for kind in contenders.iter().map(|contender| contender.kind) {
            if let Some(line) = line(all, kind, cell) {
                writeln!(text, "| {name} | {line} |").expect("text takes all");
                name.clear();
            }
        }
    }
    text
}

fn line(all: &[Observation], kind: Kind, cell: Cell) -> Option<String> {
    let spread = |field: fn(&Observation) -> f64| Spread::of(of(all, kind, cell).map(field));
    let median = |field, digits: usize| {
        spread(field).map_or_else(|| "?".into(), |s| format!("{:.digits$}", s.median))
    };
    let rate = spread(|one| one.per_s)?;
    let ratio = match kind {
        Kind::Ripstop => String::new(),
        Kind::Before | Kind::Lone | Kind::Minio | Kind::Versitygw => speed(all, kind, cell)
            .map(|r| format!("{:.2} × ({:.2}–{:.2})", r.median, r.least, r.greatest))
            .unwrap_or_default(),
    };
    Some(format!(
        "{} | {} | {}–{} | {} | {} | {} | {}, {} | {ratio}",
        kind.name(),
        count(rate.median),
        count(rate.least),
        count(rate.greatest),
        median(|one| one.mib_per_s, usize::from(cell.bytes < 1 << 16)),
        median(|one| one.p50_ms, 2),
        median(|one| one.p99_ms, 1),
        median(|one| one.server_cpus, 2),
        median(|one| one.loader_cpus, 2),
    ))
}

/// Whole numbers with commas; one digit more below a thousand.
fn count(number: f64) -> String {
    if number < 1000.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Something that should hold, and whether it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    pub(super) holds: bool,
    pub(super) line: String,
}

/// What should hold of the cells that were measured.
pub(super) fn verdicts(all: &[Observation], cells: &[Cell]) -> Vec<Verdict> {
    let everywhere = |_: &Cell| true;
    let comparable =
        |cell: &Cell| cell.operation == Operation::Get || cell.bytes >= VERSITYGW_PUT_FROM;
    [
        verdict(all, cells, Kind::Minio, OVER_MINIO, "in every cell", everywhere),
        verdict(
            all,
            cells,
            Kind::Versitygw,
            OVER_VERSITYGW,
            "in every GET cell and in PUT from 256 KiB on",
            comparable,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Nothing where there is nothing to compare.
fn verdict(
    all: &[Observation],
    cells: &[Cell],
    rival: Kind,
    wanted: f64,
    place: &str,
    counts: impl Fn(&Cell) -> bool,
) -> Option<Verdict> {
    let cells = cells.iter().filter(|&cell| counts(cell));
    let ratios: Vec<(f64, Cell)> =
        cells.filter_map(|&cell| Some((speed(all, rival, cell)?.median, cell))).collect();
    let (least, at) = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let short: Vec<String> = ratios
        .iter()
        .filter(|(ratio, _)| *ratio < wanted)
        .map(|(ratio, cell)| format!("{ratio:.2} × at {cell}"))
        .collect();
    let holds = short.is_empty();
    let (word, seen) = if holds {
        ("holds", format!("least {least:.2} × at {at}"))
    } else {
        ("does not hold", short.join("; "))
    };
    let line = format!("{word}: at least {wanted} × {} {place} ({seen})", rival.name());
    Some(Verdict { holds, line })
}

/// Every observation, as CSV.
pub(super) fn csv(all: &[Observation]) -> String {
    let mut text = String::from(
        "server,operation,bytes,clients,round,seconds,requests,requests_per_s,mib_per_s,p50_ms,p99_ms,\
         server_cpus,loader_cpus\n",
    );
    for one in all {
        let Cell { operation, bytes, clients } = one.cell;
        writeln!(
            text,
            "{},{operation},{bytes},{clients},{},{:.3},{},{:.2},{:.3},{:.3},{:.3},{:.3},{:.3}",
            one.kind.name(),
            one.round,
            one.seconds,
            one.requests,
            one.per_s,
            one.mib_per_s,
            one.p50_ms,
            one.p99_ms,
            one.server_cpus,
            one.loader_cpus,
        )
        .expect("text takes all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str) -> Cell {
        name.parse().unwrap()
    }

    /// Rounds in which a server answered this many requests a second.
    fn rounds(kind: Kind, name: &str, rates: &[f64]) -> Vec<Observation> {
        let one = |(round, &per_s): (usize, &f64)| Observation {
            kind,
            cell: cell(name),
            round,
            seconds: 4.0,
            requests: (4.0 * per_s) as u64,
            per_s,
            mib_per_s: per_s * cell(name).bytes as f64 / f64::from(1 << 20),
            p50_ms: 1.5,
            p99_ms: 9.25,
            server_cpus: 1.25,
            loader_cpus: f64::NAN,
        };
        rates.iter().enumerate().map(one).collect()
    }

    fn contender(kind: Kind) -> Contender {
        Contender { kind, program: "x".into(), version: "1".into(), config: None }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut all = rounds(Kind::Ripstop, "get-4k-16", &[100.0, 200.0, 400.0]);
        all.extend(rounds(Kind::Minio, "get-4k-16", &[100.0, 100.0, 100.0, 1.0]));
        let speed = speed(&all, Kind::Minio, cell("get-4k-16")).unwrap();
        assert_eq!(speed, Spread { least: 1.0, median: 2.0, greatest: 4.0 });
    }

    #[test]
    fn the_table_shows_medians_and_what_is_not_known() {
        let mut all = rounds(Kind::Ripstop, "put-4k-16", &[3000.0, 1_234_567.0]);
        all.extend(rounds(Kind::Minio, "put-4k-16", &[1000.0, 2000.0]));
        let contenders = [contender(Kind::Ripstop), contender(Kind::Minio)];
        let table = table(&all, &contenders, &[cell("put-4k-16"), cell("get-4k-16")]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        let [ours, theirs] = lines[..] else { panic!("{table}") };
        let start = "| PUT 4 KiB, 16 clients | Ripstop | 618,784 | 3,000–1,234,567 | 2417.1 |";
        assert!(ours.starts_with(start), "{ours}");
        assert!(ours.ends_with("| 1.25, ? |  |"), "{ours}");
        assert!(theirs.starts_with("|  | MinIO | 1,500 |"), "{theirs}");
        assert!(theirs.ends_with("| 310.14 × (3.00–617.28) |"), "{theirs}");
    }

    #[test]
    fn a_verdict_names_every_cell_that_falls_short() {
        let cells = [cell("put-4k-16"), cell("get-4k-16")];
        let mut all = rounds(Kind::Ripstop, "put-4k-16", &[110.0]);
        all.extend(rounds(Kind::Ripstop, "get-4k-16", &[130.0]));
        for kind in [Kind::Minio, Kind::Versitygw] {
            all.extend(rounds(kind, "put-4k-16", &[100.0]));
            all.extend(rounds(kind, "get-4k-16", &[100.0]));
        }
        let [minio, versitygw] = &verdicts(&all, &cells)[..] else { panic!("two verdicts") };
        assert!(!minio.holds);
        assert_eq!(
            minio.line,
            "does not hold: at least 1.2 × MinIO in every cell (1.10 × at PUT 4 KiB, 16 clients)"
        );
        assert!(versitygw.holds);
        assert!(versitygw.line.ends_with("(least 1.30 × at GET 4 KiB, 16 clients)"));
    }

    #[test]
    fn a_small_put_is_not_compared_with_one_that_is_not_synced() {
        let cells = [cell("put-4k-16"), cell("put-256k-16")];
        let mut all = rounds(Kind::Ripstop, "put-4k-16", &[1.0]);
        all.extend(rounds(Kind::Versitygw, "put-4k-16", &[100.0]));
        assert_eq!(verdicts(&all, &cells), []);
        all.extend(rounds(Kind::Ripstop, "put-256k-16", &[99.0]));
        all.extend(rounds(Kind::Versitygw, "put-256k-16", &[100.0]));
        let found = verdicts(&all, &cells);
        assert!(!found[0].holds && found.len() == 1);
    }

    #[test]
    fn every_round_is_a_line_of_the_csv() {
        let all = rounds(Kind::Versitygw, "get-8m-8", &[100.0, 101.0]);
        let csv = csv(&all);
        assert_eq!(csv.lines().count(), 3);
        let last = "versitygw,GET,8388608,8,1,4.000,404,101.00,808.000,1.500,9.250,1.250,NaN";
        assert_eq!(csv.lines().last(), Some(last));
    }
}
