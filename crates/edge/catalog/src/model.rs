//! The catalog as maps in memory, with whole scans instead of counts and seeks: too slow to be of
//! use, too simple to be wrong. What every implementation is compared with.

mod audit;
mod page;
mod usage;

use crate::{
    Applied, Bucket, Catalog, CatalogError, Change, Condition, Extent, Leftover, Listed,
    ListedUpload, Listing, ListingRequest, Located, Object, Outcome, Quota, Refusal, Stripe,
    Upload, UploadedPart, Usage, Vouched,
};
use async_trait::async_trait;
use page::{Entry, empty_page, grouped};
use ripstop_model::{NodeId, StripeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Stripes = [(StripeId, Stripe)];

/// The reference model.
#[derive(Debug, Default)]
pub struct Model {
    state: Mutex<State>,
}

/// Everything that the model holds; [`Model::state`] lends it to those who make up changes.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// By name.
    pub buckets: BTreeMap<String, Bucket>,
    /// By bucket and key.
    pub objects: BTreeMap<(String, String), Object>,
    /// By id.
    pub uploads: BTreeMap<String, Upload>,
    /// By upload and number.
    pub parts: BTreeMap<(String, u16), UploadedPart>,
    /// In force.
    pub stripes: BTreeMap<StripeId, Stripe>,
    /// With the time when it was due.
    pub garbage: BTreeMap<StripeId, (u64, Stripe)>,
    /// Since when.
    pub leftovers: BTreeMap<Leftover, u64>,
    /// Whose names are known.
    pub vouched: Vouched,
    /// By name.
    pub nodes: BTreeMap<String, NodeId>,
}

impl Model {
    /// What it holds.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Catalog::commit_one`], at once.
    pub fn apply(&self, now_ms: u64, change: &Change) -> Outcome {
        let mut state = self.state();
        let mut next = state.clone();
        let applied = next.apply(now_ms, change)?;
        next.collect(now_ms);
        *state = next;
        Ok(applied)
    }
}

fn held_by(extents: &[Extent], told_by: Option<StripeId>) -> BTreeSet<StripeId> {
    extents.iter().map(|extent| extent.stripe).chain(told_by).collect()
}

impl State {
    fn apply(&mut self, now_ms: u64, change: &Change) -> Outcome {
        let mut applied = Applied::default();
        match change {
            Change::CreateBucket { bucket, stripes } => {
                if self.buckets.contains_key(&bucket.name) {
                    return Err(Refusal::BucketExists);
                }
                self.arrive(stripes, held_by(&[], Some(bucket.told_by)))?;
                self.buckets.insert(bucket.name.clone(), bucket.clone());
            }
            Change::DeleteBucket { name, stripes, .. } => {
                self.must_have(name)?;
                if self.objects.keys().any(|(bucket, _)| bucket == name)
                    || self.uploads.values().any(|upload| upload.bucket == *name)
                {
                    return Err(Refusal::BucketNotEmpty);
                }
                self.buckets.remove(name);
                self.discard(stripes);
            }
            Change::PutObject { bucket, key, object, stripes, condition, quota } => {
                self.must_have(bucket)?;
                self.may_put((bucket, key), object, condition, quota, None)?;
                applied.replaced = self.put(bucket, key, object, stripes)?;
            }
            Change::DeleteObject { bucket, key, condition, stripes, .. } => {
                self.must_have(bucket)?;
                let place = (bucket.clone(), key.clone());
                hold(condition, self.objects.get(&place))?;
                applied.replaced = self.objects.remove(&place);
                self.discard(stripes);
            }
            Change::Outlive { stripe, .. } => self.discard(std::slice::from_ref(stripe)),
            Change::Bury { stripes, .. } => self.discard(stripes),
            Change::CreateUpload(upload) => {
                self.must_have(&upload.bucket)?;
                if self.uploads.contains_key(&upload.id) {
                    return Err(Refusal::ConditionFailed);
                }
                self.uploads.insert(upload.id.clone(), upload.clone());
            }
            Change::PutPart { upload, part, stripes, quota } => {
                self.put_part(upload, part, stripes, quota)?;
            }
            Change::CompleteUpload { upload: id, parts, object, stripes, condition, quota } => {
                let Upload { bucket, key, .. } = self.upload(id)?;
                self.must_have_parts(id, parts, object)?;
                self.may_put((&bucket, &key), object, condition, quota, Some(id))?;
                applied.replaced = self.put(&bucket, &key, object, stripes)?;
                self.end(id);
            }
            Change::AbortUpload { upload } => {
                self.upload(upload)?;
                self.end(upload);
            }
            Change::Discard { stripes } => self.discard(stripes),
            Change::PlaceFragment { stripe, index, node } => self.place(*stripe, *index, *node),
            Change::MoveFragment { stripe, nodes, index, to } => {
                self.move_fragment(now_ms, *stripe, nodes, *index, *to)?;
            }
            Change::ForgetLeftovers { leftovers } => {
                self.leftovers.retain(|copy, _| !leftovers.contains(copy));
            }
            Change::ForgetGarbage { stripes } => {
                self.garbage.retain(|id, _| !stripes.contains(id));
            }
            Change::Reserve { session, until_ms } => self.vouched.reserve(*session, *until_ms),
            Change::Vouch { before_ms } => self.vouched = Vouched::before(*before_ms),
            Change::NameNode { name } => {
                let next = NodeId(self.nodes.len() as u16);
                applied.node = Some(*self.nodes.entry(name.clone()).or_insert(next));
            }
        }
        Ok(applied)
    }

    fn discard(&mut self, stripes: &Stripes) {
        for (id, stripe) in stripes {
            // Due only when collected; here it may not overwrite what is known.
            if !self.garbage.contains_key(id) {
                self.stripes.entry(*id).or_insert_with(|| stripe.clone());
            }
        }
    }

    /// Whatever no holder names goes to the garbage.
    fn collect(&mut self, now_ms: u64) {
        let mut named: BTreeSet<StripeId> =
            self.buckets.values().map(|bucket| bucket.told_by).collect();
        for object in self.objects.values() {
            named.extend(held_by(&object.extents, Some(object.told_by)));
        }
        for part in self.parts.values() {
            named.extend(held_by(&part.extents, None));
        }
        for (id, stripe) in self.stripes.extract_if(.., |id, _| !named.contains(id)) {
            self.garbage.insert(id, (now_ms, stripe));
        }
    }

    fn must_have(&self, bucket: &str) -> Result<(), Refusal> {
        self.buckets.get(bucket).map(|_| ()).ok_or(Refusal::NoSuchBucket)
    }

    fn upload(&self, id: &str) -> Result<Upload, Refusal> {
        self.uploads.get(id).cloned().ok_or(Refusal::NoSuchUpload)
    }

    fn must_have_parts(
        &self,
        id: &str,
        parts: &[(u16, String)],
        object: &Object,
    ) -> Result<(), Refusal> {
        let held = held_by(&object.extents, Some(object.told_by));
        for (number, etag) in parts {
            let is_as_it_was = self.parts.get(&(id.to_owned(), *number)).is_some_and(|part| {
                part.etag == *etag && held_by(&part.extents, None).is_subset(&held)
            });
            if !is_as_it_was {
                return Err(Refusal::PartChanged { number: *number });
            }
        }
        Ok(())
    }

    fn end(&mut self, upload: &str) {
        self.uploads.remove(upload);
        self.parts.retain(|(id, _), _| id != upload);
    }

    fn put_part(
        &mut self,
        upload: &str,
        part: &UploadedPart,
        stripes: &Stripes,
        quota: &Quota,
    ) -> Result<(), Refusal> {
        let bucket = self.upload(upload)?.bucket;
        let place = (upload.to_owned(), part.number);
        self.must_fit(&bucket, quota, |state| {
            state.parts.insert(place.clone(), part.clone());
        })?;
        self.arrive(stripes, held_by(&part.extents, None))?;
        self.parts.insert(place, part.clone());
        Ok(())
    }

    /// Whether an object may be put, with which an upload ends perhaps.
    fn may_put(
        &self,
        (bucket, key): (&str, &str),
        object: &Object,
        condition: &Condition,
        quota: &Quota,
        ends: Option<&str>,
    ) -> Result<(), Refusal> {
        let place = (bucket.to_owned(), key.to_owned());
        hold(condition, self.objects.get(&place))?;
        self.must_fit(bucket, quota, |state| {
            state.objects.insert(place, object.clone());
            if let Some(upload) = ends {
                state.end(upload);
            }
        })
    }

    fn put(
        &mut self,
        bucket: &str,
        key: &str,
        object: &Object,
        stripes: &Stripes,
    ) -> Result<Option<Object>, Refusal> {
        let place = (bucket.to_owned(), key.to_owned());
        self.arrive(stripes, held_by(&object.extents, Some(object.told_by)))?;
        Ok(self.objects.insert(place, object.clone()))
    }

    fn arrive(&mut self, new: &Stripes, held: BTreeSet<StripeId>) -> Result<(), Refusal> {
        for (id, stripe) in new {
            if self.garbage.contains_key(id) {
                return Err(Refusal::StripeGone { stripe: *id });
            }
            self.stripes.entry(*id).or_insert_with(|| stripe.clone());
        }
        match held.into_iter().find(|id| !self.stripes.contains_key(id)) {
            Some(stripe) => Err(Refusal::StripeGone { stripe }),
            None => Ok(()),
        }
    }

    fn move_fragment(
        &mut self,
        now_ms: u64,
        stripe: StripeId,
        nodes: &[Option<u16>],
        index: u8,
        to: NodeId,
    ) -> Result<(), Refusal> {
        let found = self.stripes.get(&stripe).ok_or(Refusal::StripeGone { stripe })?;
        if found.nodes != nodes || usize::from(index) >= nodes.len() {
            return Err(Refusal::ConditionFailed);
        }
        if let Some(node) = found.node(index.into()) {
            self.leftovers.insert(Leftover { stripe, index, node }, now_ms);
        }
        self.place(stripe, index, Some(to));
        Ok(())
    }

    fn place(&mut self, id: StripeId, index: u8, node: Option<NodeId>) {
        let Some(stripe) = self.stripes.get_mut(&id) else { return };
        if let Some(node) = node {
            self.leftovers.remove(&Leftover { stripe: id, index, node });
        }
        let index = usize::from(index);
        while node.is_some() && stripe.nodes.len() <= index {
            stripe.nodes.push(None);
        }
        if index < stripe.nodes.len() {
            stripe.nodes[index] = node.map(|node| node.0);
        }
    }
}

fn hold(condition: &Condition, present: Option<&Object>) -> Result<(), Refusal> {
    let holds = match condition {
        Condition::Absent => present.is_none(),
        Condition::Present if present.is_none() => return Err(Refusal::NoSuchKey),
        Condition::None | Condition::Present => true,
        Condition::Etag(etag) => present.ok_or(Refusal::NoSuchKey)?.attributes.etag == *etag,
        Condition::ToldBy(stripe) => present.is_some_and(|object| object.told_by == *stripe),
    };
    if holds { Ok(()) } else { Err(Refusal::ConditionFailed) }
}

#[async_trait]
impl Catalog for Model {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        Ok(changes.iter().map(|change| self.apply(now_ms, change)).collect())
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
                stripes.push((*stripe, state.stripes[stripe].clone()));
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
        Ok(ids.iter().map(|id| state.stripes.get(id).cloned()).collect())
    }

    async fn stripes_after(
        &self,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let state = self.state();
        let found = state.stripes.iter().filter(|(id, _)| **id > after);
        Ok(found.take(max).map(|(id, stripe)| (*id, stripe.clone())).collect())
    }

    async fn garbage(
        &self,
        due_ms: u64,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let state = self.state();
        let found = state.garbage.iter().filter(|(id, (since, _))| **id > after && *since < due_ms);
        Ok(found.take(max).map(|(id, (_, stripe))| (*id, stripe.clone())).collect())
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

    async fn vouched(&self) -> Result<Vouched, CatalogError> {
        Ok(self.state().vouched.clone())
    }

    async fn verify(&self) -> Result<(), CatalogError> {
        Ok(())
    }

    async fn nodes(&self) -> Result<Vec<(String, NodeId)>, CatalogError> {
        Ok(self.state().nodes.iter().map(|(name, number)| (name.clone(), *number)).collect())
    }
}
