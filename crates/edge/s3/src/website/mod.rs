//! Buckets as websites: which page of a bucket a browser is shown, or where it is sent.

mod document;
mod page;
mod redirect;
mod site;
#[cfg(test)]
mod tests;

pub(crate) use document::{DOCUMENT, LIMITS, from_root};
pub(crate) use page::Page;
