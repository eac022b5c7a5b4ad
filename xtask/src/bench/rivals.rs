//! Ripstop beside MinIO and versitygw on one disk, in turn, under one load.

mod cell;
mod contender;
mod ground;
mod machine;
mod report;
mod round;
mod server;
mod small;

use crate::{
    command::{cargo, command, run as run_command, say},
    root::target,
    tool,
};
use anyhow::{Context, Result, bail, ensure};
use cell::{Cell, groups};
use contender::{Contender, Kind};
use ground::Ground;
use machine::{machine, said, sync_ms};
use report::Verdict;
use round::{Observation, load};
pub(crate) use small::small;
use std::{
    env, fs,
    io::{IsTerminal as _, Write as _, stderr},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const BUILD_MAX: Duration = Duration::from_mins(30);
const ROUNDS_MAX: usize = 100;
const SECONDS: f64 = 4.0;
const ROUNDS: usize = 5;
/// With `--short`.
const SHORT: (usize, f64) = (2, 2.0);

/// What to measure, and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What is measured: operation, size and clients at once [default: what the bounds are about].
    #[arg(long, value_delimiter = ',')]
    cells: Vec<Cell>,
    /// How many turns each server has [default: 5].
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds of each measurement [default: 4].
    #[arg(long)]
    seconds: Option<f64>,
    /// Two rounds of two seconds, to see whether everything runs.
    #[arg(long)]
    short: bool,
    /// Folder on the disk to be measured [default: target/rivals/data or target/small/data].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Folder for rounds.csv and report.md [default: target/rivals or target/small].
    #[arg(long)]
    out: Option<PathBuf>,
    /// Measure this build of Ripstop instead of one from these sources.
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// Measure this build of Ripstop too.
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// Load the servers with this build of Ripstop instead of one from these sources.
    #[arg(long, value_name = "PROGRAM")]
    loader: Option<PathBuf>,
}

/// Measures, says what was found and leaves it in a folder; fails where something does not hold
/// that should.
pub(crate) fn rivals(arguments: &Arguments) -> Result<()> {
    compare(arguments, "rivals", cell::ALL, |_| {}, |all, cells, _| report::verdicts(all, cells))
}

/// What should hold of what was observed in cells, on a disk that syncs a small file in this many
/// milliseconds.
type Judge = fn(&[Observation], &[Cell], f64) -> Vec<Verdict>;

/// Measures those who are compared, `more` among them, in these cells unless others are asked for.
fn compare(
    arguments: &Arguments,
    name: &str,
    cells: &str,
    more: impl FnOnce(&mut Vec<Contender>),
    judge: Judge,
) -> Result<()> {
    let (rounds, seconds) = if arguments.short { SHORT } else { (ROUNDS, SECONDS) };
    let rounds = arguments.rounds.unwrap_or(rounds);
    let seconds = arguments.seconds.unwrap_or(seconds);
    ensure!((1..=ROUNDS_MAX).contains(&rounds), "--rounds is {rounds}, not 1 to {ROUNDS_MAX}");
    ensure!((0.1..=600.0).contains(&seconds), "--seconds is {seconds}, not 0.1 to 600");
    let folder = target()?.join(name);
    let cells = match &arguments.cells[..] {
        [] => cells.split(',').map(str::parse).collect::<Result<Vec<Cell>>>()?,
        asked => asked.to_vec(),
    };
    let data = absolute(arguments.dir.as_deref())?.unwrap_or_else(|| folder.join("data"));
    let out = absolute(arguments.out.as_deref())?.unwrap_or(folder);
    for made in [&data, &out] {
        fs::create_dir_all(made).with_context(|| format!("making {}", made.display()))?;
    }
    let (mut contenders, loader) = contenders(arguments)?;
    more(&mut contenders);
    let sync_ms = sync_ms(&data)?;
    let mut bench = Bench {
        ground: Ground::new(&data)?,
        loader,
        contenders,
        seconds,
        sync_ms,
        judge,
        found: Vec::new(),
        failures: Vec::new(),
    };
    bench.measure(rounds, &cells);
    bench.conclude(&cells, rounds, &data, &out)
}

fn absolute(path: Option<&Path>) -> Result<Option<PathBuf>> {
    path.map(|path| std::path::absolute(path).context("a path")).transpose()
}

/// Who is measured, and what loads them.
fn contenders(arguments: &Arguments) -> Result<(Vec<Contender>, PathBuf)> {
    let built = target()?.join("release/ripstop");
    let program = absolute(arguments.program.as_deref())?.unwrap_or_else(|| built.clone());
    let loader = absolute(arguments.loader.as_deref())?.unwrap_or_else(|| built.clone());
    if program == built || loader == built {
        run_command(cargo(&["build", "--release", "-p", "ripstop"])?, BUILD_MAX)?;
    }
    let version = if arguments.program.is_some() { describe(&program)? } else { commit()? };
    let mut contenders = vec![Contender { kind: Kind::Ripstop, program, version, config: None }];
    if let Some(program) = absolute(arguments.before.as_deref())? {
        let version = describe(&program)?;
        contenders.push(Contender { kind: Kind::Before, program, version, config: None });
    }
    for (kind, had) in
        [(Kind::Minio, tool::minio()), (Kind::Versitygw, tool::versitygw_as_released())]
    {
        match had {
            Ok((program, version)) => {
                contenders.push(Contender { kind, program, version: version.into(), config: None });
            }
            Err(refused) => say(&format!("\n!!! SKIPPED: {}: {refused:#}\n", kind.name())),
        }
    }
    Ok((contenders, loader))
}

fn describe(program: &Path) -> Result<String> {
    let version = said(Command::new(program).arg("--version"));
    let version = version.with_context(|| format!("{} has no --version", program.display()))?;
    Ok(format!("{version}, {}", program.display()))
}

/// The commit of these sources.
fn commit() -> Result<String> {
    let words = ["describe", "--always", "--dirty", "--abbrev=10"];
    let commit = said(&mut command("git", words)?);
    Ok(commit.map_or_else(|| "of these sources".into(), |commit| format!("commit {commit}")))
}

struct Bench {
    ground: Ground,
    loader: PathBuf,
    contenders: Vec<Contender>,
    seconds: f64,
    /// How long the disk takes to sync a small file, in milliseconds.
    sync_ms: f64,
    judge: Judge,
    found: Vec<Observation>,
    failures: Vec<String>,
}

impl Bench {
    /// All rounds; in each the servers take turns within a group of cells, in another order each
    /// time.
    fn measure(&mut self, rounds: usize, cells: &[Cell]) {
        let (groups, servers) = (groups(cells), self.contenders.len());
        let turns = rounds * groups.len() * servers;
        let mut done = 0;
        for round in 0..rounds {
            for (place, group) in groups.iter().enumerate() {
                for turn in 0..servers {
                    let who = (round + place + turn) % servers;
                    let kind = self.contenders[who].kind;
                    progress(&format!("{done} of {turns}: {}, {}", kind.name(), group[0]));
                    if let Err(error) = self.turn(who, round, group) {
                        let what = format!("{}, {}, round {round}", kind.name(), group[0]);
                        self.failures.push(format!("{what}: {error:#}"));
                    }
                    done += 1;
                }
            }
        }
        progress("");
    }

    /// One server, started on an empty folder, put under one load, and ended.
    fn turn(&mut self, who: usize, round: usize, group: &[Cell]) -> Result<()> {
        let contender = &self.contenders[who];
        let server = contender.start(&self.ground.next()?)?;
        let found = load(&self.loader, &server, (contender.kind, round), group, self.seconds)?;
        self.found.extend(found);
        Ok(())
    }

    fn conclude(&self, cells: &[Cell], rounds: usize, data: &Path, out: &Path) -> Result<()> {
        let verdicts = (self.judge)(&self.found, cells, self.sync_ms);
        let report = self.report(cells, rounds, &machine(data)?, &verdicts);
        say(&report);
        for (name, text) in [("rounds.csv", report::csv(&self.found)), ("report.md", report)] {
            let path = out.join(name);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
            say(&format!("written: {}", path.display()));
        }
        let amiss = verdicts.iter().filter(|verdict| !verdict.holds).count();
        if !self.failures.is_empty() {
            bail!("{} measurements failed", self.failures.len());
        }
        if amiss > 0 {
            bail!("{amiss} of {} do not hold", verdicts.len());
        }
        Ok(())
    }

    /// All that was found, in Markdown.
    fn report(&self, cells: &[Cell], rounds: usize, machine: &str, verdicts: &[Verdict]) -> String {
        let words: Vec<String> = env::args().skip(1).collect();
        let (words, seconds) = (words.join(" "), self.seconds);
        let mut lines = vec![
            format!("Machine: {machine}; a file of 4 KiB is synced in {:.1} ms.", self.sync_ms),
            format!(
                "Command: `cargo xtask {words}`: {rounds} rounds of {seconds} s a cell, medians."
            ),
            String::new(),
        ];
        lines.extend(self.contenders.iter().map(|Contender { kind, version, .. }| {
            format!("* {} ({version}): {}", kind.name(), kind.durability())
        }));
        lines.extend([String::new(), report::table(&self.found, &self.contenders, cells)]);
        lines.extend(verdicts.iter().map(|verdict| format!("* {}", verdict.line)));
        lines.extend(self.failures.iter().map(|failure| format!("* failed: {failure}")));
        lines.join("\n") + "\n"
    }
}

/// One line on a terminal, in place of the one before.
fn progress(line: &str) {
    let mut terminal = stderr();
    if terminal.is_terminal() {
        // The reader misses a line at most.
        let _ = write!(terminal, "\r\x1b[K{line}").and_then(|()| terminal.flush());
    }
}
