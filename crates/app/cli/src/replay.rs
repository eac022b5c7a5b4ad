//! `ripstop replay`: what a gateway decided, decided once more.

use anyhow::{Context as _, Result};
use clap::Args;
use ripstop_recording::{Ending, ReplayError, Replayed};
use std::{fs::File, io::BufReader, path::PathBuf, process::ExitCode};

#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// What `ripstop serve --record` wrote.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

pub(crate) fn run(arguments: &Replay) -> Result<ExitCode> {
    let named = || format!("recording {}", arguments.file.display());
    let file = File::open(&arguments.file).with_context(named)?;
    match ripstop_recording::replay(BufReader::new(file)) {
        Ok(replayed) => {
            say_line!("{}", tell(&replayed))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(ReplayError::Differs(difference)) => {
            say_line!("{difference}")?;
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(error).with_context(named),
    }
}

/// What was equal, and how the recording ends.
fn tell(replayed: &Replayed) -> String {
    let mut lines = Vec::new();
    for pool in &replayed.pools {
        let made = &pool.beginning;
        lines.push(format!(
            "pool {}: equal, {} events and {} actions in {:.1} s (policy {}, {} nodes, recorded by version \
             {})",
            made.pool,
            pool.events,
            pool.actions,
            pool.until.as_nanos() as f64 / 1e9,
            made.policy,
            made.nodes.len(),
            made.program,
        ));
    }
    lines.push(match &replayed.ending {
        Ending::Finished => "the recording is whole".to_owned(),
        Ending::Stopped(stop) => format!("the recording ended before the gateway did: {stop}"),
        Ending::CutOff(bytes) => format!(
            "the recording is cut off, {bytes} bytes into a block: its gateway was killed, or still runs"
        ),
    });
    lines.join("\n")
}
