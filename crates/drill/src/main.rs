//! `cargo xtask drill`: plays drills from their seeds.

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use ripstop_drill::{Kill, Less, Plan, Played, Wanted, play, shrink};
use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

/// What is played.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum World {
    /// One gateway after the other.
    Gateway,
    /// Several at a time, over one catalog.
    Fleet,
}

impl World {
    fn draw(self, seed: u64) -> Plan {
        match self {
            Self::Gateway => Plan::draw(seed),
            Self::Fleet => Plan::fleet(seed),
        }
    }

    /// What the command is told to play it.
    const fn word(self) -> &'static str {
        match self {
            Self::Gateway => "",
            Self::Fleet => " --world fleet",
        }
    }
}

/// Plays a whole gateway from a seed: clients, faults, kills, and what must hold.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Parser, Debug)]
#[command(name = "cargo xtask drill")]
struct Arguments {
    /// The one drill to play.
    #[arg(long)]
    seed: Option<u64>,
    /// What is played.
    #[arg(long, value_enum, default_value = "gateway")]
    world: World,
    /// Sum the trace of that drill up to this step only.
    #[arg(long, requires = "seed")]
    until: Option<u64>,
    /// How many drills to play, one after the other.
    #[arg(long, default_value_t = 100, conflicts_with = "seed")]
    seeds: u64,
    /// The seed of the first of them.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Play no more drills after this long: `30s`, `5m`, `2h`.
    #[arg(long, value_parser = duration)]
    time: Option<Duration>,
    /// Do not make a drill that fails small.
    #[arg(long)]
    as_it_is: bool,
    /// Say of each of several drills what its trace sums up to: what two processes say is the same.
    #[arg(long, conflicts_with = "seed")]
    hashes: bool,
    /// Kill one scripted history at every step of a task, and every operation of a disk or a node.
    #[arg(long, conflicts_with = "seed")]
    every: bool,
    /// With --every: only at one in this many.
    #[arg(long, default_value_t = 1)]
    stride: u64,
    /// Write what clients asked for and were told to this file, a line of JSON each.
    #[arg(long, requires = "seed")]
    history: Option<PathBuf>,
    /// Write the trace to this file.
    #[arg(long, requires = "seed")]
    trace: Option<PathBuf>,
    /// Show what the drill consists of.
    #[arg(long, requires = "seed")]
    plan: bool,
    /// Sessions, at most.
    #[arg(long)]
    sessions: Option<usize>,
    /// Clients of a session, at most.
    #[arg(long)]
    clients: Option<usize>,
    /// Operations of a client, at most.
    #[arg(long)]
    operations: Option<u64>,
    /// Faults to leave out, by their numbers.
    #[arg(long, value_delimiter = ',')]
    without: Vec<u64>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time such as 30s, 5m or 2h");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match unit {
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_mins(number)),
        "h" => Ok(Duration::from_hours(number)),
        _ => Err(wrong()),
    }
}

#[expect(clippy::print_stdout, reason = "this program's output is its purpose")]
fn say(line: &str) {
    println!("{line}");
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("drill: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let less = Less {
        sessions: arguments.sessions,
        clients: arguments.clients,
        operations: arguments.operations,
        without: arguments.without.iter().copied().collect(),
    };
    match arguments.seed {
        Some(seed) => one(seed, &less, arguments),
        None if arguments.every => every(arguments),
        None => many(&less, arguments),
    }
}

fn one(seed: u64, less: &Less, arguments: &Arguments) -> Result<()> {
    let plan = arguments.world.draw(seed).less(less);
    if arguments.plan {
        say(&format!("{plan:#?}"));
    }
    let wanted = Wanted { until: arguments.until, lines: arguments.trace.is_some() };
    let played = play(&plan, wanted);
    let write = |path: &Option<PathBuf>, lines: &[String]| match path {
        Some(path) => fs::write(path, lines.join("\n") + "\n").context("the file"),
        None => Ok(()),
    };
    write(&arguments.history, &played.history)?;
    write(&arguments.trace, &played.lines)?;
    let Played { hash, steps, requests, .. } = played;
    say(&format!("seed {seed}: {requests} requests, {steps} steps, trace {hash:016x}"));
    match played.failure {
        Some(failure) => bail!("seed {seed} fails: {failure}"),
        None => Ok(()),
    }
}

fn many(less: &Less, arguments: &Arguments) -> Result<()> {
    let begun = ripstop_host::now();
    let (mut played, mut requests, mut undecided) = (0_u64, 0_u64, 0_u64);
    for seed in arguments.first..arguments.first + arguments.seeds {
        if arguments.time.is_some_and(|time| ripstop_host::since(begun) > time) {
            break;
        }
        let plan = arguments.world.draw(seed);
        let drill = play(&plan.clone().less(less), Wanted::default());
        played += 1;
        requests += drill.requests;
        undecided += drill.undecided;
        if arguments.hashes {
            say(&format!("seed {seed}: trace {:016x}", drill.hash));
        }
        if let Some(failure) = drill.failure {
            say(&format!("seed {seed} fails: {failure}"));
            if arguments.as_it_is {
                bail!("after {played} drills");
            }
            let less = shrink(&plan, less.clone());
            let world = arguments.world.word();
            bail!(
                "play it again, as small as it was made: cargo xtask drill --seed {seed}{less}{world}"
            );
        }
    }
    let took = ripstop_host::since(begun).as_secs_f64();
    let but = match undecided {
        0 => String::new(),
        keys => format!(", but for {keys} keys, of which no order was sought to the end"),
    };
    say(&format!("{played} drills, {requests} requests, {took:.1} s: all hold{but}"));
    Ok(())
}

/// Kills one scripted history wherever it can be killed.
fn every(arguments: &Arguments) -> Result<()> {
    let seed = arguments.first;
    let whole = play(&Plan::scripted(seed, None, false), Wanted::default());
    ensure!(whole.failure.is_none(), "without a kill: {}", whole.failure.unwrap_or_default());
    let kills: [fn(u64) -> Kill; 3] = [Kill::Step, Kill::Disk, Kill::Node];
    let mut count = 0_u64;
    for (kill, points) in kills.into_iter().zip(whole.points[0]) {
        for point in (1..=points).step_by(arguments.stride as usize) {
            for is_power in [false, true] {
                let kill = kill(point);
                let plan = Plan::scripted(seed, Some(kill), is_power);
                let failure = play(&plan, Wanted::default()).failure;
                if let Some(failure) = failure {
                    bail!("{kill:?}, power lost: {is_power}, of history {seed}: {failure}");
                }
                count += 1;
            }
        }
    }
    say(&format!("{count} kills of history {seed}: all hold"));
    Ok(())
}
