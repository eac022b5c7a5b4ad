use std::time::Duration;

/// How a database is used.
#[derive(Clone, Debug)]
pub struct PostgresSettings {
    /// Connections that answer queries at most; further queries wait for one. Commits have one of
    /// their own besides.
    pub readers_max: usize,
    /// Longest that a statement may take, the wait for its turn included; a transaction that idles
    /// longer is ended by the server, so that a gateway that hangs holds up no others.
    pub statement_max: Duration,
    /// Longest that a commit or a query is tried again while the database is away, fails over, or
    /// asks for it.
    pub patience: Duration,
}

impl Default for PostgresSettings {
    fn default() -> Self {
        Self {
            readers_max: 16,
            statement_max: Duration::from_secs(10),
            patience: Duration::from_secs(30),
        }
    }
}
