//! A stripe among what is put aside, in the form in which a catalog keeps it: with every field.

use ripstop_catalog::Stripe;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

pub(super) fn serialize<S: Serializer>(stripe: &Stripe, to: S) -> Result<S::Ok, S::Error> {
    ripstop_form::encode(stripe, Vec::new()).serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Stripe, D::Error> {
    let bytes = Vec::deserialize(from)?;
    ripstop_form::decode(&bytes).map_err(D::Error::custom)
}
