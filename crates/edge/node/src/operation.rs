use std::{fmt, str::FromStr};

/// What can be asked of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// [`crate::Node::get`].
    Get,
    /// [`crate::Node::put`].
    Put,
    /// [`crate::Node::delete`].
    Delete,
    /// [`crate::Node::list`].
    List,
    /// [`crate::Node::health`].
    Health,
}

impl Operation {
    /// Each of them; an operation's place here is `operation as usize`.
    pub const ALL: [Self; 5] = [Self::Get, Self::Put, Self::Delete, Self::List, Self::Health];

    /// Its name in logs of delays and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Delete => "delete",
            Self::List => "list",
            Self::Health => "health",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No operation has this name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not an operation")]
pub struct ParseOperationError;

impl FromStr for Operation {
    type Err = ParseOperationError;
    fn from_str(name: &str) -> Result<Self, ParseOperationError> {
        Self::ALL.into_iter().find(|operation| operation.name() == name).ok_or(ParseOperationError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_agree() {
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
            assert_eq!(operation.to_string().parse(), Ok(operation));
        }
        assert_eq!("head".parse::<Operation>(), Err(ParseOperationError));
    }
}
