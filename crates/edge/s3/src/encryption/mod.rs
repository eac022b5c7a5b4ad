//! Server-side encryption: what requests and buckets say of it, and the bytes on their way in and
//! out. Between the door and the store, so that this and everything behind it has them encrypted.

mod begin;
mod customer;
mod default;
mod fault;
mod open;
mod sealing;
mod show;
mod tag;
mod unsealing;
mod wanted;

pub(crate) use begin::{Fresh, begin, rewrapped, shares_key};
pub(crate) use customer::{Customer, customer, source_customer};
pub(crate) use default::{DOCUMENT, Defaults};
pub(crate) use open::{PartKey, check, check_upload, of_upload, open};
pub(crate) use sealing::{Plain, Sealed, Sealing};
pub(crate) use show::{show, show_written};
pub(crate) use tag::keeps_md5;
pub(crate) use unsealing::Cover;
pub(crate) use wanted::{Wanted, refuse_on_reads};
