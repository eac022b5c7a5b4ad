//! The `ripstop` program: arguments, configuration, and what each command puts together.

#[macro_use]
mod answer;
mod alone;
mod args;
mod backup;
mod bench;
mod bucket;
mod capacity;
mod carried;
mod catalog;
mod check;
mod check_config;
mod common;
mod complete;
mod fit;
mod gateways;
mod minio;
mod plan;
mod progress;
mod rebuild;
mod replay;
mod rotate_key;
mod serve;
mod simulate;
mod tier;
mod user;
mod what_if;

use anyhow::Result;
use args::{Arguments, Command};
use clap::Parser as _;
use std::{pin::Pin, process::ExitCode, time::Duration};

/// How long what still runs on the runtime's threads may take once the command has ended.
const LEFT_WITHIN: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            // Boxed: the runtime makes several copies of what it drives, and this is all commands.
            let command: Pin<Box<dyn Future<Output = _>>> = Box::pin(run(arguments.command));
            let result = runtime.block_on(command);
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
        Command::Serve(serve) => Box::pin(serve::run(&serve)).await,
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Check(check) => {
            check::run(&check.common.resolve()?, check.repair, check.json).await
        }
        Command::Backup(backup) => backup::run(&backup.common.resolve()?, &backup.file).await,
        Command::Restore(restore) => {
            backup::restore(&restore.common.resolve()?, &restore.file, restore.json).await
        }
        Command::Rebuild(rebuild) if rebuild.onto => {
            complete::run(&rebuild.common.resolve()?, rebuild.unsealed, rebuild.json).await
        }
        Command::Rebuild(rebuild) => {
            rebuild::run(&rebuild.common.resolve()?, rebuild.unsealed, rebuild.json).await
        }
        Command::Catalog(catalog) => catalog::run(&catalog).await,
        Command::Gateways(gateways) => gateways::run(&gateways).await,
        Command::Tier(tier) => tier::run(&tier).await,
        Command::User(user) => user::run_user(user).await,
        Command::Key(key) => user::run_key(key).await,
        Command::Policy(policy) => user::run_policy(policy).await,
        Command::Bucket(bucket) => bucket::run(bucket).await,
        Command::RotateKey(rotate) => {
            rotate_key::run(&rotate.common.resolve()?, rotate.name.as_deref())
        }
        Command::CheckConfig(common) => check_config::run(&common.resolve()?),
        Command::Bench(arguments) => bench::run(&arguments).await,
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Whatif(arguments) => what_if::run(&arguments),
        Command::Capacity(arguments) => capacity::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments).await,
    }
}
