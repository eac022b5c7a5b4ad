//! Bodies on their way to the store: hashed as they come, encrypted where they are to be, and what
//! is known of them at their end.

use crate::{
    FrontSettings,
    body::Pieces,
    digest::{Digests, Pipeline, Received, Verdict},
    encryption::{Fresh, PartKey, Plain, Sealed, Sealing, Wanted, begin},
    error::{Code, Failure, Outcome},
    object_lock,
};
use bytes::Bytes;
use futures::StreamExt as _;
use ripstop_catalog::{Attributes, Bucket, Checksum, ChecksumAlgorithm};
use ripstop_store::{Body, BodyLen, PartSeal};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// Longest that a copy waits for the next bytes of its source: then it gives up, and what memory it
/// has.
const PIECE_WAIT_MAX: Duration = Duration::from_mins(2);

/// Bytes that are hashed as they pass.
pub(crate) trait Hashed: Plain {
    /// Their MD5, and the checksum to keep, once all of them have passed.
    fn verdict(&mut self) -> Outcome<([u8; 16], Option<Checksum>)>;
}

impl Hashed for Received {
    fn verdict(&mut self) -> Outcome<([u8; 16], Option<Checksum>)> {
        Self::verdict(self)
    }
}

/// The body of an object.
pub(crate) struct ObjectBody<P> {
    bytes: Sealed<P>,
    /// What the object will have besides them; etag and checksum are filled in.
    attributes: Attributes,
    wanted: Wanted,
    settings: Arc<FrontSettings>,
    /// The object's key.
    key: String,
    fresh: Option<Box<Fresh>>,
}

impl<P: Hashed> ObjectBody<P> {
    pub(crate) fn new(
        plain: P,
        attributes: Attributes,
        wanted: Wanted,
        settings: Arc<FrontSettings>,
        key: String,
    ) -> Self {
        let bytes = Sealed { plain, sealing: None };
        Self { bytes, attributes, wanted, settings, key, fresh: None }
    }
}

impl<P: Hashed> Body for ObjectBody<P> {
    type Seal = Attributes;
    type Error = Failure;

    async fn admitted(&mut self, bucket: &Bucket) -> Outcome<()> {
        object_lock::apply(&mut self.attributes, bucket)?;
        let fresh = begin(&self.wanted, &self.settings, bucket, &self.key).await?;
        self.fresh = fresh.map(Box::new);
        self.bytes.sealing = self.fresh.as_ref().map(|fresh| Box::new(fresh.sealing()));
        Ok(())
    }

    fn storage_class(&self) -> &str {
        &self.attributes.storage_class
    }

    fn stored_len(&self, announced: BodyLen) -> BodyLen {
        self.bytes.stored_len(announced)
    }

    async fn next(&mut self) -> Option<Outcome<Bytes>> {
        self.bytes.next().await
    }

    fn seal(&mut self) -> Outcome<Attributes> {
        let (md5, checksum) = self.bytes.plain.verdict()?;
        let attributes = Attributes { checksum, ..std::mem::take(&mut self.attributes) };
        Ok(tagged(attributes, &md5, self.fresh.take().map(|fresh| *fresh), &self.bytes))
    }
}

/// With the entity tag of bytes of this MD5, and what is recorded of their encryption.
fn tagged<P>(
    attributes: Attributes,
    md5: &[u8; 16],
    fresh: Option<Fresh>,
    bytes: &Sealed<P>,
) -> Attributes {
    let etag = fresh.as_ref().map_or_else(|| hex::encode(md5), |fresh| fresh.entity_tag(md5));
    encrypted(Attributes { etag, ..attributes }, fresh, bytes)
}

/// With what is recorded of how its bytes are encrypted.
fn encrypted<P>(attributes: Attributes, fresh: Option<Fresh>, bytes: &Sealed<P>) -> Attributes {
    let salts = bytes.sealing.as_deref().map(Sealing::salt).into_iter().collect();
    Attributes { encryption: fresh.map(|fresh| Box::new(fresh.recorded(salts))), ..attributes }
}

/// The body of a part.
pub(crate) struct PartBody<P> {
    bytes: Sealed<P>,
    key: Option<PartKey>,
}

impl<P: Hashed> PartBody<P> {
    /// Of an upload whose parts this encrypts, if anything does.
    pub(crate) fn new(plain: P, key: Option<PartKey>) -> Self {
        let sealing = key.as_ref().map(|key| Box::new(key.sealing()));
        Self { bytes: Sealed { plain, sealing }, key }
    }
}

impl<P: Hashed> Body for PartBody<P> {
    type Seal = PartSeal;
    type Error = Failure;

    fn stored_len(&self, announced: BodyLen) -> BodyLen {
        self.bytes.stored_len(announced)
    }

    async fn next(&mut self) -> Option<Outcome<Bytes>> {
        self.bytes.next().await
    }

    fn seal(&mut self) -> Outcome<PartSeal> {
        let (md5, checksum) = self.bytes.plain.verdict()?;
        let etag = self.key.as_ref().map_or_else(|| hex::encode(md5), |key| key.entity_tag(&md5));
        let salt = self.bytes.sealing.as_deref().map(Sealing::salt);
        Ok(PartSeal { etag, checksum, salt })
    }
}

/// Bytes that are stored, decrypted if they were encrypted, on their way to be stored otherwise.
pub(crate) struct Stored {
    pieces: Pieces,
    pipeline: Option<Pipeline>,
    verdict: Option<Verdict>,
}

impl Stored {
    /// Hashed into MD5 and `algorithm`, if there is one.
    pub(crate) fn new(pieces: Pieces, algorithm: Option<ChecksumAlgorithm>) -> Self {
        let digests = algorithm.map(|algorithm| Digests::new(false, &[algorithm]));
        let pipeline = digests.map(|digests| Pipeline::new(digests, true));
        Self { pieces, pipeline, verdict: None }
    }
}

impl Plain for Stored {
    async fn next(&mut self) -> Option<Outcome<Bytes>> {
        let Ok(next) = timeout(PIECE_WAIT_MAX, self.pieces.next()).await else {
            return Some(Err(Code::SlowDown.into()));
        };
        match next {
            Some(Ok(piece)) => match &mut self.pipeline {
                None => Some(Ok(piece)),
                Some(pipeline) => Some(pipeline.update(&piece).await.map(|()| piece)),
            },
            Some(Err(broken)) => Some(Err(broken.into())),
            None => match self.pipeline.take()?.finish().await {
                Ok(verdict) => {
                    self.verdict = Some(verdict);
                    None
                }
                Err(failure) => Some(Err(failure)),
            },
        }
    }
}

impl Hashed for Stored {
    fn verdict(&mut self) -> Outcome<([u8; 16], Option<Checksum>)> {
        let verdict = self.verdict.take().ok_or(Code::InternalError)?;
        Ok((verdict.md5, verdict.checksums.into_iter().next()))
    }
}

/// The body of a copy whose bytes are stored otherwise than those of its source.
pub(crate) struct CopyBody {
    bytes: Sealed<Stored>,
    attributes: Attributes,
    /// Whether etag and checksum are those of the bytes as they pass, else those in `attributes`.
    is_hashed: bool,
    fresh: Option<Fresh>,
}

impl CopyBody {
    /// Of an object with these attributes; with `algorithm`, etag and checksum are made of all
    /// bytes as they pass, which are no parts then.
    pub(crate) fn new(
        pieces: Pieces,
        attributes: Attributes,
        algorithm: Option<ChecksumAlgorithm>,
        fresh: Option<Fresh>,
    ) -> Self {
        let sealing = fresh.as_ref().map(|fresh| Box::new(fresh.sealing()));
        let bytes = Sealed { plain: Stored::new(pieces, algorithm), sealing };
        Self { bytes, attributes, is_hashed: algorithm.is_some(), fresh }
    }
}

impl Body for CopyBody {
    type Seal = Attributes;
    type Error = Failure;

    fn storage_class(&self) -> &str {
        &self.attributes.storage_class
    }

    fn stored_len(&self, announced: BodyLen) -> BodyLen {
        self.bytes.stored_len(announced)
    }

    async fn next(&mut self) -> Option<Outcome<Bytes>> {
        self.bytes.next().await
    }

    fn seal(&mut self) -> Outcome<Attributes> {
        let attributes = std::mem::take(&mut self.attributes);
        let fresh = self.fresh.take();
        if !self.is_hashed {
            return Ok(encrypted(attributes, fresh, &self.bytes));
        }
        let (md5, checksum) = self.bytes.plain.verdict()?;
        let attributes = Attributes { checksum, parts: Vec::new(), ..attributes };
        Ok(tagged(attributes, &md5, fresh, &self.bytes))
    }
}
