use ripstop_catalog::{Catalog, CatalogError, Change, Session};
use ripstop_host::unix_ms;

/// Lets a catalog know that a session gave stamps up to then: stamps to come are later, whatever
/// clock the gateway that gives them has.
pub(crate) async fn reach(
    catalog: &dyn Catalog,
    session: Session,
    until_ms: u64,
) -> Result<(), CatalogError> {
    catalog.commit_one(unix_ms(), Change::Reserve { session, until_ms }).await?;
    Ok(())
}
