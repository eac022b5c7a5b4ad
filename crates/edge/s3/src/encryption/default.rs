//! How a bucket encrypts by default: its document `encryption`.

use super::wanted::{Wanted, check_key_id};
use crate::{
    DefaultEncryption, EncryptionSettings,
    error::{Code, Failure, Outcome},
    xml::{self, Element, Limits, Malformed, Node},
};
use ripstop_catalog::Bucket;
use ripstop_envelope::DEFAULT_NAME;

/// The name of the document among those of its bucket.
pub(crate) const DOCUMENT: &str = "encryption";
/// How much of a stored document is read.
const STORED: Limits = Limits { bytes: 16 << 10, depth: 8, elements: 64 };

/// What a bucket says of encryption.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Defaults {
    /// `AES256` or `aws:kms`.
    algorithm: Algorithm,
    /// The named key.
    key: Option<String>,
    /// Whether a key of the bucket stands between.
    bucket_key: Option<bool>,
    /// Whether keys of clients are refused; `None` if nothing is said.
    blocks_customers: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Algorithm {
    #[default]
    Managed,
    Named,
}

impl Algorithm {
    const fn word(self) -> &'static str {
        match self {
            Self::Managed => "AES256",
            Self::Named => "aws:kms",
        }
    }
}

impl Defaults {
    /// Of all buckets that say nothing, if the gateway encrypts what is put there.
    pub(crate) fn of_gateway(settings: &EncryptionSettings) -> Option<Self> {
        let (algorithm, key) = match &settings.default {
            DefaultEncryption::Off => return None,
            DefaultEncryption::Managed => (Algorithm::Managed, None),
            DefaultEncryption::Named(name) => {
                (Algorithm::Named, Some(name.clone()).filter(|name| name != DEFAULT_NAME))
            }
        };
        Some(Self { algorithm, key, ..Self::default() })
    }

    /// Reads a `ServerSideEncryptionConfiguration`.
    pub(crate) fn from_root(root: &Node<'_>) -> Outcome<Self> {
        let root = root.named("ServerSideEncryptionConfiguration")?;
        let rule = root.child("Rule")?.ok_or(Malformed)?;
        let mut read = Self::default();
        if let Some(by_default) = rule.child("ApplyServerSideEncryptionByDefault")? {
            read.algorithm = match by_default.text_of("SSEAlgorithm")? {
                Some("AES256") => Algorithm::Managed,
                Some("aws:kms") => Algorithm::Named,
                Some("aws:kms:dsse") => return Err(Code::NotImplemented.into()),
                Some(_) | None => return Err(Malformed.into()),
            };
            let key = by_default.text_of("KMSMasterKeyID")?.filter(|key| !key.is_empty());
            if let Some(key) = key.filter(|_| read.algorithm == Algorithm::Managed) {
                let message = "a KMSMasterKeyID is not applicable if the default sse algorithm is \
                               not aws:kms or aws:kms:dsse";
                return Err(Failure::argument(message, "KMSMasterKeyID", key));
            }
            read.key = key.map(check_key_id).transpose()?;
        }
        read.bucket_key = match rule.text_of("BucketKeyEnabled")? {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) => return Err(Malformed.into()),
        };
        if let Some(blocked) = rule.child("BlockedEncryptionTypes")? {
            read.blocks_customers = match blocked.text_of("EncryptionType")? {
                Some("SSE-C") => Some(true),
                Some("NONE") => Some(false),
                Some(_) | None => return Err(Malformed.into()),
            };
        }
        Ok(read)
    }

    /// What a bucket says, if it says anything.
    pub(crate) fn of(bucket: &Bucket) -> Outcome<Option<Self>> {
        let Some(document) = bucket.documents.get(DOCUMENT) else { return Ok(None) };
        let read = xml::parse(document.as_bytes(), STORED).map_err(Failure::from);
        let read = read.and_then(|root| Self::from_root(&root));
        // Nothing is stored in plain text because of a document that cannot be read.
        read.map(Some).map_err(|failure| {
            tracing::error!(bucket = bucket.name, %failure, "a bucket's encryption cannot be read");
            Code::InternalError.into()
        })
    }

    /// As a document, for the bucket and for who asks.
    pub(crate) fn document(&self) -> String {
        let mut root = Element::in_namespace("ServerSideEncryptionConfiguration");
        root.child("Rule", |rule| {
            rule.child("ApplyServerSideEncryptionByDefault", |by_default| {
                by_default.text("SSEAlgorithm", self.algorithm.word());
                by_default.optional("KMSMasterKeyID", self.key.as_deref());
            });
            if let Some(bucket_key) = self.bucket_key {
                rule.value("BucketKeyEnabled", bucket_key);
            }
            if let Some(blocks) = self.blocks_customers {
                rule.child("BlockedEncryptionTypes", |blocked| {
                    blocked.text("EncryptionType", if blocks { "SSE-C" } else { "NONE" });
                });
            }
        });
        root.document()
    }

    /// What a write wants that says nothing.
    pub(super) fn wanted(&self) -> Wanted {
        match self.algorithm {
            Algorithm::Managed => Wanted::Managed,
            Algorithm::Named => Wanted::Named {
                key: self.key.clone(),
                context: String::new(),
                bucket_key: self.bucket_key == Some(true),
            },
        }
    }

    /// Refuses a client's key where it is not to be used.
    pub(super) fn admit_customer(&self) -> Outcome<()> {
        if self.blocks_customers == Some(true) {
            let message = "The bucket blocks server-side encryption with customer-provided keys.";
            return Err(Failure::new(Code::AccessDenied, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rule: &str) -> Outcome<Defaults> {
        let document = format!(
            "<ServerSideEncryptionConfiguration>{rule}</ServerSideEncryptionConfiguration>"
        );
        let root = xml::parse(document.as_bytes(), STORED).map_err(Failure::from)?;
        Defaults::from_root(&root)
    }

    fn rule(by_default: &str, more: &str) -> String {
        format!(
            "<Rule><ApplyServerSideEncryptionByDefault>{by_default}\
             </ApplyServerSideEncryptionByDefault>{more}</Rule>"
        )
    }

    #[test]
    fn a_document_is_kept_as_it_is_meant() {
        for (by_default, more) in [
            ("<SSEAlgorithm>AES256</SSEAlgorithm>", ""),
            (
                "<SSEAlgorithm>aws:kms</SSEAlgorithm><KMSMasterKeyID>a&amp;b</KMSMasterKeyID>",
                "<BucketKeyEnabled>true</BucketKeyEnabled>",
            ),
            (
                "<SSEAlgorithm>AES256</SSEAlgorithm>",
                "<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType>\
                 </BlockedEncryptionTypes>",
            ),
        ] {
            let defaults = read(&rule(by_default, more)).unwrap();
            let document = defaults.document();
            assert!(document.contains(&rule(by_default, more)), "{document}");
            let documents = Vec::from([(DOCUMENT.to_owned(), document)]);
            let bucket = Bucket { documents: documents.into(), ..Bucket::default() };
            assert_eq!(Defaults::of(&bucket).unwrap(), Some(defaults));
        }
        let documents = Vec::from([(DOCUMENT.to_owned(), "<broken".to_owned())]);
        let bucket = Bucket { documents: documents.into(), ..Bucket::default() };
        assert_eq!(Defaults::of(&bucket).unwrap_err().code, Code::InternalError);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let aes = "<SSEAlgorithm>AES256</SSEAlgorithm>";
        let dsse = "<SSEAlgorithm>aws:kms:dsse</SSEAlgorithm>";
        let with_key = format!("{aes}<KMSMasterKeyID>k</KMSMasterKeyID>");
        for (document, code) in [
            (String::new(), Code::MalformedXml),
            (rule("", ""), Code::MalformedXml),
            (rule("<SSEAlgorithm>AES128</SSEAlgorithm>", ""), Code::MalformedXml),
            (rule(dsse, ""), Code::NotImplemented),
            (rule(&with_key, ""), Code::InvalidArgument),
            (rule(aes, "<BucketKeyEnabled>1</BucketKeyEnabled>"), Code::MalformedXml),
            (rule(aes, "<BlockedEncryptionTypes/>"), Code::MalformedXml),
            (rule(aes, "").repeat(2), Code::MalformedXml),
        ] {
            assert_eq!(read(&document).unwrap_err().code, code, "{document}");
        }
    }
}
