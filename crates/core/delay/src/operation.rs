use core::{fmt, str::FromStr};
use ripstop_model::Operation;

/// What can be asked of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StorageOperation {
    /// Fetch a range of a fragment.
    Get,
    /// Store a fragment.
    Put,
    /// Remove a fragment.
    Delete,
    /// Name the fragments there are.
    List,
    /// Say whether the node serves.
    Health,
}

impl StorageOperation {
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

/// What a task of this direction asks of its node.
impl From<Operation> for StorageOperation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => Self::Get,
            Operation::Write => Self::Put,
        }
    }
}

impl fmt::Display for StorageOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No operation has this name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseOperationError;

impl fmt::Display for ParseOperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an operation")
    }
}

impl core::error::Error for ParseOperationError {}

impl FromStr for StorageOperation {
    type Err = ParseOperationError;
    fn from_str(name: &str) -> Result<Self, ParseOperationError> {
        Self::ALL.into_iter().find(|operation| operation.name() == name).ok_or(ParseOperationError)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn names_and_places_agree() {
        for (place, operation) in StorageOperation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
            assert_eq!(operation.to_string().parse(), Ok(operation));
        }
        assert_eq!("head".parse::<StorageOperation>(), Err(ParseOperationError));
    }
}
