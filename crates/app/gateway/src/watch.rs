//! Who looks at pools and nodes while they work.

use ripstop_catalog::Catalog;
use ripstop_node::Node;
use ripstop_recording::Beginning;
use ripstop_roster::Roster;
use ripstop_runtime::{Observer, Witness};
use std::sync::Arc;

/// The program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Who watches each pool and node.
pub trait Watch: Sync {
    /// Who hears of a pool what its roster hears.
    fn pool(&self, roster: &Arc<Roster>) -> Option<Arc<dyn Observer>>;
    /// Who sees what the machine of a pool is told and says.
    fn witness(&self, beginning: &Beginning) -> Option<Arc<dyn Witness>>;
    /// A node, watched.
    fn node(&self, name: &str, node: Arc<dyn Node>) -> Arc<dyn Node>;
    /// The catalog, watched.
    fn catalog(&self, catalog: Arc<dyn Catalog>) -> Arc<dyn Catalog>;
}

/// Nobody looks: for commands that are over soon.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn pool(&self, _: &Arc<Roster>) -> Option<Arc<dyn Observer>> {
        None
    }

    fn witness(&self, _: &Beginning) -> Option<Arc<dyn Witness>> {
        None
    }

    fn node(&self, _: &str, node: Arc<dyn Node>) -> Arc<dyn Node> {
        node
    }

    fn catalog(&self, catalog: Arc<dyn Catalog>) -> Arc<dyn Catalog> {
        catalog
    }
}
