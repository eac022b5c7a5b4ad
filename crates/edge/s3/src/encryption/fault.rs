//! What clients are told of named keys that cannot be used.

use crate::error::{Code, Failure};
use ripstop_envelope::KeyFault;

/// How a fault of the key that was named so is answered. What its service said is for the log.
pub(super) fn told(fault: &KeyFault, named: &str) -> Failure {
    match fault {
        KeyFault::Missing { .. } => {
            tracing::warn!(%fault, "a named key is not there");
            Failure::new(Code::KmsNotFound, format!("Invalid keyId '{named}'"))
        }
        KeyFault::Disabled { .. } => {
            tracing::warn!(%fault, "a named key is disabled");
            Failure::new(Code::KmsDisabled, format!("{named} is disabled."))
        }
        KeyFault::Unfit { .. } => {
            tracing::warn!(%fault, "a named key cannot wrap keys");
            Code::KmsInvalidKeyUsage.into()
        }
        KeyFault::Mismatch { .. } => {
            tracing::error!(%fault, "an object's data key cannot be unwrapped");
            Code::KmsInvalidCiphertext.into()
        }
        KeyFault::Refused { .. } => {
            tracing::error!(%fault, "a named key cannot be used");
            let message = "The key service does not let this gateway use the key.";
            Failure::new(Code::AccessDenied, message)
        }
        KeyFault::Unavailable { .. } => {
            tracing::warn!(%fault, "a named key cannot be used");
            Code::KmsUnavailable.into()
        }
        KeyFault::Busy => Failure::new(
            Code::SlowDown,
            "Too many requests wait for the key service. Please reduce your request rate.",
        ),
    }
}
