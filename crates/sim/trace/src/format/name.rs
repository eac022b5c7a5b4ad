use std::fmt;

/// How a log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// An S3 server access log.
    S3,
    /// Ripstop's own log, JSON lines.
    Ripstop,
    /// CSV with a header.
    Csv,
    /// A block trace: `ASU,LBA,bytes,opcode,seconds`.
    Spc,
    /// A block trace: `nanoseconds device LBA sectors type`, divided by blanks.
    Sectors,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::S3, Self::Ripstop, Self::Csv, Self::Spc, Self::Sectors];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Ripstop => "ripstop",
            Self::Csv => "csv",
            Self::Spc => "spc",
            Self::Sectors => "sectors",
        }
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
