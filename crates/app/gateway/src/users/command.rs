//! What can be told about users, and what is answered.

use super::document::{Key, User, UsersDocument, check_name, check_policy_name, policy};
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};
use zeroize::Zeroizing;

/// One change of users, keys or policies, or one question.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum UserCommand {
    /// Makes a user without keys.
    AddUser {
        /// Its name.
        name: String,
        /// It has an account of its own, and owns the buckets that it makes.
        account: bool,
        /// What is attached to it.
        policies: Vec<String>,
    },
    /// Removes a user and all its keys.
    RemoveUser {
        /// Its name.
        name: String,
    },
    /// All users.
    ListUsers,
    /// Makes a key.
    AddKey {
        /// Whose.
        user: String,
        /// What it is called; drawn if it is not said.
        access_key: Option<String>,
        /// Its secret; drawn if it is not said.
        secret_key: Option<Zeroizing<String>>,
    },
    /// Removes a key.
    RemoveKey {
        /// Which.
        access_key: String,
    },
    /// Has a key no longer let anybody in, or again.
    DisableKey {
        /// Which.
        access_key: String,
        /// Whether it is not to let in.
        disabled: bool,
    },
    /// Puts a policy in the place of any other of that name.
    PutPolicy {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
    },
    /// A policy as it was put.
    GetPolicy {
        /// Its name.
        name: String,
    },
    /// All policies.
    ListPolicies,
    /// Removes a policy that is attached to nobody.
    RemovePolicy {
        /// Its name.
        name: String,
    },
    /// Has a policy say what a user may do.
    AttachPolicy {
        /// Its name.
        name: String,
        /// Whose.
        user: String,
    },
    /// Has it no longer say that.
    DetachPolicy {
        /// Its name.
        name: String,
        /// Whose.
        user: String,
    },
    /// All of these, or none.
    All {
        /// In their order.
        commands: Vec<UserCommand>,
    },
}

/// What is answered.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UserAnswer {
    /// It is done.
    Done,
    /// A new key: its secret is told this once.
    Key {
        /// The access key.
        access_key: String,
        /// Its secret.
        secret_key: Zeroizing<String>,
    },
    /// All users.
    Users(Vec<UserShown>),
    /// All policies.
    Policies(Vec<PolicyShown>),
    /// A policy's text.
    Policy(String),
    /// To each of several commands.
    All(Vec<UserAnswer>),
}

/// A user as it is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UserShown {
    /// Its name.
    pub name: String,
    /// Whether it has an account of its own.
    pub account: bool,
    /// Names of what is attached.
    pub policies: Vec<String>,
    /// Its keys.
    pub keys: Vec<KeyShown>,
}

/// A key as it is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeyShown {
    /// The access key.
    pub access_key: String,
    /// Whether it lets nobody in.
    pub disabled: bool,
}

/// A policy as it is shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PolicyShown {
    /// Its name.
    pub name: String,
    /// To whom it is attached.
    pub users: Vec<String>,
}

impl UserCommand {
    /// Whether it changes anything.
    pub(crate) const fn changes(&self) -> bool {
        !matches!(self, Self::ListUsers | Self::ListPolicies | Self::GetPolicy { .. })
    }
}

/// Without secrets and texts.
impl fmt::Debug for UserCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddUser { name, .. } => write!(f, "add user {name}"),
            Self::RemoveUser { name } => write!(f, "remove user {name}"),
            Self::ListUsers => f.write_str("list users"),
            Self::AddKey { user, .. } => write!(f, "add a key of user {user}"),
            Self::RemoveKey { access_key } => write!(f, "remove key {access_key}"),
            Self::DisableKey { access_key, disabled: true } => {
                write!(f, "disable key {access_key}")
            }
            Self::DisableKey { access_key, .. } => write!(f, "enable key {access_key}"),
            Self::PutPolicy { name, .. } => write!(f, "put policy {name}"),
            Self::GetPolicy { name } => write!(f, "get policy {name}"),
            Self::ListPolicies => f.write_str("list policies"),
            Self::RemovePolicy { name } => write!(f, "remove policy {name}"),
            Self::AttachPolicy { name, user } => write!(f, "attach policy {name} to user {user}"),
            Self::DetachPolicy { name, user } => write!(f, "detach policy {name} from user {user}"),
            Self::All { commands } => write!(f, "{} changes at once", commands.len()),
        }
    }
}

impl fmt::Debug for UserAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserAnswer").finish_non_exhaustive()
    }
}

impl UsersDocument {
    /// Carries a command out.
    pub(super) fn apply(&mut self, command: UserCommand) -> Result<UserAnswer> {
        match command {
            UserCommand::AddUser { name, account, policies } => {
                check_name(&name)?;
                ensure!(!self.users.contains_key(&name), "there is a user {name:?} already");
                for policy in &policies {
                    self.text(policy)?;
                }
                let policies = policies.into_iter().collect();
                self.users.insert(name, User { account, policies, keys: BTreeMap::new() });
            }
            UserCommand::RemoveUser { name } => {
                self.users.remove(&name).with_context(|| no_user(&name))?;
            }
            UserCommand::AddKey { user, access_key, secret_key } => {
                return self.add_key(&user, access_key, secret_key);
            }
            UserCommand::RemoveKey { access_key } => {
                let removed = self.users.values_mut().find_map(|it| it.keys.remove(&access_key));
                removed.with_context(|| no_key(&access_key))?;
            }
            UserCommand::DisableKey { access_key, disabled } => {
                let mut users = self.users.values_mut();
                let key = users.find_map(|it| it.keys.get_mut(&access_key));
                key.with_context(|| no_key(&access_key))?.disabled = disabled;
            }
            UserCommand::PutPolicy { name, text } => {
                check_policy_name(&name)?;
                policy(&name, &text)?;
                self.policies.insert(name, text);
            }
            UserCommand::RemovePolicy { name } => {
                self.text(&name)?;
                let of = self.who_have(&name);
                ensure!(of.is_empty(), "policy {name:?} is attached to {}", of.join(", "));
                self.policies.remove(&name);
            }
            UserCommand::AttachPolicy { name, user } => {
                self.text(&name)?;
                self.user(&user)?.policies.insert(name);
            }
            UserCommand::DetachPolicy { name, user } => {
                let had = self.user(&user)?.policies.remove(&name);
                ensure!(had, "policy {name:?} is not attached to user {user:?}");
            }
            UserCommand::All { commands } => {
                let answers = commands.into_iter().map(|command| self.apply(command));
                return Ok(UserAnswer::All(answers.collect::<Result<_>>()?));
            }
            UserCommand::ListUsers => return Ok(UserAnswer::Users(self.shown())),
            UserCommand::ListPolicies => {
                let shown =
                    |name: &String| PolicyShown { name: name.clone(), users: self.who_have(name) };
                return Ok(UserAnswer::Policies(self.policies.keys().map(shown).collect()));
            }
            UserCommand::GetPolicy { name } => {
                return Ok(UserAnswer::Policy(self.text(&name)?.to_owned()));
            }
        }
        Ok(UserAnswer::Done)
    }

    fn add_key(
        &mut self,
        user: &str,
        access_key: Option<String>,
        secret_key: Option<Zeroizing<String>>,
    ) -> Result<UserAnswer> {
        let (drawn_key, drawn_secret) = crate::credentials::draw();
        let access_key = access_key.unwrap_or(drawn_key);
        let secret_key = secret_key.unwrap_or(drawn_secret);
        crate::credentials::check(&access_key, &secret_key)?;
        let taken = self.users.iter().find(|(_, user)| user.keys.contains_key(&access_key));
        if let Some((owner, _)) = taken {
            anyhow::bail!("the key {access_key:?} is there already, of user {owner:?}");
        }
        let key = Key { secret: secret_key.clone(), disabled: false };
        self.user(user)?.keys.insert(access_key.clone(), key);
        Ok(UserAnswer::Key { access_key, secret_key })
    }

    fn user(&mut self, name: &str) -> Result<&mut User> {
        self.users.get_mut(name).with_context(|| no_user(name))
    }

    fn text(&self, policy: &str) -> Result<&str> {
        let text = self.policies.get(policy);
        text.map(String::as_str).with_context(|| format!("there is no policy {policy:?}"))
    }

    fn who_have(&self, policy: &str) -> Vec<String> {
        let having = self.users.iter().filter(|(_, user)| user.policies.contains(policy));
        having.map(|(name, _)| name.clone()).collect()
    }

    fn shown(&self) -> Vec<UserShown> {
        let key = |(access_key, key): (&String, &Key)| KeyShown {
            access_key: access_key.clone(),
            disabled: key.disabled,
        };
        let shown = |(name, user): (&String, &User)| UserShown {
            name: name.clone(),
            account: user.account,
            policies: user.policies.iter().cloned().collect(),
            keys: user.keys.iter().map(key).collect(),
        };
        self.users.iter().map(shown).collect()
    }
}

fn no_user(name: &str) -> String {
    format!("there is no user {name:?} that was made by a command")
}

fn no_key(access_key: &str) -> String {
    format!("there is no key {access_key:?} that was made by a command")
}
