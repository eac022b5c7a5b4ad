use crate::{BucketPattern, RULES_MAX, RightsError};
use ripstop_access::PolicyDocument;
use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

/// What can be given for a bucket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Right {
    /// To read objects, and to list them.
    Read,
    /// To put objects, and to delete them.
    Write,
    /// Both, to set what belongs to the bucket, and to create and delete it.
    Owner,
}

impl Right {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Owner => "owner",
        }
    }
}

impl FromStr for Right {
    type Err = RightsError;

    fn from_str(word: &str) -> Result<Self, RightsError> {
        let known = [Self::Read, Self::Write, Self::Owner];
        let right = known.into_iter().find(|right| right.name() == word);
        right.ok_or_else(|| RightsError::Right { word: word.to_owned() })
    }
}

/// Rights in some buckets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BucketRights {
    buckets: BucketPattern,
    rights: BTreeSet<Right>,
}

impl BucketRights {
    /// These rights in these buckets.
    pub fn new(buckets: BucketPattern, rights: impl IntoIterator<Item = Right>) -> Self {
        Self { buckets, rights: rights.into_iter().collect() }
    }

    /// The buckets that it is about.
    pub const fn buckets(&self) -> &BucketPattern {
        &self.buckets
    }

    /// What may be done there.
    pub fn rights(&self) -> impl Iterator<Item = Right> {
        self.rights.iter().copied()
    }
}

/// A policy that says what users may do to whom it is attached.
#[derive(Clone, PartialEq, Debug)]
pub struct UserPolicy {
    /// What it is called.
    pub name: Arc<str>,
    /// What it says.
    pub document: PolicyDocument,
}

/// What a principal may do: everything, what its rules say together, what the owners of buckets let
/// it, or what policies say that are attached to it.
#[derive(Clone, PartialEq, Default)]
pub struct Rights {
    is_administrator: bool,
    is_user: bool,
    /// Sorted, so that equal rights are equal.
    rules: Vec<BucketRights>,
    /// None where the rest says it.
    policies: Option<Arc<[Arc<UserPolicy>]>>,
}

impl Rights {
    /// Everything.
    pub const fn administrator() -> Self {
        Self { is_administrator: true, is_user: false, rules: Vec::new(), policies: None }
    }

    /// Those of a user with an account of its own: to make buckets, which it then owns. What else
    /// it may do is for the owners of buckets to say.
    pub const fn user() -> Self {
        Self { is_administrator: false, is_user: true, rules: Vec::new(), policies: None }
    }

    /// What these policies say together, in the buckets of the store's account; in those of others,
    /// as far as they are let in there too.
    pub fn by_policies(policies: Vec<Arc<UserPolicy>>) -> Self {
        Self { policies: Some(policies.into()), ..Self::default() }
    }

    /// Nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// What these rules say together; refused if they are more than [`RULES_MAX`].
    pub fn of(mut rules: Vec<BucketRights>) -> Result<Self, RightsError> {
        if rules.len() > RULES_MAX {
            return Err(RightsError::Rules { rules: rules.len() });
        }
        rules.sort_unstable();
        Ok(Self { rules, ..Self::default() })
    }

    /// Whether they are all there are.
    pub const fn is_administrator(&self) -> bool {
        self.is_administrator
    }

    /// Whether they are those of a user with an account of its own.
    pub const fn is_user(&self) -> bool {
        self.is_user
    }

    /// The rules; none of an administrator or a user.
    pub fn rules(&self) -> &[BucketRights] {
        &self.rules
    }

    /// The policies, of whom they say what it may do.
    pub const fn policies(&self) -> Option<&Arc<[Arc<UserPolicy>]>> {
        self.policies.as_ref()
    }

    /// Whether something may be done in a bucket, whatever it is.
    pub(crate) fn name(&self, bucket: &str) -> bool {
        self.rules.iter().any(|rule| !rule.rights.is_empty() && rule.buckets.matches(bucket))
    }

    /// Whether a right in a bucket is among them, by itself or as a part of ownership.
    pub(crate) fn include(&self, right: Right, bucket: &str) -> bool {
        self.rules.iter().any(|rule| {
            let given = rule.rights.contains(&right) || rule.rights.contains(&Right::Owner);
            given && rule.buckets.matches(bucket)
        })
    }

    /// Refuses what nobody may do without a signature.
    pub(crate) fn check_unsigned(&self) -> Result<(), RightsError> {
        let owning = self.rules.iter().find(|rule| rule.rights.contains(&Right::Owner));
        match owning {
            _ if self.is_administrator || self.is_user || self.policies.is_some() => {
                Err(RightsError::UnsignedOwner { buckets: "*".into() })
            }
            Some(rule) => Err(RightsError::UnsignedOwner { buckets: rule.buckets.to_string() }),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_administrator {
            return f.write_str("administrator");
        }
        if self.is_user {
            return f.write_str("user");
        }
        if let Some(policies) = &self.policies {
            return f.debug_list().entries(policies.iter().map(|policy| &policy.name)).finish();
        }
        let words =
            |rule: &BucketRights| rule.rights().map(Right::name).collect::<Vec<_>>().join("+");
        let shown = self.rules.iter().map(|rule| (rule.buckets.to_string(), words(rule)));
        f.debug_map().entries(shown).finish()
    }
}
