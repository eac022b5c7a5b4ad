//! What answers say of encryption.

use super::{
    customer::ALGORITHM,
    wanted::{BUCKET_KEY, CONTEXT, KEY_ID, PREFIX},
};
use crate::request::Reply;
use ripstop_catalog::{Encryption, EncryptionMethod};

/// With what a client is told of how something is encrypted; of its own key, where it gave one.
pub(crate) fn show(reply: Reply, encryption: Option<&Encryption>, customer: Option<&str>) -> Reply {
    let Some(encryption) = encryption else { return reply };
    match encryption.method {
        EncryptionMethod::Customer => match customer {
            None => reply,
            Some(md5) => reply
                .with("x-amz-server-side-encryption-customer-algorithm", ALGORITHM)
                .with("x-amz-server-side-encryption-customer-key-md5", md5),
        },
        EncryptionMethod::Managed => reply.with(PREFIX, "AES256"),
        EncryptionMethod::Named => {
            let mut reply = reply.with(PREFIX, "aws:kms").with(KEY_ID, &encryption.key);
            if encryption.bucket_key {
                reply = reply.with(BUCKET_KEY, "true");
            }
            reply
        }
    }
}

/// The same of a write, with the context that it said.
pub(crate) fn show_written(
    reply: Reply,
    encryption: Option<&Encryption>,
    customer: Option<&str>,
) -> Reply {
    let reply = show(reply, encryption, customer);
    match encryption {
        Some(it) if !it.context.is_empty() => reply.with(CONTEXT, &it.context),
        Some(_) | None => reply,
    }
}
