//! The catalog that is configured: in a file of the data folder, or in a database.

use crate::{
    config::Config, data_folder::CATALOG_FILE, moved::must_not_be_elsewhere, readiness::DAMAGED,
};
use anyhow::{Context as _, Result, anyhow};
use ripstop_catalog::{Audit, Audited, Catalog, CatalogError, Embedded, Grouped};
use ripstop_keeper::CatalogReport;
use ripstop_model::StripeId;
use ripstop_postgres::{Postgres, PostgresSettings};
use std::{path::Path, sync::Arc};

/// A catalog that is open.
#[derive(Clone, Debug)]
pub enum OpenedCatalog {
    /// In one file, for one gateway.
    Embedded(Arc<Embedded>),
    /// In a database, for any number of gateways.
    Shared(Arc<dyn Audited>),
}

impl From<Arc<Embedded>> for OpenedCatalog {
    fn from(embedded: Arc<Embedded>) -> Self {
        Self::Embedded(embedded)
    }
}

impl From<Arc<dyn Audited>> for OpenedCatalog {
    fn from(shared: Arc<dyn Audited>) -> Self {
        Self::Shared(shared)
    }
}

impl OpenedCatalog {
    /// Opens the one that is configured, making it if it is not there.
    pub async fn open(config: &Config) -> Result<Self> {
        let Some(url) = &config.catalog else {
            must_not_be_elsewhere(&config.data)?;
            return Ok(Self::Embedded(open_catalog(config, &config.data.join(CATALOG_FILE))?));
        };
        let catalog = Postgres::open(url, PostgresSettings::default()).await;
        Ok(Self::Shared(Arc::new(catalog.with_context(|| format!("catalog {url}"))?)))
    }

    /// Its callers share commits.
    pub(crate) fn grouped(&self) -> Arc<dyn Catalog> {
        match self {
            Self::Embedded(catalog) => Arc::new(Grouped::over(Arc::clone(catalog))),
            Self::Shared(catalog) => Arc::new(Grouped::over(Arc::clone(catalog))),
        }
    }

    /// The one in a file, if it is.
    pub const fn embedded(&self) -> Option<&Arc<Embedded>> {
        match self {
            Self::Embedded(catalog) => Some(catalog),
            Self::Shared(_) => None,
        }
    }

    /// Whichever it is.
    pub fn audited(&self) -> &dyn Audited {
        match self {
            Self::Embedded(catalog) => &**catalog,
            Self::Shared(catalog) => &**catalog,
        }
    }

    /// Whether other gateways may have it open too.
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Whether a database holds nothing yet of what nodes could.
    pub(crate) async fn is_empty(&self) -> Result<bool, CatalogError> {
        let catalog = self.audited();
        let first = StripeId(0);
        Ok(catalog.stripes_after(first, 1).await?.is_empty()
            && catalog.garbage(u64::MAX, first, 1).await?.is_empty())
    }
}

/// What a check says of a catalog in a database, whose every record it reads.
pub async fn audited(catalog: &dyn Audited) -> Result<CatalogReport, CatalogError> {
    let Audit { objects, findings, findings_left_off, .. } = catalog.audit().await?;
    let findings = findings.iter().map(ToString::to_string).collect();
    Ok(CatalogReport { bytes: 0, objects, findings, findings_left_off })
}

/// The catalog in this file, verified as far as is configured.
pub fn open_catalog(config: &Config, file: &Path) -> Result<Arc<Embedded>> {
    let settings = ripstop_catalog::CatalogSettings {
        cache_bytes: config.catalog_cache,
        check_pages: config.catalog_check,
        ..Default::default()
    };
    let catalog = Embedded::open(file, settings).map_err(|error| {
        if matches!(error, CatalogError::Corrupt { .. }) {
            anyhow!("{error}; {DAMAGED}")
        } else {
            error.into()
        }
    });
    Ok(Arc::new(catalog.with_context(|| format!("catalog {}", file.display()))?))
}
