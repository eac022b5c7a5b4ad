//! The data key of something that is stored.

use super::{customer::Customer, fault::told, sealing::Sealing, tag::entity_tag};
use crate::{
    FrontSettings,
    error::{Code, Failure, Outcome},
};
use ripstop_catalog::{Encryption, EncryptionMethod, Upload};
use ripstop_envelope::{Binding, DataKey, WrappedKey};

fn invalid(message: &'static str) -> Failure {
    Failure::new(Code::InvalidRequest, message)
}

/// What is said to a key that is not the one.
const OTHER_KEY: &str =
    "The provided encryption parameters did not match the ones used originally.";

/// Refuses to tell of an object without its client's key, or with one where there is none.
pub(crate) fn check(
    encryption: Option<&Encryption>,
    name: (&str, &str),
    customer: Option<&Customer>,
) -> Outcome<()> {
    of_customer(encryption, name, customer).map(drop)
}

/// The data key that a client's key opens, if it is the client's to open.
fn of_customer(
    encryption: Option<&Encryption>,
    (bucket, key): (&str, &str),
    customer: Option<&Customer>,
) -> Outcome<Option<DataKey>> {
    let of_clients = encryption.filter(|it| it.method == EncryptionMethod::Customer);
    match (of_clients, customer) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(invalid("The encryption parameters are not applicable to this object."))
        }
        (Some(_), None) => Err(invalid(
            "The object was stored using a form of Server Side Encryption. The correct parameters \
             must be provided to retrieve the object.",
        )),
        (Some(encryption), Some(customer)) => {
            let binding = Binding { bucket, key, context: &encryption.context };
            let opened = customer.key.unwrap(&encryption.wrapped, &binding);
            opened.map(Some).ok_or_else(|| invalid(OTHER_KEY))
        }
    }
}

/// The data key of an object with this name, if it is encrypted.
pub(crate) async fn open(
    encryption: Option<&Encryption>,
    name: (&str, &str),
    customer: Option<&Customer>,
    settings: &FrontSettings,
) -> Outcome<Option<DataKey>> {
    if let Some(opened) = of_customer(encryption, name, customer)? {
        return Ok(Some(opened));
    }
    let Some(encryption) = encryption else { return Ok(None) };
    let wrapped = WrappedKey {
        key: encryption.key.clone(),
        is_named: encryption.method == EncryptionMethod::Named,
        wrapped: encryption.wrapped.clone(),
    };
    let binding = Binding { bucket: name.0, key: name.1, context: &encryption.context };
    settings.encryption.keys.open(&wrapped, &binding).await.map(Some).map_err(|fault| {
        if wrapped.is_named {
            return told(&fault, &wrapped.key);
        }
        tracing::error!(%fault, "an object's data key cannot be unwrapped");
        Code::InternalError.into()
    })
}

/// Encrypts a part of an upload.
#[derive(Debug)]
pub(crate) struct PartKey {
    data_key: DataKey,
    encryption: Encryption,
}

impl PartKey {
    /// What encrypts its stream.
    pub(crate) fn sealing(&self) -> Sealing {
        Sealing::new(&self.data_key)
    }

    /// The entity tag of bytes with this MD5.
    pub(crate) fn entity_tag(&self, md5: &[u8; 16]) -> String {
        entity_tag(&self.encryption, &self.data_key, md5)
    }
}

/// What encrypts parts of an upload, if they are.
pub(crate) async fn of_upload(
    upload: &Upload,
    customer: Option<&Customer>,
    settings: &FrontSettings,
) -> Outcome<Option<PartKey>> {
    let encryption = upload.attributes.encryption.as_deref();
    let is_of_client = encryption.is_some_and(|it| it.method == EncryptionMethod::Customer);
    match (is_of_client, customer) {
        (true, None) => Err(invalid(
            "The multipart upload initiate requested encryption. Subsequent part requests must \
             include the appropriate encryption parameters.",
        )),
        (false, Some(_)) => Err(invalid(
            "The multipart upload initiate did not request encryption with a customer's key. Please \
             resend the request without sending encryption parameters.",
        )),
        (true, Some(_)) | (false, None) => {
            let name = (upload.bucket.as_str(), upload.key.as_str());
            let data_key = open(encryption, name, customer, settings).await?;
            let encryption = encryption.cloned();
            let both = data_key.zip(encryption);
            Ok(both.map(|(data_key, encryption)| PartKey { data_key, encryption }))
        }
    }
}

/// Refuses a client's key at an upload's end that is not the one of its parts. None is needed.
pub(crate) fn check_upload(upload: &Upload, customer: Option<&Customer>) -> Outcome<()> {
    let encryption = upload.attributes.encryption.as_deref();
    match customer {
        None => Ok(()),
        Some(_) => check(encryption, (&upload.bucket, &upload.key), customer),
    }
}
