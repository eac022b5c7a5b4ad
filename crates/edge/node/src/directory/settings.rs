use super::marker::NodeMark;

/// When a put may answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PutDurability {
    /// Once the fragment survives a power failure: file and folders are synced to the disk.
    #[default]
    Full,
    /// Once the operating system has the fragment: it survives this process, not a power failure.
    Relaxed,
}

/// How a [`Directory`](crate::Directory) behaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectorySettings {
    /// When a put may answer.
    pub durability: PutDurability,
    /// How many operations its users have under way at once; there are threads for them and a few
    /// more.
    pub lanes: u16,
    /// What the folder's marker is to say. Without it no marker is looked at or made.
    pub mark: Option<NodeMark>,
}

impl Default for DirectorySettings {
    fn default() -> Self {
        Self { durability: PutDurability::default(), lanes: 16, mark: None }
    }
}
