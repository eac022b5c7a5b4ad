//! The `ripstop` program.
fn main() {}
