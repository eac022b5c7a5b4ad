use crate::{
    clients::{self, Clients},
    command::{cargo, run, watch},
    drill,
    root::target,
    tally::Tally,
    tool,
};
use anyhow::{Context, Result, bail};
use std::{
    path::PathBuf,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

const BUILD_MAX: Duration = Duration::from_mins(30);
const RUST_MAX: Duration = Duration::from_mins(30);
const CLIENTS_MAX: Duration = Duration::from_mins(40);

/// What is tried over TLS as well every day; with `--all` it is all that asks the suite's gateway,
/// but for what takes long. Tests that start gateways of their own say themselves how those are
/// spoken to.
const OVER_TLS: [&str; 4] = ["--tls", "test_objects.py", "test_multipart.py", "test_ranges.py"];

/// Random histories of the store that the long tests play.
const HISTORIES: &str = "1000";

/// Which tests.
#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// The long tests too: a gibibyte in parts, a hundred kills, every byte of every fragment
    /// flipped, a thousand random histories, and buckets of other servers as nodes.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only the workspace's own tests, without real clients.
    #[arg(long, conflicts_with = "clients")]
    pub(crate) rust: bool,
    /// Only the end-to-end tests with real clients.
    #[arg(long)]
    pub(crate) clients: bool,
    /// Arguments for pytest, such as `-k listing`; for the end-to-end tests only.
    #[arg(last = true)]
    pub(crate) pytest: Vec<String>,
}

/// Runs them all, whether or not those before passed.
pub(crate) fn test(arguments: &Arguments) -> Result<Tally> {
    let mut tally = Tally::default();
    let (program, tests) = build(arguments);
    if let Some(tests) = tests {
        match tests {
            Ok(()) => {
                let mut tests = cargo(&workspace(&[]))?;
                match tool::memcached() {
                    Ok(path) => tests.env("RIPSTOP_MEMCACHED", path),
                    Err(error) => {
                        tally.skip(&format!("the memory tier's tests: memcached: {error:#}"));
                        tests.env("RIPSTOP_MEMCACHED", "")
                    }
                };
                match tool::postgres() {
                    Ok(folder) => _ = tests.env("RIPSTOP_POSTGRES", folder),
                    Err(error) => {
                        tally.skip(&format!("the tests of catalogs in PostgreSQL: {error:#}"));
                    }
                }
                match tool::openbao() {
                    Ok(path) => _ = tests.env("RIPSTOP_OPENBAO", path),
                    Err(error) => tally.skip(&format!("the key service's tests: {error:#}")),
                }
                if arguments.all {
                    tests.env("RIPSTOP_HISTORIES", HISTORIES);
                }
                tally.runner("workspace", watch(tests, RUST_MAX));
                if arguments.all {
                    tally.step("planted bugs", drill::few());
                }
            }
            Err(error) => tally.step("build of the tests", Err(error)),
        }
    }
    match program {
        None => {}
        Some(Ok(program)) => end_to_end(arguments, program, &mut tally),
        Some(Err(error)) => tally.step("release build", Err(error)),
    }
    Ok(tally)
}

/// Builds the program and the tests, as far as they are asked for: all of it before the first test,
/// whose clock would run meanwhile, and both at once, since the end of the program's build keeps
/// one processor busy at most.
fn build(arguments: &Arguments) -> (Option<Result<PathBuf>>, Option<Result<()>>) {
    thread::scope(|scope| {
        let program = (!arguments.rust).then(|| scope.spawn(ripstop));
        let tests = (!arguments.clients)
            .then(|| cargo(&workspace(&["--no-run"])).and_then(|build| run(build, BUILD_MAX)));
        let ended = |build: ScopedJoinHandle<'_, Result<PathBuf>>| {
            build.join().unwrap_or_else(|_| bail!("the release build's thread panicked"))
        };
        (program.map(ended), tests)
    })
}

/// Words for cargo: the workspace's own tests, every crate of which is tried whether or not those
/// before passed.
fn workspace(more: &[&'static str]) -> Vec<&'static str> {
    let words = ["test", "--workspace", "--exclude", "xtask", "--no-fail-fast"];
    words.into_iter().chain(more.iter().copied()).collect()
}

/// Builds the program as it is shipped.
pub(crate) fn ripstop() -> Result<PathBuf> {
    built("ripstop")
}

/// Builds what measures it.
pub(crate) fn lab() -> Result<PathBuf> {
    built("ripstop-lab")
}

fn built(package: &str) -> Result<PathBuf> {
    run(cargo(&["build", "--release", "-p", package])?, BUILD_MAX)?;
    let program = target()?.join("release").join(package);
    program.canonicalize().with_context(|| format!("no program at {}", program.display()))
}

fn end_to_end(arguments: &Arguments, program: PathBuf, tally: &mut Tally) {
    let mut clients = match Clients::set_up(program) {
        Ok(clients) => clients,
        Err(error) => {
            tally.step("clients", Err(error));
            return;
        }
    };
    match tool::rclone() {
        Ok(path) => clients.set("RIPSTOP_RCLONE", path),
        Err(error) => tally.skip(&format!("rclone, one of four real clients: {error:#}")),
    }
    match tool::openbao() {
        Ok(path) => clients.set("RIPSTOP_OPENBAO", path),
        Err(error) => tally.skip(&format!("named keys at a key service: {error:#}")),
    }
    let which = if arguments.all { "not backend" } else { "not backend and not long" };
    let suite = |nodes, which, clients: &Clients| {
        clients.pytest(nodes, which, &arguments.pytest).and_then(|run| watch(run, CLIENTS_MAX))
    };
    tally.runner("clients", suite("directory", which, &clients));
    if arguments.pytest.is_empty() {
        let words = if arguments.all { &OVER_TLS[..1] } else { &OVER_TLS };
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let over_tls = clients.pytest("directory", "not backend and not long and not own", &words);
        tally.runner("clients over TLS", over_tls.and_then(|run| watch(run, CLIENTS_MAX)));
    }
    if arguments.all {
        tally.runner("clients over ripstop", suite("ripstop", clients::BACKEND, &clients));
        match tool::versitygw() {
            Ok(path) => {
                clients.set("RIPSTOP_VERSITYGW", path);
                tally.runner(
                    "clients over versitygw",
                    suite("versitygw", clients::BACKEND, &clients),
                );
            }
            Err(error) => tally.skip(&format!("buckets of versitygw as nodes: {error:#}")),
        }
    }
}
