/// The direction of a request and of its tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// Fetch.
    Read,
    /// Store.
    Write,
}

impl Operation {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// Its name in logs and figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}
