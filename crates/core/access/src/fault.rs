//! What is wrong with a policy, in the words that S3 has for it.

use alloc::string::String;
use core::fmt;

/// Why a policy is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PolicyFault {
    /// It is longer than policies may be.
    TooLong,
    /// It has more statements than are looked through for a request.
    TooManyStatements,
    /// It does not begin like an object of JSON.
    NotJson,
    /// It is no JSON, or an element of it is of another kind than it must be.
    InvalidJson,
    /// It has an element that policies have not.
    Unexpected(String),
    /// An element is missing.
    Missing(&'static str),
    /// It is of a version of the language that there is not.
    Version,
    /// There is not one statement.
    NoStatement,
    /// A statement neither allows nor denies.
    Effect(String),
    /// A principal is none, or there is nobody of that name.
    Principal,
    /// Everybody but somebody would be allowed.
    AllowNotPrincipal,
    /// An action is none, and a pattern fits none.
    Action,
    /// A resource is none, or of another bucket.
    Resource,
    /// An action is done to none of the statement's resources.
    ActionResource,
    /// A condition has an operator that there is not.
    Operator(String),
    /// A condition has a key that there is not.
    Key,
    /// A condition has a key that requests of the statement's actions do not have.
    KeyAction,
    /// A condition has an address that is none.
    Address,
    /// A condition has a value of another kind than its operator compares.
    Value(String),
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::TooLong => "Policy exceeds the maximum allowed document size.",
            Self::TooManyStatements => "Policy has more statements than are allowed",
            Self::NotJson => "Policies must be valid JSON and the first byte must be '{'",
            Self::InvalidJson => "This policy contains invalid Json",
            Self::Unexpected(element) => return write!(f, "Unknown field {element}"),
            Self::Missing(element) => return write!(f, "Missing required field {element}"),
            Self::Version => "The policy must contain a valid version string",
            Self::NoStatement => "Could not parse the policy: Statement is empty!",
            Self::Effect(effect) => return write!(f, "Invalid effect: {effect}"),
            Self::Principal => "Invalid principal in policy",
            Self::AllowNotPrincipal => "Allow with NotPrincipal is not allowed",
            Self::Action => "Policy has invalid action",
            Self::Resource => "Policy has invalid resource",
            Self::ActionResource => "Action does not apply to any resource(s) in statement",
            Self::Operator(operator) => return write!(f, "Invalid Condition type : {operator}"),
            Self::Key => "Policy has an invalid condition key",
            Self::KeyAction => {
                "Conditions do not apply to combination of actions and resources in statement"
            }
            Self::Address => "Invalid IP address in Conditions",
            Self::Value(operator) => return write!(f, "Invalid value in Condition {operator}"),
        };
        f.write_str(sentence)
    }
}

impl core::error::Error for PolicyFault {}
