//! What MinIO's client exports of users and policies.

use anyhow::{Context as _, Result, bail};
use ripstop_assembly::UserCommand;
use serde_json::{Value, map::Map};
use std::collections::BTreeSet;

/// What comes of an export.
pub(crate) struct Export {
    /// Policies come first.
    pub(crate) commands: Vec<UserCommand>,
    pub(crate) users: usize,
    pub(crate) policies: usize,
    /// What has no counterpart here.
    pub(crate) notes: Vec<String>,
}

/// Reads objects of JSON, one after the other: users and policies, in whatever order.
pub(crate) fn read(text: &str) -> Result<Export> {
    let mut export = Export { commands: Vec::new(), users: 0, policies: 0, notes: Vec::new() };
    let mut users = Vec::new();
    let mut known = BTreeSet::new();
    for (at, told) in serde_json::Deserializer::from_str(text).into_iter::<Value>().enumerate() {
        let told = told.context("what was exported is no JSON")?;
        let member = |name: &str| told.get(name);
        if let (Some(Value::String(name)), _) | (_, Some(Value::String(name))) =
            (told.pointer("/policyInfo/PolicyName"), member("policyJSON").and(member("policy")))
        {
            let policy = told.pointer("/policyInfo/Policy").or_else(|| member("policyJSON"));
            if let Some(text) = counterpart(name, policy, &mut export.notes) {
                known.insert(name.clone());
                export.policies += 1;
                export.commands.push(UserCommand::PutPolicy { name: name.clone(), text });
            }
        } else if let Some(Value::String(name)) = member("accessKey") {
            users.push((name.clone(), told.clone()));
        } else {
            bail!("object {} of what was exported is neither a user nor a policy", at + 1);
        }
    }
    export.users = users.len();
    for (name, told) in users {
        let text = |member| told.get(member).and_then(Value::as_str).unwrap_or_default();
        let mut policies = Vec::new();
        for policy in text("policyName").split(',').map(str::trim).filter(|it| !it.is_empty()) {
            if known.contains(policy) {
                policies.push(policy.to_owned());
            } else {
                export.notes.push(format!("policy {policy} of user {name}"));
            }
        }
        let access_key = Some(name.clone());
        let is_disabled = text("userStatus") == "disabled";
        let user = name.clone();
        export.commands.push(UserCommand::AddUser { name: user.clone(), account: false, policies });
        export.commands.push(UserCommand::AddKey { user, access_key, secret_key: None });
        if is_disabled {
            export.commands.push(UserCommand::DisableKey { access_key: name, disabled: true });
        }
    }
    Ok(export)
}

/// A policy without its statements about the server itself, which is not told so here.
fn counterpart(name: &str, policy: Option<&Value>, notes: &mut Vec<String>) -> Option<String> {
    let mut policy: Map<String, Value> = policy?.as_object()?.clone();
    let told = policy.get("Statement")?;
    let statements = told.as_array().cloned().unwrap_or_else(|| vec![told.clone()]);
    let count = statements.len();
    let kept: Vec<Value> = statements.into_iter().filter(is_of_s3).collect();
    if kept.len() < count {
        notes
            .push(format!("{} statements of policy {name} that are not of S3", count - kept.len()));
    }
    if kept.is_empty() {
        return None;
    }
    policy.retain(|member, value| member != "ID" || !value.as_str().is_none_or(str::is_empty));
    policy.insert("Statement".to_owned(), Value::Array(kept));
    Some(Value::Object(policy).to_string())
}

fn is_of_s3(statement: &Value) -> bool {
    let is_s3 = |action: &Value| {
        action.as_str().is_some_and(|action| action == "*" || action.starts_with("s3:"))
    };
    match statement.get("Action").or_else(|| statement.get("NotAction")) {
        Some(Value::Array(actions)) => actions.iter().any(is_s3),
        Some(one) => is_s3(one),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_policies_come_over_and_what_is_not_of_s3_is_named() {
        let text = r#"
            {"status": "success", "accessKey": "ann", "policyName": "readwrite,consoleAdmin",
             "userStatus": "enabled"}
            {"status": "success", "accessKey": "bob", "userStatus": "disabled"}
            {"status": "success", "policy": "readwrite", "policyInfo": {"PolicyName": "readwrite",
             "Policy": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
             "Action": ["s3:*"], "Resource": ["arn:aws:s3:::*"]}]}}}
            {"policy": "consoleAdmin", "policyJSON": {"Version": "2012-10-17", "Statement":
             [{"Effect": "Allow", "Action": ["admin:*"]}, {"Effect": "Allow", "Action": "kms:*"}]}}
            "#;
        let export = read(text).unwrap();
        assert_eq!((export.users, export.policies), (2, 1));
        let told: Vec<_> = export.commands.iter().map(|it| format!("{it:?}")).collect();
        assert_eq!(
            told,
            [
                "put policy readwrite",
                "add user ann",
                "add a key of user ann",
                "add user bob",
                "add a key of user bob",
                "disable key bob",
            ]
        );
        assert_eq!(
            export.notes,
            [
                "2 statements of policy consoleAdmin that are not of S3",
                "policy consoleAdmin of user ann",
            ]
        );
        for wrong in ["[1", "{\"status\": \"error\"}"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
