//! Policies beside a twin that reads every word again for each request, as the language is
//! described, without anything made ready.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

use proptest::prelude::*;
use ripstop_access::{
    AccessRequest, Fact, Facts, PolicyDocument, PolicyPlace, Requester, Ruling, S3Action,
};

const ACTIONS: [&str; 6] =
    ["GetObject", "PutObject", "DeleteObject", "ListBucket", "GetBucketAcl", "PutObjectTagging"];
const ENTRIES: [&str; 7] =
    ["s3:*", "s3:GetObject", "s3:Put*", "s3:*Object", "s3:ListBucket", "*", "s3:?etObject"];
const PRINCIPALS: [&str; 5] = ["*", "alice", "bob", "acme", "arn:aws:iam::acme:user/alice"];
const RESOURCES: [&str; 7] = ["b", "b/*", "b/a*", "b/?", "*", "b/a/*/c", "b*"];
const ASKED: [&str; 7] = ["b", "b/a", "b/ab", "b/a/b/c", "b/z", "b/a//c", "b/a/b"];
const OPERATORS: [&str; 12] = [
    "StringEquals",
    "StringNotEquals",
    "StringEqualsIgnoreCase",
    "StringNotEqualsIgnoreCase",
    "StringLike",
    "StringNotLike",
    "NumericEquals",
    "NumericNotEquals",
    "NumericLessThan",
    "NumericLessThanEquals",
    "NumericGreaterThan",
    "NumericGreaterThanEquals",
];
const QUANTIFIERS: [&str; 3] = ["", "ForAllValues:", "ForAnyValue:"];
const VALUES: [&str; 6] = ["1", "2", "10", "A", "a", "a*"];

#[derive(Clone, Debug)]
struct Condition {
    quantifier: &'static str,
    operator: &'static str,
    if_exists: bool,
    wanted: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct Said {
    allows: bool,
    principal: &'static str,
    actions: (bool, Vec<&'static str>),
    resources: (bool, Vec<&'static str>),
    condition: Option<Condition>,
    null: Option<bool>,
}

#[derive(Clone, Debug)]
struct Ask {
    who: Option<&'static str>,
    action: &'static str,
    resource: &'static str,
    values: Vec<&'static str>,
}

impl Facts for Ask {
    fn values(&self, fact: &Fact, take: &mut dyn FnMut(&str)) {
        if *fact == Fact::RequestObjectTagKeys {
            self.values.iter().for_each(|value| take(value));
        }
    }
}

fn quoted(texts: &[&str]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(","))
}

fn written(statements: &[Said]) -> String {
    let each = statements.iter().map(|said| {
        let effect = if said.allows { "Allow" } else { "Deny" };
        let not = |not: bool| if not { "Not" } else { "" };
        let resources: Vec<_> = said.resources.1.iter().map(|it| format!("arn:aws:s3:::{it}")).collect();
        let resources: Vec<_> = resources.iter().map(String::as_str).collect();
        let mut operators = Vec::new();
        if let Some(Condition { quantifier, operator, if_exists, wanted }) = &said.condition {
            let suffix = if *if_exists { "IfExists" } else { "" };
            operators.push(format!(
                "\"{quantifier}{operator}{suffix}\":{{\"s3:RequestObjectTagKeys\":{}}}",
                quoted(wanted)
            ));
        }
        if let Some(null) = said.null {
            operators.push(format!("\"Null\":{{\"s3:RequestObjectTagKeys\":\"{null}\"}}"));
        }
        format!(
            "{{\"Effect\":\"{effect}\",\"Principal\":{{\"AWS\":{:?}}},\"{}Action\":{},\"{}Resource\":{},\"Condition\":{{{}}}}}",
            said.principal,
            not(said.actions.0),
            quoted(&said.actions.1),
            not(said.resources.0),
            quoted(&resources),
            operators.join(","),
        )
    });
    format!("{{\"Statement\":[{}]}}", each.collect::<Vec<_>>().join(","))
}

/// Wildcards by the book: try everything.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            like(rest, text) || text.split_first().is_some_and(|(_, left)| like(pattern, left))
        }
        (Some((b'?', rest)), Some((_, left))) => like(rest, left),
        (Some((a, rest)), Some((b, left))) => a == b && like(rest, left),
        _ => false,
    }
}

fn compares(operator: &str, value: &str, wanted: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    let numbers = number(value).zip(number(wanted));
    let by = |holds: fn(f64, f64) -> bool| numbers.is_some_and(|(a, b)| holds(a, b));
    match operator {
        "StringEquals" | "StringNotEquals" => value == wanted,
        "StringEqualsIgnoreCase" | "StringNotEqualsIgnoreCase" => {
            value.eq_ignore_ascii_case(wanted)
        }
        "StringLike" | "StringNotLike" => like(wanted.as_bytes(), value.as_bytes()),
        "NumericEquals" | "NumericNotEquals" => by(|a, b| (a - b).abs() < f64::EPSILON),
        "NumericLessThan" => by(|a, b| a < b),
        "NumericLessThanEquals" => by(|a, b| a <= b),
        "NumericGreaterThan" => by(|a, b| a > b),
        _ => by(|a, b| a >= b),
    }
}

fn holds(condition: &Condition, values: &[&str]) -> bool {
    let Condition { quantifier, operator, if_exists, wanted } = condition;
    let negated = operator.contains("Not");
    let one = |value: &&str| {
        let any = wanted.iter().any(|wanted| compares(operator, value, wanted));
        if negated { !any } else { any }
    };
    if values.is_empty() {
        return match *quantifier {
            "ForAllValues:" => true,
            "ForAnyValue:" => *if_exists,
            _ => *if_exists || negated,
        };
    }
    match *quantifier {
        "ForAllValues:" => values.iter().all(one),
        "ForAnyValue:" => values.iter().any(one),
        _ if negated => values.iter().all(one),
        _ => values.iter().any(one),
    }
}

fn twin(statements: &[Said], ask: &Ask) -> Ruling {
    let action = format!("s3:{}", ask.action);
    let about = |said: &&Said| {
        let called = [
            "acme",
            ask.who.unwrap_or_default(),
            &format!("arn:aws:iam::acme:user/{}", ask.who.unwrap_or_default()),
        ]
        .contains(&said.principal);
        let principal = said.principal == "*" || ask.who.is_some() && called;
        let fits = |entry: &&str| like(entry.as_bytes(), action.as_bytes());
        let actions = said.actions.1.iter().any(fits) != said.actions.0;
        let named = said.resources.1.iter().any(|it| like(it.as_bytes(), ask.resource.as_bytes()));
        principal
            && actions
            && named != said.resources.0
            && said.condition.as_ref().is_none_or(|condition| holds(condition, &ask.values))
            && said.null.is_none_or(|null| ask.values.is_empty() == null)
    };
    let met: Vec<_> = statements.iter().filter(about).map(|said| said.allows).collect();
    match met.as_slice() {
        [] => Ruling::Silent,
        met if met.contains(&false) => Ruling::Deny,
        _ => Ruling::Allow,
    }
}

prop_compose! {
    fn conditions()(
        quantifier in prop::sample::select(&QUANTIFIERS[..]),
        operator in prop::sample::select(&OPERATORS[..]),
        if_exists: bool,
        wanted in prop::sample::subsequence(&VALUES[..], 1..4),
    ) -> Condition {
        let is_number = operator.starts_with("Numeric");
        let wanted = wanted.into_iter().filter(|it| !is_number || it.parse::<f64>().is_ok()).collect();
        Condition { quantifier, operator, if_exists, wanted }
    }
}

prop_compose! {
    fn statements()(
        allows: bool,
        principal in prop::sample::select(&PRINCIPALS[..]),
        actions in (prop::bool::weighted(0.2), prop::sample::subsequence(&ENTRIES[..], 1..4)),
        resources in (prop::bool::weighted(0.2), prop::sample::subsequence(&RESOURCES[..], 1..4)),
        condition in prop::option::of(conditions()),
        null in prop::option::weighted(0.2, any::<bool>()),
    ) -> Said {
        Said { allows, principal, actions, resources, condition, null }
    }
}

prop_compose! {
    fn asks()(
        who in prop::sample::select(&[None, Some("alice"), Some("bob")][..]),
        action in prop::sample::select(&ACTIONS[..]),
        resource in prop::sample::select(&ASKED[..]),
        values in prop::sample::subsequence(&["1", "3", "10", "a", "ab"][..], 0..4),
    ) -> Ask {
        Ask { who, action, resource, values }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn policies_say_what_their_twin_says(
        statements in prop::collection::vec(statements(), 1..5),
        asks in prop::collection::vec(asks(), 16),
    ) {
        let place = PolicyPlace { bucket: Some("b"), knows: &|_| true, has_account: &|_| true };
        // What is done to none of its resources is refused before it is asked.
        let Ok(policy) = PolicyDocument::read(&written(&statements), &place) else {
            return Ok(());
        };
        for ask in asks {
            let requester = match ask.who {
                None => Requester::Anonymous,
                Some(name) => Requester::User {
                    account: "acme".into(),
                    name: name.into(),
                    access_key: format!("key of {name}").into(),
                },
            };
            let action = S3Action::named(ask.action).unwrap();
            let request =
                AccessRequest { requester: &requester, action, resource: ask.resource, facts: &ask };
            prop_assert_eq!(policy.rule(&request), twin(&statements, &ask), "{:?}", ask);
        }
    }

    #[test]
    fn nothing_that_is_read_ends_the_reader(text in "\\{[\\[\\]{}\":,a-zA-Z0-9\\\\ .*$?/-]{0,200}") {
        let place = PolicyPlace { bucket: Some("b"), knows: &|_| true, has_account: &|_| true };
        let _ = PolicyDocument::read(&text, &place);
    }
}

/// What a long policy costs a request: at most some thousandths of what an answer takes.
#[test]
fn fifty_statements_are_looked_through_in_microseconds() {
    let statement = |at: usize| {
        format!(
            "{{\"Effect\":\"Allow\",\"Principal\":{{\"AWS\":\"alice\"}},\"Action\":\"s3:Get*\",\
             \"Resource\":\"arn:aws:s3:::b/folder-{at}/*/x\",\
             \"Condition\":{{\"StringLike\":{{\"aws:Referer\":\"https://*.example.com/*\"}}}}}}"
        )
    };
    let text =
        format!("{{\"Statement\":[{}]}}", (0..50).map(statement).collect::<Vec<_>>().join(","));
    let place = PolicyPlace { bucket: Some("b"), knows: &|_| true, has_account: &|_| true };
    let policy = PolicyDocument::read(&text, &place).unwrap();
    let requester =
        Requester::User { account: "a".into(), name: "alice".into(), access_key: "K".into() };
    let action = S3Action::named("GetObject").unwrap();
    let request = AccessRequest {
        requester: &requester,
        action,
        resource: "b/folder-49/some/longer/path/of/an/object/y",
        facts: &(),
    };
    let rounds = 1000;
    let mut least = u128::MAX;
    // The quickest of several: whatever else the machine does makes it slower only.
    for _ in 0..20 {
        let begun = std::time::Instant::now();
        for _ in 0..rounds {
            assert_eq!(std::hint::black_box(&policy).rule(&request), Ruling::Silent);
        }
        least = least.min(begun.elapsed().as_nanos() / rounds);
    }
    let bound = if cfg!(debug_assertions) { 100_000 } else { 5_000 };
    assert!(least < bound, "{least} ns");
}
