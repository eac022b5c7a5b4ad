//! What the operator, a bucket's owner and an object's owner say together of one action.

use super::BucketAccess;
use ripstop_access::{
    AccessList, AccessRequest, Facts, Permission, PolicyDocument, Requester, Ruling, S3Action,
    evaluate,
};
use ripstop_catalog::Attributes;
use ripstop_identity::{TemporarySession, UserPolicy};
use std::sync::Arc;

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
    /// A policy says that it may not.
    Denied(Denier),
}

/// Whose policy says no.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denier {
    /// The bucket's.
    Bucket,
    /// One of the user's own.
    User,
    /// That of the session.
    Session,
}

impl Denier {
    /// What S3 calls such a policy.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Bucket => "a resource-based policy",
            Self::User => "an identity-based policy",
            Self::Session => "a session policy",
        }
    }
}

/// What policies of the sender's own leave open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// Whether those of the user allow it; nothing if it has none.
    pub(crate) user: Option<bool>,
    /// Whether the session's leaves it.
    pub(crate) session: bool,
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
    /// What says what it may do, if its rights do not.
    pub(crate) policies: Option<Arc<[Arc<UserPolicy>]>>,
    /// While it asks with temporary keys.
    pub(crate) session: Option<Arc<TemporarySession>>,
}

impl Asker {
    /// What policies of its own say; or which of them denies it.
    pub(crate) fn leave(&self, request: &AccessRequest<'_>) -> Result<Leave, Denier> {
        let user = self
            .policies
            .as_deref()
            .map(|policies| evaluate(request, policies.iter().map(|policy| &policy.document)));
        let session = self.session_policy().map(|policy| policy.rule(request));
        match (user, session) {
            (Some(Ruling::Deny), _) => Err(Denier::User),
            (_, Some(Ruling::Deny)) => Err(Denier::Session),
            (user, session) => Ok(Leave {
                user: user.map(|ruling| ruling == Ruling::Allow),
                session: session.is_none_or(|ruling| ruling == Ruling::Allow),
            }),
        }
    }

    /// Whether policies of its own might allow an action, of which `by_rights` says whether its
    /// rights do.
    pub(crate) fn may_allow(&self, action: S3Action, by_rights: bool) -> bool {
        let may = |policy: &PolicyDocument| policy.may_allow(&self.requester, action);
        let policies = self.policies.as_deref();
        policies.map_or(by_rights, |all| all.iter().any(|policy| may(&policy.document)))
    }

    pub(crate) fn session_policy(&self) -> Option<&PolicyDocument> {
        self.session.as_ref()?.policy.as_ref()
    }

    fn needs_object(&self) -> bool {
        let of_user = self.policies.iter().flat_map(|policies| policies.iter());
        let mut all = of_user.map(|policy| &policy.document).chain(self.session_policy());
        all.any(PolicyDocument::needs_object)
    }

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
    let request = AccessRequest { requester: &asker.requester, action, resource, facts };
    if asker.needs_object() && matches!(sight, Sight::Later) {
        return Verdict::AskObject;
    }
    let leave = match asker.leave(&request) {
        Ok(leave) => leave,
        Err(denier) => return Verdict::Denied(denier),
    };
    // Whoever locked themselves out must get at the lock.
    let is_key_to_lock =
        is_of_policy(action) && (asker.is_administrator || asker.owns(&access.owner));
    if access.is_unreadable && !is_key_to_lock {
        return Verdict::Denied(Denier::Bucket);
    }
    let mut is_let = false;
    if let Some(policy) = access.policy.as_ref().filter(|_| !is_key_to_lock) {
        if policy.needs_object() && matches!(sight, Sight::Later) {
            return Verdict::AskObject;
        }
        match policy.rule(&request) {
            Ruling::Deny => return Verdict::Denied(Denier::Bucket),
            Ruling::Allow => is_let = !is_restricted(access, asker),
            Ruling::Silent => {}
        }
    }
    if !leave.session {
        return Verdict::Refused;
    }
    if rights {
        // What a session's policy leaves says no more than it names: not what else is there.
        let is_narrowed = asker.session_policy().is_some();
        return Verdict::Allowed(if is_narrowed { Why::Let } else { Why::Own });
    }
    // In its own account's bucket a user needs one who lets it; in another's, both must.
    let is_at_home = asker.requester.account() == Some(&access.owner);
    match leave.user {
        Some(true) if is_at_home => return Verdict::Allowed(Why::Let),
        Some(false) if !is_at_home => return Verdict::Refused,
        Some(_) | None => {}
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
    // An upload is its initiator's and the owner's, and nobody begins one without a signature.
    if is_of_upload(action) && asker.requester == Requester::Anonymous {
        return of_bucket();
    }
    let is_granted = |permission| access.list.grants(&asker.listed(), permission, public);
    match of_bucket() {
        Verdict::Refused if in_bucket(action).is_some_and(is_granted) => Verdict::Allowed(Why::Let),
        verdict @ (Verdict::Allowed(_)
        | Verdict::AskObject
        | Verdict::Refused
        | Verdict::Denied(_)) => verdict,
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

fn is_of_upload(action: S3Action) -> bool {
    matches!(action.name(), "AbortMultipartUpload" | "ListMultipartUploadParts")
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
