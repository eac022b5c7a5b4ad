use crate::{Cut, Pin};
use ripstop_model::{NodeId, PoolId, StripeId, StripeShape};
use tokio::sync::{mpsc, oneshot};

/// A stripe of which enough fragments are durable. Whoever makes it visible claims it; one that is
/// dropped unclaimed becomes garbage.
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

/// Follows one stripe from its answer to its last task.
pub(crate) struct Warden {
    pub pin: Pin,
    pub id: StripeId,
    pub pool: PoolId,
    pub shape: StripeShape,
    pub header_len: u32,
    /// What the claimer was told.
    pub told: Vec<Option<NodeId>>,
    pub claimed: oneshot::Receiver<()>,
    /// Where fragments are, and where else they were sent.
    pub settled: oneshot::Receiver<Settlement>,
    pub to: mpsc::UnboundedSender<Aftermath>,
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
        let Self { pin, id, pool, shape, header_len, told, to, .. } = self;
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
            Aftermath::Unclaimed { pin, id, pool, shape, cut, header_len, nodes }
        };
        // With the store gone there is nobody to tell: a later sweep finds what is unclaimed.
        let _ = to.send(aftermath);
    }
}
