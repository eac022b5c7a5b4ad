//! Objects that the gateway makes itself: parts of access logs, inventories. They are encrypted as
//! the bucket that they go to wants it, like those of clients.

use crate::{
    FrontSettings,
    encryption::{Plain, Wanted},
    error::{Failure, Outcome},
    intake::{Hashed, ObjectBody},
};
use bytes::Bytes;
use md5::{Digest as _, Md5};
use ripstop_catalog::{Attributes, Checksum, Condition};
use ripstop_store::{Store, Target, WriteError};
use std::sync::Arc;

/// An object that is to be put.
pub(crate) struct MadeObject {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Bytes,
    pub(crate) wanted: Wanted,
}

/// Puts it.
pub(crate) async fn put_made(
    store: &Store,
    settings: &Arc<FrontSettings>,
    object: MadeObject,
) -> Result<(), WriteError<Failure>> {
    let MadeObject { bucket, key, content_type, bytes, wanted } = object;
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    let attributes = Attributes { headers, ..Attributes::default() };
    let len = bytes.len() as u64;
    let whole = Whole { bytes: Some(bytes), md5: Md5::new() };
    let body = ObjectBody::new(whole, attributes, wanted, settings.clone(), key.clone());
    let target = Target { bucket, key, condition: Condition::None };
    store.put(target, len, body).await.map(|_| ())
}

/// Bytes that are there.
struct Whole {
    bytes: Option<Bytes>,
    md5: Md5,
}

impl Plain for Whole {
    async fn next(&mut self) -> Option<Outcome<Bytes>> {
        let bytes = self.bytes.take()?;
        self.md5.update(&bytes);
        Some(Ok(bytes))
    }
}

impl Hashed for Whole {
    fn verdict(&mut self) -> Outcome<([u8; 16], Option<Checksum>)> {
        Ok((std::mem::take(&mut self.md5).finalize().into(), None))
    }
}
