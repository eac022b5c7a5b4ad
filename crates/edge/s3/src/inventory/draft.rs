//! An inventory under way: from pages of versions to files in a bucket, a file at a time in memory.

use super::{
    document::{DOCUMENT, Order, stored},
    field::Column,
    place::{Place, began_ms},
    sheet::Sheet,
};
use crate::{
    FrontSettings,
    made::{MadeObject, put_made},
};
use md5::{Digest as _, Md5};
use ripstop_catalog::{Attributes, Bucket, CatalogError, ListedVersion, Refusal};
use ripstop_store::{Store, StoreError, WriteError};
use serde_json::json;
use std::sync::Arc;

/// Most files of an inventory: what its manifest says of them is in memory.
const FILES_MAX: usize = 100_000;
/// The version of the manifest's form, as S3 has it.
const VERSION: &str = "2016-11-30";

/// Makes the inventories that buckets' configurations ask for. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Inventories {
    store: Store,
    settings: Arc<FrontSettings>,
}

/// An inventory under way.
#[derive(Debug)]
pub struct InventoryDraft {
    of: Inventories,
    bucket: String,
    order: Order,
    place: Place,
    /// When it was begun, milliseconds since 1970.
    begun_ms: u64,
    sheet: Option<Sheet>,
    /// Keys of the files that are there, their lengths and MD5s.
    files: Vec<(String, usize, String)>,
}

impl Inventories {
    /// Of the buckets of a store, encrypted as these settings say.
    pub fn new(store: Store, settings: FrontSettings) -> Self {
        Self { store, settings: Arc::new(settings) }
    }

    /// The inventories of a bucket that are due at a time, in milliseconds since 1970: of each
    /// period one, unless it is there already.
    pub async fn due(
        &self,
        bucket: &Bucket,
        now_ms: u64,
    ) -> Result<Vec<InventoryDraft>, StoreError> {
        let Some(document) = bucket.documents.get(DOCUMENT) else { return Ok(Vec::new()) };
        let Some(orders) = stored(document) else {
            tracing::error!(bucket = bucket.name, "a bucket's inventories cannot be read");
            return Ok(Vec::new());
        };
        let mut due = Vec::new();
        for order in orders.into_iter().filter(|order| order.is_enabled) {
            let place = Place::of(&order, &bucket.name, began_ms(order.is_weekly, now_ms));
            if self.is_there(&order, &place).await? {
                continue;
            }
            let (of, bucket) = (self.clone(), bucket.name.clone());
            let (sheet, files) = (None, Vec::new());
            due.push(InventoryDraft { of, bucket, order, place, begun_ms: now_ms, sheet, files });
        }
        Ok(due)
    }

    /// Whether there is nothing to do: it is there, or its bucket is not.
    async fn is_there(&self, order: &Order, place: &Place) -> Result<bool, StoreError> {
        match self.store.object(&order.target, &place.checksum()).await {
            Ok(_) => Ok(true),
            Err(
                StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchKey))
                | StoreError::Marker { .. },
            ) => Ok(false),
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchBucket))) => {
                let (id, target) = (&*order.id, &*order.target);
                tracing::warn!(inventory = id, target, "the bucket of an inventory is not there");
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }
}

impl InventoryDraft {
    /// What the keys begin with that it lists.
    pub fn prefix(&self) -> &str {
        &self.order.prefix
    }

    /// Adds versions of keys: all that there are are to come, in the order of listings.
    pub async fn add(&mut self, versions: Vec<ListedVersion>) -> Result<(), StoreError> {
        for version in versions {
            if !self.order.all_versions && (!version.is_latest || version.is_marker) {
                continue;
            }
            let object = self.look_at(&version).await?;
            let sheet = self.sheet.get_or_insert_with(Sheet::new);
            sheet.add(&self.bucket, &self.order, &version, object.as_ref()).map_err(failed)?;
            if sheet.is_full() {
                self.put_sheet().await?;
            }
        }
        Ok(())
    }

    /// Puts what is left, and then what says that it is whole.
    pub async fn finish(mut self) -> Result<(), StoreError> {
        self.put_sheet().await?;
        let files = self
            .files
            .iter()
            .map(|(key, size, md5)| json!({ "key": key, "size": size, "MD5checksum": md5 }));
        let manifest = json!({
            "sourceBucket": self.bucket,
            "destinationBucket": format!("arn:aws:s3:::{}", self.order.target),
            "version": VERSION,
            "creationTimestamp": self.begun_ms.to_string(),
            "fileFormat": "CSV",
            "fileSchema": self.schema(),
            "files": files.collect::<Vec<_>>(),
        });
        let manifest = manifest.to_string().into_bytes();
        let checksum = hex::encode(Md5::digest(&manifest)).into_bytes();
        self.put(self.place.manifest(), "application/json", manifest).await?;
        self.put(self.place.checksum(), "text/plain", checksum).await
    }

    /// The names of the columns, as the manifest has them.
    fn schema(&self) -> String {
        let versions: &[&str] = if self.order.all_versions {
            &["VersionId", "IsLatest", "IsDeleteMarker"]
        } else {
            &[]
        };
        let columns = self.order.columns.iter().map(|column| column.name());
        let all = ["Bucket", "Key"].into_iter().chain(versions.iter().copied()).chain(columns);
        all.collect::<Vec<_>>().join(", ")
    }

    /// What of a version listings do not tell, if anything of it is asked for; nothing of one that
    /// is gone since.
    async fn look_at(&self, version: &ListedVersion) -> Result<Option<Attributes>, StoreError> {
        let needs_object = self.order.columns.iter().copied().any(Column::needs_object);
        if version.is_marker || !needs_object {
            return Ok(None);
        }
        match self.of.store.version(&self.bucket, &version.key, version.version).await {
            Ok(found) => Ok(Some(found.object.attributes.clone())),
            Err(StoreError::NoSuchVersion | StoreError::Marker { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn put_sheet(&mut self) -> Result<(), StoreError> {
        let Some(sheet) = self.sheet.take() else { return Ok(()) };
        if self.files.len() >= FILES_MAX {
            return Err(failed("it would have too many files"));
        }
        let bytes = sheet.finish().map_err(failed)?;
        let key = self.place.data(self.files.len());
        let (size, md5) = (bytes.len(), hex::encode(Md5::digest(&bytes)));
        self.put(key.clone(), "application/octet-stream", bytes).await?;
        self.files.push((key, size, md5));
        Ok(())
    }

    async fn put(
        &self,
        key: String,
        content_type: &'static str,
        bytes: Vec<u8>,
    ) -> Result<(), StoreError> {
        let bucket = self.order.target.clone();
        let wanted = self.order.encryption.clone();
        let object = MadeObject { bucket, key, content_type, bytes: bytes.into(), wanted };
        match put_made(&self.of.store, &self.of.settings, object).await {
            Ok(()) => Ok(()),
            Err(WriteError::Store(error)) => Err(error),
            Err(WriteError::Body(failure)) => Err(failed(failure)),
        }
    }
}

/// What no store says of itself.
fn failed(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    CatalogError::Unavailable(why.into()).into()
}
