use ripstop_model::Timestamp;

/// A time during which a node is not itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// Its first moment.
    pub from: Timestamp,
    /// The first moment after it.
    pub until: Timestamp,
    /// What is wrong.
    pub trouble: Trouble,
}

/// What can be wrong with a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Trouble {
    /// Tasks that start meanwhile take this many times as long.
    Slow(f64),
    /// It is gone: tasks that run fail, and so do those that start.
    Lost,
}

impl Change {
    /// Whether it holds at this moment.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }
}
