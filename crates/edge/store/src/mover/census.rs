//! Where a pool's stripes are.

use super::{
    PAGE,
    plans::{is_spread, spot},
};
use crate::{Store, StoreError};
use ripstop_model::{PoolId, StripeId};
use ripstop_placement::moving::{Census, CensusCount};

impl Store {
    /// Counts a pool's stripes: reads the catalog from end to end, page by page.
    pub async fn census(&self, pool: PoolId) -> Result<Census, StoreError> {
        let (mut after, mut count) = (StripeId(0), CensusCount::default());
        loop {
            let page = self.inner.catalog.stripes_after(after, PAGE).await?;
            let Some(&(last, _)) = page.last() else { break };
            after = last;
            let mine = page.iter().map(|(_, stripe)| stripe);
            for stripe in mine.filter(|stripe| stripe.pool() == pool && is_spread(stripe)) {
                count.note(spot(stripe));
            }
        }
        Ok(count.end())
    }
}
