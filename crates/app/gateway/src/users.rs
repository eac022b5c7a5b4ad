//! Users who are managed by commands: their keys and their policies, in a file of the data folder.

mod command;
mod document;
mod file;
#[cfg(test)]
mod tests;

pub use command::{KeyShown, PolicyShown, UserAnswer, UserCommand, UserShown};
pub use file::{UsersFile, read_secret, write_keys};
