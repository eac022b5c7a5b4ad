/// How an [`Embedded`](super::Embedded) catalog uses memory and disk.
#[derive(Clone, Debug)]
pub struct CatalogSettings {
    /// Bytes of memory for pages of the file.
    pub cache_bytes: usize,
    /// When a change is answered.
    pub durability: Durability,
    /// Whether each commit records what an opening after a crash needs, at the price of a second
    /// sync. Without it such an opening reads the whole file once.
    pub quick_open: bool,
    /// Whether opening verifies the checksum of every page, not only after a crash. Reads do not.
    pub check_pages: bool,
}

/// When a change is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// When it is on disk: neither a kill nor a loss of power takes it back.
    #[default]
    Durable,
    /// When it is in memory; it is on disk at most some 200 ms later, or when the catalog is
    /// dropped. A kill may take the last changes back, but never some without those after them.
    Relaxed,
}

impl Default for CatalogSettings {
    fn default() -> Self {
        Self {
            cache_bytes: 32 << 20,
            durability: Durability::Durable,
            quick_open: false,
            check_pages: false,
        }
    }
}
