use crate::{
    Body, Store, StoreError, StoredObject, Target, WriteError, object::EndedUpload,
    record::check_extents, write::Writing,
};
use bytes::Bytes;
use ripstop_catalog::{
    Attributes, Change, Checksum, Condition, Extent, Listing, ListingRequest, Object, Refusal,
    Salt, Upload, UploadedPart,
};
use ripstop_host::unix_ms;
use ripstop_runtime::Written;

/// What is known of a part once its bytes have come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartSeal {
    /// Hexadecimal MD5, without quotation marks.
    pub etag: String,
    /// The checksum asked for, if any.
    pub checksum: Option<Checksum>,
    /// What tells its stream from others under the upload's data key, if it is encrypted.
    pub salt: Option<Salt>,
}

impl Store {
    /// Begins a multipart upload; `id` and `created_ms` are filled in.
    pub async fn create_upload(&self, mut upload: Upload) -> Result<Upload, StoreError> {
        upload.id = self.inner.upload_names.next();
        upload.created_ms = unix_ms();
        self.admit_upload(&upload).await?;
        let begun = upload.clone();
        self.commit(Vec::new(), move |_| Change::CreateUpload(begun)).await?;
        Ok(upload)
    }

    /// An upload by id; `NoSuchUpload` if there is none or it is not for this bucket and key.
    pub async fn upload(&self, bucket: &str, key: &str, id: &str) -> Result<Upload, StoreError> {
        self.bucket(bucket).await?;
        let found = self.inner.catalog.upload(id).await?;
        let upload = found.filter(|upload| upload.bucket == bucket && upload.key == key);
        upload.ok_or_else(|| Refusal::NoSuchUpload.into())
    }

    /// Whether what is under way by this name is no upload of this key, but of another.
    pub async fn is_of_another_key(
        &self,
        bucket: &str,
        key: &str,
        id: &str,
    ) -> Result<bool, StoreError> {
        let found = self.inner.catalog.upload(id).await?;
        Ok(found.is_some_and(|upload| upload.bucket != bucket || upload.key != key))
    }

    /// A page of a bucket's uploads.
    pub async fn uploads(&self, request: &ListingRequest) -> Result<Listing, StoreError> {
        self.bucket(&request.bucket).await?;
        Ok(self.inner.catalog.uploads(request).await?)
    }

    /// Parts of an upload with numbers above `after`, ascending; fewer than `max` where their
    /// records are long, but one at least if there is any.
    pub async fn parts(
        &self,
        id: &str,
        after: u16,
        max: usize,
    ) -> Result<Vec<UploadedPart>, StoreError> {
        Ok(self.inner.catalog.parts(id, after, max).await?)
    }

    /// Stores `body` as a part; it is of `len` bytes, as its client counts them.
    pub async fn put_part<B: Body<Seal = PartSeal>>(
        &self,
        upload: &Upload,
        number: u16,
        len: u64,
        mut body: B,
    ) -> Result<UploadedPart, WriteError<B::Error>> {
        self.admit_part(upload, number, len).await?;
        let stored = body.stored_len(len.into());
        let pool = self.pool_of(&upload.bucket, &upload.attributes.storage_class);
        let mut writing = Writing::new(self, pool, stored)?;
        writing.take(&mut body).await?;
        let seal = body.seal().map_err(WriteError::Body)?;
        if len > 0 {
            let last = writing.last_draft().await?;
            writing.store(last, Bytes::new()).await?;
        }
        let part = part(number, len, seal, writing.extents.clone());
        let written = writing.finish().await?;
        self.commit_part(upload, part.clone(), written).await?;
        Ok(part)
    }

    /// Makes a part visible whose bytes are stored.
    pub(crate) async fn commit_part(
        &self,
        upload: &Upload,
        part: UploadedPart,
        written: Vec<Written>,
    ) -> Result<(), StoreError> {
        let (upload, quota) = (upload.id.clone(), self.quota(&upload.bucket));
        let change = move |stripes| Change::PutPart { upload, part, stripes, quota };
        self.commit(written, change).await?;
        Ok(())
    }

    /// Makes an object of parts, in this order, and ends the upload. `attributes` are the whole
    /// object's (etag, checksum, parts).
    pub async fn complete_upload(
        &self,
        upload: &Upload,
        parts: &[UploadedPart],
        attributes: Attributes,
        condition: Condition,
    ) -> Result<StoredObject, StoreError> {
        check_extents(parts.iter().map(|part| part.extents.len()).sum())?;
        let Upload { bucket, key, id, .. } = upload.clone();
        let target = Target { bucket, key, condition };
        // Its bytes are in the bucket already.
        let versioning = self.admit(&target, 0).await?.versioning;
        let object = Object {
            len: parts.iter().map(|part| part.len).sum(),
            modified_ms: unix_ms(),
            attributes,
            extents: parts.iter().flat_map(|part| part.extents.iter().copied()).collect(),
            ..Object::default()
        };
        let parts = parts.iter().map(|part| (part.number, part.etag.clone())).collect();
        let ending = Some(EndedUpload { upload: id, parts });
        let object = self.put_told((target, versioning), object, ending).await?;
        Ok(StoredObject::new(versioning, object))
    }

    /// Ends an upload and lets go of its parts.
    pub async fn abort_upload(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.commit(Vec::new(), move |_| Change::AbortUpload { upload: id }).await?;
        Ok(())
    }
}

pub(crate) fn part(number: u16, len: u64, seal: PartSeal, extents: Vec<Extent>) -> UploadedPart {
    let PartSeal { etag, checksum, salt } = seal;
    UploadedPart {
        number,
        len,
        modified_ms: unix_ms(),
        etag,
        checksum,
        extents,
        salt,
        ..UploadedPart::default()
    }
}
