use ripstop_catalog::Condition;

/// Where a write goes, and what must hold for it to take effect.
#[derive(Clone, Debug)]
pub struct Target {
    /// The bucket's name.
    pub bucket: String,
    /// The key.
    pub key: String,
    /// Checked before the first byte is read, and again in the transaction that makes it visible.
    pub condition: Condition,
}
