//! The seam to where blocks are kept that are read often.

use async_trait::async_trait;
use bytes::Bytes;
use ripstop_model::{NodeId, StripeId};
use std::{fmt, time::Duration};

/// Blocks that one read asks for, at most; a read of more is of the nodes alone.
pub const HOT_BLOCKS_MAX: usize = 512;

/// The name of a block. Its bytes never change: a stripe is never written over, and its name never
/// given again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockKey {
    /// Of which stripe.
    pub stripe: StripeId,
    /// Of which strip.
    pub strip: u8,
    /// Which of its blocks.
    pub block: u32,
}

/// What became of a block that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HotFound {
    /// Its bytes, with the seal behind them, as they were given to be kept; or anything else, so
    /// they are verified.
    Kept(Bytes),
    /// It is not there, and worth keeping once somebody has it.
    Wanted,
    /// It is not there, and not worth it.
    Unwanted,
}

/// How a read fared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HotOutcome {
    /// Everything was there.
    Hit,
    /// Some of it was, and nodes were asked for the rest.
    Partial,
    /// Too little was to be of use.
    Miss,
    /// It did not come in time, and nodes answered first.
    Late,
}

impl HotOutcome {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Hit, Self::Partial, Self::Miss, Self::Late];

    /// As metrics call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Partial => "partial",
            Self::Miss => "miss",
            Self::Late => "late",
        }
    }
}

/// What a read tells of how it fared.
#[derive(Debug)]
pub struct HotReport<'a> {
    /// How.
    pub outcome: HotOutcome,
    /// Bytes of blocks that were found and used.
    pub bytes: u64,
    /// For each fragment that need not be asked for, its node.
    pub spared: &'a [NodeId],
    /// How long the read took.
    pub took: Duration,
}

/// Where blocks are kept that are read often. Nothing of it is needed: what is not there, or does
/// not come soon, is read from nodes, and what it answers is verified.
#[async_trait]
pub trait HotBlocks: Send + Sync + fmt::Debug {
    /// How long a read waits for it before nodes are asked too; zero: they are asked at once.
    fn patience(&self) -> Duration;

    /// Each of these blocks, in order.
    async fn find(&self, keys: &[BlockKey]) -> Vec<HotFound>;

    /// Takes a block of `len` bytes to keep, if it has room; `sealed` makes it.
    fn keep(&self, key: BlockKey, len: usize, sealed: &mut dyn FnMut() -> Bytes);

    /// What it answered for this block is not what was kept.
    fn spoiled(&self, key: BlockKey);

    /// Hears how a read fared.
    fn report(&self, report: &HotReport<'_>);
}
