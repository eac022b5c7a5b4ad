//! The parts of a bucket's configuration, one row each: fixed where S3 has a default, otherwise
//! absent. None can be put, and what is absent is deleted already.

use crate::{error::Code, uri::Query, xml::Element};

/// A part of a bucket's configuration.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The parameter of the query that asks for it.
    pub(crate) name: &'static str,
    /// What is answered.
    pub(super) stands: Stands,
}

/// How a part of a bucket's configuration stands.
#[derive(Debug)]
pub(super) enum Stands {
    /// As S3 has it by default.
    Fixed(fn() -> String),
    /// There is none.
    Absent(Code),
    /// There are none of several that would have names, and no list of them.
    NoneOfSeveral,
}

macro_rules! settings {
    ($($name:literal: $stands:ident $(($answer:expr))?;)*) => {
        /// Of several that a query names, the first is meant.
        pub(crate) static SETTINGS: &[Setting] =
            &[$(Setting { name: $name, stands: Stands::$stands $(($answer))? },)*];
    };
}

settings! {
    "accelerate": Fixed(|| Element::in_namespace("AccelerateConfiguration").document());
    "analytics": NoneOfSeveral;
    "intelligent-tiering": NoneOfSeveral;
    "metrics": NoneOfSeveral;
    "replication": Absent(Code::ReplicationConfigurationNotFound);
    "requestPayment": Fixed(payment);
}

fn payment() -> String {
    let mut root = Element::in_namespace("RequestPaymentConfiguration");
    root.text("Payer", "BucketOwner");
    root.document()
}

/// Which part of a bucket's configuration a query asks for.
pub(crate) fn named_setting(query: &Query) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| query.has(setting.name))
}
