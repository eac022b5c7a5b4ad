//! Whose secret a signature is held against, and who it is once it holds.

use crate::{
    error::{Code, Outcome},
    session_token::TemporaryKey,
};
use ripstop_access::{PolicyDocument, PolicyPlace};
use ripstop_envelope::ObjectKeys;
use ripstop_identity::{Credentials, Principal, TemporarySession};

/// Who is said to have signed.
pub(super) struct Candidate<'a> {
    access_key: &'a str,
    credentials: &'a Credentials,
    /// What the token that came says.
    temporary: Option<TemporaryKey>,
}

/// Who has signed.
#[derive(Debug)]
pub(crate) struct Signatory {
    /// The permanent access key, also where a temporary one stands for it.
    pub(crate) access_key: String,
    /// While the keys are temporary.
    pub(crate) session: Option<TemporarySession>,
}

impl Signatory {
    /// The same, with what it may do.
    pub(crate) fn principal(self, credentials: &Credentials) -> Outcome<Principal> {
        let principal = credentials.principal(&self.access_key);
        let principal = principal.ok_or(Code::InvalidAccessKeyId)?;
        Ok(match self.session {
            Some(session) => principal.within(session),
            None => principal,
        })
    }
}

impl<'a> Candidate<'a> {
    /// The owner of an access key, with the token that came.
    pub(super) fn find(
        access_key: &'a str,
        token: Option<&str>,
        credentials: &'a Credentials,
        keys: &ObjectKeys,
    ) -> Outcome<Self> {
        let token = token.filter(|token| !token.is_empty());
        let temporary = token.and_then(|token| TemporaryKey::open(token, access_key, keys));
        // Tokens go with temporary keys: a caller that sends one with any other means another key,
        // whatever its signature is.
        if token.is_some() && temporary.is_none() {
            return Err(Code::InvalidToken.into());
        }
        Ok(Self { access_key, credentials, temporary })
    }

    /// The secret to verify with, and whether there is such a key: verify in either case.
    pub(super) fn secret(&self) -> (&str, bool) {
        let Some(key) = &self.temporary else { return self.credentials.secret(self.access_key) };
        let (parent, is_known) = self.credentials.secret(&key.parent);
        (&key.secret_key, is_known && key.is_of(parent))
    }

    /// Who it is, now that the signature holds, at `now_s` (seconds since 1970).
    pub(super) fn admit(self, now_s: i64) -> Outcome<Signatory> {
        let Some(key) = self.temporary else {
            return Ok(Signatory { access_key: self.access_key.to_owned(), session: None });
        };
        if now_s >= key.ends_s {
            return Err(Code::ExpiredToken.into());
        }
        let place = PolicyPlace { bucket: None, knows: &|_| false, has_account: &|_| false };
        let policy = key.policy.map(|text| PolicyDocument::read(&text, &place)).transpose();
        // It was read when it was sealed.
        let policy = policy.map_err(|_| Code::InvalidToken)?;
        let session = TemporarySession { name: key.name, began_s: key.began_s, policy };
        Ok(Signatory { access_key: key.parent, session: Some(session) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_token::Wanted;
    use ripstop_envelope::KeyRing;

    #[test]
    fn a_temporary_key_is_its_owners_until_it_ends() {
        let keys = ObjectKeys::new(KeyRing::generate());
        let credentials: Credentials = [("PARENT", "a secret")].into_iter().collect();
        let wanted = Wanted { name: "night".into(), policy: None, began_s: 1000, duration_s: 900 };
        let key = TemporaryKey::draw("PARENT", "a secret", wanted);
        let token = key.seal(&keys).unwrap();
        let find = |token| Candidate::find(&key.access_key, token, &credentials, &keys);
        let candidate = find(Some(&token)).unwrap();
        assert_eq!(candidate.secret(), (key.secret_key.as_str(), true));
        let who = candidate.admit(1899).unwrap();
        assert_eq!(who.access_key, "PARENT");
        assert_eq!(who.session.unwrap().began_s, 1000);
        let ended = find(Some(&token)).unwrap().admit(1900).unwrap_err();
        assert_eq!(ended.code.word(), "ExpiredToken");
        assert!(!find(None).unwrap().secret().1, "without its token it is no key");
        assert!(find(Some("nonsense")).is_err());
        let of_permanent = Candidate::find("PARENT", Some("nonsense"), &credentials, &keys);
        assert_eq!(of_permanent.err().unwrap().code.word(), "InvalidToken");
    }
}
