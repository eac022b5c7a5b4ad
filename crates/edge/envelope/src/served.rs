//! Data keys that are wrapped with a key which a service has sealed.
//!
//! | bytes | |
//! |---|---|
//! | 1 | [`OF_OBJECT`] or [`OF_BUCKET`]: what the wrapping key is bound to |
//! | 48 | the data key, wrapped with the wrapping key and bound as one of the ring would |
//! | the rest | the wrapping key, as the service has sealed it |
//!
//! What a key of the ring wrapped has 48 bytes, so that neither is taken for the other.

use crate::{
    data_key::{DATA_KEY_LEN, DataKey},
    service::{KeyFault, KeyService, KeyUse},
    wrap::{Binding, unwrap, wrap},
};
use ripstop_seal::{CIPHER_TAG_LEN, StoreKey};

/// The wrapping key is of one object, and bound to it and the client's context.
const OF_OBJECT: u8 = 1;
/// The wrapping key is shared by objects of a bucket, and bound to that.
const OF_BUCKET: u8 = 2;
/// Bytes of a data key that a wrapping key wrapped.
const INNER_LEN: usize = DATA_KEY_LEN + CIPHER_TAG_LEN;
/// Longest sealed key that is kept: it has to fit the object's record.
const SEALED_LEN_MAX: usize = 512;

/// Whether this was wrapped through a service.
pub(crate) const fn is_served(wrapped: &[u8]) -> bool {
    wrapped.len() > INNER_LEN
}

fn arn(kind: u8, binding: &Binding<'_>) -> String {
    let Binding { bucket, key, .. } = binding;
    match kind {
        OF_BUCKET => format!("arn:aws:s3:::{bucket}"),
        _ => format!("arn:aws:s3:::{bucket}/{key}"),
    }
}

/// A data key, wrapped with a key of the service.
pub(crate) async fn wrap_served(
    service: &dyn KeyService,
    (data_key, key): (&DataKey, &str),
    binding: &Binding<'_>,
    is_shared: bool,
) -> Result<Vec<u8>, KeyFault> {
    let kind = if is_shared { OF_BUCKET } else { OF_OBJECT };
    let arn = arn(kind, binding);
    let context = if is_shared { "" } else { binding.context };
    let (with, sealed) = service.issue(&KeyUse { key, arn: &arn, context, is_shared }).await?;
    if sealed.is_empty() || sealed.len() > SEALED_LEN_MAX {
        let said = format!(
            "what it seals comes to {} bytes: 1 to {SEALED_LEN_MAX} are kept",
            sealed.len()
        );
        return Err(KeyFault::Unfit { key: key.to_owned(), said });
    }
    let inner = wrap(&StoreKey::from_bytes(*with.bytes()), data_key, binding);
    Ok([&[kind], &inner[..], &sealed].concat())
}

/// The data key that was wrapped so.
pub(crate) async fn unwrap_served(
    service: &dyn KeyService,
    (wrapped, key): (&[u8], &str),
    binding: &Binding<'_>,
) -> Result<DataKey, KeyFault> {
    let mismatch = || KeyFault::Mismatch { key: key.to_owned() };
    let (&kind, rest) = wrapped.split_first().ok_or_else(mismatch)?;
    let (inner, sealed) = rest.split_at_checked(INNER_LEN).ok_or_else(mismatch)?;
    if ![OF_OBJECT, OF_BUCKET].contains(&kind) || sealed.is_empty() {
        return Err(mismatch());
    }
    let (arn, is_shared) = (arn(kind, binding), kind == OF_BUCKET);
    let context = if is_shared { "" } else { binding.context };
    let with = service.open(&KeyUse { key, arn: &arn, context, is_shared }, sealed).await?;
    unwrap(&StoreKey::from_bytes(*with.bytes()), inner, binding).ok_or_else(mismatch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WrappingKey, data_key::DataKey};
    use async_trait::async_trait;

    const HERE: Binding<'_> = Binding { bucket: "b", key: "k", context: "c" };

    /// Seals by saying what the key is bound to before it.
    #[derive(Debug)]
    struct Plain;

    fn said(of: &KeyUse<'_>) -> Vec<u8> {
        format!("{} {} {} ", of.key, of.arn, of.context).into_bytes()
    }

    #[async_trait]
    impl KeyService for Plain {
        fn default_key(&self) -> Option<String> {
            None
        }

        async fn issue(&self, of: &KeyUse<'_>) -> Result<(WrappingKey, Vec<u8>), KeyFault> {
            let key = WrappingKey::generate();
            let sealed = [&said(of), &key.bytes()[..]].concat();
            Ok((key, sealed))
        }

        async fn open(&self, of: &KeyUse<'_>, sealed: &[u8]) -> Result<WrappingKey, KeyFault> {
            let key = sealed.strip_prefix(&*said(of)).and_then(|key| key.try_into().ok());
            key.map(WrappingKey::from_bytes).ok_or(KeyFault::Busy)
        }
    }

    fn run<F: Future>(future: F) -> F::Output {
        futures::executor::block_on(future)
    }

    #[test]
    fn a_served_key_opens_for_its_object_alone_and_says_what_it_is_bound_to() {
        let data_key = DataKey::generate();
        for (is_shared, arn) in [(false, "n arn:aws:s3:::b/k c "), (true, "n arn:aws:s3:::b  ")] {
            let wrapped = run(wrap_served(&Plain, (&data_key, "n"), &HERE, is_shared)).unwrap();
            assert!(is_served(&wrapped));
            assert!(wrapped.windows(arn.len()).any(|here| here == arn.as_bytes()), "{arn}");
            let opened = run(unwrap_served(&Plain, (&wrapped, "n"), &HERE)).unwrap();
            assert_eq!(opened.0, data_key.0);
            for elsewhere in [
                Binding { key: "l", ..HERE },
                Binding { bucket: "bb", ..HERE },
                Binding { context: "", ..HERE },
            ] {
                assert!(run(unwrap_served(&Plain, (&wrapped, "n"), &elsewhere)).is_err());
            }
            for at in [0, 1, 20, 48] {
                let mut flipped = wrapped.clone();
                flipped[at] ^= 4;
                assert!(run(unwrap_served(&Plain, (&flipped, "n"), &HERE)).is_err(), "{at}");
            }
            for len in 0..=INNER_LEN + 1 {
                assert!(run(unwrap_served(&Plain, (&wrapped[..len], "n"), &HERE)).is_err());
            }
        }
    }
}
