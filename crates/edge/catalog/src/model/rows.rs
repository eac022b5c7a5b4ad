//! The model's rows, and how they are written.

use super::State;
use crate::{
    Account, Bucket, CatalogError, Change, GatewayId, GatewayRecord, Held, Lease, Object, Outcome,
    Session, Tombstone, Upload, UploadedPart, Watermark,
};
use ripstop_model::{NodeId, StripeId};
use ripstop_object::{Absence, Place, Rows, Writes, decide, versions_begin, versions_of};
use std::borrow::Cow;
use std::collections::BTreeMap;

fn key_of(at: &Place<'_>) -> (String, String) {
    (at.bucket.clone().into_owned(), at.key.clone().into_owned())
}

fn set<K: Ord, R: Clone>(rows: &mut BTreeMap<K, R>, key: K, row: Option<&R>) {
    match row {
        Some(row) => _ = rows.insert(key, row.clone()),
        None => _ = rows.remove(&key),
    }
}

impl State {
    /// Decides on changes and writes what they come to.
    pub(super) fn commit(
        &mut self,
        now_ms: u64,
        changes: &[Change],
    ) -> Result<Vec<Outcome>, CatalogError> {
        let (outcomes, writes) = decide(&*self, now_ms, changes)?;
        self.write(&writes);
        Ok(outcomes)
    }

    pub(super) fn write(&mut self, writes: &Writes<'_>) {
        for (name, row) in &writes.buckets {
            set(&mut self.buckets, name.clone().into_owned(), row.as_deref());
        }
        for (at, row) in &writes.objects {
            set(&mut self.objects, key_of(at), row.as_deref());
        }
        for (at, row) in &writes.tombstones {
            set(&mut self.tombstones, key_of(at), row.as_deref());
        }
        for (id, row) in &writes.stripes {
            set(&mut self.stripes, *id, row.as_ref());
        }
        for (id, row) in &writes.garbage {
            set(&mut self.garbage, *id, row.as_ref());
        }
        for ((at, stripe), is_so) in &writes.outlived {
            let (bucket, key) = key_of(at);
            if *is_so {
                self.outlived.insert((*stripe, bucket, key));
            } else {
                self.outlived.remove(&(*stripe, bucket, key));
            }
        }
        for (copy, since) in &writes.leftovers {
            set(&mut self.leftovers, *copy, since.as_ref());
        }
        for (id, row) in &writes.uploads {
            set(&mut self.uploads, id.clone().into_owned(), row.as_deref());
        }
        for ((upload, number), row) in &writes.parts {
            set(&mut self.parts, (upload.clone().into_owned(), *number), row.as_deref());
        }
        for (bucket, row) in &writes.accounts {
            set(&mut self.accounts, bucket.clone().into_owned(), row.as_ref());
        }
        for (name, number) in &writes.nodes {
            self.nodes.insert(name.clone().into_owned(), *number);
        }
        for (session, until) in &writes.sessions {
            set(&mut self.sessions, *session, until.as_ref());
        }
        for (session, row) in &writes.watermarks {
            set(&mut self.watermarks, *session, row.as_ref());
        }
        for (name, lease) in &writes.leases {
            self.leases.insert(name.clone().into_owned(), *lease);
        }
        for (id, row) in &writes.gateways {
            set(&mut self.gateways, *id, row.as_deref());
        }
        self.vouched_before = writes.vouched_before.unwrap_or(self.vouched_before);
    }
}

impl Rows for State {
    type Error = CatalogError;

    fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        Ok(self.buckets.get(name).cloned())
    }

    fn object(&self, at: &Place<'_>, _absence: Absence) -> Result<Option<Object>, CatalogError> {
        Ok(self.objects.get(&key_of(at)).cloned())
    }

    fn tombstone(&self, at: &Place<'_>) -> Result<Option<Tombstone>, CatalogError> {
        Ok(self.tombstones.get(&key_of(at)).cloned())
    }

    fn stripe(&self, id: StripeId, _absence: Absence) -> Result<Option<Held>, CatalogError> {
        Ok(self.stripes.get(&id).cloned())
    }

    fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        Ok(self.garbage.contains_key(&id))
    }

    fn is_outlived(&self, stripe: StripeId, at: &Place<'_>) -> Result<bool, CatalogError> {
        let (bucket, key) = key_of(at);
        Ok(self.outlived.contains(&(stripe, bucket, key)))
    }

    fn upload(&self, id: &str, _absence: Absence) -> Result<Option<Upload>, CatalogError> {
        Ok(self.uploads.get(id).cloned())
    }

    fn part(&self, upload: &str, number: u16) -> Result<Option<UploadedPart>, CatalogError> {
        Ok(self.parts.get(&(upload.to_owned(), number)).cloned())
    }

    fn account(&self, bucket: &str) -> Result<Account, CatalogError> {
        Ok(self.accounts.get(bucket).copied().unwrap_or_default())
    }

    fn node(&self, name: &str) -> Result<Option<NodeId>, CatalogError> {
        Ok(self.nodes.get(name).copied())
    }

    fn session(&self, session: Session) -> Result<Option<u64>, CatalogError> {
        Ok(self.sessions.get(&session).copied())
    }

    fn watermark(&self, session: Session) -> Result<Option<Watermark>, CatalogError> {
        Ok(self.watermarks.get(&session).copied())
    }

    fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError> {
        Ok(self.leases.get(name).copied())
    }

    fn gateways(&self) -> Result<Vec<(GatewayId, GatewayRecord)>, CatalogError> {
        Ok(self.gateways.clone().into_iter().collect())
    }

    fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError> {
        Ok(self.watermarks.clone().into_iter().collect())
    }

    fn vouched_before(&self) -> Result<u64, CatalogError> {
        Ok(self.vouched_before)
    }

    fn versions(&self, bucket: &str, key: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        let (space, begin) = (versions_of(bucket), versions_begin(key));
        let of_key =
            self.objects.keys().filter(|(of, name)| *of == space && name.starts_with(&begin));
        Ok(of_key.take(max).map(|(_, name)| name.clone()).collect())
    }

    fn keys(&self, bucket: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        let of_bucket = self.objects.keys().filter(|(of, _)| of == bucket);
        Ok(of_bucket.take(max).map(|(_, key)| key.clone()).collect())
    }

    fn uploads(&self, bucket: &str, max: usize) -> Result<Vec<(String, String)>, CatalogError> {
        let of_bucket = self.uploads.values().filter(|upload| upload.bucket == bucket);
        let mut places: Vec<(String, String)> =
            of_bucket.map(|upload| (upload.key.clone(), upload.id.clone())).collect();
        places.sort();
        places.truncate(max);
        Ok(places)
    }

    fn parts(&self, upload: &str) -> Result<Vec<UploadedPart>, CatalogError> {
        let parts = self.parts.iter().filter(|((of, _), _)| of == upload);
        Ok(parts.map(|(_, part)| part.clone()).collect())
    }

    fn outlived_by(&self, stripe: StripeId) -> Result<Vec<Place<'static>>, CatalogError> {
        let of_stripe = self.outlived.iter().filter(|(id, _, _)| *id == stripe);
        let place = |(_, bucket, key): &(StripeId, String, String)| Place {
            bucket: Cow::Owned(bucket.clone()),
            key: Cow::Owned(key.clone()),
        };
        Ok(of_stripe.map(place).collect())
    }

    fn outlived_at(&self, at: &Place<'_>, max: usize) -> Result<Vec<StripeId>, CatalogError> {
        let of_key =
            self.outlived.iter().filter(|(_, bucket, key)| *bucket == at.bucket && *key == at.key);
        Ok(of_key.take(max).map(|(id, _, _)| *id).collect())
    }

    fn node_count(&self) -> Result<u64, CatalogError> {
        Ok(self.nodes.len() as u64)
    }

    fn sessions(&self) -> Result<Vec<(Session, u64)>, CatalogError> {
        Ok(self.sessions.iter().map(|(session, until)| (*session, *until)).collect())
    }
}
