use crate::{Principal, Right};

/// What somebody wants to do, in words that every front door shares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Privilege {
    /// See which buckets there are: each principal sees those that it may [`Privilege::Know`].
    ListBuckets,
    /// Learn that a bucket is there, and where.
    Know,
    /// Read objects and what is known of them, list keys and uploads, read what belongs to a
    /// bucket.
    Read,
    /// Put and delete objects, and upload them in parts.
    Write,
    /// Set what belongs to a bucket, or to an object beside its bytes: access lists, settings.
    Configure,
    /// Create or delete a bucket.
    Own,
}

/// What it is to be done to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource<'a> {
    /// All of it.
    Service,
    /// A bucket, whether it is there or not.
    Bucket(&'a str),
    /// An object, whether it is there or not.
    Object {
        /// The bucket that it is in.
        bucket: &'a str,
        /// Its key.
        key: &'a str,
    },
}

/// Whether the credentials let `principal` do this. Looks at nothing but names, so the answer is
/// the same whether what they name is there or not. What owners of buckets let it do is another
/// matter; and where policies say what it may do, names alone do not.
pub fn allows(principal: &Principal, action: Privilege, resource: &Resource<'_>) -> bool {
    !principal.is_judged() && rights_allow(principal, action, resource)
}

/// The same by its rights alone: a session's policy may leave less of it.
pub fn rights_allow(principal: &Principal, action: Privilege, resource: &Resource<'_>) -> bool {
    let rights = principal.rights();
    if rights.is_administrator() {
        return true;
    }
    let (bucket, is_object) = match *resource {
        // Names of buckets tell strangers where to try, so nobody sees them unsigned.
        Resource::Service => {
            return action == Privilege::ListBuckets && principal.access_key().is_some();
        }
        Resource::Bucket(bucket) => (bucket, false),
        Resource::Object { bucket, .. } => (bucket, true),
    };
    match action {
        _ if rights.is_user() => false,
        Privilege::ListBuckets => false,
        Privilege::Know => rights.name(bucket),
        Privilege::Read => rights.include(Right::Read, bucket),
        Privilege::Write => rights.include(Right::Write, bucket),
        Privilege::Configure if is_object => rights.include(Right::Write, bucket),
        Privilege::Configure | Privilege::Own => rights.include(Right::Owner, bucket),
    }
}
