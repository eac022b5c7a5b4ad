use ripstop_lifecycle::Rules;

/// How a bucket's rules are found: by whoever writes its documents.
#[derive(Clone, Copy, Debug)]
pub struct LifecycleReader {
    /// The name of the document.
    pub document: &'static str,
    /// Reads it; `None` if it cannot be read.
    pub read: fn(&str) -> Option<Rules>,
}
