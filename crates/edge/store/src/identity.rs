use crate::clock::unix_ms;
use ripstop_catalog::{Catalog, CatalogError, Change};

/// The catalog numbers names; one of them, with this before it, is the store's own.
const PREFIX: &str = "store:";

/// The number that tells this store's fragments from those of others: drawn once, and then the
/// catalog's for ever.
pub async fn identity(catalog: &dyn Catalog) -> Result<u64, CatalogError> {
    let names = catalog.nodes().await?;
    let known =
        names.iter().find_map(|(name, _)| u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok());
    if let Some(known) = known {
        return Ok(known);
    }
    let mut random = [0; 8];
    getrandom::fill(&mut random).expect("the system has randomness");
    let drawn = u64::from_le_bytes(random);
    adopt(catalog, drawn).await?;
    Ok(drawn)
}

/// Makes `identity` that of the store whose catalog is being made.
pub(crate) async fn adopt(catalog: &dyn Catalog, identity: u64) -> Result<(), CatalogError> {
    let name = format!("{PREFIX}{identity:016x}");
    catalog.commit(unix_ms(), Change::NameNode { name }).await?;
    Ok(())
}
