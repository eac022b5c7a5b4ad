//! Entity tags of what is encrypted.

use ripstop_catalog::{Encryption, EncryptionMethod};
use ripstop_envelope::DataKey;

/// Whether an entity tag is an MD5 where bytes are encrypted like this.
pub(crate) fn keeps_md5(encryption: Option<&Encryption>) -> bool {
    match encryption.map(|encryption| encryption.method) {
        None | Some(EncryptionMethod::Managed) => true,
        Some(EncryptionMethod::Customer | EncryptionMethod::Named) => false,
    }
}

/// The entity tag of bytes with this MD5 that are encrypted so: where S3's is no MD5, one that only
/// who has the key can tell anything from.
pub(super) fn entity_tag(encryption: &Encryption, key: &DataKey, md5: &[u8; 16]) -> String {
    if keeps_md5(Some(encryption)) { hex::encode(md5) } else { hex::encode(key.entity_tag(md5)) }
}
