//! Temporary keys, asked for as from AWS's Security Token Service.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings, date,
    error::{Code, Failure},
    session_token::{TOKEN_LEN_MAX, TemporaryKey, Wanted},
    uri::Query,
    xml::Element,
};
use http::{HeaderValue, header};
use ripstop_access::{PolicyDocument, PolicyPlace};
use std::ops::RangeInclusive;

/// How long a session of `AssumeRole` may last, seconds, as AWS has it …
const ROLE_S: RangeInclusive<i64> = 900..=43_200;
/// … and how long it does if that is not said.
const ROLE_S_DEFAULT: i64 = 3_600;
/// The same of `GetSessionToken`.
const TOKEN_S: RangeInclusive<i64> = 900..=129_600;
const TOKEN_S_DEFAULT: i64 = 43_200;
/// Longest policy of a session, characters, as AWS has it: each request carries it.
const POLICY_LEN_MAX: usize = 2048;
/// The calls that there are, each with the parameters that it may have.
const CALLS: [(&str, &[&str]); 3] = [
    ("AssumeRole", &["RoleArn", "RoleSessionName", "Policy", "DurationSeconds", "ExternalId"]),
    ("GetSessionToken", &["DurationSeconds"]),
    ("GetCallerIdentity", &[]),
];
/// What every call has.
const COMMON: [&str; 2] = ["Action", "Version"];
const VERSION: &str = "2011-06-15";

/// What is asked for.
pub(super) struct Ask {
    call: Query,
    action: &'static str,
}

/// What is answered.
pub(super) struct Told {
    action: &'static str,
    request_id: String,
    account: String,
    arn: String,
    id: String,
    /// A new key, and its token.
    key: Option<(TemporaryKey, String)>,
}

fn invalid(message: String) -> Failure {
    Failure::new(Code::ValidationError, message)
}

impl Operate for Ask {
    type Done = Told;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let call = request.call.take().ok_or(Code::InternalError)?;
        let asked = call.get("Action").ok_or(Code::MissingAction)?;
        if call.get("Version").is_some_and(|version| version != VERSION) {
            let message = format!("Could not find operation {asked} for that version");
            return Err(Failure::new(Code::InvalidAction, message));
        }
        let known = CALLS.iter().find(|(name, _)| *name == asked);
        let (action, parameters) = known.ok_or_else(|| {
            let message = format!("Could not find operation {asked} for version {VERSION}");
            Failure::new(Code::InvalidAction, message)
        })?;
        let mut names = call.pairs().iter().map(|(name, _)| name.as_str());
        // What would narrow a session, and is not looked at, would leave it wider than was meant.
        if let Some(unknown) =
            names.find(|name| !COMMON.contains(name) && !parameters.contains(name))
        {
            return Err(invalid(format!("{action} does not support the parameter {unknown} here")));
        }
        Ok(Self { call, action })
    }

    async fn run(self, desk: &Desk) -> Outcome<Told> {
        let Self { call, action } = self;
        let principal = &desk.gate.principal;
        let (access_key, user) = principal.user().ok_or(Code::AccessDenied)?;
        let account = desk.gate.account().ok_or(Code::AccessDenied)?;
        let session = principal.session().map(|session| session.name.as_str());
        let (account, id) = ((*account).to_owned(), (**user).to_owned());
        let mut told = Told {
            action,
            request_id: desk.request_id.clone(),
            arn: arn(&account, user, session),
            id: session.map_or(id.clone(), |session| format!("{id}:{session}")),
            account,
            key: None,
        };
        if action == "GetCallerIdentity" {
            return Ok(told);
        }
        if session.is_some() {
            let message = format!("Cannot call {action} with session credentials");
            return Err(Failure::new(Code::AccessDenied, message));
        }
        let wanted = wanted(&call, action, &id)?;
        told.arn = arn(&told.account, user, Some(&wanted.name));
        told.id = format!("{id}:{}", wanted.name);
        let credentials = desk.keyring.credentials();
        let (secret, is_known) = credentials.secret(access_key);
        if !is_known {
            return Err(Code::InvalidAccessKeyId.into());
        }
        let key = TemporaryKey::draw(access_key, secret, wanted);
        let token = key.seal(&desk.settings.encryption.keys).map_err(|_| {
            Failure::new(Code::NotImplemented, "There is no key that tokens could be sealed with.")
        })?;
        if token.len() > TOKEN_LEN_MAX {
            return Err(Code::PackedPolicyTooLarge.into());
        }
        told.key = Some((key, token));
        Ok(told)
    }

    fn render(told: Told, _: &FrontSettings) -> Reply {
        let Told { action, request_id, account, arn, id, key } = told;
        let (response, result) = match action {
            "AssumeRole" => ("AssumeRoleResponse", "AssumeRoleResult"),
            "GetSessionToken" => ("GetSessionTokenResponse", "GetSessionTokenResult"),
            _ => ("GetCallerIdentityResponse", "GetCallerIdentityResult"),
        };
        let mut root = Element::of_sts(response);
        root.child(result, |result| {
            match &key {
                None => {
                    result.text("Arn", &arn).text("UserId", &id).text("Account", &account);
                }
                Some((key, token)) => {
                    result.child("Credentials", |it| show(it, key, token));
                }
            }
            if action == "AssumeRole" {
                result.child("AssumedRoleUser", |user| {
                    user.text("AssumedRoleId", &id).text("Arn", &arn);
                });
            }
        });
        root.child("ResponseMetadata", |it| {
            it.text("RequestId", &request_id);
        });
        let mut reply = Reply::document(root.document());
        reply.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/xml"));
        reply.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        reply
    }
}

fn show(element: &mut Element, key: &TemporaryKey, token: &str) {
    let ends_ms = key.ends_s.max(0).cast_unsigned() * 1000;
    element
        .text("AccessKeyId", &key.access_key)
        .text("SecretAccessKey", &key.secret_key)
        .text("SessionToken", token)
        .text("Expiration", &date::document(ends_ms));
}

/// A user, or its session, as AWS names them.
fn arn(account: &str, user: &str, session: Option<&str>) -> String {
    match session {
        Some(session) => format!("arn:aws:sts::{account}:assumed-role/{user}/{session}"),
        None => format!("arn:aws:iam::{account}:user/{user}"),
    }
}

/// The session that is asked for.
fn wanted(call: &Query, action: &str, user: &str) -> Outcome<Wanted> {
    let is_role = action == "AssumeRole";
    if let Some(role) = call.get("RoleArn").filter(|role| !is_arn_of_role(role)) {
        return Err(invalid(format!("{role} is invalid: RoleArn must name a role")));
    }
    let name = call.get("RoleSessionName").unwrap_or(user);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    if is_role && (!(2..=64).contains(&name.len()) || !name.chars().all(is_plain)) {
        let message = "RoleSessionName must have 2 to 64 letters, digits or _+=,.@-";
        return Err(invalid(message.to_owned()));
    }
    let (range, default) =
        if is_role { (ROLE_S, ROLE_S_DEFAULT) } else { (TOKEN_S, TOKEN_S_DEFAULT) };
    let duration_s = match call.get("DurationSeconds") {
        None => default,
        Some(text) => {
            let given = text.parse().ok().filter(|given| range.contains(given));
            given.ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                invalid(format!("DurationSeconds must be {least} to {most}, not {text:?}"))
            })?
        }
    };
    let policy = call.get("Policy").filter(|text| !text.is_empty()).map(policy).transpose()?;
    let began_s = (date::now_ms() / 1000).cast_signed();
    Ok(Wanted { name: name.to_owned(), policy, began_s, duration_s })
}

/// Whether it could be a role's name: here a session is always its caller's own, whatever the role.
fn is_arn_of_role(text: &str) -> bool {
    let resource = text.strip_prefix("arn:").and_then(|rest| rest.splitn(5, ':').last());
    text.contains(":iam:") && resource.is_some_and(|it| it.starts_with("role/"))
}

fn policy(text: &str) -> Outcome<String> {
    let len = text.chars().count();
    if len > POLICY_LEN_MAX {
        return Err(invalid(format!(
            "Policy has {len} characters, at most {POLICY_LEN_MAX} can be"
        )));
    }
    let text = text.trim();
    let place = PolicyPlace { bucket: None, knows: &|_| false, has_account: &|_| false };
    match PolicyDocument::read(text, &place) {
        Ok(_) => Ok(text.to_owned()),
        Err(fault) => Err(Failure::new(Code::MalformedPolicyDocument, fault.to_string())),
    }
}
