//! What happens to objects, told to others: which events of a bucket go to which webhook, and what
//! they say.

mod document;
mod event;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use document::{DOCUMENT, LIMITS, Subscription, Wanted, from_root, none, stored};
pub(crate) use event::{EventKind, Happened, Setting, record, test_event};
pub use sender::{Webhook, Webhooks};
