//! The seam between what commands mean and where items are.

use crate::item::KvItem;
use bytes::Bytes;
use thiserror::Error;

/// What becomes of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemDeed {
    /// Nothing.
    Keep,
    /// Its item keeps value and version, and gets the other fields of this.
    Edit(KvItem),
    /// It gets this item, which gets a version.
    Store(KvItem),
    /// It has no item any more.
    Remove,
}

/// Whether a decision depends on what is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// It does.
    Open,
    /// It does not: nothing needs to be read, and it may be shown nothing.
    Blind,
}

/// What has become of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed<T> {
    /// What was shown.
    pub before: Option<KvItem>,
    /// What is there now, if that is known: nothing after [`ItemDeed::Keep`] of what was not shown.
    pub after: Option<KvItem>,
    /// What was said besides.
    pub told: T,
}

/// How a read leaves its traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trace {
    /// The item is in use.
    Use,
    /// Nobody was here.
    None,
}

/// Why something was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ShelfError {
    /// As much is under way as may be.
    #[error("as many requests are under way as may be")]
    Busy,
    /// The value is longer than can be stored there.
    #[error("the value is longer than one may be")]
    TooLong,
    /// What was stored cannot be reached.
    #[error("too many memory servers are lost")]
    Unavailable,
    /// Others changed the key in between, time after time.
    #[error("others change the key all the time")]
    Contended,
}

/// What a shelf has and did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ShelfGauge {
    /// Items, ended ones included that nobody asked for since.
    pub items: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Bytes that they may take.
    pub bytes_max: u64,
    /// Items that were ever stored.
    pub stored: u64,
    /// Items that gave way to others.
    pub evicted: u64,
    /// Of these, items that nobody had fetched.
    pub evicted_unfetched: u64,
    /// Ended items whose place was taken by others.
    pub reclaimed: u64,
    /// Of these, items that nobody had fetched.
    pub expired_unfetched: u64,
    /// Items that were asked for and had ended.
    pub found_ended: u64,
    /// Items that were asked for and had been flushed.
    pub found_flushed: u64,
}

/// Where items are. Changes of one key are in one order, and versions grow in that.
pub trait Shelf: Send + Sync + 'static {
    /// A key's item as it was before this read left its trace.
    fn read(
        &self,
        key: &[u8],
        trace: Trace,
        now_s: u32,
    ) -> impl Future<Output = Result<Option<KvItem>, ShelfError>> + Send;

    /// The items of keys, in their order.
    fn read_many(
        &self,
        keys: &[Bytes],
        now_s: u32,
    ) -> impl Future<Output = Result<Vec<Option<KvItem>>, ShelfError>> + Send;

    /// Has `decide` say what becomes of a key, and does that, with nothing in between. It may be
    /// asked again if others were faster.
    fn change<T: Send>(
        &self,
        key: &[u8],
        sight: Sight,
        now_s: u32,
        decide: impl FnMut(Option<&KvItem>) -> (ItemDeed, T) + Send,
    ) -> impl Future<Output = Result<Changed<T>, ShelfError>> + Send;

    /// From second `at_s` on nothing is there that was last used before; at once if it has come.
    fn flush(&self, at_s: u32, now_s: u32) -> impl Future<Output = ()> + Send;

    /// What it has and did.
    fn gauge(&self) -> ShelfGauge;

    /// Whether it has other things to do while it waits, so that several commands of one
    /// connection are worth asking at once.
    fn waits(&self) -> bool;
}
