//! Fragments that no stripe claims, found as nodes are listed.

use crate::{
    Keeper,
    listing::AtNode,
    misfit::{Misfit, Removal},
    round::{Halt, Round},
};
use ripstop_host::unix_ms;
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
    let old_ms = unix_ms().saturating_sub(keeper.grace_ms());
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
        keeper.keeping().lineage().swept(old_ms);
        return Ok(0);
    }
    // A catalog that hides a stripe would have its fragments deleted.
    keeper.catalog().verify().await?;
    // Only now is it known what the other nodes hold.
    let watched = keeper.watched().await?;
    // Whether nothing is left for the next sweep.
    let mut is_all = doomed.len() < DOOMED_MAX;
    let mut swept = 0;
    for (id, node, found) in doomed {
        let removal = keeper.delete_misfit(id, &**node, &found, &watched).await?;
        swept += u64::from(removal == Removal::Gone);
        is_all &= removal != Removal::Failed;
    }
    if is_all {
        keeper.keeping().lineage().swept(old_ms);
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
