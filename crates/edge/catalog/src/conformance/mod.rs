//! What every implementation of the catalog must pass.
//!
//! [`cases`] are facts with names; [`script`] makes up sequences of changes and listings that
//! [`follow`] puts to an implementation and to the [`Model`](crate::Model), comparing every answer,
//! everything readable, and the audit.

mod case;
mod follow;
mod make;
mod script;
mod writer;

pub use case::{Case, cases, cases_of_long_keys};
pub use follow::{compare, follow, whole};
pub use make::{attributes, bucket, listing_of, object, part, stripe, upload};
pub use script::{Key, Material, ScriptStep, Step, Turn, When, Wish, script};
pub use writer::changes;
