//! What a write says of its encryption.

use super::customer::{Customer, PREFIX as CUSTOMER, customer};
use crate::by_name::ByName as _;
use crate::error::{Code, Failure, Outcome};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderMap;

/// What the names of all headers of a write begin with.
pub(super) const PREFIX: &str = "x-amz-server-side-encryption";
/// Names the key.
pub(super) const KEY_ID: &str = "x-amz-server-side-encryption-aws-kms-key-id";
/// Binds its use.
pub(super) const CONTEXT: &str = "x-amz-server-side-encryption-context";
/// Says whether a key of the bucket stands between.
pub(super) const BUCKET_KEY: &str = "x-amz-server-side-encryption-bucket-key-enabled";
/// Longest name of a key that is taken.
pub(super) const KEY_ID_LEN_MAX: usize = 512;
/// Longest context that is taken, as it is sent.
const CONTEXT_LEN_MAX: usize = 1024;

/// How a write wants its object encrypted.
#[derive(Clone, Debug, Default)]
pub(crate) enum Wanted {
    /// As its bucket does by default.
    #[default]
    Unsaid,
    /// With the client's key.
    Customer(Customer),
    /// With the gateway's.
    Managed,
    /// With a named one.
    Named {
        /// As it was said; else the default one is meant.
        key: Option<String>,
        /// As it was said, or nothing.
        context: String,
        /// Whether a key of the bucket is to stand between.
        bucket_key: bool,
    },
}

impl Wanted {
    /// What the headers of a write say.
    pub(crate) fn read(headers: &HeaderMap) -> Outcome<Self> {
        let text = |name: &str| headers.named(name).map(|value| value.to_str().unwrap_or_default());
        let customer = customer(headers)?;
        let method = text(PREFIX);
        if let Some(customer) = customer {
            return match method {
                None => Ok(Self::Customer(customer)),
                Some(method) => {
                    let message = "Server Side Encryption with Customer provided key is \
                                   incompatible with the encryption method specified";
                    Err(Failure::argument(message, PREFIX, method))
                }
            };
        }
        match method {
            Some("aws:kms") => Self::named(text(KEY_ID), text(CONTEXT), text(BUCKET_KEY)),
            Some("aws:kms:dsse") => Err(Failure::from(Code::NotImplemented).with("Header", PREFIX)),
            Some("AES256") | None => {
                for name in [KEY_ID, CONTEXT] {
                    if let Some(value) = text(name) {
                        let message = "Server Side Encryption with AWS KMS managed key requires \
                                       HTTP header x-amz-server-side-encryption : aws:kms";
                        return Err(Failure::argument(message, name, value));
                    }
                }
                Ok(if method.is_some() { Self::Managed } else { Self::Unsaid })
            }
            Some(other) => {
                let message = "The encryption method specified is not supported";
                Err(Failure::argument(message, PREFIX, other))
            }
        }
    }

    /// With a named key, as it is said.
    pub(crate) fn named(
        key: Option<&str>,
        context: Option<&str>,
        bucket_key: Option<&str>,
    ) -> Outcome<Self> {
        let key = key.filter(|key| !key.is_empty()).map(check_key_id).transpose()?;
        let context = context.map(check_context).transpose()?.unwrap_or_default();
        let bucket_key = match bucket_key {
            None => false,
            Some(word) if word.eq_ignore_ascii_case("true") => true,
            Some(word) if word.eq_ignore_ascii_case("false") => false,
            Some(other) => {
                let message = "The value must be true or false";
                return Err(Failure::argument(message, BUCKET_KEY, other));
            }
        };
        Ok(Self::Named { key, context, bucket_key })
    }

    /// Whether anything was said.
    pub(crate) const fn is_said(&self) -> bool {
        !matches!(self, Self::Unsaid)
    }

    /// The client's key, if it has one.
    pub(crate) const fn customer(&self) -> Option<&Customer> {
        match self {
            Self::Customer(customer) => Some(customer),
            Self::Unsaid | Self::Managed | Self::Named { .. } => None,
        }
    }

    /// The digest of that.
    pub(crate) fn customer_md5(&self) -> Option<String> {
        self.customer().map(|customer| customer.md5.clone())
    }
}

/// The name of a key, if it may be one.
pub(super) fn check_key_id(id: &str) -> Outcome<String> {
    if id.len() > KEY_ID_LEN_MAX {
        return Err(Failure::argument("Invalid KMS key id", KEY_ID, ""));
    }
    Ok(id.to_owned())
}

/// A context, if it is one: a JSON object of texts, in Base64.
fn check_context(said: &str) -> Outcome<String> {
    let invalid = |message: &'static str| Failure::argument(message, CONTEXT, said);
    if said.len() > CONTEXT_LEN_MAX {
        return Err(invalid("The encryption context is too long"));
    }
    let json = STANDARD.decode(said).ok();
    let pairs: Option<serde_json::Map<String, serde_json::Value>> =
        json.and_then(|json| serde_json::from_slice(&json).ok());
    let pairs = pairs.filter(|pairs| pairs.values().all(serde_json::Value::is_string));
    match pairs {
        Some(_) => Ok(said.to_owned()),
        None => Err(invalid(
            "The header 'x-amz-server-side-encryption-context' shall be Base64-encoded UTF-8 \
             string holding JSON which represents a string-string map",
        )),
    }
}

/// Refuses headers of writes where only what is stored says how it is encrypted.
pub(crate) fn refuse_on_reads(headers: &HeaderMap) -> Outcome<()> {
    let mut names = headers.keys().map(http::HeaderName::as_str);
    match names.find(|name| name.starts_with(PREFIX) && !name.starts_with(CUSTOMER)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("{name} header is not supported for this operation.");
            Err(Failure::argument(message, name, ""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    fn read(pairs: &[(&str, &str)]) -> Outcome<Wanted> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::try_from(*name).unwrap(), value.parse().unwrap()));
        Wanted::read(&pairs.collect())
    }

    #[test]
    fn methods_are_told_by_their_headers() {
        assert!(!read(&[]).unwrap().is_said());
        assert!(matches!(read(&[(PREFIX, "AES256")]), Ok(Wanted::Managed)));
        let context = STANDARD.encode(r#"{"a": "b"}"#);
        let named = [(PREFIX, "aws:kms"), (KEY_ID, "k"), (CONTEXT, &context), (BUCKET_KEY, "True")];
        let Ok(Wanted::Named { key, context: kept, bucket_key }) = read(&named) else { panic!() };
        assert_eq!((key.as_deref(), kept, bucket_key), (Some("k"), context, true));
        assert!(matches!(read(&[(PREFIX, "aws:kms")]), Ok(Wanted::Named { key: None, .. })));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let key = (
            "x-amz-server-side-encryption-customer-key",
            "pO3upElrwuEXSoFwCfnZPdSsmt/xWeFa0N9KgDijwVs=",
        );
        let md5 = ("x-amz-server-side-encryption-customer-key-md5", "DWygnHRtgiJ77HCm+1rvHw==");
        let algorithm = ("x-amz-server-side-encryption-customer-algorithm", "AES256");
        let list = STANDARD.encode("[]");
        let long = "k".repeat(KEY_ID_LEN_MAX + 1);
        for (pairs, code) in [
            (&[(PREFIX, "aws:kms:dsse")][..], Code::NotImplemented),
            (&[(PREFIX, "aes256")], Code::InvalidArgument),
            (&[(PREFIX, "AES256"), (KEY_ID, "k")], Code::InvalidArgument),
            (&[(KEY_ID, "k")], Code::InvalidArgument),
            (&[(CONTEXT, "e30=")], Code::InvalidArgument),
            (&[(PREFIX, "aws:kms"), (CONTEXT, "{}")], Code::InvalidArgument),
            (&[(PREFIX, "aws:kms"), (CONTEXT, &list)], Code::InvalidArgument),
            (&[(PREFIX, "aws:kms"), (KEY_ID, &long)], Code::InvalidArgument),
            (&[(PREFIX, "aws:kms"), (BUCKET_KEY, "yes")], Code::InvalidArgument),
            (&[(PREFIX, "AES256"), algorithm, key, md5], Code::InvalidArgument),
        ] {
            assert_eq!(read(pairs).unwrap_err().code, code, "{pairs:?}");
        }
    }

    #[test]
    fn reads_take_a_customers_headers_alone() {
        let headers = |name: &str| -> HeaderMap {
            [(HeaderName::try_from(name).unwrap(), "AES256".parse().unwrap())].into_iter().collect()
        };
        assert!(
            refuse_on_reads(&headers("x-amz-server-side-encryption-customer-algorithm")).is_ok()
        );
        for name in [PREFIX, KEY_ID, CONTEXT, BUCKET_KEY] {
            assert_eq!(refuse_on_reads(&headers(name)).unwrap_err().code, Code::InvalidArgument);
        }
    }
}
