//! The program, run in a folder, its output caught.

use std::{
    path::Path,
    process::{Command, Output},
};

/// Runs the program in a folder, without what the environment might configure.
fn ripstop(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ripstop"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RIPSTOP_")) {
        command.env_remove(name);
    }
    let arguments = arguments.split(' ');
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

/// What it prints when all is well.
pub(crate) fn printed(folder: &Path, arguments: &str) -> String {
    let output = ripstop(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments}: {errors}");
    assert_eq!(errors, "", "nothing is said beside it where there is no terminal");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// What it complains of.
pub(crate) fn complaint(folder: &Path, arguments: &str) -> String {
    let output = ripstop(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert!(output.stdout.is_empty(), "an answer that is refused is not given in part");
    String::from_utf8(output.stderr).expect("it complains in text")
}
