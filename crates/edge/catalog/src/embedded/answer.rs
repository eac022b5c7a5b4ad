//! Which thread answers a query: the caller's reads one record, or few; what takes longer is read
//! on a thread for that.

use super::Embedded;
use super::failure::corrupt;
use super::inspect::Depth;
use super::read::Found;
use super::snapshot::Reading;
use super::table::View;
use crate::key::object_key;
use crate::{CatalogError, Located, Query, Reply};
use tokio::sync::Semaphore;

/// Bytes of a record that are decoded on the caller's thread: longer ones are on a thread of their
/// own.
const DECODED_HERE_MAX: usize = 64 << 10;
/// Longer ones that are decoded at once: each takes more memory than its bytes.
static DECODINGS: Semaphore = Semaphore::const_new(4);

fn own((bucket, key): (&str, &str)) -> (String, String) {
    (bucket.to_owned(), key.to_owned())
}

fn lent((bucket, key): &(String, String)) -> (&str, &str) {
    (bucket, key)
}

impl Embedded {
    /// Answers a query with the answer of its name.
    #[expect(clippy::too_many_lines, reason = "an arm for each query, most of two lines")]
    pub(super) async fn answer(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        Ok(match query {
            Query::Object { bucket, key } => {
                let key = object_key(bucket, key.as_bytes());
                Reply::Object(self.located(move |view, len| view.object(&key, len)).await?)
            }
            Query::Current { bucket, key } => Reply::Current(self.current(bucket, key).await?),
            Query::BucketWith { bucket, key } => {
                let found = self.here(|view| view.bucket(bucket)).await?;
                Reply::BucketWith(Box::new((found, self.current(bucket, key).await?)))
            }
            Query::Bucket { name } => Reply::Bucket(self.here(|view| view.bucket(name)).await?),
            Query::Usage { bucket } => Reply::Usage(self.here(|view| view.usage(bucket)).await?),
            Query::Upload { id } => Reply::Upload(self.here(|view| view.upload(id)).await?),
            Query::Stripes { ids } => Reply::Stripes(
                self.here(|view| ids.iter().map(|id| view.stripe(*id)).collect()).await?,
            ),
            Query::Held { ids } => {
                Reply::Held(self.here(|view| ids.iter().map(|id| view.held(*id)).collect()).await?)
            }
            Query::IsGarbage { id } => {
                Reply::IsGarbage(self.here(|view| view.is_garbage(id)).await?)
            }
            Query::IsLeftover { copy } => {
                Reply::IsLeftover(self.here(|view| view.is_leftover(&copy)).await?)
            }
            Query::Tombstone { bucket, key } => {
                let key = object_key(bucket, key.as_bytes());
                Reply::Tombstone(self.here(|view| view.tombstone(&key)).await?)
            }
            Query::Lease { name } => Reply::Lease(self.here(|view| view.lease(name)).await?),
            Query::Gateways {} => Reply::Gateways(self.here(View::gateways).await?),
            Query::Watermarks {} => Reply::Watermarks(self.here(View::watermarks).await?),
            Query::Vouched {} => Reply::Vouched(self.here(View::vouched).await?),
            Query::Nodes {} => Reply::Nodes(self.here(View::nodes).await?),
            Query::Verify {} => Reply::Verify(self.pages_verified().await?),
            Query::Buckets { after, max } => {
                let after = after.to_owned();
                Reply::Buckets(self.elsewhere(move |view| view.buckets(&after, max)).await?)
            }
            Query::Usages { after, max } => {
                let after = after.to_owned();
                Reply::Usages(self.elsewhere(move |view| view.usages(&after, max)).await?)
            }
            Query::List { request } => {
                let request = request.clone();
                Reply::List(self.elsewhere(move |view| view.list(&request)).await?)
            }
            Query::Versions { request } => {
                let request = request.clone();
                Reply::Versions(self.elsewhere(move |view| view.versions(&request)).await?)
            }
            Query::Parts { id, after, max } => {
                let id = id.to_owned();
                Reply::Parts(self.elsewhere(move |view| view.parts(&id, after, max)).await?)
            }
            Query::Uploads { request } => {
                let request = request.clone();
                Reply::Uploads(self.elsewhere(move |view| view.uploads(&request)).await?)
            }
            Query::StripesAfter { after, max } => Reply::StripesAfter(
                self.elsewhere(move |view| view.stripes_after(after, max)).await?,
            ),
            Query::Garbage { due_ms, after, max } => {
                Reply::Garbage(self.elsewhere(move |view| view.garbage(due_ms, after, max)).await?)
            }
            Query::Leftovers { due_ms, after, max } => Reply::Leftovers(
                self.elsewhere(move |view| view.leftovers(due_ms, after, max)).await?,
            ),
            Query::OutlivedBy { stripe, after, max } => {
                let after = own(after);
                let read = move |view: &View| view.outlived_by(stripe, lent(&after), max);
                Reply::OutlivedBy(self.elsewhere(read).await?)
            }
            Query::OutlivedAt { at, after, max } => {
                let at = own(at);
                let read = move |view: &View| view.outlived_at(lent(&at), after, max);
                Reply::OutlivedAt(self.elsewhere(read).await?)
            }
        })
    }

    async fn current(&self, bucket: &str, key: &str) -> Result<Option<Located>, CatalogError> {
        let at = own((bucket, key));
        self.located(move |view, len| view.current(&at.0, &at.1, len)).await
    }

    /// What `find` finds, on a thread of its own if its record is long.
    async fn located(
        &self,
        find: impl Fn(&View, usize) -> Result<Found, CatalogError> + Send + Sync + 'static,
    ) -> Result<Option<Located>, CatalogError> {
        let found = match self.here(|view| find(view, DECODED_HERE_MAX)).await? {
            Found::Long => {
                let _place = DECODINGS.acquire().await.expect("the semaphore is never closed");
                self.elsewhere(move |view| find(view, usize::MAX)).await?
            }
            found @ (Found::None | Found::Object(_)) => found,
        };
        match found {
            Found::Object(located) => Ok(Some(located)),
            Found::None | Found::Long => Ok(None),
        }
    }

    async fn pages_verified(&self) -> Result<(), CatalogError> {
        let inspection = self.inspection(&Reading::default(), None, Depth::Pages).await?;
        match inspection.damaged {
            Some(reason) => Err(corrupt(reason)),
            None => Ok(()),
        }
    }
}
