//! Writes what was decided.

use super::kinds::{Nothing, Number, VOUCHED, leftover_key};
use super::lookup::key_of;
use super::rows::Stored;
use super::table::{Tables, Written};
use crate::CatalogError;
use redb::Key;
use ripstop_object::Writes;
use std::borrow::Borrow;

/// Writes a row, or removes it.
fn set<K: Key + 'static, R: Stored>(
    rows: &mut Written<'_, K, R>,
    key: &K::SelfType<'_>,
    row: Option<&impl Borrow<R>>,
) -> Result<(), CatalogError> {
    match row {
        Some(row) => rows.insert(key, row.borrow()),
        None => rows.remove(key),
    }
}

impl Tables<'_> {
    /// Writes everything.
    pub(super) fn write(&mut self, writes: &Writes<'_>) -> Result<(), CatalogError> {
        for (name, row) in &writes.buckets {
            set(&mut self.buckets, &name.as_bytes(), row.as_ref())?;
        }
        for (at, row) in &writes.objects {
            set(&mut self.objects, &key_of(at).as_slice(), row.as_ref())?;
        }
        for (id, row) in &writes.stripes {
            set(&mut self.stripes, &id.0, row.as_ref())?;
        }
        for (id, row) in &writes.garbage {
            set(&mut self.garbage, &id.0, row.as_ref())?;
        }
        for (copy, since) in &writes.leftovers {
            set(&mut self.leftovers, &leftover_key(copy), since.map(Number).as_ref())?;
        }
        for (bucket, row) in &writes.accounts {
            set(&mut self.usage, &bucket.as_bytes(), row.as_ref())?;
        }
        self.write_uploads(writes)?;
        self.write_tellings(writes)?;
        for (name, number) in &writes.nodes {
            self.nodes.insert(&name.as_bytes(), &Number(number.0.into()))?;
        }
        for (session, until) in &writes.sessions {
            set(&mut self.sessions, &session.0, until.map(Number).as_ref())?;
        }
        for (session, row) in &writes.watermarks {
            set(&mut self.watermarks, &session.0, row.as_ref())?;
        }
        for (id, row) in &writes.gateways {
            set(&mut self.gateways, &id.0, row.as_deref())?;
        }
        for (name, lease) in &writes.leases {
            self.leases.insert(&name.as_bytes(), lease)?;
        }
        if let Some(before) = writes.vouched_before {
            self.facts.insert(&VOUCHED, &Number(before))?;
        }
        Ok(())
    }

    fn write_uploads(&mut self, writes: &Writes<'_>) -> Result<(), CatalogError> {
        for (id, row) in &writes.uploads {
            set(&mut self.uploads, &id.as_bytes(), row.as_ref())?;
        }
        for ((at, id), is_there) in &writes.upload_places {
            let key: (&[u8], &[u8], &[u8]) =
                (at.bucket.as_bytes(), at.key.as_bytes(), id.as_bytes());
            set(&mut self.uploads_by_key, &key, is_there.then_some(&Nothing))?;
        }
        for ((upload, number), row) in &writes.parts {
            set(&mut self.parts, &(upload.as_bytes(), *number), row.as_ref())?;
        }
        Ok(())
    }

    fn write_tellings(&mut self, writes: &Writes<'_>) -> Result<(), CatalogError> {
        for (at, row) in &writes.tombstones {
            set(&mut self.tombstones, &key_of(at).as_slice(), row.as_ref())?;
        }
        for ((at, stripe), is_so) in &writes.outlived {
            let (bucket, key) = (at.bucket.as_bytes(), at.key.as_bytes());
            let row = is_so.then_some(&Nothing);
            set(&mut self.outlived, &(stripe.0, bucket, key), row)?;
            set(&mut self.outlived_at, &(bucket, key, stripe.0), row)?;
        }
        Ok(())
    }
}
