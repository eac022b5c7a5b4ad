//! A gateway that serves from a folder.

use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::Read as _,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Longest that it takes until it serves.
const PATIENCE: Duration = Duration::from_mins(1);

/// Serves in `folder` with files open to all unless it says otherwise, and is told to stop once
/// `meanwhile` is done.
pub(crate) fn serve(folder: &Path, options: &str, meanwhile: impl FnOnce()) -> Output {
    let program = env!("CARGO_BIN_EXE_ripstop");
    let script = format!(
        "umask 000; exec {program} serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --data data {options}"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RIPSTOP_")) {
        command.env_remove(name);
    }
    let _ = fs::remove_file(folder.join("data/admin"));
    let mut child = command.spawn().unwrap();
    let ready = await_admin(folder, &mut child);
    if !ready {
        let mut said = String::new();
        child.kill().unwrap();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("it does not serve: {said}");
    }
    meanwhile();
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn await_admin(folder: &Path, child: &mut Child) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end && child.try_wait().unwrap().is_none() {
        if fs::read(folder.join("data/admin")).is_ok_and(|address| !address.is_empty()) {
            return true;
        }
        sleep(Duration::from_millis(20));
    }
    false
}
