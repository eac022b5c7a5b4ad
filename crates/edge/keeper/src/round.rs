//! The one kind of round: what is done again and again beside the requests, and page by page.

mod job;
mod pace;

pub(crate) use job::{Job, begin, begin_at};
pub(crate) use pace::Pace;

use crate::{Keeper, keeper::Owner, listing::Listing};
use ripstop_catalog::CatalogError;
pub(crate) use ripstop_placement::moving::LOOK_EVERY;
use ripstop_runtime::Pool;
use ripstop_store::StoreError;
use std::time::Duration;

/// How soon a round may be begun again that another gateway has the lease of.
pub(crate) const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Why a round ends before its time.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Nobody has the keeper any more, or wants what the round is for.
    Unwanted,
    /// What went wrong.
    Failed(StoreError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<CatalogError> for Halt {
    fn from(error: CatalogError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Halt> for StoreError {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Unwanted => CatalogError::Unavailable("its keeper is gone".into()).into(),
            Halt::Failed(error) => error,
        }
    }
}

/// One round: for whom it is done, at what pace, and whether under the lease.
#[derive(Debug)]
pub(crate) struct Round {
    owner: Owner,
    /// Whether only the gateway that has the upkeep goes on with it.
    is_upkeep: bool,
    pace: Pace,
}

impl Round {
    /// One that somebody asked for: no matter who has the lease, and as fast as it goes.
    pub(crate) fn by_hand(keeper: &Keeper) -> Self {
        Self { owner: keeper.owner(), is_upkeep: false, pace: Pace::free() }
    }

    /// The keeper, while somebody has it. Not to be kept while waiting for a time: a keeper ends
    /// when its users have gone.
    pub(crate) fn keeper(&self) -> Result<Keeper, Halt> {
        self.owner.keeper().ok_or(Halt::Unwanted)
    }

    /// The next page of what the round goes through; `None` after the last. Before each it is asked
    /// whether the round is still wanted, has the lease if it takes one, and may go on.
    pub(crate) async fn page<L: Listing>(
        &self,
        listing: &mut L,
    ) -> Result<Option<Vec<L::Row>>, Halt> {
        self.rest(|| false, |_| Ok(())).await?;
        let keeper = self.under_lease().await?;
        Ok(listing.page(&**keeper.catalog()).await?)
    }

    /// The keeper, if it still has the lease that the round is under.
    pub(crate) async fn under_lease(&self) -> Result<Keeper, Halt> {
        let keeper = self.keeper()?;
        if self.is_upkeep && !keeper.has_upkeep().await? {
            return Err(StoreError::Busy { retry_after: ASK_AGAIN_AFTER }.into());
        }
        Ok(keeper)
    }

    /// Counts bytes that the round stored: what comes next waits until they are paid for.
    pub(crate) fn pay(&self, bytes: u64) {
        self.pace.pay(bytes);
    }

    /// Waits until what was stored is paid for, and nobody else waits for the pool's nodes; for
    /// that a second at most, since a backlog may be there just because of what the round is about.
    /// Meanwhile `look` is told of the keeper, and may end the round.
    pub(crate) async fn give_way(
        &self,
        pool: &Pool,
        look: impl FnMut(&Keeper) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        self.rest(|| pool.inspect(|machine| machine.load().backlog) > 0, look).await
    }

    /// Waits for as long as the pace wants, while the round is wanted.
    async fn rest(
        &self,
        has_backlog: impl Fn() -> bool,
        mut look: impl FnMut(&Keeper) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        loop {
            look(&self.keeper()?)?;
            let Some(pause) = self.pace.wait(has_backlog()) else { return Ok(()) };
            tokio::time::sleep(pause.min(LOOK_EVERY)).await;
        }
    }
}
