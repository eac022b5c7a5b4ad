//! The XML that S3 speaks: elements and text, no attributes to read, no DTD.

mod copy;
mod read;
mod write;

pub(crate) use copy::copy;
pub(crate) use read::{Limits, Malformed, Node, parse};
pub(crate) use write::{Element, can_hold};
