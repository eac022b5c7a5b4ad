//! Fragments that no stripe claims, found as nodes are listed.

use crate::{
    Keeper,
    listing::AtNode,
    misfit::Misfit,
    round::{Halt, Round},
};
use ripstop_store::StoreError;

/// Most fragments that one listing of the nodes deletes; the next one goes on.
const DOOMED_MAX: usize = 100_000;

impl Keeper {
    /// Deletes fragments older than the grace that the catalog does not place where they are; none
    /// if the nodes hold what was written under a newer catalog. Answers how many.
    pub async fn sweep_unclaimed(&self) -> Result<u64, StoreError> {
        Ok(sweep(&Round::by_hand(self)).await?)
    }
}

/// Lists every node once; answers how many fragments were deleted.
pub(crate) async fn sweep(round: &Round) -> Result<u64, Halt> {
    let keeper = round.keeper()?;
    if keeper.keeping().lineage().is_shared() {
        keeper.keeping().lineage().give_up_others().await?;
    }
    let mut doomed = Vec::new();
    for (id, node) in keeper.keeping().nodes() {
        let mut fragments = AtNode::of(&**node);
        while let Some(listed) = round.page(&mut fragments).await? {
            for (found, misfit) in keeper.misfits(id, &listed).await? {
                match misfit {
                    Misfit::Newer => _ = keeper.is_newer(&**node, &found).await,
                    Misfit::Unclaimed | Misfit::Misplaced if doomed.len() < DOOMED_MAX => {
                        doomed.push((id, node, found));
                    }
                    // The next sweep's business, or a check's.
                    Misfit::Unclaimed | Misfit::Misplaced | Misfit::Grown(..) => {}
                }
            }
        }
    }
    if doomed.is_empty() {
        return Ok(0);
    }
    // A catalog that hides a stripe would have its fragments deleted.
    keeper.catalog().verify().await?;
    // Only now is it known what the other nodes hold.
    let watched = keeper.watched().await?;
    let mut swept = 0;
    for (id, node, found) in doomed {
        swept += u64::from(keeper.delete_misfit(id, &**node, &found, &watched).await?);
    }
    Ok(swept)
}

/// Lists the nodes for what was written under a newer catalog.
pub(crate) async fn look_for_newer(round: &Round) -> Result<(), Halt> {
    let keeper = round.keeper()?;
    for (id, node) in keeper.keeping().nodes() {
        let mut fragments = AtNode::of(&**node);
        while let Some(listed) = round.page(&mut fragments).await? {
            for (found, misfit) in keeper.misfits(id, &listed).await? {
                if matches!(misfit, Misfit::Newer) && keeper.is_newer(&**node, &found).await {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
