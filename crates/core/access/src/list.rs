//! Access lists: what the owner of a bucket or an object grants to users and groups.

use crate::requester::Requester;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Most grants of a list, as S3 has it.
pub const GRANTS_MAX: usize = 100;

/// To whom something is granted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grantee {
    /// An account, by its canonical id.
    Account(Box<str>),
    /// Everybody, with a signature or without.
    Everyone,
    /// Everybody with a signature.
    Authenticated,
    /// Who delivers logs.
    LogDelivery,
}

/// Beginning of the groups' names.
const GROUPS: [(&str, Grantee); 3] = [
    ("http://acs.amazonaws.com/groups/global/AllUsers", Grantee::Everyone),
    ("http://acs.amazonaws.com/groups/global/AuthenticatedUsers", Grantee::Authenticated),
    ("http://acs.amazonaws.com/groups/s3/LogDelivery", Grantee::LogDelivery),
];

impl Grantee {
    /// The group that S3 calls so.
    pub fn group(uri: &str) -> Option<Self> {
        GROUPS.iter().find(|(name, _)| *name == uri).map(|(_, group)| group.clone())
    }

    /// What S3 calls it, if it is a group.
    pub fn uri(&self) -> Option<&'static str> {
        GROUPS.iter().find(|(_, group)| group == self).map(|(name, _)| *name)
    }

    fn includes(&self, requester: &Requester) -> bool {
        match self {
            Self::Account(id) => requester.account() == Some(id),
            Self::Everyone => true,
            Self::Authenticated => requester.account().is_some(),
            Self::LogDelivery => false,
        }
    }

    /// Whether anybody may be among them.
    pub const fn is_public(&self) -> bool {
        matches!(self, Self::Everyone | Self::Authenticated)
    }
}

/// What is granted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Permission {
    /// To list a bucket, or to read an object.
    Read,
    /// To put objects into a bucket and delete them.
    Write,
    /// To read the list itself.
    ReadList,
    /// To change the list itself.
    WriteList,
    /// All of it.
    FullControl,
}

impl Permission {
    /// S3's words, each with what it means.
    const WORDS: [(&'static str, Self); 5] = [
        ("READ", Self::Read),
        ("WRITE", Self::Write),
        ("READ_ACP", Self::ReadList),
        ("WRITE_ACP", Self::WriteList),
        ("FULL_CONTROL", Self::FullControl),
    ];

    /// What S3's word means.
    pub fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, permission)| *permission)
    }

    /// S3's word.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }

    fn includes(self, wanted: Self) -> bool {
        self == wanted || self == Self::FullControl
    }
}

/// A grant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Granted {
    /// To whom.
    pub to: Grantee,
    /// What.
    pub permission: Permission,
}

/// A list of grants, in its owner's order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AccessList {
    /// The grants.
    pub grants: Vec<Granted>,
}

impl AccessList {
    /// The list that grants its owner everything.
    pub fn private(owner: &str) -> Self {
        let owner = Grantee::Account(owner.into());
        Self { grants: Vec::from([Granted { to: owner, permission: Permission::FullControl }]) }
    }

    /// The list that S3's word stands for, of something that is `owner`'s in a bucket that is
    /// `bucket_owner`'s; `None` if there is no such word.
    pub fn canned(word: &str, owner: &str, bucket_owner: &str) -> Option<Self> {
        use Permission::{Read, ReadList, Write};
        let bucket_owner = || Grantee::Account(bucket_owner.into());
        let more = match word {
            // Who makes images of machines is not here.
            "private" | "aws-exec-read" => Vec::new(),
            "public-read" => Vec::from([(Grantee::Everyone, Read)]),
            "public-read-write" => {
                Vec::from([(Grantee::Everyone, Read), (Grantee::Everyone, Write)])
            }
            "authenticated-read" => Vec::from([(Grantee::Authenticated, Read)]),
            "bucket-owner-read" => Vec::from([(bucket_owner(), Read)]),
            "bucket-owner-full-control" => Vec::from([(bucket_owner(), Permission::FullControl)]),
            "log-delivery-write" => {
                Vec::from([(Grantee::LogDelivery, Write), (Grantee::LogDelivery, ReadList)])
            }
            _ => return None,
        };
        let mut list = Self::private(owner);
        for (to, permission) in more {
            // The owner has it already.
            if to != Grantee::Account(owner.into()) {
                list.grants.push(Granted { to, permission });
            }
        }
        Some(list)
    }

    /// Whether it grants this to somebody; unless `public`, grants to everybody do not count.
    pub fn grants(&self, requester: &Requester, wanted: Permission, public: bool) -> bool {
        self.grants.iter().any(|grant| {
            (public || !grant.to.is_public())
                && grant.permission.includes(wanted)
                && grant.to.includes(requester)
        })
    }

    /// Whether it grants anything to anybody.
    pub fn is_public(&self) -> bool {
        self.grants.iter().any(|grant| grant.to.is_public())
    }

    /// As it is stored: a line for each grant.
    pub fn stored(&self) -> String {
        let line = |grant: &Granted| {
            let to = match &grant.to {
                Grantee::Account(id) => format!("id {id}"),
                Grantee::Everyone => "everyone".into(),
                Grantee::Authenticated => "authenticated".into(),
                Grantee::LogDelivery => "log-delivery".into(),
            };
            format!("{} {to}", grant.permission.word())
        };
        self.grants.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What was stored; what is no grant grants nothing.
    pub fn from_stored(text: &str) -> Self {
        let grant = |line: &str| {
            let (word, to) = line.split_once(' ')?;
            let permission = Permission::named(word)?;
            let to = match to {
                "everyone" => Grantee::Everyone,
                "authenticated" => Grantee::Authenticated,
                "log-delivery" => Grantee::LogDelivery,
                _ => Grantee::Account(to.strip_prefix("id ")?.into()),
            };
            Some(Granted { to, permission })
        };
        Self { grants: text.lines().filter_map(grant).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(account: &str) -> Requester {
        Requester::User { account: account.into(), name: account.into(), access_key: "K".into() }
    }

    #[test]
    fn canned_lists_grant_what_their_words_say() {
        use Permission::{Read, ReadList, Write, WriteList};
        let all = [Read, Write, ReadList, WriteList];
        let may = |word: &str, who: &Requester| -> Vec<Permission> {
            let list = AccessList::canned(word, "owner", "host").unwrap();
            assert_eq!(AccessList::from_stored(&list.stored()), list);
            all.into_iter().filter(|it| list.grants(who, *it, true)).collect()
        };
        let (alice, nobody) = (user("alice"), Requester::Anonymous);
        for (word, user_may, nobody_may, host_may) in [
            ("private", &[][..], &[][..], &[][..]),
            ("public-read", &[Read], &[Read], &[Read]),
            ("public-read-write", &[Read, Write], &[Read, Write], &[Read, Write]),
            ("authenticated-read", &[Read], &[], &[Read]),
            ("bucket-owner-read", &[], &[], &[Read]),
            ("bucket-owner-full-control", &[], &[], &all),
            ("log-delivery-write", &[], &[], &[]),
        ] {
            assert_eq!(may(word, &user("owner")), all, "{word}");
            assert_eq!(may(word, &alice), user_may, "{word}");
            assert_eq!(may(word, &nobody), nobody_may, "{word}");
            assert_eq!(may(word, &user("host")), host_may, "{word}");
        }
        assert_eq!(AccessList::canned("mine", "owner", "host"), None);
    }

    #[test]
    fn public_grants_can_count_for_nothing() {
        let list = AccessList::canned("public-read", "owner", "owner").unwrap();
        assert!(list.is_public());
        assert!(!list.grants(&user("alice"), Permission::Read, false));
        assert!(list.grants(&user("owner"), Permission::Read, false));
    }
}
