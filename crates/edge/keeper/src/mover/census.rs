//! Where a pool's stripes are.

use crate::{Keeper, listing::Stripes, round::Round};
use ripstop_model::{NodeId, PoolId};
use ripstop_placement::moving::{SPOTS_MAX, Spot};
use ripstop_store::{StoreError, is_spread, spot};
use std::collections::BTreeMap;

/// How many of a pool's stripes are at which nodes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Census {
    /// Stripes that are spread over nodes.
    pub stripes: u64,
    /// Of those that lack no fragment: nodes, ascending, and how many stripes they hold. The first
    /// 4096 sets of nodes that were met.
    pub groups: Vec<(Vec<NodeId>, u64)>,
}

impl Keeper {
    /// Counts a pool's stripes: reads the catalog from end to end, page by page.
    pub async fn census(&self, pool: PoolId) -> Result<Census, StoreError> {
        let (round, mut all, mut stripes) = (Round::by_hand(self), Stripes::default(), 0);
        let mut groups = BTreeMap::<Vec<NodeId>, u64>::new();
        while let Some(page) = round.page(&mut all).await? {
            let mine = page.iter().map(|(_, stripe)| stripe);
            for stripe in mine.filter(|stripe| stripe.pool() == pool && is_spread(stripe)) {
                stripes += 1;
                let Spot { fragments, nodes } = spot(stripe);
                let nodes: Vec<NodeId> = nodes.into_iter().collect();
                let is_whole = nodes.len() == usize::from(fragments);
                if is_whole && (groups.len() < SPOTS_MAX || groups.contains_key(&nodes)) {
                    *groups.entry(nodes).or_default() += 1;
                }
            }
        }
        Ok(Census { stripes, groups: groups.into_iter().collect() })
    }
}
