//! Who may do what to buckets and objects: policies in AWS's language and S3's access lists, read
//! once and asked per request.
//!
//! [`PolicyDocument`] is a policy made ready: actions are bits, patterns are cut, values parsed. It
//! rules over an [`AccessRequest`], whose [`Facts`] are looked up only where a condition asks for
//! them. [`AccessList`] says the same in S3's older way: grants to users and groups.
//!
//! It deliberately knows neither who there is nor which bucket has what: whoever asks puts together
//! what a bucket, a user and an operator say ([`evaluate`]).
//!
//! ```
//! use ripstop_access::{AccessRequest, PolicyDocument, PolicyPlace, Requester, Ruling, S3Action};
//!
//! let text = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*",
//!     "Action": "s3:GetObject", "Resource": "arn:aws:s3:::site/public/*"}}"#;
//! let place = PolicyPlace { bucket: Some("site"), knows: &|_| false, has_account: &|_| false };
//! let policy = PolicyDocument::read(text, &place)?;
//! let ask = |resource| AccessRequest {
//!     requester: &Requester::Anonymous,
//!     action: S3Action::named("GetObject").expect("S3 has it"),
//!     resource,
//!     facts: &(),
//! };
//! assert_eq!(policy.rule(&ask("site/public/index.html")), Ruling::Allow);
//! assert_eq!(policy.rule(&ask("site/private")), Ruling::Silent);
//! assert!(policy.is_public());
//! # Ok::<(), ripstop_access::PolicyFault>(())
//! ```
#![no_std]

extern crate alloc;

mod action;
mod compare;
mod condition;
mod fact;
mod fault;
mod json;
mod list;
mod pattern;
mod policy;
mod requester;
mod statement;
mod when;

pub use action::{ActionLevel, S3Action};
pub use fact::{Fact, Facts};
pub use fault::PolicyFault;
pub use list::{AccessList, GRANTS_MAX, Granted, Grantee, Permission};
pub use policy::{POLICY_LEN_MAX, PolicyDocument, Ruling, STATEMENTS_MAX, evaluate};
pub use requester::Requester;
pub use statement::{AccessRequest, PolicyPlace};
