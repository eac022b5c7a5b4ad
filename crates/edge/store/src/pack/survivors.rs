//! What of a stripe of small objects is of use yet, to be written again together with others'.
//!
//! What holds a pack is known from the keys in its directory; what holds a lone stripe, from the
//! one key that its headers tell of. Where the catalog counts more holders than are found, the
//! stripe is left as it is: its fragments would not go.

use super::{Deed, Member, PackEntry};
use crate::{Keeping, Store, StoreError, Target, record::Telling};
use bytes::Bytes;
use ripstop_catalog::{Condition, Held, LOCATED_EXTENTS_MAX, Located, Stamp};
use ripstop_model::StripeId;
use std::sync::Arc;

/// Longest that an object's bytes from elsewhere come along: about as long as what is gathered.
const BROUGHT_MAX: u64 = 128 << 10;

/// What holds a stripe.
enum Holder {
    Object(Arc<Located>),
    /// When it was deleted.
    Deletion(Stamp),
}

impl Keeping<'_> {
    /// The members of a batch that tells of everything that holds this stripe, and has its bytes:
    /// once they are committed, nothing holds it. `None` if that cannot be: something holds it that
    /// is not small, or that nothing tells of.
    pub async fn survivors(self, id: StripeId) -> Result<Option<Vec<Member>>, StoreError> {
        let store = self.store();
        let Some(Some(held)) = store.inner.catalog.held(&[id]).await?.pop() else {
            return Ok(None);
        };
        let Some(names) = store.names_told(id, &held).await? else { return Ok(None) };
        let mut holders = Vec::new();
        for (bucket, key) in names {
            if let Some(holder) = store.holder(id, &bucket, &key).await? {
                holders.push((bucket, key, holder));
            }
        }
        if holders.len() as u64 != held.holders {
            return Ok(None);
        }
        store.members(id, &held, holders).await
    }
}

impl Store {
    /// The keys that a stripe tells of, if it is one of small objects.
    async fn names_told(
        &self,
        id: StripeId,
        held: &Held,
    ) -> Result<Option<Vec<(String, String)>>, StoreError> {
        let of = |entry: PackEntry| (entry.bucket().to_owned(), entry.key().to_owned());
        if held.stripe.is_pack() {
            let directory = self.directory(id, &held.stripe).await?;
            return Ok(Some(directory.entries.into_iter().map(of).collect()));
        }
        let (pool, place) = self.locate(id, &held.stripe)?;
        let told = pool.told(&place).await.ok_or(StoreError::Lost { stripe: id })?;
        Ok(match Telling::decode(&told) {
            Ok(Telling::Object { bucket, key, .. }) => Some(vec![(bucket, key)]),
            Ok(Telling::Deletions { of, .. }) if of.iter().all(|one| !one.key.is_empty()) => {
                Some(of.into_iter().map(|one| (one.bucket, one.key)).collect())
            }
            // Nothing tells of a bucket but a stripe of its own.
            Ok(Telling::Deletions { .. } | Telling::Bucket(_) | Telling::Pack(_)) | Err(_) => None,
        })
    }

    /// What a key stands for, if that holds the stripe.
    async fn holder(
        &self,
        id: StripeId,
        bucket: &str,
        key: &str,
    ) -> Result<Option<Holder>, StoreError> {
        if let Some(located) = self.inner.catalog.object(bucket, key).await? {
            let object = &located.object;
            let is_held =
                object.told_by == id || object.extents.iter().any(|extent| extent.stripe == id);
            return Ok(is_held.then(|| Holder::Object(Arc::new(located))));
        }
        let buried = self.inner.catalog.tombstone(bucket, key).await?;
        let buried = buried.filter(|buried| buried.told_by == id);
        Ok(buried.map(|buried| Holder::Deletion(buried.stamp)))
    }

    async fn members(
        &self,
        id: StripeId,
        held: &Held,
        holders: Vec<(String, String, Holder)>,
    ) -> Result<Option<Vec<Member>>, StoreError> {
        let payload = self.payload(id, held, &holders).await?;
        let mut members = Vec::with_capacity(holders.len());
        for (bucket, key, holder) in holders {
            let (condition, deed) = match holder {
                Holder::Deletion(stamp) => (Condition::None, Deed::Rebury(stamp)),
                Holder::Object(located) => {
                    let told_by = located.object.told_by;
                    let Some(deed) = self.moved(id, &payload, located).await? else {
                        return Ok(None);
                    };
                    (Condition::ToldBy(told_by), deed)
                }
            };
            members.push(Member { target: Target { bucket, key, condition }, deed });
        }
        Ok(Some(members))
    }

    /// All bytes of a stripe, if any object has some in it.
    async fn payload(
        &self,
        id: StripeId,
        held: &Held,
        holders: &[(String, String, Holder)],
    ) -> Result<Bytes, StoreError> {
        let is_in_it = |holder: &Holder| match holder {
            Holder::Object(located) => located.object.extents.iter().any(|it| it.stripe == id),
            Holder::Deletion(_) => false,
        };
        if !holders.iter().any(|(_, _, holder)| is_in_it(holder)) {
            return Ok(Bytes::new());
        }
        let (pool, place) = self.locate(id, &held.stripe)?;
        let pool = pool.on_behalf_of(self.tenant);
        Ok(pool.at_nodes().read(&place, 0..held.stripe.payload_len).await?.concat().into())
    }

    /// How an object is told again, with its bytes if they are few; `None` if it is one that is not
    /// small, and has bytes in the stripe all the same.
    async fn moved(
        &self,
        id: StripeId,
        payload: &Bytes,
        located: Arc<Located>,
    ) -> Result<Option<Deed>, StoreError> {
        let object = located.object.clone();
        if let [extent] = object.extents[..]
            && extent.stripe == id
        {
            let part = extent.offset as usize..(extent.offset + extent.len) as usize;
            // What is dead of the payload must not stay in memory with them.
            let bytes = payload.get(part).map(Bytes::copy_from_slice);
            return Ok(bytes.map(|bytes| Deed::Move { object, bytes: Some(bytes) }));
        }
        let is_in_it = object.extents.iter().any(|extent| extent.stripe == id);
        if is_in_it || object.extents.len() > LOCATED_EXTENTS_MAX {
            return Ok(None);
        }
        let stored = object.stored_len();
        if stored == 0 || stored > BROUGHT_MAX {
            return Ok(Some(Deed::Move { object, bytes: None }));
        }
        let bytes = Some(self.read_whole(located, 0..stored).await?);
        Ok(Some(Deed::Move { object, bytes }))
    }
}
