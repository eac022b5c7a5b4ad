//! What the model answers, by looking at everything.

use super::State;
use super::page::{Entry, empty_page, grouped};
use crate::{
    Bucket, Extent, Held, LOCATED_EXTENTS_MAX, Leftover, ListedUpload, ListedVersion, Listing,
    ListingRequest, Located, Query, Refusal, Reply, Stripe, Upload, UploadedPart, Usage, Vouched,
};
use ripstop_model::StripeId;

type Key = (String, String);

fn own((bucket, key): (&str, &str)) -> Key {
    (bucket.to_owned(), key.to_owned())
}

impl State {
    /// Answers a query with the answer of its name.
    pub(super) fn answer(&self, query: Query<'_>) -> Result<Reply, Refusal> {
        let garbage = |id| self.garbage.contains_key(&id);
        let held = |id| self.stripes.get(id).cloned();
        let stripe = |id| held(id).map(|held: Held| held.stripe);
        Ok(match query {
            Query::Bucket { name } => Reply::Bucket(self.buckets.get(name).cloned()),
            Query::Buckets { after, max } => Reply::Buckets(self.buckets_after(after, max)),
            Query::Usage { bucket } => Reply::Usage(self.usage(bucket)),
            Query::Usages { after, max } => Reply::Usages(self.usages_after(after, max)),
            Query::Object { bucket, key } => Reply::Object(self.located((bucket, key))),
            Query::Current { bucket, key } => Reply::Current(self.current(bucket, key)),
            Query::BucketWith { bucket, key } => {
                let found = self.buckets.get(bucket).cloned();
                Reply::BucketWith(Box::new((found, self.current(bucket, key))))
            }
            Query::List { request } => Reply::List(self.page(request)?),
            Query::Versions { request } => Reply::Versions(self.page_of_versions(request)?),
            Query::Upload { id } => Reply::Upload(self.uploads.get(id).cloned()),
            Query::Parts { id, after, max } => Reply::Parts(self.parts_after(id, after, max)),
            Query::Uploads { request } => Reply::Uploads(self.page_of_uploads(request)?),
            Query::Stripes { ids } => Reply::Stripes(ids.iter().map(stripe).collect()),
            Query::Held { ids } => Reply::Held(ids.iter().map(held).collect()),
            Query::StripesAfter { after, max } => {
                Reply::StripesAfter(self.stripes_above(after, max))
            }
            Query::Garbage { due_ms, after, max } => {
                Reply::Garbage(self.garbage_above(due_ms, after, max))
            }
            Query::IsGarbage { id } => Reply::IsGarbage(garbage(id)),
            Query::Leftovers { due_ms, after, max } => {
                Reply::Leftovers(self.leftovers_above(due_ms, after, max))
            }
            Query::IsLeftover { copy } => Reply::IsLeftover(self.leftovers.contains_key(&copy)),
            Query::Tombstone { bucket, key } => {
                Reply::Tombstone(self.tombstones.get(&own((bucket, key))).cloned())
            }
            Query::OutlivedBy { stripe, after, max } => {
                Reply::OutlivedBy(self.places_outlived(stripe, &own(after), max))
            }
            Query::OutlivedAt { at, after, max } => {
                Reply::OutlivedAt(self.stripes_outlived(at, after, max))
            }
            Query::Watermarks {} => {
                Reply::Watermarks(self.watermarks.clone().into_iter().collect())
            }
            Query::Gateways {} => Reply::Gateways(self.gateways.clone().into_iter().collect()),
            Query::Lease { name } => Reply::Lease(self.leases.get(name).copied()),
            Query::Vouched {} => Reply::Vouched(self.vouched()),
            Query::Verify {} => Reply::Verify(()),
            Query::Nodes {} => Reply::Nodes(self.nodes.clone().into_iter().collect()),
        })
    }

    pub(super) fn must_have(&self, bucket: &str) -> Result<(), Refusal> {
        self.buckets.get(bucket).map(|_| ()).ok_or(Refusal::NoSuchBucket)
    }

    /// What a bucket holds.
    pub fn usage(&self, bucket: &str) -> Usage {
        self.accounts.get(bucket).copied().unwrap_or_default().usage()
    }

    fn buckets_after(&self, after: &str, max: usize) -> Vec<Bucket> {
        let after = self.buckets.values().filter(|bucket| bucket.name.as_str() > after);
        after.take(max).cloned().collect()
    }

    fn usages_after(&self, after: &str, max: usize) -> Vec<(String, Usage)> {
        let after = self.buckets.keys().filter(|name| name.as_str() > after);
        after.take(max).map(|name| (name.clone(), self.usage(name))).collect()
    }

    pub(super) fn located(&self, at: (&str, &str)) -> Option<Located> {
        let object = self.objects.get(&own(at))?;
        let mut stripes: Vec<(StripeId, Stripe)> = Vec::new();
        let few = object.extents.len() <= LOCATED_EXTENTS_MAX;
        for Extent { stripe, .. } in object.extents.iter().filter(|_| few) {
            if stripes.iter().all(|(id, _)| id != stripe) {
                stripes.push((*stripe, self.stripes[stripe].stripe.clone()));
            }
        }
        Some(Located { object: object.clone(), stripes, version: None })
    }

    fn page(&self, request: &ListingRequest) -> Result<Listing, Refusal> {
        self.must_have(&request.bucket)?;
        let latest = self.versions_of(&request.bucket).into_iter();
        let latest = latest.filter(|(_, listed)| listed.is_latest && !listed.is_marker);
        let items = latest.map(|(_, ListedVersion { key, object, .. })| {
            (key.clone(), String::new(), (key, object))
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

    fn parts_after(&self, id: &str, after: u16, max: usize) -> Vec<UploadedPart> {
        let parts = self.parts.iter().filter(|((of, number), _)| of == id && *number > after);
        parts.take(max).map(|(_, part)| part.clone()).collect()
    }

    fn page_of_uploads(&self, request: &ListingRequest) -> Result<Listing, Refusal> {
        self.must_have(&request.bucket)?;
        let mut uploads: Vec<&Upload> =
            self.uploads.values().filter(|upload| upload.bucket == request.bucket).collect();
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

    fn stripes_above(&self, after: StripeId, max: usize) -> Vec<(StripeId, Stripe)> {
        let found = self.stripes.iter().filter(|(id, _)| **id > after);
        found.take(max).map(|(id, held)| (*id, held.stripe.clone())).collect()
    }

    fn garbage_above(&self, due_ms: u64, after: StripeId, max: usize) -> Vec<(StripeId, Stripe)> {
        let found = self.garbage.iter();
        let found = found.filter(|(id, garbage)| **id > after && garbage.since_ms < due_ms);
        found.take(max).map(|(id, garbage)| (*id, garbage.stripe.clone())).collect()
    }

    fn leftovers_above(&self, due_ms: u64, after: Option<Leftover>, max: usize) -> Vec<Leftover> {
        let found = self.leftovers.iter();
        let found = found.filter(|(copy, since)| Some(**copy) > after && **since < due_ms);
        found.take(max).map(|(copy, _)| *copy).collect()
    }

    fn places_outlived(&self, stripe: StripeId, after: &Key, max: usize) -> Vec<Key> {
        let places = self.outlived.iter().filter(|(id, _, _)| *id == stripe);
        let places = places.map(|(_, bucket, key)| (bucket.clone(), key.clone()));
        places.filter(|place| place > after).take(max).collect()
    }

    fn stripes_outlived(&self, at: (&str, &str), after: StripeId, max: usize) -> Vec<StripeId> {
        let of_key = self.outlived.iter();
        let of_key = of_key.filter(|(id, of, key)| *id > after && (&**of, &**key) == at);
        of_key.take(max).map(|(id, _, _)| *id).collect()
    }

    fn vouched(&self) -> Vouched {
        Vouched { before_ms: self.vouched_before, sessions: self.sessions.clone() }
    }
}
