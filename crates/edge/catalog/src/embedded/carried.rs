//! All rows of a file as one commit left it.

use super::Embedded;
use super::failure::corrupt;
use super::health::caught;
use super::kinds::{Number, VOUCHED};
use super::rows::Stored;
use super::table::{Kept, View};
use crate::carry::{CARRIED_BYTES_MAX, CARRIED_ROWS_MAX, RowSource};
use crate::key::{split_object_key, text};
use crate::{CatalogError, Leftover, Session};
use async_trait::async_trait;
use redb::Key;
use ripstop_host::spawn_blocking;
use ripstop_model::{NodeId, StripeId};
use ripstop_object::{Place, Writes};
use std::borrow::Cow;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Reads rows of one table behind a key; the last key, if the table may have more.
type Read = fn(&View, Option<&[u8]>, &mut Writes<'static>) -> Result<Last, CatalogError>;
type Last = Option<Vec<u8>>;

/// What each table is read by. What follows from others is not read, nor is what only a file has.
const STAGES: [Read; 15] = [
    facts, nodes, sessions, watermarks, leases, buckets, accounts, stripes, garbage, leftovers,
    objects, tombstones, outlived, uploads, parts,
];

/// All rows of a catalog's file as one commit left it, whatever is written to it since.
pub struct EmbeddedRows {
    view: Arc<View>,
    /// Of [`STAGES`].
    stage: usize,
    /// The last key of the stage that was read, if its table has more.
    after: Option<Vec<u8>>,
}

impl fmt::Debug for EmbeddedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedRows").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl EmbeddedRows {
    pub(super) fn of(view: Arc<View>) -> Self {
        Self { view, stage: 0, after: None }
    }
}

impl Embedded {
    /// All its rows as they are now.
    pub fn rows(&self) -> EmbeddedRows {
        EmbeddedRows::of(self.view())
    }
}

#[async_trait]
impl RowSource for EmbeddedRows {
    async fn next(&mut self) -> Result<Option<Writes<'static>>, CatalogError> {
        while let Some(&stage) = STAGES.get(self.stage) {
            let (view, after) = (Arc::clone(&self.view), self.after.take());
            let read = move || {
                let mut rows = Writes::default();
                let last = caught(|| stage(&view, after.as_deref(), &mut rows))?;
                Ok::<_, CatalogError>((rows, last))
            };
            let read = spawn_blocking(read).await;
            let (rows, last) =
                read.map_err(|error| CatalogError::Unavailable(Box::new(error)))??;
            self.stage += usize::from(last.is_none());
            self.after = last;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

/// Hands over records behind a key, a bounded number of them; the last key, if there may be more.
fn scan<K: Key + 'static, R: Stored>(
    rows: &Kept<K, R>,
    after: Option<&[u8]>,
    mut take: impl FnMut(K::SelfType<'_>, R) -> Result<(), CatalogError>,
) -> Result<Option<Vec<u8>>, CatalogError> {
    let after = after.map_or(Bound::Unbounded, |key| Bound::Excluded(K::from_bytes(key)));
    let (mut count, mut len) = (0, 0);
    for entry in rows.range((after, Bound::Unbounded))? {
        let entry = entry?;
        take(entry.key(), entry.read()?)?;
        count += 1;
        len += entry.len();
        if count == CARRIED_ROWS_MAX || len >= CARRIED_BYTES_MAX {
            return Ok(Some(K::as_bytes(&entry.key()).as_ref().to_vec()));
        }
    }
    Ok(None)
}

fn name(bytes: &[u8]) -> Result<Cow<'static, str>, CatalogError> {
    text(bytes).map(Cow::Owned)
}

fn place(key: &[u8]) -> Result<Place<'static>, CatalogError> {
    let (bucket, key) = split_object_key(key)?;
    Ok(Place { bucket: bucket.into(), key: key.into() })
}

fn facts(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.facts, after, |key, Number(number)| {
        if key == VOUCHED {
            to.vouched_before = Some(number);
        }
        Ok(())
    })
}

fn nodes(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.nodes, after, |key, Number(number)| {
        let number = u16::try_from(number);
        let number = number.map_err(|_| corrupt("a node's number is too large".into()))?;
        to.nodes.insert(name(key)?, NodeId(number));
        Ok(())
    })
}

fn sessions(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.sessions, after, |session, Number(until)| {
        to.sessions.insert(Session(session), Some(until));
        Ok(())
    })
}

fn watermarks(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.watermarks, after, |session, watermark| {
        to.watermarks.insert(Session(session), Some(watermark));
        Ok(())
    })
}

fn leases(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.leases, after, |key, lease| {
        to.leases.insert(name(key)?, lease);
        Ok(())
    })
}

fn buckets(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.buckets, after, |key, bucket| {
        to.buckets.insert(name(key)?, Some(Cow::Owned(bucket)));
        Ok(())
    })
}

fn accounts(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.usage, after, |key, account| {
        to.accounts.insert(name(key)?, Some(account));
        Ok(())
    })
}

fn stripes(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.stripes, after, |id, held| {
        to.stripes.insert(StripeId(id), Some(held));
        Ok(())
    })
}

fn garbage(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.garbage, after, |id, garbage| {
        to.garbage.insert(StripeId(id), Some(garbage));
        Ok(())
    })
}

fn leftovers(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.leftovers, after, |(stripe, index, node), Number(since)| {
        let copy = Leftover { stripe: StripeId(stripe), index, node: NodeId(node) };
        to.leftovers.insert(copy, Some(since));
        Ok(())
    })
}

fn objects(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.objects, after, |key, object| {
        to.objects.insert(place(key)?, Some(Cow::Owned(object)));
        Ok(())
    })
}

fn tombstones(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.tombstones, after, |key, tombstone| {
        to.tombstones.insert(place(key)?, Some(Cow::Owned(tombstone)));
        Ok(())
    })
}

fn outlived(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.outlived, after, |(stripe, bucket, key), _| {
        let at = Place { bucket: name(bucket)?, key: name(key)? };
        to.outlived.insert((at, StripeId(stripe)), true);
        Ok(())
    })
}

fn uploads(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.uploads, after, |id, upload| {
        let at = Place { bucket: upload.bucket.clone().into(), key: upload.key.clone().into() };
        to.upload_places.insert((at, name(id)?), true);
        to.uploads.insert(name(id)?, Some(Cow::Owned(upload)));
        Ok(())
    })
}

fn parts(
    view: &View,
    after: Option<&[u8]>,
    to: &mut Writes<'static>,
) -> Result<Last, CatalogError> {
    scan(&view.parts, after, |(upload, number), part| {
        to.parts.insert((name(upload)?, number), Some(Cow::Owned(part)));
        Ok(())
    })
}
