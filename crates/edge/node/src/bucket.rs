mod answer;
mod connector;
mod credentials;
mod error;
mod settings;

pub use credentials::{BucketCredentials, CredentialsError};
pub use error::BucketError;
pub use settings::{BucketSettings, is_exposed};

use crate::{Capabilities, Listed, Node, NodeError};
use answer::Failure;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, PutOptions, PutPayload,
    aws::AmazonS3,
    list::{PaginatedListOptions, PaginatedListStore},
    path::Path,
};
use ripstop_model::FragmentId;
use std::{fmt, ops::Range};

/// Least bytes of a part of an S3 multipart upload, the last excepted.
const PART_MIN: u64 = 5 << 20;

/// A node in a bucket that speaks S3: AWS, any compatible server, or another Ripstop.
///
/// A fragment is the object `<prefix>/<last byte of the stripe's id in hex>/<fragment's name>`, the
/// layout of a [`crate::Directory`]. Connections are kept and reused; a get that is dropped midway
/// costs its connection. Nothing is tried twice here, and no request has a time limit: both are the
/// caller's, who races requests.
pub struct BucketNode {
    store: AmazonS3,
    prefix: Path,
    /// Without secrets, for callers that print the node.
    location: String,
}

impl BucketNode {
    /// The node that `settings` describe; connects to nothing yet.
    pub fn new(settings: BucketSettings) -> Result<Self, BucketError> {
        let prefix = Path::parse(&settings.prefix).map_err(|_| BucketError::Prefix)?;
        let location = settings.location();
        Ok(Self { store: settings.build()?, prefix, location })
    }

    fn path_of(&self, name: FragmentId) -> Path {
        let folder = format!("{:02x}", name.stripe.0 as u8);
        self.prefix.clone().join(folder).join(name.to_string())
    }

    /// What a failure means, asking the bucket itself where a 404 does not say what is missing.
    async fn explain(&self, error: &object_store::Error, asked: u64) -> NodeError {
        match answer::failure(error, asked) {
            Failure::Node(error) => error,
            Failure::SomethingMissing => self.health().await.err().unwrap_or(NodeError::Missing),
        }
    }

    async fn head(&self, name: FragmentId, asked: u64) -> Result<u64, NodeError> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.store.get_opts(&self.path_of(name), options).await {
            Ok(found) => Ok(found.meta.size),
            Err(error) => Err(self.explain(&error, asked).await),
        }
    }

    async fn fetch(&self, name: FragmentId, range: Range<u64>) -> object_store::Result<Got> {
        let bounded = Some(GetRange::Bounded(range.clone()));
        let options = GetOptions { range: bounded, ..GetOptions::default() };
        let found = self.store.get_opts(&self.path_of(name), options).await?;
        let len = found.meta.size;
        if len < range.end {
            return Ok(Got { len, bytes: Bytes::new() });
        }
        let mut parts = found.into_stream();
        let mut bytes = parts.try_next().await?.unwrap_or_default();
        let asked = (range.end - range.start) as usize;
        if bytes.len() < asked {
            let mut gathered = BytesMut::with_capacity(asked);
            gathered.extend_from_slice(&bytes);
            while let Some(part) = parts.try_next().await? {
                gathered.extend_from_slice(&part);
            }
            bytes = gathered.freeze();
        } else {
            // To the body's end, after which the connection is used again.
            while parts.try_next().await?.is_some() {}
        }
        Ok(Got { len, bytes })
    }

    fn listed(&self, object: &ObjectMeta) -> Option<Listed> {
        let name: FragmentId = object.location.filename()?.parse().ok()?;
        (self.path_of(name) == object.location).then(|| Listed {
            name,
            len: object.size,
            modified: object.last_modified.into(),
        })
    }
}

/// An answer to a ranged get.
struct Got {
    /// Length of the whole object.
    len: u64,
    bytes: Bytes,
}

impl fmt::Debug for BucketNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.location).finish()
    }
}

#[async_trait]
impl Node for BucketNode {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        let payload: PutPayload = fragment.into_iter().filter(|bytes| !bytes.is_empty()).collect();
        let stored = self.store.put_opts(&self.path_of(name), payload, PutOptions::default()).await;
        let Err(error) = stored else { return Ok(()) };
        let error = self.explain(&error, 0).await;
        // A put misses no key, so what is missing is the bucket, whatever the server calls it.
        let missing = matches!(error, NodeError::Missing);
        let reason = "not found, in answer to a put".into();
        Err(if missing { NodeError::Unavailable { reason } } else { error })
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        let asked = range.end.max(range.start);
        if range.is_empty() {
            // HTTP has no empty ranges.
            let len = self.head(name, asked).await?;
            return if asked <= len {
                Ok(Bytes::new())
            } else {
                Err(NodeError::Short { len, asked })
            };
        }
        let got = match self.fetch(name, range.clone()).await {
            Ok(got) => got,
            Err(error) => {
                let mut error = self.explain(&error, asked).await;
                if let NodeError::Short { len, .. } = &mut error
                    && *len == answer::LEN_UNKNOWN
                {
                    *len = self.head(name, asked).await?;
                }
                return Err(error);
            }
        };
        let (received, wanted) = (got.bytes.len() as u64, range.end - range.start);
        if got.len < range.end {
            Err(NodeError::Short { len: got.len, asked })
        } else if received != wanted {
            let reason = format!("the answer has {received} bytes of {wanted}");
            Err(NodeError::Unavailable { reason })
        } else {
            Ok(got.bytes)
        }
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        let path = self.path_of(name);
        let deleted = self.store.delete_stream(stream::once(async { Ok(path) }).boxed());
        let Err(error) = deleted.try_for_each(|_| async { Ok(()) }).await else { return Ok(()) };
        let error = self.explain(&error, 0).await;
        if matches!(error, NodeError::Missing) { Ok(()) } else { Err(error) }
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        let prefix = (!self.prefix.as_ref().is_empty()).then_some(&self.prefix);
        let objects = self.store.list(prefix);
        objects
            .filter_map(move |object| async move {
                match object {
                    Ok(object) => self.listed(&object).map(Ok),
                    Err(error) => Some(Err(answer::of_bucket(&error))),
                }
            })
            .boxed()
    }

    async fn health(&self) -> Result<(), NodeError> {
        let one = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
        let prefix = (!self.prefix.as_ref().is_empty()).then(|| format!("{}/", self.prefix));
        self.store
            .list_paginated(prefix.as_deref(), one)
            .await
            .map(drop)
            .map_err(|error| answer::of_bucket(&error))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { part_min: Some(PART_MIN) }
    }
}
