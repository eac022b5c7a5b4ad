//! Which rows changes may look at, so that a catalog that is asked for them over a network can
//! fetch them before it decides.

use crate::{
    Bucket, Change, Condition, Object, Place, Session, Tombstone, Upload, UploadedPart, bucket_of,
};
use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;
use ripstop_model::StripeId;

/// A row, or a range of rows, that a decision may read; each is answered by the method of
/// [`Rows`](crate::Rows) of that name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Named<'a> {
    /// A bucket.
    Bucket(&'a str),
    /// What a key stands for.
    Object(Place<'a>),
    /// That a key's object was deleted.
    Tombstone(Place<'a>),
    /// A stripe: in force, or garbage.
    Stripe(StripeId),
    /// Whether a stripe tells of a key what is no longer so.
    Outlived(StripeId, Place<'a>),
    /// An upload.
    Upload(&'a str),
    /// A part of an upload.
    Part(&'a str, u16),
    /// What a bucket holds.
    Account(&'a str),
    /// A node's number.
    Node(&'a str),
    /// Until when a session may name stripes.
    Session(Session),
    /// What a session may still be writing.
    Watermark(Session),
    /// Who has a lease.
    Lease(&'a str),
    /// Before when all names of stripes are known.
    VouchedBefore,
    /// The first keys of a bucket, and the first names in its space of versions: of each one more
    /// than there are changes that are decided on together.
    Keys(&'a str),
    /// The names of the latest versions of a key: one more than there are such changes. The rows of
    /// these are read too.
    Versions(Cow<'a, str>, Cow<'a, str>),
    /// Its first uploads, as many.
    Uploads(&'a str),
    /// All parts of an upload.
    Parts(&'a str),
    /// Of which keys a stripe tells what is no longer so: all.
    OutlivedBy(StripeId),
    /// Which stripes tell of a key what is no longer so: one more than there are stripes in the
    /// changes that are decided on together.
    OutlivedAt(Place<'a>),
    /// How many nodes have a number.
    NodeCount,
    /// All sessions.
    Sessions,
    /// What each session may still be writing.
    Watermarks,
    /// What each gateway told of itself.
    Gateways,
}

/// What was found where a row was named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundRow<'a> {
    /// An object.
    Object(&'a Object),
    /// A tombstone.
    Tombstone(Place<'a>, &'a Tombstone),
    /// An upload.
    Upload(&'a Upload),
    /// A part of an upload.
    Part(&'a UploadedPart),
    /// A bucket, which may be about to go.
    Bucket(&'a Bucket),
    /// A key of which a forgotten stripe told what was no longer so.
    Outlived(Place<'a>),
    /// One of the latest versions of a key.
    Version(Place<'a>),
}

impl<'a> FoundRow<'a> {
    /// The rows that it leads to: these are to be fetched too, and so on, until no row is new.
    /// There are three rounds at most.
    pub fn names(self) -> Vec<Named<'a>> {
        match self {
            Self::Object(object) => {
                let named = object.extents.iter().map(|extent| extent.stripe);
                named.chain([object.told_by]).map(Named::Stripe).collect()
            }
            Self::Tombstone(place, tombstone) => {
                vec![Named::Stripe(tombstone.told_by), Named::OutlivedAt(place)]
            }
            Self::Part(part) => {
                part.extents.iter().map(|extent| Named::Stripe(extent.stripe)).collect()
            }
            Self::Bucket(bucket) => vec![Named::Stripe(bucket.told_by)],
            Self::Upload(upload) => {
                let place = Place::new(&upload.bucket, &upload.key);
                let mut named = vec![Named::Account(&upload.bucket), Named::Bucket(&upload.bucket)];
                named.extend(among(&place).into_iter().chain(at(place)));
                named
            }
            Self::Outlived(place) => {
                vec![Named::Tombstone(place.clone()), Named::OutlivedAt(place)]
            }
            Self::Version(place) => vec![Named::Object(place)],
        }
    }
}

/// What else its key stood for.
fn among<'a>(place: &Place<'a>) -> [Named<'a>; 2] {
    let bucket = place.bucket_name();
    let key = place.version().map_or_else(|| place.key.clone(), |(key, _)| Cow::Owned(key));
    let null = Place { bucket: bucket.clone(), key: key.clone() };
    [Named::Object(null), Named::Versions(bucket, key)]
}

/// What stands at a place.
fn at(place: Place<'_>) -> [Named<'_>; 2] {
    [Named::Object(place.clone()), Named::Tombstone(place)]
}

impl Change {
    /// The rows that it may look at, before what is [found](FoundRow) there is known.
    pub fn names(&self) -> Vec<Named<'_>> {
        let mut named = Vec::new();
        for (id, _) in self.stripes() {
            named.extend([Named::Stripe(*id), Named::Watermark(Session::of(*id))]);
        }
        match self {
            Self::CreateBucket { bucket, .. } | Self::SetBucket { bucket, .. } => {
                named.extend(created(bucket));
            }
            Self::DeleteBucket { name, tombstone, .. } => {
                named.extend([Named::Bucket(name), Named::Keys(name), Named::Uploads(name)]);
                named.push(Named::Tombstone(Place::of_bucket(name)));
                named.extend(told(Place::of_bucket(name), tombstone.as_ref()));
            }
            Self::PutObject { bucket, key, object, .. } => {
                named.extend(counted(bucket));
                named.extend(put(Place::new(bucket, key), object));
            }
            Self::DeleteObject { bucket, key, tombstone, condition, .. } => {
                named.extend(counted(bucket));
                named.extend(removed(Place::new(bucket, key), tombstone.as_ref(), condition));
            }
            Self::Outlive { bucket, key, .. } => named.extend(standing(bucket, key)),
            Self::Bury { bucket, key, tombstone, .. } => {
                named.extend(standing(bucket, key));
                named.extend(told(Place::new(bucket, key), Some(tombstone)));
            }
            Self::CreateUpload(upload) => {
                named.extend([Named::Bucket(&upload.bucket), Named::Upload(&upload.id)]);
                // A later change of the same commit may end it.
                named.extend(FoundRow::Upload(upload).names());
            }
            Self::PutPart { upload, part, .. } => {
                named.extend([Named::Upload(upload), Named::Part(upload, part.number)]);
                named.extend(FoundRow::Part(part).names());
            }
            Self::CompleteUpload { upload, object, version, .. } => {
                named.extend(ended(upload));
                let version = version.iter().map(|(space, name)| Place::new(space, name));
                named.extend(version.flat_map(at));
                named.extend(FoundRow::Object(object).names());
                // Where the object will be only the upload's record says.
                named.push(Named::OutlivedBy(object.told_by));
            }
            Self::AbortUpload { upload } => named.extend(ended(upload)),
            Self::PlaceFragment { stripe, .. } | Self::MoveFragment { stripe, .. } => {
                named.push(Named::Stripe(*stripe));
            }
            Self::ForgetGarbage { stripes } => {
                for id in stripes {
                    named.extend([Named::Stripe(*id), Named::OutlivedBy(*id)]);
                }
            }
            Self::Reserve { session, .. } => {
                named.extend([Named::Session(*session), Named::Sessions, Named::VouchedBefore]);
            }
            Self::Watch { session, .. } => named.push(Named::Watermark(*session)),
            Self::Retire => named.push(Named::Watermarks),
            Self::Lease { name, holder, .. } => {
                named.extend([Named::Lease(name), Named::Watermark(*holder), Named::Watermarks]);
            }
            Self::Fenced { lease, change, .. } => {
                named.extend(change.names().into_iter().chain([Named::Lease(lease)]));
            }
            Self::Beat { .. } => named.push(Named::Gateways),
            Self::Release { name, .. } => named.push(Named::Lease(name)),
            Self::Vouch { .. } => named.push(Named::Sessions),
            Self::NameNode { name } => named.extend([Named::Node(name), Named::NodeCount]),
            Self::Discard { .. } | Self::ForgetLeftovers { .. } => {}
        }
        named
    }
}

/// What the making of a bucket looks at, and its change.
fn created(bucket: &Bucket) -> [Named<'_>; 4] {
    let place = Place::of_bucket(&bucket.name);
    [
        Named::Bucket(&bucket.name),
        Named::Tombstone(place.clone()),
        Named::Stripe(bucket.told_by),
        Named::Outlived(bucket.told_by, place),
    ]
}

/// What stands at a place, or as a bucket.
fn standing<'a>(bucket: &'a str, key: &'a str) -> [Named<'a>; 3] {
    let [object, tombstone] = at(Place::new(bucket, key));
    [Named::Bucket(bucket), object, tombstone]
}

/// What is to be known of the bucket whose space something is put in or taken out of.
fn counted(space: &str) -> [Named<'_>; 2] {
    let bucket = bucket_of(space);
    [Named::Bucket(bucket), Named::Account(bucket)]
}

/// What the end of an upload looks at.
const fn ended(upload: &str) -> [Named<'_>; 2] {
    [Named::Upload(upload), Named::Parts(upload)]
}

/// What an object that is put looks at.
fn put<'a>(place: Place<'a>, object: &'a Object) -> Vec<Named<'a>> {
    let mut named = FoundRow::Object(object).names();
    named.extend(at(place.clone()).into_iter().chain(among(&place)));
    named.push(Named::Outlived(object.told_by, place));
    named
}

/// What the removal of an object looks at.
fn removed<'a>(
    place: Place<'a>,
    tombstone: Option<&'a Tombstone>,
    condition: &Condition,
) -> Vec<Named<'a>> {
    let mut named = told(place.clone(), tombstone);
    if matches!(condition, Condition::Superseded(_)) {
        named.extend(among(&place));
    }
    named.extend(at(place));
    named
}

/// What a deletion looks at.
fn told<'a>(place: Place<'a>, tombstone: Option<&'a Tombstone>) -> Vec<Named<'a>> {
    let Some(Tombstone { told_by, .. }) = tombstone else { return vec![] };
    vec![
        Named::Stripe(*told_by),
        Named::Outlived(*told_by, place.clone()),
        Named::OutlivedAt(place),
    ]
}
