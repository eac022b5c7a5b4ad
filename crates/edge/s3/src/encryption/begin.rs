//! What something new is encrypted with.

use super::{
    customer::Customer, default::Defaults, fault::told, sealing::Sealing, tag::entity_tag,
    wanted::Wanted,
};
use crate::{
    FrontSettings,
    error::{Code, Failure, Outcome},
};
use ripstop_catalog::{Bucket, Encryption, EncryptionMethod, Salt};
use ripstop_envelope::{Binding, DataKey, KeyFault, name_of};

/// A data key, and what is recorded of it.
#[derive(Debug)]
pub(crate) struct Fresh {
    data_key: DataKey,
    encryption: Encryption,
}

impl Fresh {
    /// What encrypts a stream with it, which has a salt of its own.
    pub(crate) fn sealing(&self) -> Sealing {
        Sealing::new(&self.data_key)
    }

    /// The entity tag of bytes with this MD5.
    pub(crate) fn entity_tag(&self, md5: &[u8; 16]) -> String {
        entity_tag(&self.encryption, &self.data_key, md5)
    }

    /// What is recorded of an object with streams of these salts.
    pub(crate) fn recorded(self, salts: Vec<Salt>) -> Encryption {
        Encryption { salts, ..self.encryption }
    }

    /// What is recorded, as far as it is known before there is any stream.
    pub(crate) const fn encryption(&self) -> &Encryption {
        &self.encryption
    }
}

/// What an object that is put under this key of a bucket is to be encrypted with, if it is.
pub(crate) async fn begin(
    wanted: &Wanted,
    settings: &FrontSettings,
    bucket: &Bucket,
    key: &str,
) -> Outcome<Option<Fresh>> {
    let of_bucket = Defaults::of(bucket)?;
    if let (Wanted::Customer(_), Some(defaults)) = (wanted, &of_bucket) {
        defaults.admit_customer()?;
    }
    let by_default = match wanted {
        Wanted::Unsaid => of_bucket.or_else(|| Defaults::of_gateway(&settings.encryption)),
        Wanted::Customer(_) | Wanted::Managed | Wanted::Named { .. } => None,
    };
    let by_default = by_default.map(|defaults| defaults.wanted());
    let wanted = by_default.as_ref().unwrap_or(wanted);
    let recorded = match wanted {
        Wanted::Unsaid => return Ok(None),
        Wanted::Customer(_) => Encryption::default(),
        Wanted::Managed => {
            Encryption { method: EncryptionMethod::Managed, ..Encryption::default() }
        }
        Wanted::Named { key, context, bucket_key } => Encryption {
            method: EncryptionMethod::Named,
            key: key.clone().unwrap_or_else(|| settings.encryption.keys.default_name()),
            context: context.clone(),
            bucket_key: *bucket_key,
            ..Encryption::default()
        },
    };
    let customer = wanted.customer();
    let data_key = DataKey::generate();
    let encryption = wrapped(&data_key, recorded, customer, settings, (&bucket.name, key)).await?;
    Ok(Some(Fresh { data_key, encryption }))
}

/// What is recorded, with the data key wrapped as it says for what is under this name.
async fn wrapped(
    data_key: &DataKey,
    recorded: Encryption,
    customer: Option<&Customer>,
    settings: &FrontSettings,
    (bucket, key): (&str, &str),
) -> Outcome<Encryption> {
    let binding = Binding { bucket, key, context: &recorded.context };
    if let Some(customer) = customer {
        let wrapped = customer.key.wrap(data_key, &binding);
        return Ok(Encryption { wrapped, ..recorded });
    }
    let keys = &settings.encryption.keys;
    let done = if recorded.method == EncryptionMethod::Named {
        let (named, is_shared) = (recorded.key.as_str(), recorded.bucket_key);
        let done = keys.wrap_named(data_key, named, &binding, is_shared).await;
        done.map_err(|fault| told(&fault, named))?
    } else {
        keys.wrap(data_key, None, &binding).map_err(|fault| cannot_wrap(&fault))?
    };
    Ok(Encryption { key: done.key, wrapped: done.wrapped, ..recorded })
}

fn cannot_wrap(fault: &KeyFault) -> Failure {
    tracing::error!(%fault, "nothing can be encrypted with the gateway's own keys");
    Failure::new(Code::NotImplemented, "There are no keys to encrypt with.")
}

/// Whether a copy may go on with its source's data key, and so share what is stored: where nobody
/// can tell it apart from one that was wrapped for it.
pub(crate) fn shares_key(
    source: &Encryption,
    of_source: Option<&Customer>,
    target: &Fresh,
    of_target: &Wanted,
) -> bool {
    match (source.method, target.encryption.method) {
        (EncryptionMethod::Managed, EncryptionMethod::Managed) => true,
        (EncryptionMethod::Named, EncryptionMethod::Named) => {
            name_of(&source.key) == name_of(&target.encryption.key)
        }
        (EncryptionMethod::Customer, EncryptionMethod::Customer) => {
            let both = of_source.zip(of_target.customer());
            both.is_some_and(|(source, target)| source.md5 == target.md5)
        }
        (
            EncryptionMethod::Customer | EncryptionMethod::Managed | EncryptionMethod::Named,
            EncryptionMethod::Customer | EncryptionMethod::Managed | EncryptionMethod::Named,
        ) => false,
    }
}

/// What is recorded of a copy that shares its source's data key: wrapped for the copy, as `target`
/// is.
pub(crate) async fn rewrapped(
    source: &Encryption,
    data_key: &DataKey,
    target: Fresh,
    wanted: &Wanted,
    settings: &FrontSettings,
    name: (&str, &str),
) -> Outcome<Box<Encryption>> {
    let recorded = Encryption { salts: source.salts.clone(), ..target.encryption };
    Ok(Box::new(wrapped(data_key, recorded, wanted.customer(), settings, name).await?))
}
