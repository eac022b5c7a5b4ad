use alloc::string::String;

/// How a version stands among those of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is the object that its key stands for.
    Latest,
    /// It is a delete marker, and all that is left of its key.
    LoneMarker,
    /// Later ones came.
    Noncurrent {
        /// When the next one was written, in milliseconds since 1970.
        since_ms: u64,
        /// How many there are that are later than this one, and not what the key stands for.
        later: u32,
    },
}

/// What is known of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its length in bytes; 0 of a delete marker.
    pub len: u64,
    /// Its tags, if they are known; unless they are, those that a rule asks for are taken to be
    /// there.
    pub tags: Option<&'a [(String, String)]>,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: u64,
    /// How it stands.
    pub standing: Standing,
}
