//! What readers ask of a view.

use super::failure::corrupt;
use super::kinds::{LeftoverKey, VOUCHED, leftover_key};
use super::rows::{Entry, Stored};
use super::short::{garbage_since, listed};
use super::source::{Objects, Uploads};
use super::table::View;
use crate::key::text;
use crate::rollup::page;
use crate::versions::Latest;
use crate::{
    BUCKETS_LEN_MAX, Bucket, CatalogError, Extent, GatewayId, GatewayRecord, Held,
    LOCATED_EXTENTS_MAX, Lease, Leftover, Listing, ListingRequest, Located, Object, PARTS_LEN_MAX,
    Refusal, Session, Stripe, Tombstone, Upload, UploadedPart, Versioning, Vouched, Watermark,
};
use redb::Key;
use ripstop_model::{NodeId, StripeId};
use ripstop_object::versions_of;
use std::ops::Bound;

/// What is wrong with a catalog that does not say which names of stripes are all its own.
const UNDATED: &str = "the time before which it knows every name of a stripe is not recorded";

/// Records as they come, until they are longer than `len_max` together; one at least, if there is
/// any.
fn read_bounded<'a, K: Key + 'static, R: Stored>(
    entries: impl Iterator<Item = Result<Entry<'a, K, R>, CatalogError>>,
    len_max: usize,
) -> Result<Vec<R>, CatalogError> {
    let (mut records, mut len) = (Vec::new(), 0);
    for entry in entries {
        let entry = entry?;
        len += entry.len();
        if len > len_max && !records.is_empty() {
            break;
        }
        records.push(entry.read()?);
    }
    Ok(records)
}

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
        self.buckets.get(&name.as_bytes())
    }

    pub(super) fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, CatalogError> {
        let after = (Bound::Excluded(after.as_bytes()), Bound::Unbounded);
        read_bounded(self.buckets.range::<&[u8]>(after)?.take(max), BUCKETS_LEN_MAX)
    }

    /// The object of a key, unless its record is longer than `len_max` bytes.
    pub(super) fn object(&self, key: &[u8], len_max: usize) -> Result<Found, CatalogError> {
        let Some(record) = self.objects.raw(&key)? else {
            return self.objects.must_be_absent(&key).map(|()| Found::None);
        };
        if record.value().len() > len_max {
            return Ok(Found::Long);
        }
        self.located(self.objects.decode(&key, record.value())?)
    }

    /// An object with its stripes, unless they are many.
    pub(super) fn located(&self, object: Object) -> Result<Found, CatalogError> {
        let few = object.extents.len() <= LOCATED_EXTENTS_MAX;
        let stripes = if few { self.stripes_of(&object.extents)? } else { Vec::new() };
        Ok(Found::Object(Located { object, stripes, version: None }))
    }

    pub(super) fn stripe(&self, id: StripeId) -> Result<Option<Stripe>, CatalogError> {
        Ok(self.stripes.get(&id.0)?.map(|held| held.stripe))
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
        let nulls = Objects::new(self, &request.bucket);
        match self.must_have_bucket(request)? {
            Versioning::Never => page(request, &mut { nulls })?.of_objects(|entry| listed(&entry)),
            Versioning::Enabled | Versioning::Suspended => {
                let named = Objects::new(self, &versions_of(&request.bucket));
                let latest = &mut Latest::new(nulls, named);
                page(request, latest)?.of_objects(|entry| listed(&entry))
            }
        }
    }

    pub(super) fn uploads(&self, request: &ListingRequest) -> Result<Listing, CatalogError> {
        self.must_have_bucket(request)?;
        page(request, &mut Uploads::new(self, &request.bucket))?.of_uploads(|id| {
            let upload = self.upload(&id)?;
            upload.ok_or_else(|| corrupt(format!("upload {id} has a place but no record")))
        })
    }

    /// Whether the bucket, which must be there, keeps versions.
    pub(super) fn must_have_bucket(
        &self,
        request: &ListingRequest,
    ) -> Result<Versioning, CatalogError> {
        let versioning = self.versioning(&request.bucket)?;
        versioning.ok_or(CatalogError::Refused(Refusal::NoSuchBucket))
    }

    pub(super) fn upload(&self, id: &str) -> Result<Option<Upload>, CatalogError> {
        self.uploads.get(&id.as_bytes())
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
        read_bounded(self.parts.range::<(&[u8], u16)>(range)?.take(max), PARTS_LEN_MAX)
    }

    pub(super) fn stripes_after(
        &self,
        after: StripeId,
        max: usize,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let range = (Bound::Excluded(after.0), Bound::Unbounded);
        let found = self.stripes.range::<u128>(range)?.take(max);
        found
            .map(|entry| {
                let entry = entry?;
                Ok((StripeId(entry.key()), entry.read()?.stripe))
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
        for entry in self.garbage.range::<u128>(range)? {
            if due.len() >= max {
                break;
            }
            let entry = entry?;
            if garbage_since(&entry)? < due_ms {
                due.push((StripeId(entry.key()), entry.read()?.stripe));
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
        for entry in self.leftovers.range::<LeftoverKey>(range)? {
            if due.len() >= max {
                break;
            }
            let entry = entry?;
            if entry.read()?.0 < due_ms {
                let (stripe, index, node) = entry.key();
                due.push(Leftover { stripe: StripeId(stripe), index, node: NodeId(node) });
            }
        }
        Ok(due)
    }

    pub(super) fn is_leftover(&self, copy: &Leftover) -> Result<bool, CatalogError> {
        Ok(self.leftovers.get(&leftover_key(copy))?.is_some())
    }

    pub(super) fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        Ok(self.garbage.get(&id.0)?.is_some())
    }

    pub(super) fn held(&self, id: StripeId) -> Result<Option<Held>, CatalogError> {
        self.stripes.get(&id.0)
    }

    pub(super) fn tombstone(&self, key: &[u8]) -> Result<Option<Tombstone>, CatalogError> {
        self.tombstones.get(&key)
    }

    /// Of which keys a stripe tells what is no longer so, behind one.
    pub(super) fn outlived_by(
        &self,
        stripe: StripeId,
        (bucket, key): (&str, &str),
        max: usize,
    ) -> Result<Vec<(String, String)>, CatalogError> {
        let after = Bound::Excluded((stripe.0, bucket.as_bytes(), key.as_bytes()));
        let range = (after, Bound::Unbounded);
        let mut keys = Vec::new();
        for entry in self.outlived.range::<(u128, &[u8], &[u8])>(range)?.take(max) {
            let entry = entry?;
            let (of, bucket, key) = entry.key();
            if of != stripe.0 {
                break;
            }
            keys.push((text(bucket)?, text(key)?));
        }
        Ok(keys)
    }

    /// Which stripes tell of a key what is no longer so, behind one.
    pub(super) fn outlived_at(
        &self,
        (bucket, key): (&str, &str),
        after: StripeId,
        max: usize,
    ) -> Result<Vec<StripeId>, CatalogError> {
        let of = |id: u128| (bucket.as_bytes(), key.as_bytes(), id);
        let range = (Bound::Excluded(of(after.0)), Bound::Included(of(u128::MAX)));
        if after.0 == u128::MAX {
            return Ok(vec![]);
        }
        let found = self.outlived_at.range::<(&[u8], &[u8], u128)>(range)?;
        found.take(max).map(|entry| Ok(StripeId(entry?.key().2))).collect()
    }

    pub(super) fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError> {
        let watermarks = self.watermarks.all()?.map(|entry| {
            let entry = entry?;
            Ok((Session(entry.key()), entry.read()?))
        });
        watermarks.collect()
    }

    pub(super) fn gateways(&self) -> Result<Vec<(GatewayId, GatewayRecord)>, CatalogError> {
        let gateways = self.gateways.all()?.map(|entry| {
            let entry = entry?;
            Ok((GatewayId(entry.key()), entry.read()?))
        });
        gateways.collect()
    }

    pub(super) fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError> {
        self.leases.get(&name.as_bytes())
    }

    pub(super) fn vouched(&self) -> Result<Vouched, CatalogError> {
        let before = self.facts.get(&VOUCHED)?;
        let before_ms = before.ok_or_else(|| corrupt(UNDATED.into()))?.0;
        let sessions = self.sessions.all()?.map(|entry| {
            let entry = entry?;
            Ok((Session(entry.key()), entry.read()?.0))
        });
        Ok(Vouched { before_ms, sessions: sessions.collect::<Result<_, CatalogError>>()? })
    }

    pub(super) fn nodes(&self) -> Result<Vec<(String, NodeId)>, CatalogError> {
        let nodes = self.nodes.all()?.map(|entry| {
            let entry = entry?;
            let number = entry.read()?.0;
            let number = u16::try_from(number).map_err(|_| corrupt(format!("node {number}")))?;
            Ok((text(entry.key())?, NodeId(number)))
        });
        nodes.collect()
    }
}
