use crate::root::root;
use anyhow::{Context, Result, bail};
use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

/// What a command that ran out of time is given to tidy up after itself.
const GRACE: Duration = Duration::from_mins(1);

/// One plain line for the reader.
#[expect(clippy::print_stdout, reason = "this program's output is its purpose")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// A command to be run from the workspace's root.
pub(crate) fn command<S: AsRef<OsStr>>(
    program: S,
    words: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<Command> {
    let mut command = Command::new(program);
    command.args(words).current_dir(root()?).stdin(Stdio::null());
    Ok(command)
}

/// This toolchain's cargo, told nothing of the package that runs: some build scripts take such
/// variables for a change, and whatever rests on them would be built once more.
pub(crate) fn cargo(words: &[&str]) -> Result<Command> {
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), words)?;
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        cargo.env_remove(name);
    }
    Ok(cargo)
}

/// How a command ended, and its output's lines if they were asked for.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) lines: Vec<String>,
}

/// Says what it runs, runs it, and fails if it does.
pub(crate) fn run(command: Command, limit: Duration) -> Result<()> {
    let what = shown(&command);
    let ended = watch(command, limit)?;
    if !ended.status.success() {
        bail!("`{what}` ended with {}", ended.status);
    }
    Ok(())
}

/// Says what it runs, runs it, passes its output on and keeps it. After `limit` it is interrupted,
/// as by Ctrl-C, and fails.
pub(crate) fn watch(mut command: Command, limit: Duration) -> Result<Ended> {
    let what = shown(&command);
    say(&format!("$ {what}"));
    let begun = Instant::now();
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run `{what}`"))?;
    let output = child.stdout.take().context("its output was to be piped")?;
    let (over, ended) = channel();
    let id = child.id();
    let watchdog = thread::spawn(move || match ended.recv_timeout(limit) {
        Err(RecvTimeoutError::Timeout) => interrupt(id, limit),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => false,
    });
    let mut lines = Vec::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line.context("reading its output")?).into_owned();
        say(&line);
        lines.push(line);
    }
    let status = end(&mut child, &over)?;
    let late = watchdog.join().unwrap_or(false);
    say(&format!("  {status} after {} s", begun.elapsed().as_secs()));
    if late {
        bail!("`{what}` took more than {} minutes", limit.as_secs() / 60);
    }
    Ok(Ended { status, lines })
}

fn end(child: &mut Child, over: &Sender<()>) -> Result<ExitStatus> {
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().context("waiting for it")? {
            Some(status) => break status,
            None if begun.elapsed() > GRACE => {
                child.kill().context("ending it")?;
                break child.wait().context("waiting for it")?;
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    // The watchdog may have ended already.
    let _ = over.send(());
    Ok(status)
}

/// Sends SIGINT, so that a test run stops what it started, and SIGKILL to what ignores it.
fn interrupt(id: u32, limit: Duration) -> bool {
    say(&format!("  still running after {} minutes: interrupted", limit.as_secs() / 60));
    for signal in ["-INT", "-KILL"] {
        let _ = Command::new("kill").args([signal, &id.to_string()]).stderr(Stdio::null()).status();
        if signal == "-INT" {
            thread::sleep(GRACE);
        }
    }
    true
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
