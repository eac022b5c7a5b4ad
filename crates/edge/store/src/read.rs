use crate::{Store, StoreError, cut::Cursor};
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream, stream::BoxStream};
use ripstop_catalog::{CatalogError, Extent, Located, Refusal, Stripe};
use ripstop_model::StripeId;
use ripstop_runtime::{ReadSlice, Setback, Share};
use std::{ops::Range, sync::Arc};

impl Store {
    /// The bytes `range` of an object, in pieces, read ahead of the reader within the memory
    /// budget. The first piece is awaited before the stream is returned, so that an object that
    /// cannot be read is an error and not a stream that breaks off.
    pub async fn read(
        &self,
        object: Arc<Located>,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, StoreError>>, StoreError> {
        let store = self.clone();
        let ahead = self.inner.settings.stripes_ahead.max(1);
        let cursor = Cursor::new(&object.object.extents, range);
        let begun = self.begin_read(&object, &cursor).await?;
        let mut pieces = stream::unfold((cursor, begun), move |(mut cursor, begun)| {
            let (store, object) = (store.clone(), object.clone());
            async move {
                let (extent, range) = cursor.part(&object.object.extents)?;
                let slice = match begun {
                    Some(begun) => begun,
                    None => store.slice(&object, extent, &range).await,
                };
                let ReadSlice { share, len } = slice;
                let range = range.start..range.start + len.min(range.len()) as u32;
                cursor.advance(&object.object.extents, range.len() as u64);
                Some((store.fetch(object, extent.stripe, range, share), (cursor, None)))
            }
        })
        .buffered(ahead)
        .flat_map(|fetched| match fetched {
            Ok((pieces, share)) => held(pieces, share).boxed(),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        })
        .boxed();
        match pieces.next().await {
            None => Ok(stream::empty().boxed()),
            Some(first) => {
                let first = first?;
                Ok(stream::once(async { Ok(first) }).chain(pieces).boxed())
            }
        }
    }

    /// The same to its end: for few bytes, which hold no memory that others wait for.
    pub(crate) async fn read_whole(
        &self,
        object: Arc<Located>,
        range: Range<u64>,
    ) -> Result<Bytes, StoreError> {
        let mut pieces = self.read(object, range).await?;
        let mut bytes = BytesMut::new();
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(bytes.freeze())
    }

    /// Memory for the first slice of a read. Only its beginning is refused: what has begun may take
    /// its time.
    async fn begin_read(
        &self,
        object: &Located,
        cursor: &Cursor,
    ) -> Result<Option<ReadSlice>, StoreError> {
        let Some((extent, part)) = cursor.part(&object.object.extents) else { return Ok(None) };
        self.wait_for(self.slice(object, extent, &part)).await.map(Some)
    }

    /// Memory for the next slice, and its length.
    async fn slice(&self, object: &Located, extent: Extent, part: &Range<u32>) -> ReadSlice {
        let told = told(object, extent.stripe);
        let place = told.and_then(|stripe| self.locate(extent.stripe, stripe).ok());
        let cost = place.map_or(1.0, |(pool, place)| pool.read_cost(&place, part));
        let indivisible = told.is_some_and(|stripe| is_chunked(stripe, part));
        self.memory().acquire_slice(part.len(), cost, indivisible).await
    }

    async fn fetch(
        self,
        object: Arc<Located>,
        id: StripeId,
        range: Range<u32>,
        share: Share,
    ) -> Result<(Vec<Bytes>, Share), StoreError> {
        let mut stripe = match told(&object, id) {
            Some(stripe) => stripe.clone(),
            None => self.find_stripe(id).await?,
        };
        loop {
            let (pool, place) = self.locate(id, &stripe)?;
            let failed = match pool.on_behalf_of(self.tenant).read(&place, range.clone()).await {
                Ok(pieces) => return Ok((pieces, share)),
                Err(failed) => failed,
            };
            let Setback::Failed(_) = failed.setback else { return Err(failed.into()) };
            // Its fragments may have been moved since the read began, and what they left be swept.
            match self.find_stripe(id).await {
                Ok(found) if found.nodes != stripe.nodes => stripe = found,
                Ok(_) | Err(_) => return Err(failed.into()),
            }
        }
    }

    /// A stripe that is in force, or was when the read began: garbage is readable until it is
    /// swept.
    async fn find_stripe(&self, id: StripeId) -> Result<Stripe, StoreError> {
        if let Some(Some(stripe)) = self.inner.catalog.stripes(&[id]).await?.pop() {
            return Ok(stripe);
        }
        let before = StripeId(id.0.saturating_sub(1));
        let garbage = self.inner.catalog.garbage(u64::MAX, before, 1).await?.pop();
        let found = garbage.filter(|(found, _)| *found == id).map(|(_, stripe)| stripe);
        found.ok_or_else(|| CatalogError::Refused(Refusal::StripeGone { stripe: id }).into())
    }
}

/// A stripe that the catalog named with the object. They are at most [`LOCATED_EXTENTS_MAX`], and
/// there are none where an object has more extents: the time to look through them does not depend
/// on the object.
///
/// [`LOCATED_EXTENTS_MAX`]: ripstop_catalog::LOCATED_EXTENTS_MAX
pub(crate) fn told(object: &Located, id: StripeId) -> Option<&Stripe> {
    object.stripes.iter().find(|(known, _)| *known == id).map(|(_, stripe)| stripe)
}

/// Whether these are all the bytes of a stripe at one node: only then is it fetched in chunks.
fn is_chunked(stripe: &Stripe, range: &Range<u32>) -> bool {
    stripe.run > 0 && (range.start, range.end) == (0, stripe.payload_len)
}

/// A piece of an object, and the memory that it counts for until the client has it.
struct Held {
    piece: Bytes,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.piece
    }
}

/// The pieces, each of which keeps the memory that they are in.
fn held(pieces: Vec<Bytes>, share: Share) -> impl Stream<Item = Result<Bytes, StoreError>> {
    let share = Arc::new(share);
    stream::iter(pieces)
        .map(move |piece| Ok(Bytes::from_owner(Held { piece, _share: share.clone() })))
}
