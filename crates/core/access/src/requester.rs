//! Who asks, and whom a statement is about.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Who asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Requester {
    /// Nobody in particular: the request has no signature.
    Anonymous,
    /// A user.
    User {
        /// The account that the user belongs to, which owns buckets: S3's canonical id.
        account: Arc<str>,
        /// The user's name within the account.
        name: Arc<str>,
        /// The access key that signed.
        access_key: Arc<str>,
    },
}

impl Requester {
    /// The account; none without a signature.
    pub fn account(&self) -> Option<&str> {
        match self {
            Self::Anonymous => None,
            Self::User { account, .. } => Some(account),
        }
    }

    /// The user's name; none without a signature.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Anonymous => None,
            Self::User { name, .. } => Some(name),
        }
    }

    /// The user as an Amazon resource name; none without a signature.
    pub fn arn(&self) -> Option<String> {
        match self {
            Self::Anonymous => None,
            Self::User { account, name, .. } => Some(user_arn(account, name)),
        }
    }

    /// Whether it is what a policy calls so: by ARN (the account may be left out), account, name or
    /// access key.
    pub fn is_called(&self, called: &str) -> bool {
        let Self::User { account, name, access_key } = self else { return false };
        match CalledArn::read(called) {
            Some(CalledArn { account: called, whom }) => match whom {
                Whom::Account => called == &**account,
                Whom::User(user) => user == &**name && (called.is_empty() || called == &**account),
                Whom::Nobody => false,
            },
            None => [account, name, access_key].iter().any(|own| &***own == called),
        }
    }
}

/// A user's Amazon resource name.
fn user_arn(account: &str, name: &str) -> String {
    format!("arn:aws:iam::{account}:user/{name}")
}

/// A principal's Amazon resource name, as policies write it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalledArn<'a> {
    /// May be left out.
    pub(crate) account: &'a str,
    pub(crate) whom: Whom<'a>,
}

/// Whom it names of its account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whom<'a> {
    /// All of it.
    Account,
    /// This user.
    User(&'a str),
    /// A role, a session, a group: nobody asks as one.
    Nobody,
}

impl<'a> CalledArn<'a> {
    /// `None` if it is no such name.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.strip_prefix("arn:")?.splitn(5, ':');
        let (_partition, service) = (parts.next()?, parts.next()?);
        let (_region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
        if !matches!(service, "iam" | "sts") || resource.is_empty() {
            return None;
        }
        // A path before the name is part of the ARN alone.
        let user =
            resource.strip_prefix("user/").map(|path| path.rsplit('/').next().unwrap_or(path));
        let whom = match user {
            _ if resource == "root" => Whom::Account,
            Some("") => return None,
            Some(user) => Whom::User(user),
            None => Whom::Nobody,
        };
        Some(Self { account, whom })
    }
}

/// Whom a statement is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Principals {
    /// Everybody.
    Everyone,
    /// These, as they are called.
    Named(Vec<Box<str>>),
}

impl Principals {
    pub(crate) fn include(&self, requester: &Requester) -> bool {
        match self {
            Self::Everyone => true,
            Self::Named(names) => names.iter().any(|called| requester.is_called(called)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_called_by_arn_account_name_and_key() {
        let alice = Requester::User {
            account: "acme".into(),
            name: "alice".into(),
            access_key: "AKALICE".into(),
        };
        for (called, is) in [
            ("arn:aws:iam::acme:user/alice", true),
            ("arn:aws:iam::acme:user/a/path/alice", true),
            ("arn:aws:iam:::user/alice", true),
            ("arn:aws:iam::acme:root", true),
            ("arn:aws:iam::other:user/alice", false),
            ("arn:aws:iam::acme:user/bob", false),
            ("arn:aws:iam::acme:role/alice", false),
            ("arn:aws:iam::-:role/alice", false),
            ("arn:aws:iam:::root", false),
            ("acme", true),
            ("alice", true),
            ("AKALICE", true),
            ("akalice", false),
            ("", false),
        ] {
            assert_eq!(alice.is_called(called), is, "{called}");
            assert!(!Requester::Anonymous.is_called(called));
        }
        assert_eq!(alice.arn().as_deref(), Some("arn:aws:iam::acme:user/alice"));
    }
}
