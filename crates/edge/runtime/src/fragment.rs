//! What a fragment looks like at a node: a header that describes it, then the blocks of its strips,
//! each followed by a seal that binds the bytes to their place.

mod block;
mod chunk;
mod draft;
mod guard;
mod header;
mod strip;

pub(crate) use block::{body_len, body_range, cover, piece_lens};
pub use chunk::Chunk;
pub(crate) use draft::assemble;
pub use draft::{Sealed, StripeDraft};
pub(crate) use guard::Guard;
pub use header::{HEADER_PROBE_LEN, Header, HeaderError, Origin, RECORD_LEN_MAX, RecordTag};
pub(crate) use strip::Strip;
