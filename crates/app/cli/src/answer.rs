//! What commands print. Unlike `print!`, it does not panic where nobody reads on, as behind
//! `| head`, or where a disk is full.

use anyhow::{Context as _, Result};
use std::{
    fmt,
    io::{self, Write as _},
};

/// Nobody reads what is printed any more: no reason to complain.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the answer")]
pub(crate) struct Unread;

/// Prints text as it is.
pub(crate) fn print(text: fmt::Arguments<'_>) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Unread.into()),
        written => written.context("the answer cannot be printed"),
    }
}

/// Prints as `print!` does.
macro_rules! say {
    ($($text:tt)*) => { $crate::answer::print(format_args!($($text)*)) };
}

/// Prints as `println!` does.
macro_rules! say_line {
    ($($text:tt)*) => { $crate::answer::print(format_args!("{}\n", format_args!($($text)*))) };
}
