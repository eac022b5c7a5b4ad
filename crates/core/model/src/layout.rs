use core::fmt;
use serde::{Deserialize, Serialize};

/// How the stripes of a pool are stored.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Each strip is a fragment at a node of its own: a stripe survives the loss of N−K nodes.
    #[default]
    Spread,
    /// All N strips in one fragment at one node (TOFEC's shared key): any run of strips is one
    /// range to fetch, so the policy chooses the chunks of each read.
    Shared,
    /// Each chunk of the code that the policy chooses for the write is a fragment, all at one node
    /// (TOFEC's unique key).
    Unique,
}

impl Layout {
    /// Its name in settings and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Shared => "shared",
            Self::Unique => "unique",
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
