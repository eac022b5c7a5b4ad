//! The rows that a decision looks at, read from the tables of a transaction.

use super::failure::corrupt;
use super::kinds::VOUCHED;
use super::rows::{Rows, Stored};
use super::table::Tables;
use crate::key::{object_key, text};
use crate::{
    Account, Bucket, CatalogError, GatewayId, GatewayRecord, Held, Lease, Object, Session,
    Tombstone, Upload, UploadedPart, Watermark,
};
use redb::Key;
use ripstop_model::{NodeId, StripeId};
use ripstop_object::{Absence, Inconsistent, Place, versions_begin, versions_of};
use std::borrow::Cow;

impl From<Inconsistent> for CatalogError {
    fn from(Inconsistent { reason }: Inconsistent) -> Self {
        corrupt(reason)
    }
}

/// The key of a place in the tables of objects and tombstones.
pub(super) fn key_of(at: &Place<'_>) -> Vec<u8> {
    object_key(&at.bucket, at.key.as_bytes())
}

/// The row of a key; that there is none must be as sure as is asked.
fn row<K: Key + 'static, R: Stored>(
    rows: &Rows<&redb::WriteTransaction, K, R>,
    key: &K::SelfType<'_>,
    absence: Absence,
) -> Result<Option<R>, CatalogError> {
    match absence {
        Absence::Believed => rows.find(key),
        Absence::Certain => rows.get(key),
    }
}

impl ripstop_object::Rows for Tables<'_> {
    type Error = CatalogError;

    fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        self.buckets.get(&name.as_bytes())
    }

    fn object(&self, at: &Place<'_>, absence: Absence) -> Result<Option<Object>, CatalogError> {
        row(&self.objects, &key_of(at).as_slice(), absence)
    }

    fn tombstone(&self, at: &Place<'_>) -> Result<Option<Tombstone>, CatalogError> {
        self.tombstones.find(&key_of(at).as_slice())
    }

    fn stripe(&self, id: StripeId, absence: Absence) -> Result<Option<Held>, CatalogError> {
        row(&self.stripes, &id.0, absence)
    }

    fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        self.garbage.has(&id.0)
    }

    fn is_outlived(&self, stripe: StripeId, at: &Place<'_>) -> Result<bool, CatalogError> {
        self.outlived.has(&(stripe.0, at.bucket.as_bytes(), at.key.as_bytes()))
    }

    fn upload(&self, id: &str, absence: Absence) -> Result<Option<Upload>, CatalogError> {
        row(&self.uploads, &id.as_bytes(), absence)
    }

    fn part(&self, upload: &str, number: u16) -> Result<Option<UploadedPart>, CatalogError> {
        self.parts.get(&(upload.as_bytes(), number))
    }

    fn account(&self, bucket: &str) -> Result<Account, CatalogError> {
        Ok(self.usage.find(&bucket.as_bytes())?.unwrap_or_default())
    }

    fn node(&self, name: &str) -> Result<Option<NodeId>, CatalogError> {
        let Some(number) = self.nodes.get(&name.as_bytes())? else { return Ok(None) };
        let number = u16::try_from(number.0).map_err(|_| corrupt(format!("node {}", number.0)))?;
        Ok(Some(NodeId(number)))
    }

    fn session(&self, session: Session) -> Result<Option<u64>, CatalogError> {
        self.sessions.number(&session.0)
    }

    fn watermark(&self, session: Session) -> Result<Option<Watermark>, CatalogError> {
        self.watermarks.find(&session.0)
    }

    fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError> {
        self.leases.get(&name.as_bytes())
    }

    fn gateways(&self) -> Result<Vec<(GatewayId, GatewayRecord)>, CatalogError> {
        let gateways = self.gateways.all()?.map(|entry| {
            let entry = entry?;
            Ok((GatewayId(entry.key()), entry.read()?))
        });
        gateways.collect()
    }

    fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError> {
        let watermarks = self.watermarks.all()?.map(|entry| {
            let entry = entry?;
            Ok((Session(entry.key()), entry.read()?))
        });
        watermarks.collect()
    }

    fn vouched_before(&self) -> Result<u64, CatalogError> {
        Ok(self.facts.number(&VOUCHED)?.unwrap_or(0))
    }

    fn versions(&self, bucket: &str, key: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        let space = object_key(&versions_of(bucket), b"");
        let begin = object_key(&versions_of(bucket), versions_begin(key).as_bytes());
        let mut names = Vec::new();
        for entry in self.objects.range(begin.as_slice()..)?.take(max) {
            let entry = entry?;
            if !entry.key().starts_with(&begin) {
                break;
            }
            names.push(text(&entry.key()[space.len()..])?);
        }
        Ok(names)
    }

    fn keys(&self, bucket: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        let begin = object_key(bucket, b"");
        let mut keys = Vec::new();
        for entry in self.objects.range(begin.as_slice()..)?.take(max) {
            let entry = entry?;
            let Some(key) = entry.key().strip_prefix(begin.as_slice()) else { break };
            keys.push(text(key)?);
        }
        Ok(keys)
    }

    fn uploads(&self, bucket: &str, max: usize) -> Result<Vec<(String, String)>, CatalogError> {
        let begin = (bucket.as_bytes(), b"".as_slice(), b"".as_slice());
        let mut uploads = Vec::new();
        for entry in self.uploads_by_key.range(begin..)?.take(max) {
            let entry = entry?;
            let (of, key, id) = entry.key();
            if of != bucket.as_bytes() {
                break;
            }
            uploads.push((text(key)?, text(id)?));
        }
        Ok(uploads)
    }

    fn parts(&self, upload: &str) -> Result<Vec<UploadedPart>, CatalogError> {
        let id = upload.as_bytes();
        self.parts.range((id, 0)..=(id, u16::MAX))?.map(|entry| entry?.read()).collect()
    }

    fn outlived_by(&self, stripe: StripeId) -> Result<Vec<Place<'static>>, CatalogError> {
        let begin = (stripe.0, b"".as_slice(), b"".as_slice());
        let mut places = Vec::new();
        for entry in self.outlived.range(begin..)? {
            let entry = entry?;
            let (of, bucket, key) = entry.key();
            if of != stripe.0 {
                break;
            }
            let (bucket, key) = (Cow::Owned(text(bucket)?), Cow::Owned(text(key)?));
            places.push(Place { bucket, key });
        }
        Ok(places)
    }

    fn outlived_at(&self, at: &Place<'_>, max: usize) -> Result<Vec<StripeId>, CatalogError> {
        let (bucket, key) = (at.bucket.as_bytes(), at.key.as_bytes());
        let found = self.outlived_at.range((bucket, key, 0)..=(bucket, key, u128::MAX))?;
        found.take(max).map(|entry| Ok(StripeId(entry?.key().2))).collect()
    }

    fn node_count(&self) -> Result<u64, CatalogError> {
        self.nodes.len()
    }

    fn sessions(&self) -> Result<Vec<(Session, u64)>, CatalogError> {
        let sessions = self.sessions.all()?.map(|entry| {
            let entry = entry?;
            Ok((Session(entry.key()), entry.read()?.0))
        });
        sessions.collect()
    }
}
