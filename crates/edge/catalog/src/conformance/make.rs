//! Small records for checks.

use crate::{Attributes, Bucket, Extent, ListingRequest, Object, Stripe, Upload, UploadedPart};
use ripstop_model::StripeId;

/// Bytes of payload of every stripe made here.
const PAYLOAD_LEN: u32 = 100;

/// A stripe of code (3,2) with two fragments stored.
pub fn stripe() -> Stripe {
    Stripe {
        pool: 0,
        n: 3,
        k: 2,
        payload_len: PAYLOAD_LEN,
        header_len: 64,
        nodes: vec![Some(1), Some(2), None],
        run: 0,
        ..Stripe::default()
    }
}

/// A bucket told by stripe `told_by`.
pub fn bucket(name: &str, told_by: u128) -> Bucket {
    Bucket { name: name.into(), created_ms: 1, told_by: StripeId(told_by), ..Bucket::default() }
}

/// Attributes with just an etag; by that some have a class of storage.
pub fn attributes(etag: &str) -> Attributes {
    let storage_class = if etag.len() % 2 == 1 { "COLD".into() } else { String::new() };
    Attributes { etag: etag.into(), storage_class, ..Attributes::default() }
}

/// Bytes of an S3 key at most: no catalog needs longer ones.
pub(super) const KEY_LEN_MAX: usize = 1024;

fn extents(stripes: &[u128]) -> Vec<Extent> {
    let of = |(at, id): (usize, &u128)| {
        let offset = (at as u32 * 10) % PAYLOAD_LEN;
        Extent { stripe: StripeId(*id), offset, len: 10 }
    };
    stripes.iter().enumerate().map(of).collect()
}

/// An object with 10 bytes from each of `stripes`, told by `told_by`.
pub fn object(etag: &str, stripes: &[u128], told_by: u128) -> Object {
    Object {
        len: stripes.len() as u64 * 10,
        modified_ms: 1,
        attributes: attributes(etag),
        extents: extents(stripes),
        told_by: StripeId(told_by),
        ..Object::default()
    }
}

/// A part with 10 bytes from each of `stripes`.
pub fn part(number: u16, etag: &str, stripes: &[u128]) -> UploadedPart {
    UploadedPart {
        number,
        len: stripes.len() as u64 * 10,
        modified_ms: 1,
        etag: etag.into(),
        checksum: None,
        extents: extents(stripes),
        ..UploadedPart::default()
    }
}

/// An upload.
pub fn upload(id: &str, bucket: &str, key: &str) -> Upload {
    Upload {
        id: id.into(),
        bucket: bucket.into(),
        key: key.into(),
        created_ms: 1,
        attributes: attributes(""),
        checksum: None,
        ..Upload::default()
    }
}

/// The first thousand of a bucket.
pub fn listing_of(bucket: &str) -> ListingRequest {
    ListingRequest { bucket: bucket.into(), max: 1000, ..ListingRequest::default() }
}
