//! What became of written stripes once their last task ended: what nobody claimed becomes garbage,
//! what lacks fragments is mended.

use crate::{
    Keeper,
    away::Away,
    round::{Halt, Job, Round},
};
use futures::TryStreamExt as _;
use ripstop_catalog::{CatalogError, Change, Stripe};
use ripstop_host::unix_ms;
use ripstop_model::{NodeId, StripeId};
use ripstop_runtime::Aftermath;
use ripstop_store::{StoreError, stripe_record};
use std::time::Duration;
use tokio::{sync::mpsc, time::timeout};

/// Aftermaths noted at once: they share the catalog's transactions.
const NOTED: usize = 64;
/// Longest that the fragments of a stripe that nobody saw are waited for to be gone; then a sweep
/// does it.
const UNSEEN_WAIT_MAX: Duration = Duration::from_secs(5);

/// The end of the queue that pools put aftermaths into. How many may wait there has a limit; what
/// is beyond it the pools count and tell the log, and it is not lost: fragments that nobody claimed
/// are found as their node is listed, and what a stripe lacks by a check.
pub(crate) struct Noting {
    aftermaths: mpsc::Receiver<Aftermath>,
}

impl Noting {
    pub(crate) fn of(aftermaths: mpsc::Receiver<Aftermath>) -> Self {
        Self { aftermaths }
    }
}

impl Job for Noting {
    const NAME: &'static str = "noting what became of writes";
    // Each gateway knows only of its own.
    const IS_UPKEEP: bool = false;

    fn pause(&mut self) -> Duration {
        Duration::ZERO
    }

    /// Its one turn lasts as long as there are pools to tell of something.
    async fn turn(&mut self, round: &Round) -> Result<(), Halt> {
        let aftermaths = futures::stream::unfold(&mut self.aftermaths, async |from| {
            from.recv().await.map(|after| (Ok::<_, Halt>(after), from))
        });
        let noted = aftermaths.try_for_each_concurrent(NOTED, |after| async move {
            round.keeper()?.note(after).await;
            Ok(())
        });
        noted.await?;
        Err(Halt::Unwanted)
    }
}

impl Keeper {
    async fn note(&self, after: Aftermath) {
        let (pin, noted) = match after {
            Aftermath::Unclaimed { pin, id, pool, shape, cut, header_len, sealing, nodes } => {
                let stripe = stripe_record(pool, shape, cut, header_len, sealing, &nodes);
                (pin, self.note_unclaimed(id, stripe).await)
            }
            Aftermath::Incomplete { pin, id, places, lacking } => {
                if lacking {
                    self.mends().add(id);
                }
                (pin, self.note_places(id, places).await)
            }
        };
        drop(pin);
        if let Err(error) = noted {
            tracing::warn!(%error, "the outcome of a write is not noted; a check will find it");
        }
    }

    /// Nobody ever saw a stripe that was not claimed, so nobody reads it. It goes at once: it may
    /// tell of an object that was refused, which a rebuild would take for the latest.
    async fn note_unclaimed(&self, id: StripeId, stripe: Stripe) -> Result<(), StoreError> {
        let catalog = self.catalog();
        let stripes = vec![(id, stripe.clone())];
        catalog.commit_one(unix_ms(), Change::Discard { stripes }).await?;
        // It is in force if the change that was to claim it took effect, and only its answer was
        // lost.
        if !catalog.is_garbage(id).await? {
            return Ok(());
        }
        let away = Away::default();
        let deleted = timeout(UNSEEN_WAIT_MAX, away.delete_stripe(self, id, &stripe)).await;
        if deleted.is_ok_and(|gone| gone) {
            let stripes = vec![id];
            catalog.commit_one(unix_ms(), Change::ForgetGarbage { stripes }).await?;
        }
        Ok(())
    }

    async fn note_places(
        &self,
        id: StripeId,
        places: Vec<(u8, Option<NodeId>)>,
    ) -> Result<(), StoreError> {
        let is_placed = places.iter().any(|(_, node)| node.is_some());
        let change = |(index, node)| Change::PlaceFragment { stripe: id, index, node };
        let changes: Vec<Change> = places.into_iter().map(change).collect();
        if !changes.is_empty() {
            for outcome in self.catalog().commit(unix_ms(), changes).await? {
                outcome.map_err(CatalogError::from)?;
            }
        }
        if is_placed {
            self.note_placed(id).await;
        }
        Ok(())
    }
}
