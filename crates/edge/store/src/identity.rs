use ripstop_catalog::{Catalog, CatalogError, Change};
use ripstop_host::unix_ms;

/// The catalog numbers names; one of them, with this before it, is the store's own.
const PREFIX: &str = "store:";

/// The number that tells this store's fragments from those of others: drawn once, and then the
/// catalog's for ever.
pub async fn identity(catalog: &dyn Catalog) -> Result<u64, CatalogError> {
    if let Some(known) = known(catalog).await? {
        return Ok(known);
    }
    let mut random = [0; 8];
    ripstop_host::fill(&mut random);
    let drawn = u64::from_le_bytes(random);
    adopt(catalog, drawn).await?;
    // Another gateway may have begun at the same time, and been first.
    Ok(known(catalog).await?.unwrap_or(drawn))
}

/// The store's number; if it has none yet, `wanted` becomes it.
pub async fn identity_or(catalog: &dyn Catalog, wanted: u64) -> Result<u64, CatalogError> {
    if known(catalog).await?.is_none() {
        adopt(catalog, wanted).await?;
    }
    identity(catalog).await
}

async fn known(catalog: &dyn Catalog) -> Result<Option<u64>, CatalogError> {
    let names = catalog.nodes().await?;
    let number = |name: &str| u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok();
    let found = names.iter().filter_map(|(name, at)| Some((*at, number(name)?)));
    // The one that was named first, for all who look after it was.
    Ok(found.min_by_key(|(at, _)| *at).map(|(_, number)| number))
}

/// Makes `identity` that of the store whose catalog is being made.
pub async fn adopt(catalog: &dyn Catalog, identity: u64) -> Result<(), CatalogError> {
    let name = format!("{PREFIX}{identity:016x}");
    catalog.commit_one(unix_ms(), Change::NameNode { name }).await?;
    Ok(())
}
