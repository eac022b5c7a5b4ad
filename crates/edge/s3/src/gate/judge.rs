//! What the operator, a bucket's owner and an object's owner say together of one action.

use super::BucketAccess;
use ripstop_access::{AccessList, AccessRequest, Facts, Permission, Requester, Ruling, S3Action};
use ripstop_catalog::Attributes;

/// Why something may be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// The operator lets its sender, or who owns it asks.
    Own,
    /// The owner lets others.
    Let,
}

/// Whether something may be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It may.
    Allowed(Why),
    /// That depends on the object.
    AskObject,
    /// Nobody says that it may.
    Refused,
    /// The bucket's policy says that it may not.
    Denied,
}

/// What is known of the object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sight<'a> {
    /// Nothing, and it is not looked at.
    None,
    /// Nothing yet.
    Later,
    /// What was found.
    Found(&'a Attributes),
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) requester: Requester,
    /// It owns what it makes.
    pub(crate) is_user: bool,
    pub(crate) is_administrator: bool,
}

impl Asker {
    /// Whether it is the owner of what is the account's. Keys that the operator lets into some
    /// buckets share the store's account, and are not its owner.
    fn owns(&self, account: &str) -> bool {
        self.is_user && self.requester.account() == Some(account)
    }

    /// As lists know it: such a key is somebody, and nobody's account.
    fn listed(&self) -> Requester {
        match &self.requester {
            Requester::User { name, access_key, .. } if !self.is_user => Requester::User {
                account: "".into(),
                name: name.clone(),
                access_key: access_key.clone(),
            },
            known @ (Requester::Anonymous | Requester::User { .. }) => known.clone(),
        }
    }
}

/// One action that is asked for.
pub(crate) struct Question<'a> {
    pub(crate) asker: &'a Asker,
    /// Whether the operator lets it.
    pub(crate) rights: bool,
    pub(crate) action: S3Action,
    /// `bucket` or `bucket/key`.
    pub(crate) resource: &'a str,
    pub(crate) facts: &'a dyn Facts,
    pub(crate) sight: Sight<'a>,
}

/// Answers it.
pub(crate) fn judge(access: &BucketAccess, question: &Question<'_>) -> Verdict {
    let Question { asker, rights, action, resource, facts, sight } = *question;
    // Whoever locked themselves out must get at the lock.
    let is_key_to_lock =
        is_of_policy(action) && (asker.is_administrator || asker.owns(&access.owner));
    if access.is_unreadable && !is_key_to_lock {
        return Verdict::Denied;
    }
    let mut is_let = false;
    if let Some(policy) = access.policy.as_ref().filter(|_| !is_key_to_lock) {
        if policy.needs_object() && matches!(sight, Sight::Later) {
            return Verdict::AskObject;
        }
        let request = AccessRequest { requester: &asker.requester, action, resource, facts };
        match policy.rule(&request) {
            Ruling::Deny => return Verdict::Denied,
            Ruling::Allow => is_let = !is_restricted(access, asker),
            Ruling::Silent => {}
        }
    }
    if rights {
        return Verdict::Allowed(Why::Own);
    }
    if is_let {
        return Verdict::Allowed(Why::Let);
    }
    by_lists(access, asker, action, sight)
}

/// Whether a policy that lets the public in lets in the bucket's own account alone.
fn is_restricted(access: &BucketAccess, asker: &Asker) -> bool {
    let is_stranger = asker.requester.account() != Some(&access.owner);
    access.policy_is_public && access.block.restricts() && is_stranger
}

/// What owners may, and what they grant.
fn by_lists(access: &BucketAccess, asker: &Asker, action: S3Action, sight: Sight<'_>) -> Verdict {
    let of_bucket = || {
        let owns = asker.owns(&access.owner);
        if owns { Verdict::Allowed(Why::Own) } else { Verdict::Refused }
    };
    if !access.ownership.has_lists() {
        return of_bucket();
    }
    let public = access.heeds_public_lists();
    if let Some(permission) = of_object(action) {
        return match sight {
            Sight::None => of_bucket(),
            Sight::Later => Verdict::AskObject,
            Sight::Found(object) => {
                let owner = owner_of(object, access);
                let list = list_of(object, access);
                if asker.owns(owner) {
                    Verdict::Allowed(Why::Own)
                } else if list.grants(&asker.listed(), permission, public) {
                    Verdict::Allowed(Why::Let)
                } else {
                    Verdict::Refused
                }
            }
        };
    }
    let is_granted = |permission| access.list.grants(&asker.listed(), permission, public);
    match of_bucket() {
        Verdict::Refused if in_bucket(action).is_some_and(is_granted) => Verdict::Allowed(Why::Let),
        verdict @ (Verdict::Allowed(_)
        | Verdict::AskObject
        | Verdict::Refused
        | Verdict::Denied) => verdict,
    }
}

/// The account that owns an object.
pub(crate) fn owner_of<'a>(object: &'a Attributes, access: &'a BucketAccess) -> &'a str {
    let is_its_own = access.ownership.has_lists() && !object.owner.is_empty();
    if is_its_own { &object.owner } else { &access.owner }
}

/// What an object's owner grants.
pub(crate) fn list_of(object: &Attributes, access: &BucketAccess) -> AccessList {
    let is_heard = access.ownership.has_lists() && !object.grants.is_empty();
    if is_heard {
        AccessList::from_stored(&object.grants)
    } else {
        AccessList::private(owner_of(object, access))
    }
}

fn is_of_policy(action: S3Action) -> bool {
    matches!(action.name(), "GetBucketPolicy" | "PutBucketPolicy" | "DeleteBucketPolicy")
}

/// What an object's list must grant.
fn of_object(action: S3Action) -> Option<Permission> {
    match action.name() {
        "GetObject" | "GetObjectVersion" => Some(Permission::Read),
        "GetObjectAcl" | "GetObjectVersionAcl" => Some(Permission::ReadList),
        "PutObjectAcl" | "PutObjectVersionAcl" => Some(Permission::WriteList),
        _ => None,
    }
}

/// What a bucket's list must grant.
fn in_bucket(action: S3Action) -> Option<Permission> {
    match action.name() {
        "ListBucket" | "ListBucketVersions" | "ListBucketMultipartUploads" => {
            Some(Permission::Read)
        }
        "PutObject" | "DeleteObject" | "AbortMultipartUpload" | "ListMultipartUploadParts" => {
            Some(Permission::Write)
        }
        "GetBucketAcl" => Some(Permission::ReadList),
        "PutBucketAcl" => Some(Permission::WriteList),
        _ => None,
    }
}
