//! What readers ask of a view.

use super::encoding::{
    Bytes, Held, LeftoverKey, VOUCHED, decode, garbage_due, garbage_stripe, leftover_key, text,
};
use super::failure::{corrupt, unavailable};
use super::short::listed_upload;
use super::source::{Objects, Uploads};
use super::table::View;
use crate::rollup::page;
use crate::{
    Bucket, CatalogError, Extent, LOCATED_EXTENTS_MAX, Leftover, Listing, ListingRequest, Located,
    Object, PARTS_LEN_MAX, Session, Stripe, Upload, UploadedPart, Vouched,
};
use redb::ReadOnlyTable;
use ripstop_model::{NodeId, StripeId};
use std::ops::Bound;

/// What a key was found to stand for.
#[expect(clippy::large_enum_variant, reason = "made one at a time, and mostly the large one")]
pub(super) enum Found {
    None,
    /// An object whose record is longer than was wanted.
    Long,
    Object(Located),
}

impl View {
    pub(super) fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        record(&self.buckets, name.as_bytes())
    }

    pub(super) fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, CatalogError> {
        let after = (Bound::Excluded(after.as_bytes()), Bound::Unbounded);
        let found = self.buckets.range::<&[u8]>(after).map_err(unavailable)?;
        found.take(max).map(|entry| decode(entry.map_err(unavailable)?.1.value())).collect()
    }

    /// The object of a key, unless its record is longer than `len_max` bytes.
    pub(super) fn object(&self, key: &[u8], len_max: usize) -> Result<Found, CatalogError> {
        let Some(record) = self.objects.get(key).map_err(unavailable)? else {
            return Ok(Found::None);
        };
        if record.value().len() > len_max {
            return Ok(Found::Long);
        }
        let object: Object = decode(record.value())?;
        let few = object.extents.len() <= LOCATED_EXTENTS_MAX;
        let stripes = if few { self.stripes_of(&object.extents)? } else { Vec::new() };
        Ok(Found::Object(Located { object, stripes }))
    }

    pub(super) fn stripe(&self, id: StripeId) -> Result<Option<Stripe>, CatalogError> {
        match self.stripes.get(id.0).map_err(unavailable)? {
            Some(found) => Ok(Some(decode::<Held>(found.value())?.stripe)),
            None => Ok(None),
        }
    }

    /// The stripes of some extents, each once, in the order of their first use.
    pub(super) fn stripes_of(
        &self,
        extents: &[Extent],
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let mut stripes: Vec<(StripeId, Stripe)> = Vec::with_capacity(extents.len());
        for id in extents.iter().map(|extent| extent.stripe) {
            if stripes.iter().all(|(known, _)| *known != id) {
                let stripe = self.stripe(id)?.ok_or_else(|| {
                    corrupt(format!("an object names stripe {id}, which is gone"))
                })?;
                stripes.push((id, stripe));
            }
        }
        Ok(stripes)
    }

    pub(super) fn list(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.must_have_bucket(request)?;
        let page = page(request, &mut Objects::new(self, &request.bucket))?;
        let objects = page
            .items
            .into_iter()
            .map(|(key, record)| Ok((key, record.listed()?)))
            .collect::<Result<Vec<_>, CatalogError>>()?;
        let last_key = objects.last().map(|(key, _)| key);
        let last = if page.ends_with_prefix { page.prefixes.last() } else { last_key };
        let next = last.filter(|_| page.is_truncated).cloned();
        Ok(Listing { objects, uploads: vec![], prefixes: page.prefixes, next, next_upload: None })
    }

    pub(super) fn uploads(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.must_have_bucket(request)?;
        let page = page(request, &mut Uploads::new(self, &request.bucket))?;
        let uploads =
            page.items
                .into_iter()
                .map(|(_, id)| {
                    let record =
                        self.uploads.get(id.as_bytes()).map_err(unavailable)?.ok_or_else(|| {
                            corrupt(format!("upload {id} has a place but no record"))
                        })?;
                    listed_upload(record.value())
                })
                .collect::<Result<Vec<_>, CatalogError>>()?;
        let mut listing = Listing {
            objects: vec![],
            uploads,
            prefixes: page.prefixes,
            next: None,
            next_upload: None,
        };
        if page.is_truncated && page.ends_with_prefix {
            listing.next = listing.prefixes.last().cloned();
        } else if page.is_truncated {
            listing.next = listing.uploads.last().map(|upload| upload.key.clone());
            listing.next_upload = listing.uploads.last().map(|upload| upload.id.clone());
        }
        Ok(listing)
    }

    fn must_have_bucket(&self, request: &ListingRequest) -> Result<(), CatalogError> {
        match self.buckets.get(request.bucket.as_bytes()).map_err(unavailable)? {
            Some(_) => Ok(()),
            None => Err(CatalogError::NoSuchBucket),
        }
    }

    pub(super) fn upload(&self, id: &str) -> Result<Option<Upload>, CatalogError> {
        record(&self.uploads, id.as_bytes())
    }

    pub(super) fn parts(
        &self,
        id: &str,
        after: u16,
        max: usize,
    ) -> Result<Vec<UploadedPart>, CatalogError> {
        let id = id.as_bytes();
        let range = (Bound::Excluded((id, after)), Bound::Included((id, u16::MAX)));
        if after == u16::MAX {
            return Ok(vec![]);
        }
        let found = self.parts.range::<(&[u8], u16)>(range).map_err(unavailable)?;
        let (mut parts, mut len) = (Vec::new(), 0);
        for entry in found.take(max) {
            let record = entry.map_err(unavailable)?.1;
            len += record.value().len();
            if len > PARTS_LEN_MAX && !parts.is_empty() {
                break;
            }
            parts.push(decode(record.value())?);
        }
        Ok(parts)
    }

    pub(super) fn stripes_after(
        &self,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let range = (Bound::Excluded(after.0), Bound::Unbounded);
        let found = self.stripes.range::<u128>(range).map_err(unavailable)?;
        found
            .take(max)
            .map(|entry| {
                let (id, held) = entry.map_err(unavailable)?;
                Ok((StripeId(id.value()), decode::<Held>(held.value())?.stripe))
            })
            .collect()
    }

    pub(super) fn garbage(
        &self,
        due_ms: u64,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let range = (Bound::Excluded(after.0), Bound::Unbounded);
        let mut due = Vec::new();
        for entry in self.garbage.range::<u128>(range).map_err(unavailable)? {
            if due.len() >= max {
                break;
            }
            let (id, record) = entry.map_err(unavailable)?;
            let (since_ms, stripe) = garbage_due(record.value())?;
            if since_ms < due_ms {
                due.push((StripeId(id.value()), garbage_stripe(stripe)?));
            }
        }
        Ok(due)
    }

    pub(super) fn leftovers(
        &self,
        due_ms: u64,
        after: Option<Leftover>,
        max: usize,
    ) -> Result<Vec<Leftover>, CatalogError> {
        let after = after.as_ref().map(leftover_key).map_or(Bound::Unbounded, Bound::Excluded);
        let range = (after, Bound::Unbounded);
        let mut due = Vec::new();
        for entry in self.leftovers.range::<LeftoverKey>(range).map_err(unavailable)? {
            if due.len() >= max {
                break;
            }
            let (key, since_ms) = entry.map_err(unavailable)?;
            if since_ms.value() < due_ms {
                let (stripe, index, node) = key.value();
                due.push(Leftover { stripe: StripeId(stripe), index, node: NodeId(node) });
            }
        }
        Ok(due)
    }

    pub(super) fn is_leftover(&self, copy: &Leftover) -> Result<bool, CatalogError> {
        Ok(self.leftovers.get(leftover_key(copy)).map_err(unavailable)?.is_some())
    }

    pub(super) fn vouched(&self) -> Result<Vouched, CatalogError> {
        let before = self.meta.get(VOUCHED).map_err(unavailable)?;
        let before_ms = before.ok_or_else(|| corrupt("it vouches for nothing".into()))?.value();
        let sessions = self.sessions.range::<u32>(..).map_err(unavailable)?.map(|entry| {
            let (session, until) = entry.map_err(unavailable)?;
            Ok((Session(session.value()), until.value()))
        });
        Ok(Vouched { before_ms, sessions: sessions.collect::<Result<_, CatalogError>>()? })
    }

    pub(super) fn nodes(&self) -> Result<Vec<(String, NodeId)>, CatalogError> {
        let found = self.nodes.range::<&[u8]>(..).map_err(unavailable)?;
        found
            .map(|entry| {
                let (name, number) = entry.map_err(unavailable)?;
                Ok((text(name.value())?, NodeId(number.value())))
            })
            .collect()
    }
}

fn record<T: serde::de::DeserializeOwned>(
    table: &ReadOnlyTable<Bytes, Bytes>,
    key: &[u8],
) -> Result<Option<T>, CatalogError> {
    table.get(key).map_err(unavailable)?.map(|found| decode(found.value())).transpose()
}
