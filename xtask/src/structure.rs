//! Every rule about the workspace's shape that a test can hold it to.

mod act;
mod audit;
mod circle;
mod comment;
mod dependency;
mod exception;
mod guide;
mod import;
mod link;
mod name;
mod rust;
mod source;
mod tidy;

/// Fails with every complaint at once.
#[track_caller]
fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
