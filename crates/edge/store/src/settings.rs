use crate::PackSettings;
use ripstop_model::PoolId;
use std::{collections::BTreeMap, time::Duration};

/// What an operator may set.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreSettings {
    /// Most bytes of payload in a stripe. Default 8 MiB.
    pub stripe_max: u32,
    /// Stripes of one write that are being stored at once. Default 3.
    pub stripes_in_flight: usize,
    /// Stripes of one read that are fetched ahead, the one being sent included. Default 2.
    pub stripes_ahead: usize,
    /// How long a request waits for memory before it is told to slow down. Default 10 s.
    pub memory_wait: Duration,
    /// Whether other gateways may have the catalog open too: then all say what they may be writing,
    /// and one of them keeps the store. Default no.
    pub is_shared: bool,
    /// How pools gather small writes; those that are not here do not.
    pub packs: BTreeMap<PoolId, PackSettings>,
    /// Classes of storage beside the standard one, and their pools, in the order in which objects
    /// may be moved on. Default none.
    pub classes: Vec<(String, PoolId)>,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            stripe_max: 8 << 20,
            stripes_in_flight: 3,
            stripes_ahead: 2,
            memory_wait: Duration::from_secs(10),
            is_shared: false,
            packs: BTreeMap::new(),
            classes: Vec::new(),
        }
    }
}

impl StoreSettings {
    /// How a pool gathers small writes, if it does.
    pub(crate) fn packs_of(&self, pool: PoolId) -> Option<&PackSettings> {
        self.packs.get(&pool).filter(|packs| packs.below > 0)
    }
}
