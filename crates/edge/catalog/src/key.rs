//! Keys of tables that are made of several names.

use crate::CatalogError;

/// Bytes before an object key's bucket: the length of the bucket's name.
const BUCKET_LEN_BYTES: usize = 4;

/// Orders by bucket (in an order of no meaning), then by key in byte order. The name's length comes
/// first so that any byte may occur in either.
pub fn object_key(bucket: &str, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BUCKET_LEN_BYTES + bucket.len() + key.len());
    bytes.extend_from_slice(&(bucket.len() as u32).to_be_bytes());
    bytes.extend_from_slice(bucket.as_bytes());
    bytes.extend_from_slice(key);
    bytes
}

/// Bucket and key of an [`object_key`].
pub fn split_object_key(bytes: &[u8]) -> Result<(String, String), CatalogError> {
    let (bucket, key) = split(bytes)?;
    Ok((text(bucket)?, text(key)?))
}

/// The bucket of an [`object_key`].
pub fn object_bucket(bytes: &[u8]) -> Result<&str, CatalogError> {
    str::from_utf8(split(bytes)?.0).map_err(|_| not_utf8())
}

fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), CatalogError> {
    let short = || corrupt("an object's key is short".into());
    let (len, rest) = bytes.split_first_chunk::<BUCKET_LEN_BYTES>().ok_or_else(short)?;
    rest.split_at_checked(u32::from_be_bytes(*len) as usize).ok_or_else(short)
}

/// A name.
pub(crate) fn text(bytes: &[u8]) -> Result<String, CatalogError> {
    str::from_utf8(bytes).map(str::to_owned).map_err(|_| not_utf8())
}

fn corrupt(reason: String) -> CatalogError {
    CatalogError::Corrupt { reason }
}

fn not_utf8() -> CatalogError {
    corrupt("a name is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn object_keys_order_as_bucket_then_bytes(
            bucket in "[a-z\0]{0,3}", one in "[a\0/\u{e9}]{0,4}", other in "[a\0/\u{e9}]{0,4}",
        ) {
            let key = |key: &str| object_key(&bucket, key.as_bytes());
            prop_assert_eq!(key(&one).cmp(&key(&other)), one.cmp(&other));
            prop_assert_eq!(split_object_key(&key(&one)).unwrap(), (bucket, one));
        }
    }
}
