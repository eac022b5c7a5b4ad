//! Inventories: lists of what a bucket has, made again and again and put into a bucket, by the
//! bucket's document `inventory`.

mod document;
mod draft;
mod field;
mod place;
mod sheet;
#[cfg(test)]
mod tests;

pub(crate) use document::{DOCUMENT, LIMITS, Wanted, find, from_root, page, with, without};
pub use draft::{Inventories, InventoryDraft};
