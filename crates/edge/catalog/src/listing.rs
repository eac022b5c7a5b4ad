use crate::{ChecksumAlgorithm, Object, ObjectVersion, Upload};

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
    /// rolled-up prefix (`photos/2021` for `photos/`), the prefix is given if keys after `after`
    /// are rolled up to it.
    pub after: String,
    /// Uploads: among those of the key `after`, only ids above this. Versions: only those behind
    /// this one, in the order of a listing. Empty skips the whole key.
    pub after_upload: String,
    /// Most keys and rolled-up prefixes, together; fewer where they are long ([`PAGE_LEN_MAX`]).
    /// With 0 the page is empty and says that there is no more.
    pub max: usize,
}

/// Most bytes of a page's keys and prefixes together: the entry with which they would be more
/// begins the next page, if it is not a page's first.
pub const PAGE_LEN_MAX: usize = 256 << 10;

/// What a listing shows of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedObject {
    /// Its length in bytes.
    pub len: u64,
    /// When it was last written, milliseconds since 1970.
    pub modified_ms: u64,
    /// Without quotation marks.
    pub etag: String,
    /// The function of its checksum, and whether that is composite.
    pub checksum: Option<(ChecksumAlgorithm, bool)>,
    /// Its class of storage; empty for the standard one.
    pub storage_class: String,
}

impl ListedObject {
    /// What a listing shows of `object`.
    pub fn of(object: &Object) -> Self {
        let checksum = object.attributes.checksum.as_ref();
        Self {
            len: object.len,
            modified_ms: object.modified_ms,
            etag: object.attributes.etag.clone(),
            checksum: checksum.map(|checksum| (checksum.algorithm, checksum.composite)),
            storage_class: object.attributes.storage_class.clone(),
        }
    }
}

/// What a listing shows of a version of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedVersion {
    /// The key.
    pub key: String,
    /// Which version.
    pub version: ObjectVersion,
    /// Whether it is what the key stands for.
    pub is_latest: bool,
    /// Whether it is a delete marker.
    pub is_marker: bool,
    /// Its object; of a delete marker, nothing but when it was made.
    pub object: ListedObject,
}

/// What a listing shows of an upload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedUpload {
    /// Its name.
    pub id: String,
    /// The key it will write.
    pub key: String,
    /// When it began, milliseconds since 1970.
    pub created_ms: u64,
    /// The checksum function of its parts, and whether the object's is composite.
    pub checksum: Option<(ChecksumAlgorithm, bool)>,
    /// The object's class of storage; empty for the standard one.
    pub storage_class: String,
}

impl ListedUpload {
    /// What a listing shows of `upload`.
    pub fn of(upload: &Upload) -> Self {
        let Upload { id, key, created_ms, checksum, attributes, .. } = upload;
        Self {
            id: id.clone(),
            key: key.clone(),
            created_ms: *created_ms,
            checksum: *checksum,
            storage_class: attributes.storage_class.clone(),
        }
    }
}

/// One page. Entries and prefixes are in byte order, merged they would be too.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Listing {
    /// Keys with their objects (for a listing of objects).
    pub objects: Vec<(String, ListedObject)>,
    /// Uploads (for a listing of uploads).
    pub uploads: Vec<ListedUpload>,
    /// Versions (for a listing of versions).
    pub versions: Vec<ListedVersion>,
    /// Rolled-up prefixes.
    pub prefixes: Vec<String>,
    /// Where the next page begins (`after` of the next request), if there is more.
    pub next: Option<String>,
    /// Uploads and versions only: `after_upload` of the next request.
    pub next_upload: Option<String>,
}
