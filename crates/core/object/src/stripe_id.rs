//! The form of a stripe's name in records of format 1.

use ripstop_model::StripeId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(id: &StripeId, to: S) -> Result<S::Ok, S::Error> {
    id.0.to_be_bytes().serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<StripeId, D::Error> {
    <[u8; 16]>::deserialize(from).map(|bytes| StripeId(u128::from_be_bytes(bytes)))
}
