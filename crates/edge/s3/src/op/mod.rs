//! One file per family of operations.

mod acl;
mod act;
mod attributes;
mod bucket;
mod bucket_document;
mod bucket_encryption;
mod bucket_tags;
mod complete;
mod copy;
mod cors;
mod delete;
mod expiring;
mod inventory;
mod lifecycle;
mod list;
mod list_uploads;
mod list_versions;
mod logging;
mod multipart;
mod notification;
mod object;
mod object_lock;
mod ownership;
mod part;
mod policy;
mod post;
mod public_access;
mod put;
mod recrypt;
mod security_token;
mod setting;
mod settings;
mod source;
mod table;
mod tags;
mod target;
mod telling;
mod version;
mod versioning;
mod website;
mod whole;
mod word;

pub(crate) use crate::{
    error::Outcome,
    request::{Reply, Request},
};
pub(crate) use act::{Desk, Operate};
pub(crate) use cors::rules_of;
pub(crate) use settings::named_setting;
pub(crate) use source::{COPY_SOURCE, named as copy_source};
pub use table::S3Operation;
pub(crate) use table::{ENTRIES, Entry, Row, covered, run};
pub(crate) use word::{Input, Level, Selector, Signer, When};
