/// How a trace is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What to do with a line that cannot be read.
    pub on_bad_line: OnBadLine,
    /// What happens when times go backwards.
    pub disorder: Disorder,
    /// Where requests stand within the second that is all the log knows of their time.
    pub spread: Spread,
}

/// What to do with a line that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnBadLine {
    /// Reading ends with an error that names the line.
    #[default]
    Refuse,
    /// The line is counted, remembered if it is among the first, and left out.
    Skip,
}

/// What happens when times go backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disorder {
    /// Reading ends with an error that names the line, whatever becomes of bad lines.
    Refuse,
    /// Records are sorted by time, equal times as they stand in the file.
    Sort {
        /// How many records are held back for it. A record that comes later than this allows is a
        /// bad line.
        window: usize,
    },
    /// All records are read, then given out sorted, whatever their order was: many files one behind
    /// the other, say. Takes 64 bytes for each.
    SortAll {
        /// More records than this are refused.
        records_max: usize,
    },
}

impl Default for Disorder {
    /// Sorts over 65,536 records.
    fn default() -> Self {
        Self::Sort { window: 65_536 }
    }
}

/// Where requests stand within the second that is all the log knows of their time.
///
/// Left at its beginning, all requests of a second arrive at once: bursts that never were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// All at its beginning.
    #[default]
    Off,
    /// At equal distances, the first at its beginning, in the file's order. Smoother than it was.
    Even,
    /// Anywhere with equal probability, in the file's order: a Poisson process, given how many
    /// requests each second has.
    Random {
        /// The same seed gives the same times.
        seed: u64,
    },
}
