//! S3's actions, by the names that policies use.

use crate::pattern::Pattern;

/// What an action is done to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionLevel {
    /// All buckets of an account.
    Service,
    /// A bucket.
    Bucket,
    /// An object.
    Object,
}

use ActionLevel::{Bucket, Object, Service};

/// One of S3's actions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct S3Action(u8);

/// Every action that a policy may name, whether a server has an operation for it or not.
const ACTIONS: &[(&str, ActionLevel)] = &[
    ("AbortMultipartUpload", Object),
    ("BypassGovernanceRetention", Object),
    ("CreateBucket", Bucket),
    ("DeleteBucket", Bucket),
    ("DeleteBucketPolicy", Bucket),
    ("DeleteBucketWebsite", Bucket),
    ("DeleteObject", Object),
    ("DeleteObjectTagging", Object),
    ("DeleteObjectVersion", Object),
    ("DeleteObjectVersionTagging", Object),
    ("GetAccelerateConfiguration", Bucket),
    ("GetAccountPublicAccessBlock", Service),
    ("GetAnalyticsConfiguration", Bucket),
    ("GetBucketAcl", Bucket),
    ("GetBucketCORS", Bucket),
    ("GetBucketLocation", Bucket),
    ("GetBucketLogging", Bucket),
    ("GetBucketNotification", Bucket),
    ("GetBucketObjectLockConfiguration", Bucket),
    ("GetBucketOwnershipControls", Bucket),
    ("GetBucketPolicy", Bucket),
    ("GetBucketPolicyStatus", Bucket),
    ("GetBucketPublicAccessBlock", Bucket),
    ("GetBucketRequestPayment", Bucket),
    ("GetBucketTagging", Bucket),
    ("GetBucketVersioning", Bucket),
    ("GetBucketWebsite", Bucket),
    ("GetEncryptionConfiguration", Bucket),
    ("GetIntelligentTieringConfiguration", Bucket),
    ("GetInventoryConfiguration", Bucket),
    ("GetLifecycleConfiguration", Bucket),
    ("GetMetricsConfiguration", Bucket),
    ("GetObject", Object),
    ("GetObjectAcl", Object),
    ("GetObjectAttributes", Object),
    ("GetObjectLegalHold", Object),
    ("GetObjectRetention", Object),
    ("GetObjectTagging", Object),
    ("GetObjectTorrent", Object),
    ("GetObjectVersion", Object),
    ("GetObjectVersionAcl", Object),
    ("GetObjectVersionAttributes", Object),
    ("GetObjectVersionForReplication", Object),
    ("GetObjectVersionTagging", Object),
    ("GetObjectVersionTorrent", Object),
    ("GetReplicationConfiguration", Bucket),
    ("InitiateReplication", Object),
    ("ListAllMyBuckets", Service),
    ("ListBucket", Bucket),
    ("ListBucketMultipartUploads", Bucket),
    ("ListBucketVersions", Bucket),
    ("ListMultipartUploadParts", Object),
    ("ObjectOwnerOverrideToBucketOwner", Object),
    ("PutAccelerateConfiguration", Bucket),
    ("PutAccountPublicAccessBlock", Service),
    ("PutAnalyticsConfiguration", Bucket),
    ("PutBucketAcl", Bucket),
    ("PutBucketCORS", Bucket),
    ("PutBucketLogging", Bucket),
    ("PutBucketNotification", Bucket),
    ("PutBucketObjectLockConfiguration", Bucket),
    ("PutBucketOwnershipControls", Bucket),
    ("PutBucketPolicy", Bucket),
    ("PutBucketPublicAccessBlock", Bucket),
    ("PutBucketRequestPayment", Bucket),
    ("PutBucketTagging", Bucket),
    ("PutBucketVersioning", Bucket),
    ("PutBucketWebsite", Bucket),
    ("PutEncryptionConfiguration", Bucket),
    ("PutIntelligentTieringConfiguration", Bucket),
    ("PutInventoryConfiguration", Bucket),
    ("PutLifecycleConfiguration", Bucket),
    ("PutMetricsConfiguration", Bucket),
    ("PutObject", Object),
    ("PutObjectAcl", Object),
    ("PutObjectLegalHold", Object),
    ("PutObjectRetention", Object),
    ("PutObjectTagging", Object),
    ("PutObjectVersionAcl", Object),
    ("PutObjectVersionTagging", Object),
    ("PutReplicationConfiguration", Bucket),
    ("ReplicateDelete", Object),
    ("ReplicateObject", Object),
    ("ReplicateTags", Object),
    ("RestoreObject", Object),
];

impl S3Action {
    /// The action of this name, without `s3:`, in whatever case; `None` if S3 has none.
    pub fn named(name: &str) -> Option<Self> {
        let at = ACTIONS.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        at.map(|at| Self(at as u8))
    }

    /// Its name, without `s3:`.
    pub fn name(self) -> &'static str {
        ACTIONS[usize::from(self.0)].0
    }

    /// What it is done to.
    pub fn level(self) -> ActionLevel {
        ACTIONS[usize::from(self.0)].1
    }

    /// All of them, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..ACTIONS.len()).map(|at| Self(at as u8))
    }

    const fn bit(self) -> u128 {
        1 << self.0
    }
}

/// Some of the actions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ActionSet(u128);

impl ActionSet {
    /// What an entry of a policy stands for: a name or a pattern behind `s3:`, or `*`.
    pub(crate) fn meant_by(entry: &str) -> Self {
        let pattern = match entry.split_once(':') {
            _ if entry == "*" => "*",
            Some((service, pattern)) if service.eq_ignore_ascii_case("s3") => pattern,
            Some(_) | None => return Self::default(),
        };
        let pattern = Pattern::new(&pattern.to_ascii_lowercase(), false);
        let fits = |action: &S3Action| pattern.fits(&action.name().to_ascii_lowercase(), &|_| None);
        S3Action::all().filter(fits).collect()
    }

    /// All but these.
    pub(crate) fn others(self) -> Self {
        let all: Self = S3Action::all().collect();
        Self(all.0 & !self.0)
    }

    pub(crate) const fn contains(self, action: S3Action) -> bool {
        self.0 & action.bit() != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are done to this.
    pub(crate) fn at(self, level: ActionLevel) -> Self {
        S3Action::all().filter(|action| self.contains(*action) && action.level() == level).collect()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = S3Action> {
        S3Action::all().filter(move |action| self.contains(*action))
    }
}

impl FromIterator<S3Action> for ActionSet {
    fn from_iter<I: IntoIterator<Item = S3Action>>(actions: I) -> Self {
        Self(actions.into_iter().fold(0, |set, action| set | action.bit()))
    }
}

impl Extend<S3Action> for ActionSet {
    fn extend<I: IntoIterator<Item = S3Action>>(&mut self, actions: I) {
        self.0 |= actions.into_iter().collect::<Self>().0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_fits_a_set() {
        assert!(ACTIONS.is_sorted_by(|(a, _), (b, _)| a < b));
        assert!(ACTIONS.len() <= u128::BITS as usize);
        assert!(S3Action::all().all(|action| S3Action::named(action.name()) == Some(action)));
    }

    #[test]
    fn entries_mean_actions_by_name_and_pattern() {
        let names = |entry: &str| ActionSet::meant_by(entry).iter().map(S3Action::name).count();
        assert_eq!(names("s3:*"), ACTIONS.len());
        assert_eq!(names("*"), ACTIONS.len());
        assert_eq!(names("S3:getobject"), 1);
        assert_eq!(names("s3:GetBucketCors"), 1);
        assert_eq!(names("s3:???Object"), 2);
        assert_eq!(names("s3:GetObject*"), 13);
        for none in ["", "s3", "s3:", "s4:GetObject", "*GetObject", "s3::GetObject", "s3:Abort?"] {
            assert!(ActionSet::meant_by(none).is_empty(), "{none}");
        }
        assert_eq!(ActionSet::meant_by("s3:*").others(), ActionSet::default());
        assert_eq!(ActionSet::meant_by("s3:Get*").others().iter().count() + names("s3:Get*"), 85);
    }
}
