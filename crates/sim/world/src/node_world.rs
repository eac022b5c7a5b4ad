use crate::{Change, Trouble};
use ripstop_delay::{DelayModel, Dice};
use ripstop_model::{NodeId, Timestamp};

/// One node: the law of its delays and what befalls it.
#[derive(Debug)]
pub struct NodeWorld {
    /// Which.
    pub id: NodeId,
    /// How long its tasks take.
    pub model: Box<dyn DelayModel>,
    /// Every delay is multiplied by this.
    pub scale: f64,
    /// When it is slow or lost; of several slow times at once the factors multiply.
    pub changes: Vec<Change>,
    pub(crate) dice: Dice,
}

impl NodeWorld {
    /// A node to which nothing happens.
    pub fn new(id: NodeId, model: Box<dyn DelayModel>) -> Self {
        Self { id, model, scale: 1.0, changes: Vec::new(), dice: Dice::new(0) }
    }

    /// Whether it is gone.
    pub fn is_lost(&self, now: Timestamp) -> bool {
        self.changes.iter().any(|change| change.trouble == Trouble::Lost && change.holds(now))
    }

    /// How many times as long as by its model a task takes that starts now.
    pub(crate) fn factor(&self, now: Timestamp) -> f64 {
        let slow = |change: &Change| match change.trouble {
            Trouble::Slow(factor) if change.holds(now) => Some(factor),
            Trouble::Slow(_) | Trouble::Lost => None,
        };
        self.changes.iter().filter_map(slow).fold(self.scale, |product, factor| product * factor)
    }
}
