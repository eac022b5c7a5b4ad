//! What living sessions may be writing, which no sweep takes for abandoned.

use crate::Keeper;
use ripstop_catalog::{CatalogError, Session, Watermark};
use ripstop_model::StripeId;
use std::collections::BTreeMap;

/// What the sessions of a catalog may still be writing.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    own: Session,
    watermarks: BTreeMap<Session, Watermark>,
}

impl Watched {
    /// Whether another gateway may be writing a stripe that the catalog did not hold when it was
    /// asked for after this. What this one writes is pinned.
    pub(crate) fn may_be_written(&self, id: StripeId) -> bool {
        let session = Session::of(id);
        session != self.own
            && self
                .watermarks
                .get(&session)
                .is_some_and(|watermark| !watermark.is_retired && id >= watermark.least)
    }
}

impl Keeper {
    /// What may be being written. To be asked before the catalog is asked for a stripe, and after
    /// its fragment was seen: then what is in neither is nobody's.
    pub(crate) async fn watched(&self) -> Result<Watched, CatalogError> {
        let lineage = self.keeping().lineage();
        if !lineage.is_shared() {
            return Ok(Watched::default());
        }
        let watermarks = self.catalog().watermarks().await?.into_iter().collect();
        Ok(Watched { own: lineage.session(), watermarks })
    }
}
