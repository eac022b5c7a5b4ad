use crate::Unknown;
use alloc::vec::Vec;
use ripstop_model::{BlockLen, Code, NodeId, PoolId, StripeId, StripeShape};
use serde::{Deserialize, Deserializer, Serialize};

/// One stripe: how it is coded and where its fragments are.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stripe {
    /// The pool it was written to.
    pub pool: u16,
    /// N of its storage code.
    pub n: u8,
    /// K of its storage code.
    pub k: u8,
    /// Bytes of payload.
    pub payload_len: u32,
    /// Bytes of header at the start of each fragment.
    pub header_len: u32,
    /// Where each fragment is, by its index; `None` where it was never stored or was lost.
    pub nodes: Vec<Option<u16>>,
    /// Strips in each fragment, where all fragments are at one node; 0 where each strip is a
    /// fragment at a node of its own, as in records that end before this.
    #[serde(deserialize_with = "zero_at_the_end")]
    pub run: u8,
    /// How its fragments are sealed: 0 by checksums, others as the headers' numbers say.
    #[serde(skip)]
    pub sealing: u8,
    /// The number of the length of its blocks ([`BlockLen`]).
    #[serde(skip)]
    pub block_len: u8,
    /// Of how many keys a pack told as it was written; 0 of other stripes, and where nobody noted
    /// it.
    #[serde(skip)]
    pub members: u32,
    /// Bytes of objects in a pack as it was written; noted together with its members.
    #[serde(skip)]
    pub member_bytes: u32,
    /// What a newer program wrote of it.
    #[serde(skip)]
    pub unknown: Unknown,
}

/// The last number of a record, or 0 where the record was written without it.
#[expect(clippy::unnecessary_wraps, reason = "the form that serde asks for")]
fn zero_at_the_end<'de, D: Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    Ok(u8::deserialize(from).unwrap_or(0))
}

impl Stripe {
    /// The pool it was written to.
    pub const fn pool(&self) -> PoolId {
        PoolId(self.pool)
    }

    /// Whether it is a pack, whose payload is many small objects: those alone are sealed in other
    /// blocks than the longest.
    pub const fn is_pack(&self) -> bool {
        self.block_len != 0
    }

    /// The node that holds fragment `index`, if any does.
    pub fn node(&self, index: usize) -> Option<NodeId> {
        self.nodes.get(index).copied().flatten().map(NodeId)
    }

    /// Its shape; `None` if the record is corrupt.
    pub fn shape(&self) -> Option<StripeShape> {
        let code = Code::new(self.n.into(), self.k.into()).ok()?;
        let block_len = BlockLen::from_number(self.block_len)?;
        Some(StripeShape::new(code, self.payload_len)?.in_blocks(block_len))
    }
}

/// A copy of a fragment at a node that it moved away from: kept for readers that were told of it
/// before, then deleted there. The fragment itself, of the same name, is elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Leftover {
    /// The fragment's stripe, in force or not.
    pub stripe: StripeId,
    /// Which of its fragments.
    pub index: u8,
    /// The node that has the copy.
    pub node: NodeId,
}
