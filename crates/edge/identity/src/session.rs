use ripstop_access::PolicyDocument;

/// What a principal is while it asks with temporary keys: no more than it is without.
#[derive(Clone, PartialEq, Debug)]
pub struct TemporarySession {
    /// What whoever began it calls it.
    pub name: String,
    /// When it began, seconds since 1970.
    pub began_s: i64,
    /// What it is narrowed to; nothing if there is none.
    pub policy: Option<PolicyDocument>,
}
