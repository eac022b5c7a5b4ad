//! The catalog as maps in memory, with whole scans instead of seeks: too slow to be of use. What
//! every implementation is compared with.

mod audit;
mod page;
#[cfg(test)]
mod prefetch;
mod rows;

use crate::{
    Account, Bucket, Catalog, CatalogError, Change, Extent, Garbage, Held, Lease, Leftover, Listed,
    ListedUpload, Listing, ListingRequest, Located, Object, Outcome, Refusal, Session, Stripe,
    Tombstone, Upload, UploadedPart, Usage, Vouched, Watermark,
};
use async_trait::async_trait;
use page::{Entry, empty_page, grouped};
use ripstop_model::{NodeId, StripeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The reference model.
#[derive(Debug, Default)]
pub struct Model {
    state: Mutex<State>,
}

/// Everything that the model holds; [`Model::state`] lends it to those who make up changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// By name.
    pub buckets: BTreeMap<String, Bucket>,
    /// By bucket and key.
    pub objects: BTreeMap<(String, String), Object>,
    /// By bucket and key; of buckets, by an empty key.
    pub tombstones: BTreeMap<(String, String), Tombstone>,
    /// Which stripes tell of a bucket and key what is no longer so.
    pub outlived: BTreeSet<(StripeId, String, String)>,
    /// By id.
    pub uploads: BTreeMap<String, Upload>,
    /// By upload and number.
    pub parts: BTreeMap<(String, u16), UploadedPart>,
    /// In force.
    pub stripes: BTreeMap<StripeId, Held>,
    /// Held by nothing.
    pub garbage: BTreeMap<StripeId, Garbage>,
    /// Since when.
    pub leftovers: BTreeMap<Leftover, u64>,
    /// What buckets hold.
    pub accounts: BTreeMap<String, Account>,
    /// Before when all names are known.
    pub vouched_before: u64,
    /// Until when sessions may name stripes.
    pub sessions: BTreeMap<Session, u64>,
    /// What sessions may still be writing.
    pub watermarks: BTreeMap<Session, Watermark>,
    /// By name.
    pub leases: BTreeMap<String, Lease>,
    /// By name.
    pub nodes: BTreeMap<String, NodeId>,
}

impl Model {
    /// What it holds.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Catalog::commit`], at once.
    pub fn apply_all(&self, now_ms: u64, changes: &[Change]) -> Result<Vec<Outcome>, CatalogError> {
        self.state().commit(now_ms, changes)
    }

    /// [`Catalog::commit_one`], at once.
    ///
    /// # Panics
    ///
    /// If what it holds contradicts itself.
    pub fn apply(&self, now_ms: u64, change: &Change) -> Outcome {
        let outcomes = self.apply_all(now_ms, std::slice::from_ref(change));
        outcomes.expect("what it holds agrees").pop().expect("each change has an outcome")
    }
}

impl State {
    fn must_have(&self, bucket: &str) -> Result<(), Refusal> {
        self.buckets.get(bucket).map(|_| ()).ok_or(Refusal::NoSuchBucket)
    }

    /// What a bucket holds.
    pub fn usage(&self, bucket: &str) -> Usage {
        self.accounts.get(bucket).copied().unwrap_or_default().usage()
    }
}

#[async_trait]
impl Catalog for Model {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        self.apply_all(now_ms, &changes)
    }

    async fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        Ok(self.state().buckets.get(name).cloned())
    }

    async fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, CatalogError> {
        let state = self.state();
        let after = state.buckets.values().filter(|bucket| bucket.name.as_str() > after);
        Ok(after.take(max).cloned().collect())
    }

    async fn usage(&self, bucket: &str) -> Result<Usage, CatalogError> {
        Ok(self.state().usage(bucket))
    }

    async fn usages(&self, after: &str, max: usize) -> Result<Vec<(String, Usage)>, CatalogError> {
        let state = self.state();
        let after = state.buckets.keys().filter(|name| name.as_str() > after);
        Ok(after.take(max).map(|name| (name.clone(), state.usage(name))).collect())
    }

    async fn object(&self, bucket: &str, key: &str) -> Result<Option<Located>, CatalogError> {
        let state = self.state();
        let Some(object) = state.objects.get(&(bucket.to_owned(), key.to_owned())) else {
            return Ok(None);
        };
        let mut stripes: Vec<(StripeId, Stripe)> = Vec::new();
        let few = object.extents.len() <= crate::LOCATED_EXTENTS_MAX;
        for Extent { stripe, .. } in object.extents.iter().filter(|_| few) {
            if stripes.iter().all(|(id, _)| id != stripe) {
                stripes.push((*stripe, state.stripes[stripe].stripe.clone()));
            }
        }
        Ok(Some(Located { object: object.clone(), stripes }))
    }

    async fn list(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        let state = self.state();
        state.must_have(&request.bucket)?;
        let of_bucket = state.objects.iter().filter(|((bucket, _), _)| *bucket == request.bucket);
        let items = of_bucket.map(|((_, key), object)| {
            (key.clone(), String::new(), (key.clone(), Listed::of(object)))
        });
        let (entries, is_truncated) = grouped(request, items);
        let mut page = empty_page();
        for entry in entries {
            match entry {
                Entry::Prefix(prefix) => {
                    page.next = is_truncated.then(|| prefix.clone());
                    page.prefixes.push(prefix);
                }
                Entry::Item((key, object)) => {
                    page.next = is_truncated.then(|| key.clone());
                    page.objects.push((key, object));
                }
            }
        }
        Ok(page)
    }

    async fn upload(&self, id: &str) -> Result<Option<Upload>, CatalogError> {
        Ok(self.state().uploads.get(id).cloned())
    }

    async fn parts(
        &self,
        id: &str,
        after: u16,
        max: usize,
    ) -> Result<Vec<UploadedPart>, CatalogError> {
        let state = self.state();
        let parts = state.parts.iter().filter(|((of, number), _)| of == id && *number > after);
        Ok(parts.take(max).map(|(_, part)| part.clone()).collect())
    }

    async fn uploads(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        let state = self.state();
        state.must_have(&request.bucket)?;
        let mut uploads: Vec<&Upload> =
            state.uploads.values().filter(|upload| upload.bucket == request.bucket).collect();
        uploads.sort_by_key(|upload| (&upload.key, &upload.id));
        let items = uploads
            .into_iter()
            .map(|upload| (upload.key.clone(), upload.id.clone(), ListedUpload::of(upload)));
        let (entries, is_truncated) = grouped(request, items);
        let mut page = empty_page();
        for entry in entries {
            match entry {
                Entry::Prefix(prefix) => {
                    page.next = is_truncated.then(|| prefix.clone());
                    page.next_upload = None;
                    page.prefixes.push(prefix);
                }
                Entry::Item(upload) => {
                    page.next = is_truncated.then(|| upload.key.clone());
                    page.next_upload = is_truncated.then(|| upload.id.clone());
                    page.uploads.push(upload);
                }
            }
        }
        Ok(page)
    }

    async fn stripes(&self, ids: &[StripeId]) -> Result<Vec<Option<Stripe>>, CatalogError> {
        let state = self.state();
        let stripe = |id| state.stripes.get(id).map(|held: &Held| held.stripe.clone());
        Ok(ids.iter().map(stripe).collect())
    }

    async fn held(&self, ids: &[StripeId]) -> Result<Vec<Option<Held>>, CatalogError> {
        let state = self.state();
        Ok(ids.iter().map(|id| state.stripes.get(id).cloned()).collect())
    }

    async fn stripes_after(
        &self,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let state = self.state();
        let found = state.stripes.iter().filter(|(id, _)| **id > after);
        Ok(found.take(max).map(|(id, held)| (*id, held.stripe.clone())).collect())
    }

    async fn garbage(
        &self,
        due_ms: u64,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let state = self.state();
        let found = state.garbage.iter();
        let found = found.filter(|(id, garbage)| **id > after && garbage.since_ms < due_ms);
        Ok(found.take(max).map(|(id, garbage)| (*id, garbage.stripe.clone())).collect())
    }

    async fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        Ok(self.state().garbage.contains_key(&id))
    }

    async fn leftovers(
        &self,
        due_ms: u64,
        after: Option<Leftover>,
        max: usize,
    ) -> Result<Vec<Leftover>, CatalogError> {
        let state = self.state();
        let found = state.leftovers.iter();
        let found = found.filter(|(copy, since)| Some(**copy) > after && **since < due_ms);
        Ok(found.take(max).map(|(copy, _)| *copy).collect())
    }

    async fn is_leftover(&self, copy: Leftover) -> Result<bool, CatalogError> {
        Ok(self.state().leftovers.contains_key(&copy))
    }

    async fn tombstone(&self, bucket: &str, key: &str) -> Result<Option<Tombstone>, CatalogError> {
        Ok(self.state().tombstones.get(&(bucket.to_owned(), key.to_owned())).cloned())
    }

    async fn outlived_by(
        &self,
        stripe: StripeId,
        (bucket, key): (&str, &str),
        max: usize,
    ) -> Result<Vec<(String, String)>, CatalogError> {
        let state = self.state();
        let places = state.outlived.iter().filter(|(id, _, _)| *id == stripe);
        let places = places.map(|(_, bucket, key)| (bucket.clone(), key.clone()));
        let after = (bucket.to_owned(), key.to_owned());
        Ok(places.filter(|place| *place > after).take(max).collect())
    }

    async fn outlived_at(
        &self,
        (bucket, key): (&str, &str),
        after: StripeId,
        max: usize,
    ) -> Result<Vec<StripeId>, CatalogError> {
        let state = self.state();
        let of_key =
            state.outlived.iter().filter(|(id, of, at)| *id > after && of == bucket && at == key);
        Ok(of_key.take(max).map(|(id, _, _)| *id).collect())
    }

    async fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError> {
        Ok(self.state().watermarks.clone().into_iter().collect())
    }

    async fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError> {
        Ok(self.state().leases.get(name).copied())
    }

    async fn vouched(&self) -> Result<Vouched, CatalogError> {
        let state = self.state();
        Ok(Vouched { before_ms: state.vouched_before, sessions: state.sessions.clone() })
    }

    async fn verify(&self) -> Result<(), CatalogError> {
        Ok(())
    }

    async fn nodes(&self) -> Result<Vec<(String, NodeId)>, CatalogError> {
        Ok(self.state().nodes.iter().map(|(name, number)| (name.clone(), *number)).collect())
    }
}
