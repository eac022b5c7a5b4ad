//! Checks, asked for where no terminal is.
#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

mod gateway;
mod session;

use session::{complaint, printed};

#[test]
fn a_check_shows_no_progress_in_a_pipe_made_here_or_by_a_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(complaint(folder, "check --data data").contains("data folder data"));
    let checked = || {
        let said = printed(folder, "check --data data");
        assert!(said.ends_with("put right: 0\n"), "{said}");
    };
    gateway::serve(folder, "", checked);
    checked();
}
