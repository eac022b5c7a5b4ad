//! Policies: documents of statements, read once and asked per request.

use crate::action::S3Action;
use crate::fault::PolicyFault;
use crate::json::Json;
use crate::requester::Requester;
use crate::statement::{AccessRequest, PolicyPlace, Statement};
use alloc::vec::Vec;

/// Longest policy, bytes, as S3 has it.
pub const POLICY_LEN_MAX: usize = 20 << 10;
/// Most statements of a policy: each request looks through them.
pub const STATEMENTS_MAX: usize = 256;

/// What policies say of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ruling {
    /// Nothing.
    Silent,
    /// It may be done.
    Allow,
    /// It may not, whatever else allows it.
    Deny,
}

/// A policy, ready to be asked.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyDocument {
    statements: Vec<Statement>,
}

impl PolicyDocument {
    /// Reads a policy in AWS's language (versions 2008-10-17 and 2012-10-17).
    pub fn read(text: &str, place: &PolicyPlace<'_>) -> Result<Self, PolicyFault> {
        if text.len() > POLICY_LEN_MAX {
            return Err(PolicyFault::TooLong);
        }
        if !text.starts_with('{') {
            return Err(PolicyFault::NotJson);
        }
        let Ok(Json::Object(members)) = Json::read(text) else {
            return Err(PolicyFault::InvalidJson);
        };
        let get = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|it| &it.1);
        let known = ["Version", "Id", "Statement"];
        if let Some((unknown, _)) = members.iter().find(|(name, _)| !known.contains(&&**name)) {
            return Err(PolicyFault::Unexpected(unknown.clone()));
        }
        let variables = match get("Version") {
            // Without a version it is of the first, which has no variables.
            None => false,
            Some(Json::Text(version)) => match version.as_str() {
                "2008-10-17" => false,
                "2012-10-17" => true,
                _ => return Err(PolicyFault::Version),
            },
            Some(_) => return Err(PolicyFault::Version),
        };
        if get("Id").is_some_and(|id| !matches!(id, Json::Text(_))) {
            return Err(PolicyFault::InvalidJson);
        }
        let written = match get("Statement").ok_or(PolicyFault::Missing("Statement"))? {
            Json::List(statements) => statements.as_slice(),
            one @ (Json::Null
            | Json::Bool(_)
            | Json::Number(_)
            | Json::Text(_)
            | Json::Object(_)) => core::slice::from_ref(one),
        };
        if written.is_empty() {
            return Err(PolicyFault::NoStatement);
        }
        if written.len() > STATEMENTS_MAX {
            return Err(PolicyFault::TooManyStatements);
        }
        let read = |statement| Statement::read(statement, variables, place);
        Ok(Self { statements: written.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// What it says of a request.
    pub fn rule(&self, request: &AccessRequest<'_>) -> Ruling {
        let mut ruling = Ruling::Silent;
        for statement in &self.statements {
            // Who is allowed already can only be denied yet.
            let matters = !(statement.allows && ruling == Ruling::Allow);
            if matters && statement.meets(request) {
                if !statement.allows {
                    return Ruling::Deny;
                }
                ruling = Ruling::Allow;
            }
        }
        ruling
    }

    /// Whether what it says may depend on the tags of the object that is there.
    pub fn needs_object(&self) -> bool {
        self.statements.iter().any(Statement::needs_object)
    }

    /// Whether it allows anything to the public, as S3 counts it: to everybody, without a condition
    /// that only a fixed somebody, or fixed addresses, can meet.
    pub fn is_public(&self) -> bool {
        self.statements.iter().any(Statement::is_public)
    }

    /// Whether it might allow an action to somebody, of some resource and in some circumstances.
    pub fn may_allow(&self, requester: &Requester, action: S3Action) -> bool {
        self.statements.iter().any(|statement| statement.may_allow(requester, action))
    }
}

/// What several policies say together: a denial of one binds, whatever others allow.
pub fn evaluate<'a>(
    request: &AccessRequest<'_>,
    policies: impl IntoIterator<Item = &'a PolicyDocument>,
) -> Ruling {
    policies.into_iter().map(|policy| policy.rule(request)).max().unwrap_or(Ruling::Silent)
}
