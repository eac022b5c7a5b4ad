//! What the program and the lab load S3 servers with.
//!
//! [`Client`] is one connection with one request at a time, which answers with lengths and not with
//! copies; [`Presigner`] makes addresses that need no signing while something is measured;
//! [`noise`] is content that nothing can compress. It deliberately neither retries nor follows
//! anything: what is measured is what was sent.

mod client;
mod noise;
mod presign;

pub use client::{Client, Refused, Url};
pub use noise::noise;
pub use presign::Presigner;
