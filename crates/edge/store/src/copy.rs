//! Copies: of objects, and of ranges of objects as parts.
//!
//! Within one pool a copy shares the stripes of what it copies. Between pools its bytes are read
//! and written again: what a bucket's pool promises (where bytes lie, how many nodes may be lost)
//! holds for copies, too. So are those few of a small object, where such are gathered: what of a
//! pack is of use is known from the keys in its directory, and what lies alone is written again,
//! together with others, one day.

use crate::{
    Body, BodyLen, PartSeal, Store, StoreError, StoredObject, Target, WriteError, cut::cut,
    read::told, upload::part,
};
use bytes::Bytes;
use futures::{StreamExt as _, stream::BoxStream};
use ripstop_catalog::{Attributes, Extent, Located, Object, Stripe, Upload, UploadedPart};
use ripstop_host::unix_ms;
use ripstop_model::PoolId;
use ripstop_runtime::Pool;
use std::{ops::Range, sync::Arc, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

/// Longest that a copy between pools waits for its turn.
const TURN_WAIT_MAX: Duration = Duration::from_secs(30);
/// Longest that one waits for its next bytes: then it gives up, and what memory it has.
const PIECE_WAIT_MAX: Duration = Duration::from_mins(2);
/// Longest that the bytes of a pack's member are copied at once, beside those that wait their turn.
const COPIED_MAX: u64 = 1 << 20;
/// Stripes that are looked up at once.
const STRIPES_AT_ONCE: usize = 256;

/// Bytes that are stored, on their way to another pool.
pub(crate) struct Stored<S> {
    /// How many.
    len: u64,
    pieces: BoxStream<'static, Result<Bytes, StoreError>>,
    /// The class of storage that they are for.
    class: String,
    seal: Option<S>,
}

impl<S: Send> Body for Stored<S> {
    type Seal = S;
    type Error = StoreError;

    fn storage_class(&self) -> &str {
        &self.class
    }

    fn stored_len(&self, _: BodyLen) -> BodyLen {
        BodyLen::Exactly(self.len)
    }

    async fn next(&mut self) -> Option<Result<Bytes, StoreError>> {
        let piece = timeout(PIECE_WAIT_MAX, self.pieces.next()).await;
        piece.unwrap_or(Some(Err(StoreError::Busy { retry_after: TURN_WAIT_MAX })))
    }

    fn seal(&mut self) -> Result<S, StoreError> {
        Ok(self.seal.take().expect("sealed once"))
    }
}

impl<S> Stored<S> {
    /// This many bytes, which come as they are read.
    pub(crate) fn new(
        len: u64,
        pieces: BoxStream<'static, Result<Bytes, StoreError>>,
        seal: S,
    ) -> Self {
        Self { len, pieces, class: String::new(), seal: Some(seal) }
    }

    /// Bytes that are all here before the first of them is written.
    fn whole(bytes: Bytes, seal: S) -> Self {
        let len = bytes.len() as u64;
        let piece = (!bytes.is_empty()).then_some(Ok(bytes));
        Self::new(len, futures::stream::iter(piece).boxed(), seal)
    }

    /// The same, for an object of this class of storage.
    fn of_class(self, class: &str) -> Self {
        Self { class: class.to_owned(), ..self }
    }
}

pub(crate) fn flat(error: WriteError<StoreError>) -> StoreError {
    match error {
        WriteError::Body(error) | WriteError::Store(error) => error,
    }
}

impl Store {
    /// Makes the target an object of the same bytes, as they are stored. Where the target's bucket
    /// goes to their pool they are not moved: both share their stripes.
    pub async fn copy(
        &self,
        source: &Arc<Located>,
        target: Target,
        attributes: Attributes,
    ) -> Result<StoredObject, StoreError> {
        let (len, stored) = (source.object.len, source.object.stored_len());
        let versioning = self.admit(&target, len).await?.versioning;
        let class = attributes.storage_class.clone();
        if self.is_small(source) && stored <= COPIED_MAX {
            let bytes = self.read_whole(source.clone(), 0..stored).await?;
            let body = Stored::whole(bytes, attributes).of_class(&class);
            return self.put(target, len, body).await.map_err(flat);
        }
        let pool = self.pool_of(&target.bucket, &class);
        if !self.may_share(source, &source.object.extents, pool).await? {
            let _turn = self.copying_turn().await?;
            let pieces = self.read(source.clone(), 0..stored).await?;
            let body = Stored::new(stored, pieces, attributes).of_class(&class);
            return self.put(target, len, body).await.map_err(flat);
        }
        let object = Object {
            len,
            modified_ms: unix_ms(),
            attributes,
            extents: source.object.extents.clone(),
            ..Object::default()
        };
        let object = self.put_told((target, versioning), object, None).await?;
        Ok(StoredObject::new(versioning, object))
    }

    /// Makes a range of an object that is not encrypted a part of an upload that is not. Where the
    /// upload's bucket goes to the pool of its bytes, they are not moved.
    pub async fn copy_part(
        &self,
        source: &Arc<Located>,
        range: Range<u64>,
        upload: &Upload,
        number: u16,
        seal: PartSeal,
    ) -> Result<UploadedPart, StoreError> {
        let extent = |(extent, part): (Extent, Range<u32>)| Extent {
            stripe: extent.stripe,
            offset: part.start,
            len: part.end - part.start,
        };
        let extents: Vec<Extent> = cut(&source.object.extents, &range).map(extent).collect();
        let len = range.end - range.start;
        self.admit_part(upload, number, len).await?;
        if self.is_small(source) && len <= COPIED_MAX {
            let body = Stored::whole(self.read_whole(source.clone(), range).await?, seal);
            return self.put_part(upload, number, len, body).await.map_err(flat);
        }
        let pool = self.pool_of(&upload.bucket, &upload.attributes.storage_class);
        if !self.may_share(source, &extents, pool).await? {
            let _turn = self.copying_turn().await?;
            let pieces = self.read(source.clone(), range).await?;
            let body = Stored::new(len, pieces, seal);
            return self.put_part(upload, number, len, body).await.map_err(flat);
        }
        let part = part(number, len, seal, extents);
        self.commit_part(upload, part.clone(), Vec::new()).await?;
        Ok(part)
    }

    /// The turn of a copy that reads bytes and writes them again, held until it ends: so also of
    /// one that the caller makes, for bytes that change on their way.
    pub async fn copying_turn(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        let turn = timeout(TURN_WAIT_MAX, self.inner.copying_turns.next()).await;
        turn.map_err(|_| StoreError::Busy { retry_after: TURN_WAIT_MAX })
    }

    /// Whether an object is in a pack, or may come to be in one.
    fn is_small(&self, source: &Located) -> bool {
        let below = |stripe: &Stripe| self.keeping().gathered_below(stripe.pool());
        let mut stripes = source.stripes.iter().map(|(_, stripe)| stripe);
        stripes.any(|stripe| stripe.is_pack() || source.object.stored_len() < below(stripe).into())
    }

    /// Whether a copy in a pool may share these extents of an object.
    async fn may_share(
        &self,
        source: &Located,
        extents: &[Extent],
        pool: &Pool,
    ) -> Result<bool, StoreError> {
        Ok(!is_packed(source) && self.is_within(source, extents, pool.id()).await?)
    }

    /// Whether all of these extents of an object are in a pool.
    async fn is_within(
        &self,
        source: &Located,
        extents: &[Extent],
        pool: PoolId,
    ) -> Result<bool, StoreError> {
        if self.inner.pools.len() == 1 {
            return Ok(true);
        }
        for extents in extents.chunks(STRIPES_AT_ONCE) {
            let mut unknown = Vec::new();
            for extent in extents {
                match told(source, extent.stripe) {
                    Some(stripe) if stripe.pool() != pool => return Ok(false),
                    Some(_) => {}
                    None => unknown.push(extent.stripe),
                }
            }
            // What is gone meanwhile is found out by the caller that needs it.
            let found = self.inner.catalog.stripes(&unknown).await?;
            if found.iter().flatten().any(|stripe| stripe.pool() != pool) {
                return Ok(false);
            }
            tokio::task::yield_now().await;
        }
        Ok(true)
    }
}

/// Whether bytes of an object are in a pack. An object with more extents than come with it has
/// none there: what is written in parts is never packed, nor is a copy.
fn is_packed(source: &Located) -> bool {
    source.stripes.iter().any(|(_, stripe)| stripe.is_pack())
}
