use crate::{Cut, Sealing, fragment::body_len};
use ripstop_model::{NodeId, StripeId, StripeShape};

/// Where a stripe is, as the catalog knows it.
#[derive(Clone, Debug)]
pub struct StripePlace {
    /// Its name.
    pub id: StripeId,
    /// How it is coded.
    pub shape: StripeShape,
    /// How its strips lie in fragments.
    pub cut: Cut,
    /// Bytes of header at the start of each fragment.
    pub header_len: u32,
    /// How it is sealed.
    pub sealing: Sealing,
    /// Where each fragment is, by index.
    pub nodes: Vec<Option<NodeId>>,
}

impl StripePlace {
    /// Bytes of each of its fragments, headers included.
    pub fn fragment_len(&self) -> u64 {
        self.cut.fragment_len(self.shape, self.header_len, self.sealing)
    }

    /// Most bytes that looking at all its fragments, or mending some, takes.
    pub fn memory(&self) -> usize {
        let code = self.shape.code();
        // Where runs are fetched whole, strips are computed beside them.
        let beside = if self.cut.is_together() { code.parity() } else { 0 };
        (code.n() + beside) * body_len(self.shape, self.sealing) as usize
    }
}
