//! What a bucket says of who may do what to it, read once.

use super::{ObjectOwnership, PublicAccessBlock};
use ripstop_access::{AccessList, PolicyDocument, PolicyPlace};
use ripstop_catalog::Bucket;

/// What the documents are called.
pub(crate) const POLICY: &str = "policy";
pub(crate) const ACL: &str = "acl";
pub(crate) const OWNERSHIP: &str = "ownershipControls";
pub(crate) const PUBLIC_ACCESS_BLOCK: &str = "publicAccessBlock";
/// An earlier program's word among what else is configured: nothing is said of ownership.
pub(crate) const OWNERSHIP_REMOVED: &str = "ownershipControls-removed";

/// Who may do what to a bucket, as far as it says.
#[derive(Debug)]
pub(crate) struct BucketAccess {
    /// The account that owns it.
    pub(crate) owner: String,
    pub(crate) policy: Option<PolicyDocument>,
    pub(crate) policy_is_public: bool,
    /// What the owner grants; none but the owner's own if it was never said.
    pub(crate) list: AccessList,
    pub(crate) ownership: ObjectOwnership,
    pub(crate) block: PublicAccessBlock,
    /// It has a policy that cannot be read, so nobody knows what it denies.
    pub(crate) is_unreadable: bool,
}

impl BucketAccess {
    /// Of a bucket that is the account's of the store if it says no other.
    pub(crate) fn of(bucket: &Bucket, store_account: &str) -> Self {
        let owner = if bucket.owner.is_empty() { store_account } else { &bucket.owner };
        // Who there is was looked at when it was put: who has gone since takes nothing with them.
        let place =
            PolicyPlace { bucket: Some(&bucket.name), knows: &|_| true, has_account: &|_| true };
        let policy = bucket.guards.get(POLICY).map(|text| PolicyDocument::read(text, &place));
        let is_unreadable = policy.as_ref().is_some_and(Result::is_err);
        let policy = policy.and_then(Result::ok);
        let list = bucket.guards.get(ACL).map(AccessList::from_stored);
        let block = bucket.guards.get(PUBLIC_ACCESS_BLOCK);
        Self {
            owner: owner.to_owned(),
            policy_is_public: policy.as_ref().is_some_and(PolicyDocument::is_public),
            policy,
            list: list.unwrap_or_else(|| AccessList::private(owner)),
            ownership: ownership_of(bucket),
            block: block.map(PublicAccessBlock::from_stored).unwrap_or_default(),
            is_unreadable,
        }
    }

    /// Whether what lists grant to the public counts.
    pub(crate) const fn heeds_public_lists(&self) -> bool {
        !self.block.ignores_lists()
    }
}

fn ownership_of(bucket: &Bucket) -> ObjectOwnership {
    match bucket.guards.get(OWNERSHIP) {
        Some(word) => ObjectOwnership::from_stored(word),
        None if bucket.documents.get(OWNERSHIP_REMOVED).is_some() => ObjectOwnership::Unsaid,
        None => ObjectOwnership::Enforced,
    }
}
