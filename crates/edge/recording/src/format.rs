use ripstop_gateway::{Action, Event, Machine, MachineSettings, NodeSpec};
use ripstop_model::{NodeId, Timestamp};
use std::{collections::BTreeSet, fmt};

/// What a recording begins with.
pub(crate) const MAGIC: [u8; 8] = *b"RIPSTOPR";
/// Version of the format that is written: numbered fields, of which later programs may add some.
pub const VERSION: u32 = 3;
/// The version whose records are members one after another, without numbers. It is read, too.
pub const POSITIONAL: u32 = 2;
/// Bytes of a file before its first block.
pub(crate) const FILE_HEAD_LEN: usize = MAGIC.len() + 4;
/// Most bytes that a block's length may say.
pub(crate) const BLOCK_LEN_MAX: usize = 64 << 20;

/// One entry of a recording. What is written borrows what it holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Entry<B = Beginning, E = Event, A = Vec<Action>> {
    /// A machine was made.
    Began(B),
    /// It was told what happened.
    Told {
        /// The time that it was given.
        now: Timestamp,
        /// What happened.
        event: E,
    },
    /// What it said, in order.
    Said(A),
    /// What follows was not recorded, for this reason.
    Stopped(Stop),
    /// Recording was ended as asked.
    Finished,
}

/// Everything that makes a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Beginning {
    /// Version of the program that recorded.
    pub program: String,
    /// The pool's name.
    pub pool: String,
    /// The machine's limits.
    pub settings: MachineSettings,
    /// Its nodes, in order.
    pub nodes: Vec<NodeSpec>,
    /// The policy's name.
    pub policy: String,
    /// What the policy was told.
    pub policy_settings: ripstop_policy::PolicySettings,
}

/// No machine can be made so.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BeginningError {
    /// Its policy is none that this program knows.
    #[error(transparent)]
    Policy(#[from] ripstop_policy::UnknownPolicy),
    /// Its limits are not valid.
    #[error(transparent)]
    Settings(#[from] ripstop_gateway::SettingsError),
    /// A node is there twice.
    #[error("node {0} is there twice")]
    Node(NodeId),
}

impl Beginning {
    /// A machine that was told nothing yet.
    pub fn machine(&self) -> Result<Machine, BeginningError> {
        let policy = ripstop_policy::by_name(&self.policy, &self.policy_settings)?;
        self.settings.validate()?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.nodes.iter().find(|node| !seen.insert(node.id)) {
            return Err(BeginningError::Node(twice.id));
        }
        Ok(Machine::new(self.settings, self.nodes.clone(), policy))
    }
}

/// Why recording ended before it was asked to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Blocks came faster than the disk took them.
    Behind,
    /// The file reached the most bytes it may have.
    Limit,
    /// The disk refused; why, in its words.
    Disk(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Behind => f.write_str("the disk could not keep up"),
            Self::Limit => f.write_str("the file reached its limit"),
            Self::Disk(error) => write!(f, "the disk refused: {error}"),
        }
    }
}

#[cfg(test)]
mod tests;
