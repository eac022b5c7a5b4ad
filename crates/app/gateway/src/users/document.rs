//! What the file holds, and what credentials come of it.

use anyhow::{Context as _, Result, bail, ensure};
use ripstop_access::{POLICY_LEN_MAX, PolicyDocument, PolicyPlace};
use ripstop_identity::{Credentials, Rights, UserPolicy};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use zeroize::Zeroizing;

/// Most users: the file is read and written whole.
pub(super) const USERS_MAX: usize = 4096;
/// Most keys of one: the old and the new while one takes the place of the other, for some programs.
pub(super) const KEYS_MAX: usize = 8;
/// Most policies.
pub(super) const POLICIES_MAX: usize = 256;
/// Most of them that are attached to one user: each request looks through all.
pub(super) const ATTACHED_MAX: usize = 10;
/// Longest name of a user, bytes.
const NAME_LEN_MAX: usize = 64;
/// Longest name of a policy, bytes.
const POLICY_NAME_LEN_MAX: usize = 128;
/// The account that users without one of their own belong to.
const STORE_ACCOUNT: &str = "ripstop";
/// The form of the file.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsersDocument {
    format: u32,
    /// By name.
    pub(super) users: BTreeMap<String, User>,
    /// Texts by name, as they were put.
    pub(super) policies: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct User {
    /// It has an account of its own, and no policies.
    #[serde(default)]
    pub(super) account: bool,
    /// Names of what is attached.
    #[serde(default)]
    pub(super) policies: BTreeSet<String>,
    /// By access key.
    #[serde(default)]
    pub(super) keys: BTreeMap<String, Key>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    pub(super) secret: Zeroizing<String>,
    #[serde(default)]
    pub(super) disabled: bool,
}

impl UsersDocument {
    /// What a file holds.
    pub(super) fn read(text: &str) -> Result<Self> {
        // Where it stops being what it should is said, not what stands there: it may be a secret.
        let read: Self = serde_json::from_str(text).map_err(|error| {
            anyhow::anyhow!(
                "line {}, column {}: not as `ripstop user` writes it",
                error.line(),
                error.column()
            )
        })?;
        ensure!(read.format == FORMAT, "it has form {}, and {FORMAT} is known", read.format);
        Ok(read)
    }

    /// As it is kept.
    pub(super) fn to_text(&self) -> Result<Zeroizing<String>> {
        #[derive(Serialize)]
        struct Shown<'a> {
            format: u32,
            users: &'a BTreeMap<String, User>,
            policies: &'a BTreeMap<String, String>,
        }
        let shown = Shown { format: FORMAT, users: &self.users, policies: &self.policies };
        Ok(Zeroizing::new(serde_json::to_string_pretty(&shown)? + "\n"))
    }

    /// Lets its users in beside those whom `credentials` know. A name means one user: nobody else
    /// may be called like it, nor have a key that is.
    pub(crate) fn let_in(&self, credentials: &mut Credentials) -> Result<()> {
        self.check_bounds()?;
        let mut policies: BTreeMap<&str, Arc<UserPolicy>> = BTreeMap::new();
        for (name, text) in &self.policies {
            policies.insert(name, policy(name, text)?);
        }
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, user) in &self.users {
            for claimed in user.keys.keys().chain([name]) {
                let taken = owners.insert(claimed, name).is_some_and(|owner| owner != name);
                let is_free = !taken && !credentials.know_user(claimed);
                ensure!(is_free, "user {name:?}: {claimed:?} is somebody else's name or key");
            }
        }
        for (name, user) in &self.users {
            let attached = user.policies.iter().map(|it| policies.get(it.as_str()).cloned());
            let attached: Option<Vec<_>> = attached.collect();
            let attached =
                attached.with_context(|| format!("user {name:?}: a policy that is not there"))?;
            let rights = if user.account { Rights::user() } else { Rights::by_policies(attached) };
            credentials.name_user(name);
            for (access_key, key) in user.keys.iter().filter(|(_, key)| !key.disabled) {
                credentials.insert(access_key, key.secret.clone());
                credentials.call(access_key, name);
                credentials.grant(access_key, rights.clone());
            }
        }
        Ok(())
    }

    fn check_bounds(&self) -> Result<()> {
        let (users, policies) = (self.users.len(), self.policies.len());
        ensure!(users <= USERS_MAX, "{users} users, at most {USERS_MAX} can be");
        ensure!(policies <= POLICIES_MAX, "{policies} policies, at most {POLICIES_MAX} can be");
        for (name, user) in &self.users {
            check_name(name)?;
            let (keys, attached) = (user.keys.len(), user.policies.len());
            ensure!(keys <= KEYS_MAX, "user {name:?}: {keys} keys, at most {KEYS_MAX} can be");
            ensure!(
                attached <= ATTACHED_MAX,
                "user {name:?}: {attached} policies, at most {ATTACHED_MAX} can be attached"
            );
            ensure!(
                !user.account || attached == 0,
                "user {name:?} has an account of its own, to which no policies are attached"
            );
            for (access_key, key) in &user.keys {
                crate::credentials::check(access_key, &key.secret)
                    .with_context(|| format!("user {name:?}"))?;
            }
        }
        self.policies.keys().try_for_each(|name| check_policy_name(name))
    }
}

/// A policy, read.
pub(super) fn policy(name: &str, text: &str) -> Result<Arc<UserPolicy>> {
    let len = text.len();
    ensure!(len <= POLICY_LEN_MAX, "policy {name:?}: {len} bytes, at most {POLICY_LEN_MAX} can be");
    let place = PolicyPlace { bucket: None, knows: &|_| false, has_account: &|_| false };
    let document = PolicyDocument::read(text.trim(), &place);
    let document = document.with_context(|| format!("policy {name:?}"))?;
    Ok(Arc::new(UserPolicy { name: name.into(), document }))
}

pub(super) fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !(1..=NAME_LEN_MAX).contains(&name.len()) || !name.chars().all(plain) {
        bail!(
            "{name:?}: a user's name must be 1 to {NAME_LEN_MAX} letters, digits, '-', '_' or '.'"
        );
    }
    ensure!(name != STORE_ACCOUNT, "{STORE_ACCOUNT:?} is no user's name");
    Ok(())
}

pub(super) fn check_policy_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+=,@".contains(c);
    ensure!(
        (1..=POLICY_NAME_LEN_MAX).contains(&name.len()) && name.chars().all(plain),
        "{name:?}: a policy's name must be 1 to {POLICY_NAME_LEN_MAX} letters, digits or -_.+=,@"
    );
    Ok(())
}
