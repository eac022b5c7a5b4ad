//! The `ripstop` program: arguments, configuration, and what each command puts together.

mod admin_client;
#[macro_use]
mod answer;
mod args;
mod assembly;
mod backup;
mod bench;
mod capacity;
mod check;
mod complete;
mod config;
mod credentials;
mod descriptors;
mod figures;
mod fit;
mod folder;
mod owner_only;
mod placing;
mod plan;
mod ports;
mod promises;
mod readiness;
mod rebuild;
mod rehearsal;
mod reload;
mod replan;
mod replay;
mod scrub;
mod serve;
mod simulate;
mod store_key;
mod tail;

mod watch;
mod what_if;

use anyhow::Result;
use args::{Arguments, Command, Common};
use clap::Parser as _;
use config::Config;
use std::{process::ExitCode, time::Duration};

/// Has what is large and comes and goes on many threads given back to the system as it is freed. Strips are not
/// among it: they have blocks of their own. Buffers of connections stay below it, or each would be mapped and
/// unmapped with its request.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the setting has no safe wrapper")]
fn give_memory_back() {
    /// Bytes from which on a block is the system's own mapping.
    const MAPPED_FROM: libc::c_int = 1 << 20;
    // SAFETY: sets a number of the allocator's, before there is a second thread.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_memory_back() {}

/// How long what still runs on the runtime's threads may take once the command has ended.
const LEFT_WITHIN: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    give_memory_back();
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(run(arguments.command));
            // What a disk that hangs still holds must not hold the process.
            runtime.shutdown_timeout(LEFT_WITHIN);
            result
        }
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(code) => code,
        // As a program of the system that is ended by it: 128 and the number of SIGPIPE.
        Err(error) if error.is::<answer::Unread>() => ExitCode::from(141),
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the program's own last word")]
fn complain(error: &anyhow::Error) {
    eprintln!("ripstop: {error:#}");
}

async fn run(command: Command) -> Result<ExitCode> {
    // Asked for here, so that a bad choice is an error and not a panic later.
    ripstop_codec::Engine::chosen()?;
    match command {
        Command::Serve(serve) => {
            let config = resolve(&serve.common)?;
            config.fits_machine()?;
            serve::run(config, &serve).await
        }
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Check(check) => {
            check::run(&resolve(&check.common)?, check.repair, check.json).await
        }
        Command::Backup(backup) => backup::run(&resolve(&backup.common)?, &backup.file).await,
        Command::Restore(restore) => {
            backup::restore(&resolve(&restore.common)?, &restore.file, restore.json).await
        }
        Command::Rebuild(rebuild) if rebuild.onto => {
            complete::run(&resolve(&rebuild.common)?, rebuild.unsealed, rebuild.json).await
        }
        Command::Rebuild(rebuild) => {
            rebuild::run(&resolve(&rebuild.common)?, rebuild.unsealed, rebuild.json).await
        }
        Command::CheckConfig(common) => {
            let config = resolve(&common)?;
            config.fits_machine()?;
            config::print(&config)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Bench(arguments) => bench::run(&arguments).await,
        Command::BenchRebuild(arguments) => rebuild::bench::run(&arguments).await,
        Command::BenchTail(arguments) => tail::run(&arguments).await,
        Command::BenchPlacement(arguments) => placing::run(&arguments).await,
        Command::BenchReplan(arguments) => placing::slow_down(&arguments).await,
        Command::BenchPromises(arguments) => promises::run(&arguments).await,
        Command::Figures(figures) => figures::run(&figures),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Whatif(arguments) => what_if::run(&arguments),
        Command::Capacity(arguments) => capacity::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments).await,
    }
}

/// The configuration with the command line laid over it.
fn resolve(common: &Common) -> Result<Config> {
    let flags = [
        (
            "RIPSTOP_GATEWAY_DATA",
            common.data.as_ref().map(|path| format!("'''{}'''", path.display())),
        ),
        ("RIPSTOP_GATEWAY_LISTEN", common.listen.map(|address| format!("\"{address}\""))),
        ("RIPSTOP_GATEWAY_ADMIN", common.admin.as_ref().map(|at| format!("'''{at}'''"))),
    ];
    let flags = flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    config::load(common.config.as_deref(), flags)
}
