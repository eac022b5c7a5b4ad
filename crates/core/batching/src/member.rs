use ripstop_model::TenantId;

/// What the caller knows a write by; its answer bears it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WriteTicket(pub u64);

/// Which key a write is for: the same for writes of one key, another for every other key. A digest
/// must be one that nobody can make collide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyMark(pub u128);

/// Names a batch within its batcher, in the order of departures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BatchId(pub u64);

/// A write or a deletion that is to leave in a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchMember {
    /// How the caller knows it; unique among those that are not answered yet.
    pub ticket: WriteTicket,
    /// Its key; none for what no other write is concerned with.
    pub key: Option<KeyMark>,
    /// What it weighs in a batch.
    pub bytes: u32,
    /// Who asked for it.
    pub tenant: TenantId,
    /// Whether what it does depends on what is there: nothing collapses across it.
    pub is_conditional: bool,
}
