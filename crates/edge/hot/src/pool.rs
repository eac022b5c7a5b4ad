use crate::{count::Counts, count::HotStatus, tier::HotTier};
use async_trait::async_trait;
use bytes::Bytes;
use ripstop_model::{NodeId, Price};
use ripstop_runtime::{BlockKey, HotBlocks, HotFound, HotOutcome, HotReport};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// What one pool sees of a hot tier. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HotPool {
    tier: HotTier,
    pool: Arc<str>,
    prices: Arc<BTreeMap<NodeId, Price>>,
    counts: Arc<Counts>,
}

impl HotPool {
    /// What the pool of this name sees of a tier, whose nodes have these prices.
    pub fn new(tier: &HotTier, pool: &str, prices: BTreeMap<NodeId, Price>) -> Self {
        let (tier, prices, counts) = (tier.clone(), Arc::new(prices), Arc::default());
        Self { tier, pool: pool.into(), prices, counts }
    }

    /// What the pool's reads found.
    pub fn status(&self) -> HotStatus {
        self.counts.status(&self.pool, self.tier.name())
    }

    /// Dollars that this many bytes of these nodes cost, one request of each.
    fn cost(&self, nodes: &[NodeId], bytes: u64) -> f64 {
        let share = bytes as f64 / nodes.len().max(1) as f64;
        let cost = |price: &Price| {
            let request = price.per_1000_gets.unwrap_or(0.0) / 1e3;
            request + price.per_gb_out.unwrap_or(0.0) / 1e9 * share
        };
        nodes.iter().filter_map(|node| self.prices.get(node)).map(cost).sum()
    }
}

#[async_trait]
impl HotBlocks for HotPool {
    fn patience(&self) -> Duration {
        self.tier.patience()
    }

    async fn find(&self, keys: &[BlockKey]) -> Vec<HotFound> {
        self.tier.find(keys).await
    }

    fn keep(&self, key: BlockKey, len: usize, sealed: &mut dyn FnMut() -> Bytes) {
        let Some(room) = self.tier.room(len) else {
            self.counts.passed_over.fetch_add(1, Relaxed);
            return;
        };
        let (tier, counts, sealed) = (self.tier.clone(), self.counts.clone(), sealed());
        ripstop_host::spawn(async move {
            let counter = if tier.store(key, sealed).await { &counts.kept } else { &counts.failed };
            counter.fetch_add(1, Relaxed);
            drop(room);
        });
    }

    fn spoiled(&self, key: BlockKey) {
        self.counts.spoiled.fetch_add(1, Relaxed);
        tracing::warn!(
            tier = self.tier.name(), stripe = %key.stripe, strip = key.strip, block = key.block,
            "a block came back other than it was kept"
        );
        let tier = self.tier.clone();
        ripstop_host::spawn(async move { tier.forget(key).await });
    }

    fn report(&self, report: &HotReport<'_>) {
        self.tier.note(report.outcome == HotOutcome::Late);
        self.counts.read(report.outcome, report.took);
        self.counts.spared(
            report.spared.len(),
            report.bytes,
            self.cost(report.spared, report.bytes),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HotTierSettings;
    use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings};
    use ripstop_model::Code;

    fn tier() -> HotTier {
        let settings = CodedMemorySettings {
            name: "t".to_owned(),
            code: Code::new(1, 1).expect("a code"),
            rings: vec![vec![([127, 0, 0, 1], 1).into()]],
            is_shared: false,
            link: LinkSettings::default(),
            bytes_max: 1 << 20,
        };
        let key = ripstop_seal::StoreKey::from_bytes([1; 32]);
        let memory = CodedMemory::new(settings, &key).expect("these are settings");
        let wait = Duration::from_millis(7);
        let (offers_max, stored_max) = (1000, 1 << 20);
        HotTier::new(memory, HotTierSettings { name: "t".to_owned(), wait, offers_max, stored_max })
    }

    #[tokio::test]
    async fn what_is_spared_has_the_price_of_its_nodes() {
        let price = |gets, gb| Price {
            per_1000_gets: Some(gets),
            per_gb_out: Some(gb),
            ..Price::default()
        };
        let prices = [(NodeId(1), price(0.4, 90.0)), (NodeId(2), price(0.2, 0.0))];
        let pool = HotPool::new(&tier(), "p", prices.into());
        let spared = [NodeId(1), NodeId(2), NodeId(3)];
        let cost = pool.cost(&spared, 3_000_000);
        assert!((cost - (0.4e-3 + 0.09 + 0.2e-3)).abs() < 1e-9, "{cost}");
        assert!(pool.cost(&[], 7).abs() < 1e-12);
    }

    #[tokio::test]
    async fn reads_stop_waiting_for_a_tier_that_is_late_until_it_is_in_time() {
        let tier = tier();
        for _ in 0..3 {
            assert_eq!(tier.patience(), Duration::from_millis(7));
            tier.note(true);
        }
        assert_eq!(tier.patience(), Duration::ZERO);
        tier.note(false);
        assert_eq!(tier.patience(), Duration::from_millis(7));
    }

    #[tokio::test]
    async fn what_is_on_its_way_is_bounded() {
        let tier = tier();
        let first = tier.room(600);
        assert!(first.is_some() && tier.room(401).is_none());
        let second = tier.room(400);
        assert!(second.is_some() && tier.room(1).is_none());
        drop(first);
        assert!(tier.room(600).is_some());
    }
}
