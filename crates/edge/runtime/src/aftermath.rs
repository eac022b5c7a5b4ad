use crate::{Cut, Pin, Sealing};
use ripstop_model::{NodeId, PoolId, StripeId, StripeShape};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::{mpsc, oneshot};

/// Most aftermaths that wait to be dealt with; what is beyond them is left to sweeps and checks.
const AFTERMATHS_MAX: usize = 16_384;

/// A stripe of which enough fragments are durable. The caller that makes it visible claims it; one
/// that is dropped unclaimed becomes garbage.
#[derive(Debug)]
pub struct Written {
    /// Its name.
    pub id: StripeId,
    /// The pool it is in.
    pub pool: PoolId,
    /// How it is coded.
    pub shape: StripeShape,
    /// How its strips lie in fragments.
    pub cut: Cut,
    /// Bytes of header at the start of each fragment.
    pub header_len: u32,
    /// How it is sealed.
    pub sealing: Sealing,
    /// Where each fragment is, or is on its way to.
    pub nodes: Vec<Option<NodeId>>,
    pub(crate) claim: Option<oneshot::Sender<()>>,
}

impl Written {
    /// The catalog knows of the stripe now.
    pub fn claim(mut self) {
        if let Some(claim) = self.claim.take() {
            // The warden waits for this or for the drop; it cannot have gone.
            let _ = claim.send(());
        }
    }
}

/// What became of a written stripe once its last task ended.
#[derive(Debug)]
pub enum Aftermath {
    /// Nobody claimed it: its fragments are garbage.
    Unclaimed {
        /// The stripe, pinned until this is dealt with.
        pin: Pin,
        /// Its name.
        id: StripeId,
        /// The pool it is in.
        pool: PoolId,
        /// How it is coded.
        shape: StripeShape,
        /// How its strips lie in fragments.
        cut: Cut,
        /// Bytes of header of each fragment.
        header_len: u32,
        /// How it is sealed.
        sealing: Sealing,
        /// Nodes that a fragment was sent to, by index, whether or not it arrived.
        nodes: Vec<Option<NodeId>>,
    },
    /// It lacks fragments, or its claimer was told of places that turned out otherwise.
    Incomplete {
        /// The stripe, pinned until this is dealt with.
        pin: Pin,
        /// Its name.
        id: StripeId,
        /// Fragments that are elsewhere than was told, and where they are.
        places: Vec<(u8, Option<NodeId>)>,
        /// Whether some are nowhere.
        lacking: bool,
    },
}

/// Where aftermaths go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Aftermaths {
    to: mpsc::Sender<Aftermath>,
    overlooked: Arc<AtomicU64>,
}

/// A queue of aftermaths, for pools to fill and a store to empty.
pub fn aftermaths() -> (Aftermaths, mpsc::Receiver<Aftermath>) {
    let (to, from) = mpsc::channel(AFTERMATHS_MAX);
    (Aftermaths { to, overlooked: Arc::default() }, from)
}

impl Aftermaths {
    /// Never waits: who follows a stripe holds its pin.
    fn send(&self, aftermath: Aftermath) {
        // With the store gone there is nobody to tell: a later sweep finds what is unclaimed.
        let Err(mpsc::error::TrySendError::Full(aftermath)) = self.to.try_send(aftermath) else {
            return;
        };
        let overlooked = self.overlooked.fetch_add(1, Ordering::Relaxed) + 1;
        if overlooked.is_power_of_two() {
            let (Aftermath::Unclaimed { id, .. } | Aftermath::Incomplete { id, .. }) = aftermath;
            tracing::warn!(
                stripe = %id, overlooked,
                "too many ended writes wait to be noted: sweeps and checks will find the others"
            );
        }
    }
}

/// Follows one stripe from its answer to its last task.
pub(crate) struct Warden {
    pub pin: Pin,
    pub id: StripeId,
    pub pool: PoolId,
    pub shape: StripeShape,
    pub header_len: u32,
    pub sealing: Sealing,
    /// What the claimer was told.
    pub told: Vec<Option<NodeId>>,
    pub claimed: oneshot::Receiver<()>,
    /// Where fragments are, and where else they were sent.
    pub settled: oneshot::Receiver<Settlement>,
    pub to: Aftermaths,
}

/// Where the fragments of a write ended up.
#[derive(Debug)]
pub(crate) struct Settlement {
    /// How its strips lie in fragments; `None` if it failed before that was chosen.
    pub cut: Option<Cut>,
    /// Where each is durable.
    pub stored: Vec<Option<NodeId>>,
    /// Where each was last sent.
    pub sent: Vec<Option<NodeId>>,
}

impl Warden {
    /// Waits for the end and sends what follows from it.
    pub(crate) async fn watch(self) {
        let claimed = self.claimed.await.is_ok();
        let Ok(settlement) = self.settled.await else { return };
        let Some(cut) = settlement.cut else { return };
        let Self { pin, id, pool, shape, header_len, sealing, told, to, .. } = self;
        let aftermath = if claimed {
            let changed = |&(index, node): &(usize, &Option<NodeId>)| told[index] != *node;
            let places = settlement.stored.iter().enumerate().filter(changed);
            let places: Vec<_> = places.map(|(index, node)| (index as u8, *node)).collect();
            let lacking = settlement.stored.contains(&None);
            if places.is_empty() && !lacking {
                return;
            }
            Aftermath::Incomplete { pin, id, places, lacking }
        } else {
            let either = settlement.stored.iter().zip(&settlement.sent);
            let nodes = either.map(|(stored, sent)| stored.or(*sent)).collect();
            Aftermath::Unclaimed { pin, id, pool, shape, cut, header_len, sealing, nodes }
        };
        to.send(aftermath);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pins;

    #[tokio::test]
    async fn what_waits_to_be_dealt_with_is_bounded_and_holds_no_pin_beyond() {
        let ((to, mut from), pins) = (aftermaths(), Pins::default());
        let beyond = StripeId(AFTERMATHS_MAX as u128);
        for id in 0..=beyond.0 {
            let id = StripeId(id);
            to.send(Aftermath::Incomplete { pin: pins.pin(id), id, places: vec![], lacking: true });
        }
        assert!(!pins.contains(beyond), "it is left to sweeps and checks");
        assert_eq!(to.overlooked.load(Ordering::Relaxed), 1);
        drop(to);
        let mut noted = 0;
        while from.recv().await.is_some() {
            noted += 1;
        }
        assert_eq!(noted, AFTERMATHS_MAX);
    }
}
