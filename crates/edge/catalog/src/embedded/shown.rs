//! What readers see.

use super::table::View;
use crate::CatalogError;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::watch;

/// Longest that a reader waits for a database that is being opened again.
const OPENING: Duration = Duration::from_secs(5);

/// The view that the last transaction left; the committer replaces it.
pub(super) struct Shown {
    view: RwLock<Arc<View>>,
    /// How many times the database was opened.
    openings: watch::Sender<u64>,
}

impl Shown {
    pub(super) fn new(view: View) -> Self {
        let openings = watch::Sender::new(view.opening);
        Self { view: RwLock::new(Arc::new(view)), openings }
    }

    pub(super) fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn show(&self, view: View) {
        let opening = view.opening;
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        self.openings.send_if_modified(|known| std::mem::replace(known, opening) != opening);
    }

    /// Whether `error` is that the database of a view is no longer open, and there is another by
    /// now. Asks for it with `nudge`.
    pub(super) async fn turned(
        &self,
        error: &CatalogError,
        opening: u64,
        nudge: impl FnOnce(),
    ) -> bool {
        if !is_closed(error) {
            return false;
        }
        nudge();
        let mut openings = self.openings.subscribe();
        let turned = openings.wait_for(|now| *now != opening);
        tokio::time::timeout(OPENING, turned).await.is_ok_and(|turned| turned.is_ok())
    }
}

/// Whether the database says that it is closed, or that its disk failed: it has to be opened again.
fn is_closed(error: &CatalogError) -> bool {
    let CatalogError::Unavailable(source) = error else { return false };
    let is_closed = |error: &redb::Error| {
        matches!(error, redb::Error::PreviousIo | redb::Error::DatabaseClosed | redb::Error::Io(_))
    };
    source.downcast_ref::<redb::Error>().is_some_and(is_closed)
}
