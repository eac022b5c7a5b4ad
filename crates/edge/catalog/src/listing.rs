use crate::{Object, Upload};

/// Which page of a bucket's keys (or uploads) is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListingRequest {
    /// The bucket's name.
    pub bucket: String,
    /// Only keys that begin with this.
    pub prefix: String,
    /// Keys that have this after the prefix are rolled up to what comes before and including it.
    /// Empty: none are.
    pub delimiter: String,
    /// Only keys, and rolled-up prefixes, after this one in byte order. A rolled-up prefix that was
    /// given as `after` is not given again, nor anything below it. With an `after` further below a
    /// rolled-up prefix (`photos/2021` for `photos/`), the prefix is given if keys after `after` are
    /// rolled up to it.
    pub after: String,
    /// Uploads only: among those of the key `after`, only ids above this; empty skips the whole key.
    pub after_upload: String,
    /// Most keys and rolled-up prefixes, together. With 0 the page is empty and says that there is no
    /// more.
    pub max: usize,
}

/// One page. Entries and prefixes are in byte order, merged they would be too.
#[derive(Clone, PartialEq, Debug)]
pub struct Listing {
    /// Keys with their objects (for a listing of objects).
    pub objects: Vec<(String, Object)>,
    /// Uploads (for a listing of uploads).
    pub uploads: Vec<Upload>,
    /// Rolled-up prefixes.
    pub prefixes: Vec<String>,
    /// Where the next page begins (`after` of the next request), if there is more.
    pub next: Option<String>,
    /// Uploads only: `after_upload` of the next request.
    pub next_upload: Option<String>,
}
