//! What a round goes through, page by page.

use futures::{StreamExt as _, stream::BoxStream, stream::ReadyChunks};
use ripstop_catalog::{
    Bucket, Catalog, CatalogError, Leftover, ListedUpload, ListedVersion, ListingRequest, Place,
    Refusal, Stripe,
};
use ripstop_model::StripeId;
use ripstop_node::{Listed, Node, NodeError};

/// Stripes in force that are looked at together.
const STRIPES: usize = 256;
/// Rows of another kind.
const ROWS: usize = 500;

/// Rows in order, a page at a time, from where the last page ended. Rows that come or go meanwhile
/// may be met or not.
pub(crate) trait Listing: Send {
    type Row: Send;

    /// The next rows, of which there may be none; `None` after the last.
    fn page(
        &mut self,
        catalog: &dyn Catalog,
    ) -> impl Future<Output = Result<Option<Vec<Self::Row>>, CatalogError>> + Send;
}

/// The page, if there is any row in it.
fn some<T>(page: Vec<T>) -> Option<Vec<T>> {
    (!page.is_empty()).then_some(page)
}

/// Stripes in force, by name.
#[derive(Debug, Default)]
pub(crate) struct Stripes {
    after: StripeId,
}

impl Listing for Stripes {
    type Row = (StripeId, Stripe);

    async fn page(
        &mut self,
        catalog: &dyn Catalog,
    ) -> Result<Option<Vec<Self::Row>>, CatalogError> {
        let page = catalog.stripes_after(self.after, STRIPES).await?;
        self.after = page.last().map_or(self.after, |(last, _)| *last);
        Ok(some(page))
    }
}

/// Stripes that are garbage since a time or before, by name.
#[derive(Debug)]
pub(crate) struct Garbage {
    due_ms: u64,
    after: StripeId,
}

impl Garbage {
    pub(crate) fn until(due_ms: u64) -> Self {
        Self { due_ms, after: StripeId(0) }
    }
}

impl Listing for Garbage {
    type Row = (StripeId, Stripe);

    async fn page(
        &mut self,
        catalog: &dyn Catalog,
    ) -> Result<Option<Vec<Self::Row>>, CatalogError> {
        let page = catalog.garbage(self.due_ms, self.after, ROWS).await?;
        self.after = page.last().map_or(self.after, |(last, _)| *last);
        Ok(some(page))
    }
}

/// What moved fragments left behind at a time or before, by stripe.
#[derive(Debug)]
pub(crate) struct Leftovers {
    due_ms: u64,
    after: Option<Leftover>,
}

impl Leftovers {
    pub(crate) fn until(due_ms: u64) -> Self {
        Self { due_ms, after: None }
    }
}

impl Listing for Leftovers {
    type Row = Leftover;

    async fn page(&mut self, catalog: &dyn Catalog) -> Result<Option<Vec<Leftover>>, CatalogError> {
        let page = catalog.leftovers(self.due_ms, self.after, ROWS).await?;
        self.after = page.last().copied().or(self.after);
        Ok(some(page))
    }
}

/// Buckets, by name.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    after: String,
}

impl Listing for Buckets {
    type Row = Bucket;

    async fn page(&mut self, catalog: &dyn Catalog) -> Result<Option<Vec<Bucket>>, CatalogError> {
        let page = catalog.buckets(&self.after, ROWS).await?;
        if let Some(last) = page.last() {
            self.after.clone_from(&last.name);
        }
        Ok(some(page))
    }
}

/// Asks for all of a bucket, from the beginning.
fn whole(bucket: String) -> ListingRequest {
    ListingRequest { bucket, max: ROWS, ..ListingRequest::default() }
}

/// Places of a bucket's objects, of all versions of them: what the catalog has them under.
#[derive(Debug)]
pub(crate) struct Places {
    /// Where it goes on; nowhere after the last page.
    next: Option<ListingRequest>,
}

impl Places {
    pub(crate) fn of(bucket: String) -> Self {
        Self { next: Some(whole(bucket)) }
    }
}

impl Listing for Places {
    /// Names of bucket and key.
    type Row = (String, String);

    async fn page(
        &mut self,
        catalog: &dyn Catalog,
    ) -> Result<Option<Vec<Self::Row>>, CatalogError> {
        let Some(request) = self.next.take() else { return Ok(None) };
        let bucket = request.bucket.clone();
        let page = catalog.versions(&request).await?;
        let after_upload = page.next_upload.unwrap_or_default();
        self.next = page.next.map(|after| ListingRequest { after, after_upload, ..request });
        let place = |listed: ListedVersion| {
            let place = Place::of_version(&bucket, &listed.key, listed.version);
            (place.bucket.into_owned(), place.key.into_owned())
        };
        Ok(Some(page.versions.into_iter().map(place).collect()))
    }
}

/// Versions of a bucket's keys that begin alike, by key and the latest first; none of a bucket that
/// is gone.
#[derive(Debug)]
pub(crate) struct Versions {
    /// Where it goes on; nowhere after the last page.
    next: Option<ListingRequest>,
}

impl Versions {
    pub(crate) fn below(bucket: String, prefix: String) -> Self {
        Self { next: Some(ListingRequest { prefix, ..whole(bucket) }) }
    }
}

impl Listing for Versions {
    type Row = ListedVersion;

    async fn page(
        &mut self,
        catalog: &dyn Catalog,
    ) -> Result<Option<Vec<ListedVersion>>, CatalogError> {
        let Some(request) = self.next.clone() else { return Ok(None) };
        let page = match catalog.versions(&request).await {
            Err(CatalogError::Refused(Refusal::NoSuchBucket)) => return Ok(None),
            page => page?,
        };
        let after_upload = page.next_upload.unwrap_or_default();
        self.next = page.next.map(|after| ListingRequest { after, after_upload, ..request });
        Ok(Some(page.versions))
    }
}

/// Uploads of a bucket, by key; none of a bucket that is gone.
#[derive(Debug)]
pub(crate) struct Uploads {
    /// Where it goes on; nowhere after the last page.
    next: Option<ListingRequest>,
}

impl Uploads {
    pub(crate) fn of(bucket: String) -> Self {
        Self::below(bucket, String::new())
    }

    /// Only those of keys that begin with this.
    pub(crate) fn below(bucket: String, prefix: String) -> Self {
        Self { next: Some(ListingRequest { prefix, ..whole(bucket) }) }
    }
}

impl Listing for Uploads {
    type Row = ListedUpload;

    async fn page(
        &mut self,
        catalog: &dyn Catalog,
    ) -> Result<Option<Vec<ListedUpload>>, CatalogError> {
        let Some(request) = self.next.take() else { return Ok(None) };
        let page = match catalog.uploads(&request).await {
            Err(CatalogError::Refused(Refusal::NoSuchBucket)) => return Ok(None),
            page => page?,
        };
        let after_upload = page.next_upload.unwrap_or_default();
        self.next = page.next.map(|after| ListingRequest { after, after_upload, ..request });
        Ok(Some(page.uploads))
    }
}

/// Fragments at a node, as it lists them: of a node that cannot be listed to its end, those that it
/// did list.
pub(crate) struct AtNode<'a>(ReadyChunks<BoxStream<'a, Result<Listed, NodeError>>>);

impl<'a> AtNode<'a> {
    pub(crate) fn of(node: &'a dyn Node) -> Self {
        Self(node.list().ready_chunks(ROWS))
    }
}

impl Listing for AtNode<'_> {
    type Row = Listed;

    async fn page(&mut self, _: &dyn Catalog) -> Result<Option<Vec<Listed>>, CatalogError> {
        let page = self.0.next().await;
        Ok(page.map(|page| page.into_iter().filter_map(Result::ok).collect()))
    }
}
