//! What a request grants of what it puts: by S3's words for whole lists, by headers, by a document.

use crate::{
    by_name::ByName as _,
    error::{Code, Failure, Outcome},
    gate::{BucketAccess, Gate, ObjectOwnership},
    xml::{Element, Malformed, Node},
};
use http::HeaderMap;
use ripstop_access::{AccessList, GRANTS_MAX, Granted, Grantee, Permission};
use ripstop_catalog::Attributes;
use ripstop_identity::Credentials;

/// Names a whole list.
const CANNED: &str = "x-amz-acl";
/// Each grants something.
const BY_HEADER: [(&str, Permission); 5] = [
    ("x-amz-grant-read", Permission::Read),
    ("x-amz-grant-write", Permission::Write),
    ("x-amz-grant-read-acp", Permission::ReadList),
    ("x-amz-grant-write-acp", Permission::WriteList),
    ("x-amz-grant-full-control", Permission::FullControl),
];
/// What a grantee may be called in a document.
const KINDS: [&str; 3] = ["CanonicalUser", "Group", "AmazonCustomerByEmail"];
/// Who owns what somebody without a signature puts: S3's own id of nobody.
const ANONYMOUS: &str = "65a011a29cdf8ec533ec3d1ccaae921c";

/// What is granted, as the request says it.
#[derive(Clone, Debug)]
pub(crate) enum Granting {
    /// It says nothing.
    Unsaid,
    /// By the word for a list.
    Canned(String),
    /// One by one.
    Each(Vec<Granted>),
}

/// Who there is to be granted anything.
#[derive(Clone, Copy)]
pub(crate) struct Accounts<'a> {
    pub(crate) store: &'a str,
    pub(crate) credentials: &'a Credentials,
}

impl Accounts<'_> {
    fn have(self, id: &str) -> bool {
        id == self.store || self.credentials.have_account(id)
    }
}

impl Granting {
    /// What headers grant.
    pub(crate) fn read(headers: &HeaderMap) -> Outcome<Self> {
        let canned = headers.named(CANNED).map(|word| word.to_str().unwrap_or_default());
        let mut each = Vec::new();
        for (name, permission) in BY_HEADER {
            for value in headers.all_named(name) {
                let value = value.to_str().unwrap_or_default();
                for grantee in value.split(',') {
                    let to = grantee_in_header(grantee.trim(), name)?;
                    each.push(Granted { to, permission });
                }
            }
        }
        check_count(&each)?;
        match canned {
            Some(_) if !each.is_empty() => {
                let message = "Specifying both Canned ACLs and Header Grants is not allowed";
                Err(Failure::new(Code::InvalidRequest, message))
            }
            Some(word) if AccessList::canned(word, "", "").is_none() => {
                Err(Failure::argument("Invalid canned ACL", CANNED, word))
            }
            Some(word) => Ok(Self::Canned(word.to_owned())),
            None if each.is_empty() => Ok(Self::Unsaid),
            None => Ok(Self::Each(each)),
        }
    }

    /// Whether nothing is said.
    pub(crate) const fn is_unsaid(&self) -> bool {
        matches!(self, Self::Unsaid)
    }

    /// Whether it says no more than that the owner owns it.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::Unsaid => true,
            Self::Canned(word) => {
                matches!(&**word, "private" | "bucket-owner-full-control" | "bucket-owner-read")
            }
            Self::Each(_) => false,
        }
    }

    /// The list of something that is `owner`'s, in a bucket that is `bucket_owner`'s.
    pub(crate) fn list(
        self,
        owner: &str,
        bucket_owner: &str,
        accounts: Accounts<'_>,
    ) -> Outcome<AccessList> {
        match self {
            Self::Unsaid => Ok(AccessList::private(owner)),
            Self::Canned(word) => {
                let list = AccessList::canned(&word, owner, bucket_owner);
                list.ok_or_else(|| Failure::argument("Invalid canned ACL", CANNED, &word))
            }
            Self::Each(grants) => {
                let stranger = grants.iter().find_map(|grant| match &grant.to {
                    Grantee::Account(id) if **id != *owner && !accounts.have(id) => Some(id),
                    Grantee::Account(_)
                    | Grantee::Everyone
                    | Grantee::Authenticated
                    | Grantee::LogDelivery => None,
                });
                match stranger {
                    Some(id) => Err(Failure::argument("Invalid id", "CanonicalUser/ID", id)),
                    None => Ok(AccessList { grants }),
                }
            }
        }
    }
}

fn check_count(grants: &[Granted]) -> Outcome<()> {
    if grants.len() <= GRANTS_MAX {
        return Ok(());
    }
    let message = format!("An access list may have {GRANTS_MAX} grants.");
    Err(Failure::new(Code::InvalidRequest, message))
}

/// `id="…"`, `uri="…"`; an id may stand alone.
fn grantee_in_header(text: &str, header: &str) -> Outcome<Grantee> {
    let (kind, value) = text.split_once('=').unwrap_or(("id", text));
    let value = value.trim().trim_matches('"');
    let invalid = || Failure::argument("Argument format not recognized", header, text);
    match kind.trim().to_ascii_lowercase().as_str() {
        "id" if !value.is_empty() => Ok(Grantee::Account(value.into())),
        "uri" => Grantee::group(value)
            .ok_or_else(|| Failure::argument("Invalid group uri", "uri", value)),
        "emailaddress" => Err(Code::UnresolvableGrantByEmail.into()),
        _ => Err(invalid()),
    }
}

/// The list that a document has of something that is `owner`'s.
pub(crate) fn from_root(root: &Node<'_>, owner: &str) -> Outcome<Granting> {
    let malformed = |_: Malformed| Failure::from(Code::MalformedAcl);
    let read = || -> Result<(String, Vec<&Node<'_>>), Malformed> {
        let root = root.named("AccessControlPolicy")?;
        let said = root.child("Owner")?.ok_or(Malformed)?.text_of("ID")?;
        let said = said.filter(|id| !id.is_empty()).ok_or(Malformed)?;
        let list = root.child("AccessControlList")?.ok_or(Malformed)?;
        Ok((said.to_owned(), list.all("Grant").collect()))
    };
    let (said, grants) = read().map_err(malformed)?;
    if said != owner {
        return Err(Failure::argument("Invalid id", "CanonicalUser/ID", &said));
    }
    let each = grants.into_iter().map(granted).collect::<Outcome<Vec<_>>>()?;
    check_count(&each)?;
    Ok(Granting::Each(each))
}

fn granted(grant: &Node<'_>) -> Outcome<Granted> {
    let parts = || -> Result<_, Malformed> {
        let grantee = grant.child("Grantee")?.ok_or(Malformed)?;
        if grantee.kind.as_deref().is_some_and(|kind| !KINDS.contains(&kind)) {
            return Err(Malformed);
        }
        let filled = |name| Ok(grantee.text_of(name)?.filter(|text| !text.is_empty()));
        let word = grant.text_of("Permission")?.ok_or(Malformed)?;
        let permission = Permission::named(word).ok_or(Malformed)?;
        Ok((filled("ID")?, filled("URI")?, filled("EmailAddress")?, permission))
    };
    let (id, uri, email, permission) = parts().map_err(|_| Failure::from(Code::MalformedAcl))?;
    let to = match (id, uri, email) {
        (Some(id), None, None) => Grantee::Account(id.into()),
        (None, Some(uri), None) => Grantee::group(uri)
            .ok_or_else(|| Failure::argument("Invalid group uri", "Group/URI", uri))?,
        (None, None, Some(_)) => return Err(Code::UnresolvableGrantByEmail.into()),
        _ => return Err(Code::MalformedAcl.into()),
    };
    Ok(Granted { to, permission })
}

/// The document of a list.
pub(crate) fn document(owner: &str, list: &AccessList) -> String {
    let mut root = Element::in_namespace("AccessControlPolicy");
    root.child("Owner", |element| {
        element.text("ID", owner).text("DisplayName", owner);
    });
    root.child("AccessControlList", |grants| {
        // Groups first, as clients expect that sort the rest by name.
        let is_group = |grant: &&Granted| grant.to.uri().is_some();
        let accounts = list.grants.iter().filter(|grant| !is_group(grant));
        for grant in list.grants.iter().filter(is_group).chain(accounts) {
            grants.child("Grant", |element| show(grant, element));
        }
    });
    root.document()
}

fn show(grant: &Granted, element: &mut Element) {
    let kind = if grant.to.uri().is_some() { "Group" } else { "CanonicalUser" };
    let kind =
        format!(" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"{kind}\"");
    element.child_with("Grantee", &kind, |grantee| match &grant.to {
        Grantee::Account(id) => _ = grantee.text("ID", id).text("DisplayName", id),
        group @ (Grantee::Everyone | Grantee::Authenticated | Grantee::LogDelivery) => {
            grantee.text("URI", group.uri().unwrap_or_default());
        }
    });
    element.text("Permission", grant.permission.word());
}

/// Gives an object that is put to whom it belongs there, with what they grant.
pub(crate) fn own(
    attributes: &mut Attributes,
    granting: Granting,
    gate: &Gate,
    credentials: &Credentials,
) -> Outcome<()> {
    // Without a bucket nothing is put.
    let Some(access) = &gate.access else { return Ok(()) };
    if !access.ownership.has_lists() {
        let is_plain = granting.is_plain();
        return if is_plain { Ok(()) } else { Err(Code::AccessControlListNotSupported.into()) };
    }
    let account = gate.account().unwrap_or_else(|| ANONYMOUS.into());
    let gives = matches!(&granting, Granting::Canned(word) if word == "bucket-owner-full-control");
    let gives = gives && access.ownership == ObjectOwnership::Preferred;
    let owner = if gives { &*access.owner } else { &*account };
    let accounts = Accounts { store: &gate.store_account, credentials };
    let list = granting.list(owner, &access.owner, accounts)?;
    check_public(&list, access)?;
    attributes.grants = kept(&list, owner);
    attributes.owner = if owner == access.owner { String::new() } else { owner.to_owned() };
    Ok(())
}

/// Refuses what a bucket's owner wants none of.
pub(crate) fn check_public(list: &AccessList, access: &BucketAccess) -> Outcome<()> {
    let is_blocked = access.block.blocks_lists() && list.is_public();
    if is_blocked { Err(Code::AccessDenied.into()) } else { Ok(()) }
}

/// A list as it is kept: nothing, where it says that the owner owns.
pub(crate) fn kept(list: &AccessList, owner: &str) -> String {
    if *list == AccessList::private(owner) {
        return String::new();
    }
    // An empty list grants nothing, not even to the owner, and is none of the owner's either.
    let stored = list.stored();
    if stored.is_empty() { "\n".to_owned() } else { stored }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn headers_grant_by_word_or_one_by_one() {
        let two = "id=\"alice\", uri=\"http://acs.amazonaws.com/groups/global/AllUsers\"";
        let granting = Granting::read(&headers(&[("x-amz-grant-read", two)])).unwrap();
        let Granting::Each(grants) = granting else { panic!("{granting:?}") };
        let to: Vec<_> = grants.into_iter().map(|grant| grant.to).collect();
        assert_eq!(to, [Grantee::Account("alice".into()), Grantee::Everyone]);
        for (pairs, code) in [
            (&[("x-amz-acl", "mine")][..], Code::InvalidArgument),
            (&[("x-amz-acl", "private"), ("x-amz-grant-read", "id=a")], Code::InvalidRequest),
            (&[("x-amz-grant-read", "emailAddress=a@b")], Code::UnresolvableGrantByEmail),
            (&[("x-amz-grant-read", "uri=http://all")], Code::InvalidArgument),
            (&[("x-amz-grant-read", "")], Code::InvalidArgument),
        ] {
            assert_eq!(Granting::read(&headers(pairs)).unwrap_err().code, code, "{pairs:?}");
        }
    }
}
