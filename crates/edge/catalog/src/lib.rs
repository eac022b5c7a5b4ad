//! What is stored where: buckets, objects, stripes, uploads, garbage.

mod catalog;
mod change;
mod error;
mod listing;
mod record;

pub use catalog::{Catalog, Located};
pub use change::{Applied, Change, Condition};
pub use error::CatalogError;
pub use listing::{Listing, ListingRequest};
pub use record::{
    Attributes, Bucket, Checksum, ChecksumAlgorithm, Extent, Object, Part, Stripe, Upload,
    UploadedPart,
};
