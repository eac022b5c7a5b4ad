//! Where clients come in: at one gateway, or at one of several that come and go.

use ripstop_delay::Dice;
use ripstop_listen::Handed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A gateway's door.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) port: mpsc::Sender<Handed>,
    /// Cancelled when all connections through it end.
    pub(crate) gone: CancellationToken,
}

/// The doors that there are, one for each gateway, none where it is away.
#[derive(Clone, Debug)]
pub(crate) struct Doors(Arc<Mutex<Vec<Option<Door>>>>);

impl Doors {
    /// Those of this many gateways, which are all away.
    pub(crate) fn closed(count: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![None; count])))
    }

    /// The door of the only gateway, which is there until the end.
    pub(crate) fn only(port: mpsc::Sender<Handed>) -> Self {
        let door = Door { port, gone: CancellationToken::new() };
        Self(Arc::new(Mutex::new(vec![Some(door)])))
    }

    fn doors(&self) -> MutexGuard<'_, Vec<Option<Door>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, at: usize, door: Option<Door>) {
        self.doors()[at] = door;
    }

    /// Whether there are several.
    pub(crate) fn are_several(&self) -> bool {
        self.doors().len() > 1
    }

    /// One that is drawn; nothing if it is closed.
    pub(crate) fn pick(&self, dice: &mut Dice) -> Option<Door> {
        let doors = self.doors();
        let at = if doors.len() > 1 { dice.below(doors.len() as u64) as usize } else { 0 };
        doors[at].clone()
    }
}
