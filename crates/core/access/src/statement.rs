//! A statement: who may or may not do what to what, and when.

use crate::action::{ActionLevel, ActionSet, S3Action};
use crate::condition::{self, Test};
use crate::fact::{Fact, Facts};
use crate::fault::PolicyFault;
use crate::json::Json;
use crate::pattern::Pattern;
use crate::requester::{CalledArn, Principals, Requester, Whom};
use alloc::string::String;
use alloc::vec::Vec;

/// How names of buckets and objects begin.
const S3_ARN: &str = "arn:aws:s3:::";

/// What somebody asks for.
#[derive(Clone, Copy)]
pub struct AccessRequest<'a> {
    /// Who asks.
    pub requester: &'a Requester,
    /// What is to be done.
    pub action: S3Action,
    /// To what: `bucket`, or `bucket/key`.
    pub resource: &'a str,
    /// What else is known of the request.
    pub facts: &'a dyn Facts,
}

/// Where a policy is to stand, and who there is.
#[derive(Clone, Copy)]
pub struct PolicyPlace<'a> {
    /// The bucket; `None` for a policy of a user, which names no principals, and whose resources
    /// may be of any bucket.
    pub bucket: Option<&'a str>,
    /// Whether there is a principal of that name, or an account.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// The accounts that there are: users of others are not looked for.
    pub has_account: &'a dyn Fn(&str) -> bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Statement {
    pub(crate) allows: bool,
    principals: Principals,
    /// All but those named.
    others_than_principals: bool,
    actions: ActionSet,
    resources: Vec<Pattern>,
    /// All but those named.
    others_than_resources: bool,
    conditions: Vec<Test>,
}

/// Elements that a statement may have.
const ELEMENTS: [&str; 9] = [
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
];

struct Elements<'a>(&'a [(String, Json)]);

impl<'a> Elements<'a> {
    fn get(&self, name: &str) -> Option<&'a Json> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    /// The element, or the one that says the contrary; just one of both.
    fn either(&self, name: &'static str, not: &str) -> Result<(&'a Json, bool), PolicyFault> {
        match (self.get(name), self.get(not)) {
            (Some(value), None) => Ok((value, false)),
            (None, Some(value)) => Ok((value, true)),
            (Some(_), Some(_)) => Err(PolicyFault::Unexpected(not.into())),
            (None, None) => Err(PolicyFault::Missing(name)),
        }
    }
}

impl Statement {
    pub(crate) fn read(
        statement: &Json,
        variables: bool,
        place: &PolicyPlace<'_>,
    ) -> Result<Self, PolicyFault> {
        let Json::Object(members) = statement else { return Err(PolicyFault::InvalidJson) };
        if let Some((unknown, _)) = members.iter().find(|(name, _)| !ELEMENTS.contains(&&**name)) {
            return Err(PolicyFault::Unexpected(unknown.clone()));
        }
        let elements = Elements(members);
        if elements.get("Sid").is_some_and(|sid| !matches!(sid, Json::Text(_))) {
            return Err(PolicyFault::InvalidJson);
        }
        let allows = effect(elements.get("Effect"))?;
        let (principals, others_than_principals) = principals(&elements, place)?;
        if allows && others_than_principals {
            return Err(PolicyFault::AllowNotPrincipal);
        }
        let (entries, others) = elements.either("Action", "NotAction")?;
        let entries = entries.texts().filter(|entries| !entries.is_empty());
        let entries = entries.ok_or(PolicyFault::Action)?;
        let (resources, others_than_resources) = elements.either("Resource", "NotResource")?;
        let resources = read_resources(resources, variables, place)?;
        let levels = levels(&resources, others_than_resources);
        let actions = actions(&entries, others, levels, place)?;
        let conditions = match elements.get("Condition") {
            Some(block) => condition::read(block, named_one_by_one(&entries, others), variables)?,
            None => Vec::new(),
        };
        Ok(Self {
            allows,
            principals,
            others_than_principals,
            actions,
            resources,
            others_than_resources,
            conditions,
        })
    }

    /// Whether it is about this request.
    pub(crate) fn meets(&self, request: &AccessRequest<'_>) -> bool {
        self.actions.contains(request.action)
            && self.principals.include(request.requester) != self.others_than_principals
            && self.names(request)
            && self.conditions.iter().all(|test| test.holds(request.facts))
    }

    fn names(&self, request: &AccessRequest<'_>) -> bool {
        let resolve = |key: &str| Fact::named(key)?.only(request.facts);
        let named = self.resources.iter().any(|it| it.fits(request.resource, &resolve));
        named != self.others_than_resources
    }

    pub(crate) fn needs_object(&self) -> bool {
        self.conditions.iter().any(Test::needs_object)
    }

    /// Whether it allows something to people that nobody knows.
    pub(crate) fn is_public(&self) -> bool {
        self.allows
            && self.principals == Principals::Everyone
            && !self.conditions.iter().any(Test::narrows)
    }

    /// Whether it could allow one of these actions to this requester, whatever the resource.
    pub(crate) fn may_allow(&self, requester: &Requester, action: S3Action) -> bool {
        self.allows
            && self.actions.contains(action)
            && self.principals.include(requester) != self.others_than_principals
    }
}

fn effect(effect: Option<&Json>) -> Result<bool, PolicyFault> {
    match effect {
        Some(Json::Text(word)) => match word.as_str() {
            "Allow" => Ok(true),
            "Deny" => Ok(false),
            other => Err(PolicyFault::Effect(other.into())),
        },
        Some(_) => Err(PolicyFault::InvalidJson),
        None => Err(PolicyFault::Missing("Effect")),
    }
}

fn principals(
    elements: &Elements<'_>,
    place: &PolicyPlace<'_>,
) -> Result<(Principals, bool), PolicyFault> {
    if place.bucket.is_none() {
        let given = ["Principal", "NotPrincipal"].into_iter().find(|it| elements.get(it).is_some());
        return match given {
            Some(element) => Err(PolicyFault::Unexpected(element.into())),
            None => Ok((Principals::Everyone, false)),
        };
    }
    let (value, others) = elements.either("Principal", "NotPrincipal")?;
    Ok((read_principals(value, place)?, others))
}

fn read_principals(value: &Json, place: &PolicyPlace<'_>) -> Result<Principals, PolicyFault> {
    let Json::Object(kinds) = value else { return called(value, place) };
    if kinds.is_empty() {
        return Err(PolicyFault::Principal);
    }
    let mut named = Vec::new();
    for (kind, names) in kinds {
        match kind.as_str() {
            "AWS" | "CanonicalUser" => match called(names, place)? {
                Principals::Everyone if kinds.len() == 1 => return Ok(Principals::Everyone),
                Principals::Everyone => return Err(PolicyFault::Principal),
                Principals::Named(names) => named.extend(names),
            },
            // Nobody asks as one of these.
            "Service" | "Federated" => {
                names.texts().filter(|it| !it.is_empty()).ok_or(PolicyFault::Principal)?;
            }
            _ => return Err(PolicyFault::Principal),
        }
    }
    Ok(Principals::Named(named))
}

fn called(value: &Json, place: &PolicyPlace<'_>) -> Result<Principals, PolicyFault> {
    let names = value.texts().filter(|names| !names.is_empty()).ok_or(PolicyFault::Principal)?;
    if names.iter().any(|name| name == "*") {
        let alone = names.len() == 1;
        return if alone { Ok(Principals::Everyone) } else { Err(PolicyFault::Principal) };
    }
    if !names.iter().all(|name| is_somebody(name, place)) {
        return Err(PolicyFault::Principal);
    }
    Ok(Principals::Named(names.into_iter().map(String::into_boxed_str).collect()))
}

/// Whether a name may stand in a policy: who has it is there, or would be in an account that is not
/// here.
fn is_somebody(name: &str, place: &PolicyPlace<'_>) -> bool {
    let Some(CalledArn { account, whom }) = CalledArn::read(name) else {
        return (place.knows)(name);
    };
    if !account.is_empty() && !(place.has_account)(account) {
        return true;
    }
    match whom {
        Whom::User(user) => (place.knows)(user),
        Whom::Account => !account.is_empty(),
        Whom::Nobody => true,
    }
}

fn read_resources(
    value: &Json,
    variables: bool,
    place: &PolicyPlace<'_>,
) -> Result<Vec<Pattern>, PolicyFault> {
    let texts = value.texts().filter(|texts| !texts.is_empty()).ok_or(PolicyFault::Resource)?;
    let mut resources = Vec::with_capacity(texts.len());
    for text in &texts {
        let path = match text.strip_prefix(S3_ARN) {
            Some(path) => path,
            None if text == "*" => "*",
            None => return Err(PolicyFault::Resource),
        };
        let pattern = Pattern::new(path, variables);
        let belongs = place.bucket.is_none_or(|bucket| pattern.may_fit_within(bucket));
        if path.is_empty() || path.starts_with('/') || !belongs {
            return Err(PolicyFault::Resource);
        }
        resources.push(pattern);
    }
    Ok(resources)
}

/// Whether resources may be buckets, and whether they may be objects.
fn levels(resources: &[Pattern], others: bool) -> (bool, bool) {
    if others {
        return (true, true);
    }
    let buckets = resources.iter().any(Pattern::may_fit_bucket);
    let objects = resources.iter().any(Pattern::may_fit_object);
    (buckets, objects)
}

fn actions(
    entries: &[String],
    others: bool,
    (buckets, objects): (bool, bool),
    place: &PolicyPlace<'_>,
) -> Result<ActionSet, PolicyFault> {
    let mut all = ActionSet::default();
    for entry in entries {
        let meant = ActionSet::meant_by(entry);
        // A user's policy may be about other services, too.
        let is_foreign = place.bucket.is_none() && is_of_another_service(entry);
        if meant.is_empty() && !is_foreign {
            return Err(PolicyFault::Action);
        }
        let applies = buckets && !meant.at(ActionLevel::Bucket).is_empty()
            || objects && !meant.at(ActionLevel::Object).is_empty();
        if place.bucket.is_some() && !others && !applies {
            return Err(PolicyFault::ActionResource);
        }
        all.extend(meant.iter());
    }
    Ok(if others { all.others() } else { all })
}

fn is_of_another_service(entry: &str) -> bool {
    let service = entry.split_once(':').map(|(service, _)| service);
    service.is_some_and(|service| !service.is_empty() && !service.eq_ignore_ascii_case("s3"))
}

/// The actions that a statement names without wildcards: all of these must have the keys of its
/// conditions.
fn named_one_by_one(entries: &[String], others: bool) -> ActionSet {
    let plain = entries.iter().filter(|entry| !others && !entry.contains(['*', '?']));
    plain.flat_map(|entry| ActionSet::meant_by(entry).iter()).collect()
}
