//! The `ripstop` program: arguments, configuration, and what each command puts together.

mod admin_client;
mod args;
mod assembly;
mod bench;
mod check;
mod config;
mod credentials;
mod rebuild;
mod serve;
mod watch;

use anyhow::Result;
use args::{Arguments, Command, Common};
use clap::Parser as _;
use config::Config;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of the pinned mimalloc, which has no name for it in Rust.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has freed memory given back to the system at once. Strips of megabytes come and go on many threads:
/// with mimalloc's delay of a second the process keeps twice what it uses.
#[expect(unsafe_code, reason = "the option has no safe wrapper")]
fn give_memory_back() {
    // SAFETY: sets a number in a table of the allocator, before there is a second thread.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

fn main() -> ExitCode {
    give_memory_back();
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments.command)),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(code) => code,
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
        Command::Serve(common) => serve::run(resolve(&common)?).await,
        Command::Check(check) => {
            check::run(&resolve(&check.common)?, check.repair, check.json).await
        }
        Command::Rebuild(rebuild) => rebuild::run(&resolve(&rebuild.common)?, rebuild.json).await,
        Command::CheckConfig(common) => {
            config::print(&resolve(&common)?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Bench(arguments) => bench::run(&arguments).await,
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
        ("RIPSTOP_GATEWAY_ADMIN", common.admin.map(|address| format!("\"{address}\""))),
    ];
    let flags = flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    config::load(common.config.as_deref(), flags)
}
