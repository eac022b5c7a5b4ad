//! Copies whose bytes are encrypted otherwise than their source's: read, and written again.

use super::{Desk, Outcome, source, source::Source};
use crate::{
    digest,
    encryption::{Fresh, PartKey, Wanted, keeps_md5, rewrapped, shares_key},
    intake::{CopyBody, PartBody, Stored},
};
use ripstop_catalog::{Attributes, ChecksumAlgorithm, Located, Upload, UploadedPart};
use ripstop_envelope::DataKey;
use ripstop_store::{StoredObject, Target};
use std::{ops::Range, sync::Arc};

/// What is copied, and how the copy is to be encrypted.
pub(super) struct Passage<'a> {
    pub(super) source: &'a Source,
    pub(super) located: &'a Arc<Located>,
    /// The source's data key.
    pub(super) opened: Option<DataKey>,
    pub(super) wanted: &'a Wanted,
    /// The copy's own, unless it goes on with its source's.
    pub(super) fresh: Option<Fresh>,
}

impl Passage<'_> {
    /// Whether the copy's bytes are stored as the source's are.
    pub(super) fn is_alike(&self) -> bool {
        let of_source = self.located.object.attributes.encryption.as_deref();
        match (of_source, &self.fresh) {
            (None, None) => true,
            (Some(encryption), Some(fresh)) => {
                shares_key(encryption, self.source.customer.as_ref(), fresh, self.wanted)
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    /// Whether the copy has another entity tag, and so a checksum of the whole and no parts: one of
    /// the two that it is copied from and to is not of the bytes' MD5.
    pub(super) fn is_tagged_again(&self) -> bool {
        let of_source = self.located.object.attributes.encryption.as_deref();
        let of_copy = self.fresh.as_ref().map(Fresh::encryption);
        !(self.is_alike() || keeps_md5(of_source) && keeps_md5(of_copy))
    }

    /// Makes the target an object with the source's bytes. `algorithm` is that of its checksum, if
    /// it is tagged again.
    pub(super) async fn copy(
        self,
        desk: &Desk,
        target: Target,
        attributes: Attributes,
        algorithm: Option<ChecksumAlgorithm>,
    ) -> Outcome<StoredObject> {
        let (is_alike, is_tagged_again) = (self.is_alike(), self.is_tagged_again());
        let Self { located, opened, wanted, fresh, .. } = self;
        let old = &located.object.attributes;
        if is_alike {
            let encryption = match (&old.encryption, &opened, fresh) {
                (Some(encryption), Some(key), Some(fresh)) => {
                    let name = (target.bucket.as_str(), target.key.as_str());
                    Some(rewrapped(encryption, key, fresh, wanted, &desk.settings, name).await?)
                }
                (_, _, _) => None,
            };
            let attributes = Attributes { encryption, ..attributes };
            return Ok(desk.store.copy(located, target, attributes).await?);
        }
        let before = old.checksum.as_ref().map(|checksum| checksum.algorithm);
        let algorithm = algorithm.or(before).unwrap_or(digest::DEFAULT_ALGORITHM);
        let _turn = desk.store.copying_turn().await?;
        let len = located.object.len;
        let pieces = source::read(desk, located.clone(), 0..len, opened.as_ref()).await?;
        let algorithm = is_tagged_again.then_some(algorithm);
        let body = CopyBody::new(pieces, attributes, algorithm, fresh);
        Ok(desk.store.put(target, len, body).await?)
    }
}

/// Makes a range of an object a part, where one of the two is encrypted.
pub(super) async fn copy_part(
    desk: &Desk,
    (located, range): (&Arc<Located>, Range<u64>),
    opened: Option<&DataKey>,
    (upload, number): (&Upload, u16),
    algorithm: ChecksumAlgorithm,
    key: Option<PartKey>,
) -> Outcome<UploadedPart> {
    let _turn = desk.store.copying_turn().await?;
    let len = range.end - range.start;
    let pieces = source::read(desk, located.clone(), range, opened).await?;
    let body = PartBody::new(Stored::new(pieces, Some(algorithm)), key);
    Ok(desk.store.put_part(upload, number, len, body).await?)
}
