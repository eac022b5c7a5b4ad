use thiserror::Error;

/// Why a node's operation failed, as far as the caller acts on it.
#[derive(Clone, Debug, Error)]
pub enum NodeError {
    /// The node answers, and the fragment is not there.
    #[error("no such fragment")]
    Missing,
    /// The fragment is there, but shorter than the range that was asked for.
    #[error("fragment ends at byte {len}, asked for {asked}")]
    Short {
        /// Bytes that the fragment has.
        len: u64,
        /// End of the range that was asked for.
        asked: u64,
    },
    /// No space, quota, or permission: trying again will not help before somebody acts.
    #[error("refused: {reason}")]
    Refused {
        /// What the node said.
        reason: String,
    },
    /// Busy or unreachable: trying again may help.
    #[error("unavailable: {reason}")]
    Unavailable {
        /// What the node said.
        reason: String,
    },
}
