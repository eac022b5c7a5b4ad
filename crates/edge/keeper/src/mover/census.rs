//! Where a pool's stripes are.

use crate::{Keeper, listing::Stripes, round::Round};
use ripstop_model::PoolId;
use ripstop_placement::moving::{Census, CensusCount};
use ripstop_store::{StoreError, is_spread, spot};

impl Keeper {
    /// Counts a pool's stripes: reads the catalog from end to end, page by page.
    pub async fn census(&self, pool: PoolId) -> Result<Census, StoreError> {
        let (round, mut all) = (Round::by_hand(self), Stripes::default());
        let mut count = CensusCount::default();
        while let Some(page) = round.page(&mut all).await? {
            let mine = page.iter().map(|(_, stripe)| stripe);
            for stripe in mine.filter(|stripe| stripe.pool() == pool && is_spread(stripe)) {
                count.note(spot(stripe));
            }
        }
        Ok(count.end())
    }
}
