use thiserror::Error;

/// Most rules of one principal: each of its requests looks through them.
pub const RULES_MAX: usize = 256;

/// Why rights cannot be given.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RightsError {
    /// No bucket could have a name like that.
    #[error(
        "{pattern:?} is neither a bucket's name nor the beginning of one followed by *: 3 to 63 of a–z, \
         0–9, '-' and '.'"
    )]
    Pattern {
        /// What was given.
        pattern: String,
    },
    /// There is no such right.
    #[error("{word:?} is not a right: read, write or owner")]
    Right {
        /// What was given.
        word: String,
    },
    /// A principal would have more rules than are looked through for a request.
    #[error("{rules} buckets are named, at most {RULES_MAX} can be")]
    Rules {
        /// How many there are.
        rules: usize,
    },
    /// Anybody would own a bucket, without a signature.
    #[error("requests without a signature may read and write, not own {buckets:?}")]
    UnsignedOwner {
        /// The rule's buckets.
        buckets: String,
    },
}
