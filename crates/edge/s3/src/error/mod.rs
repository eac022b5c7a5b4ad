//! What clients are told when the answer is no.

mod code;
mod failure;
mod store;

pub(crate) use code::Code;
pub(crate) use failure::{Failure, Outcome};
