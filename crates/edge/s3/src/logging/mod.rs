//! Access logs of buckets, as objects of other buckets, in S3's form.

mod delivery;
mod destination;
mod held;
mod line;
#[cfg(test)]
mod tests;

pub(crate) use delivery::deliver;
pub(crate) use destination::{DOCUMENT, Destination, LIMITS, Wanted, from_root, none, stored};
pub(crate) use held::Logs;
pub(crate) use line::{Begun, Logged};
