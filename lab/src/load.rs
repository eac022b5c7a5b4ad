//! Load on a gateway that is a process of its own.

mod sender;
mod server;

pub(crate) use sender::{Answers, Sender, times};
pub(crate) use server::Server;
