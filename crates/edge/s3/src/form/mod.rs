//! Browsers' forms (`POST` with `multipart/form-data`): what their fields say, who vouches for it,
//! and by what policy.

mod fields;
mod policy;

pub(crate) use fields::{Fields, Wish};
pub(crate) use policy::Policy;
