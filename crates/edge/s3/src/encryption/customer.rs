//! Keys of clients (SSE-C): three headers, which come together.

use crate::by_name::ByName as _;
use crate::error::{Code, Failure, Outcome};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderMap;
use md5::{Digest as _, Md5};
use ripstop_envelope::CustomerKey;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// What the names of all of them begin with.
pub(crate) const PREFIX: &str = "x-amz-server-side-encryption-customer-";
/// Algorithm, key, and the key's digest.
const NAMES: [&str; 3] = [
    "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-server-side-encryption-customer-key",
    "x-amz-server-side-encryption-customer-key-md5",
];
/// The same of the source of a copy.
const SOURCE_NAMES: [&str; 3] = [
    "x-amz-copy-source-server-side-encryption-customer-algorithm",
    "x-amz-copy-source-server-side-encryption-customer-key",
    "x-amz-copy-source-server-side-encryption-customer-key-md5",
];
/// The one algorithm.
pub(crate) const ALGORITHM: &str = "AES256";

/// A client's key, and what the client is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Customer {
    pub(crate) key: CustomerKey,
    /// Its MD5, as the client gave it.
    pub(crate) md5: String,
}

/// The key that a request has for its object.
pub(crate) fn customer(headers: &HeaderMap) -> Outcome<Option<Customer>> {
    read(headers, &NAMES)
}

/// The key that a copy has for its source.
pub(crate) fn source_customer(headers: &HeaderMap) -> Outcome<Option<Customer>> {
    read(headers, &SOURCE_NAMES)
}

fn read(headers: &HeaderMap, names: &[&'static str; 3]) -> Outcome<Option<Customer>> {
    let text = |name: &str| headers.named(name).map(|value| value.to_str().unwrap_or_default());
    let [algorithm, key, md5] = names.map(text);
    let [of_algorithm, of_key, of_md5] = *names;
    let Some(algorithm) = algorithm else {
        if key.is_none() && md5.is_none() {
            return Ok(None);
        }
        return Err(wrong(
            "Requests specifying Server Side Encryption with Customer provided keys must provide a \
             valid encryption algorithm.",
            of_algorithm,
        ));
    };
    if algorithm != ALGORITHM {
        let failure = Failure::from(Code::InvalidEncryptionAlgorithm);
        return Err(failure.with("ArgumentName", of_algorithm).with("ArgumentValue", algorithm));
    }
    let key = key.filter(|key| !key.is_empty()).ok_or_else(|| {
        wrong(
            "Requests specifying Server Side Encryption with Customer provided keys must provide an \
             appropriate secret key.",
            of_key,
        )
    })?;
    let md5 = md5.filter(|md5| !md5.is_empty()).ok_or_else(|| {
        wrong(
            "Requests specifying Server Side Encryption with Customer provided keys must provide \
             the client calculated MD5 of the secret key.",
            of_md5,
        )
    })?;
    // Room for all of it from the start, so that nothing is left behind as it grows.
    let mut bytes = Zeroizing::new([0; 48]);
    let len = STANDARD.decode_slice(key, &mut *bytes).ok();
    let Some(bytes) = len.and_then(|len| <&[u8; 32]>::try_from(&bytes[..len]).ok()) else {
        return Err(wrong("The secret key was invalid for the specified algorithm.", of_key));
    };
    let digest = STANDARD.encode(Md5::digest(bytes));
    if !bool::from(digest.as_bytes().ct_eq(md5.as_bytes())) {
        let message =
            "The calculated MD5 hash of the key did not match the hash that was provided.";
        return Err(wrong(message, of_md5));
    }
    Ok(Some(Customer { key: CustomerKey::new(bytes), md5: digest }))
}

/// No value is repeated: it may be a key.
fn wrong(message: &'static str, name: &str) -> Failure {
    Failure::new(Code::InvalidArgument, message).with("ArgumentName", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    const KEY: &str = "pO3upElrwuEXSoFwCfnZPdSsmt/xWeFa0N9KgDijwVs=";
    const MD5: &str = "DWygnHRtgiJ77HCm+1rvHw==";

    fn headers(names: [&str; 3], values: [Option<&str>; 3]) -> HeaderMap {
        let given = names.iter().zip(values).filter_map(|(name, value)| {
            Some((HeaderName::try_from(*name).unwrap(), value?.parse().unwrap()))
        });
        given.collect()
    }

    #[test]
    fn a_key_comes_with_its_algorithm_and_its_digest() {
        let read = customer(&headers(NAMES, [Some("AES256"), Some(KEY), Some(MD5)]));
        assert_eq!(read.unwrap().unwrap().md5, MD5);
        let of_source = headers(SOURCE_NAMES, [Some("AES256"), Some(KEY), Some(MD5)]);
        assert!(source_customer(&of_source).unwrap().is_some());
        assert!(customer(&of_source).unwrap().is_none());
    }

    #[test]
    fn what_is_missing_or_wrong_is_said_and_no_key_is_repeated() {
        let short = STANDARD.encode([1; 31]);
        let long = STANDARD.encode([1; 64]);
        let alg = Some("AES256");
        for (values, code, part) in [
            ([None, Some(KEY), Some(MD5)], Code::InvalidArgument, "valid encryption algorithm"),
            ([Some("AES128"), Some(KEY), Some(MD5)], Code::InvalidEncryptionAlgorithm, "AES256"),
            ([alg, None, Some(MD5)], Code::InvalidArgument, "appropriate secret key"),
            ([alg, Some(""), Some(MD5)], Code::InvalidArgument, "appropriate secret key"),
            ([alg, Some(KEY), None], Code::InvalidArgument, "client calculated MD5"),
            ([alg, Some(KEY), Some("AAAA")], Code::InvalidArgument, "calculated MD5 hash"),
            ([alg, Some("not base64"), Some(MD5)], Code::InvalidArgument, "secret key was invalid"),
            ([alg, Some(&short), Some(MD5)], Code::InvalidArgument, "secret key was invalid"),
            ([alg, Some(&long), Some(MD5)], Code::InvalidArgument, "secret key was invalid"),
        ] {
            let failure = customer(&headers(NAMES, values)).unwrap_err();
            assert_eq!(failure.code, code, "{values:?}");
            assert!(failure.message.contains(part), "{failure}");
            assert!(!failure.document("", "").contains(KEY));
        }
    }
}
