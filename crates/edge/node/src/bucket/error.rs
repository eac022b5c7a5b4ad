use std::io;
use thiserror::Error;

/// Why settings describe no bucket.
#[derive(Debug, Error)]
pub enum BucketError {
    /// The endpoint is no address.
    #[error("endpoint {0:?} is not an http:// or https:// address without path")]
    Endpoint(String),
    /// The endpoint would send data in the clear, and that is not allowed.
    #[error("endpoint {0:?} has no TLS; allow_http accepts that")]
    PlainHttp(String),
    /// The bucket's name is empty or has characters that no bucket's name has.
    #[error("bucket {0:?} is not a bucket's name")]
    Bucket(String),
    /// The prefix has empty parts or characters that object names must not have.
    #[error("prefix is not a path of non-empty parts")]
    Prefix,
    /// The system has no certificates to check a server against.
    #[error("no usable certificate authorities in the system")]
    Certificates(#[source] io::Error),
    /// The client of the object storage refuses the settings.
    #[error("unusable settings")]
    Client(#[source] object_store::Error),
}
