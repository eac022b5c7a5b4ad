//! Policies as S3's documentation has them, and what they let happen.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

use ripstop_access::{
    AccessRequest, Fact, Facts, PolicyDocument, PolicyFault, PolicyPlace, Requester, Ruling,
    S3Action,
};

const ENCRYPTION: Fact = Fact::Header("x-amz-server-side-encryption");

/// What a request has: keys of conditions with their values.
struct Known(Vec<(Fact, &'static str)>);

impl Facts for Known {
    fn values(&self, fact: &Fact, take: &mut dyn FnMut(&str)) {
        self.0.iter().filter(|(known, _)| known == fact).for_each(|(_, value)| take(value));
    }
}

fn user(name: &str) -> Requester {
    Requester::User { account: "acme".into(), name: name.into(), access_key: name.into() }
}

fn read(text: &str) -> Result<PolicyDocument, PolicyFault> {
    let knows = |name: &str| ["alice", "bob"].contains(&name);
    let place = PolicyPlace { bucket: Some("b"), knows: &knows, has_account: &|it| it == "acme" };
    PolicyDocument::read(text, &place)
}

fn statement(rest: &str) -> String {
    format!("{{\"Version\":\"2012-10-17\",\"Statement\":[{{{rest}}}]}}")
}

fn ask(
    policy: &PolicyDocument,
    who: &Requester,
    action: &str,
    resource: &str,
    known: Vec<(Fact, &'static str)>,
) -> Ruling {
    let action = S3Action::named(action).unwrap();
    policy.rule(&AccessRequest { requester: who, action, resource, facts: &Known(known) })
}

#[test]
fn everybody_reads_what_is_public() {
    let policy = read(&statement(
        r#""Sid":"PublicRead","Effect":"Allow","Principal":"*",
           "Action":["s3:GetObject","s3:GetObjectVersion"],"Resource":["arn:aws:s3:::b/*"]"#,
    ))
    .unwrap();
    let ask = |who: &Requester, action, resource| ask(&policy, who, action, resource, vec![]);
    assert_eq!(ask(&Requester::Anonymous, "GetObject", "b/a/b"), Ruling::Allow);
    assert_eq!(ask(&user("alice"), "GetObjectVersion", "b/x"), Ruling::Allow);
    assert_eq!(ask(&Requester::Anonymous, "PutObject", "b/x"), Ruling::Silent);
    assert_eq!(ask(&Requester::Anonymous, "GetObject", "b"), Ruling::Silent);
    assert!(policy.is_public());
}

#[test]
fn only_addresses_of_a_range_are_let_in_and_one_of_them_is_not() {
    let policy = read(&statement(
        r#""Sid":"IPAllow","Effect":"Deny","Principal":"*","Action":"s3:*",
           "Resource":["arn:aws:s3:::b","arn:aws:s3:::b/*"],
           "Condition":{"NotIpAddress":{"aws:SourceIp":["192.0.2.0/24","2001:DB8::/32"]}}"#,
    ))
    .unwrap();
    for (address, ruling) in [
        ("192.0.2.7", Ruling::Silent),
        ("2001:db8:1::1", Ruling::Silent),
        ("203.0.113.1", Ruling::Deny),
        ("::ffff:192.0.2.7", Ruling::Silent),
    ] {
        let known = vec![(Fact::SourceIp, address)];
        assert_eq!(ask(&policy, &user("alice"), "GetObject", "b/x", known), ruling, "{address}");
    }
    assert_eq!(ask(&policy, &user("alice"), "GetObject", "b/x", vec![]), Ruling::Deny, "unknown");
    assert!(!policy.is_public(), "who is denied is not let in");
}

#[test]
fn what_is_not_encrypted_on_its_way_or_in_its_place_is_refused() {
    let policy = read(
        r#"{"Version":"2012-10-17","Statement":[
            {"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::b","arn:aws:s3:::b/*"],
             "Condition":{"Bool":{"aws:SecureTransport":"false"}}},
            {"Effect":"Deny","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::b/*",
             "Condition":{"Null":{"s3:x-amz-server-side-encryption":"true"}}},
            {"Effect":"Deny","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::b/*",
             "Condition":{"StringNotEquals":{"s3:x-amz-server-side-encryption":"AES256"}}}]}"#,
    )
    .unwrap();
    let put = |known| ask(&policy, &user("alice"), "PutObject", "b/x", known);
    let secure = |truth| (Fact::SecureTransport, truth);
    assert_eq!(put(vec![secure("true"), (ENCRYPTION, "AES256")]), Ruling::Silent);
    assert_eq!(put(vec![secure("false"), (ENCRYPTION, "AES256")]), Ruling::Deny);
    assert_eq!(put(vec![secure("true")]), Ruling::Deny);
    assert_eq!(put(vec![secure("true"), (ENCRYPTION, "aws:kms")]), Ruling::Deny);
}

#[test]
fn folders_of_users_are_their_own_by_a_variable() {
    let policy = read(
        r#"{"Version":"2012-10-17","Statement":[
            {"Effect":"Allow","Principal":{"AWS":["arn:aws:iam::acme:user/alice","arn:aws:iam::acme:user/bob"]},
             "Action":["s3:GetObject","s3:PutObject"],"Resource":"arn:aws:s3:::b/home/${aws:username}/*"},
            {"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::acme:root"},"Action":"s3:ListBucket",
             "Resource":"arn:aws:s3:::b",
             "Condition":{"StringLike":{"s3:prefix":["home/${aws:username}/*",""]},"NumericLessThanEquals":{"s3:max-keys":10}}}]}"#,
    )
    .unwrap();
    let named = |name| vec![(Fact::Username, name)];
    let alice = user("alice");
    assert_eq!(ask(&policy, &alice, "PutObject", "b/home/alice/x", named("alice")), Ruling::Allow);
    assert_eq!(ask(&policy, &alice, "PutObject", "b/home/bob/x", named("alice")), Ruling::Silent);
    let listing = |prefix, max| {
        let known = vec![
            (Fact::Username, "alice"),
            (Fact::Query("prefix"), prefix),
            (Fact::Query("max-keys"), max),
        ];
        ask(&policy, &alice, "ListBucket", "b", known)
    };
    assert_eq!(listing("home/alice/x", "10"), Ruling::Allow);
    assert_eq!(listing("", "1"), Ruling::Allow);
    assert_eq!(listing("home/bob/", "1"), Ruling::Silent);
    assert_eq!(listing("home/alice/x", "11"), Ruling::Silent);
    assert_eq!(listing("home/alice/x", "many"), Ruling::Silent);
}

#[test]
fn pages_that_refer_to_it_may_and_others_may_not() {
    let policy = read(&statement(
        r#""Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*",
           "Condition":{"StringLike":{"aws:Referer":["http://www.example.com/*","http://example.com/*"]}}"#,
    ))
    .unwrap();
    let from = |page| {
        let known = vec![(Fact::Header("referer"), page)];
        ask(&policy, &Requester::Anonymous, "GetObject", "b/x", known)
    };
    assert_eq!(from("http://example.com/page"), Ruling::Allow);
    assert_eq!(from("http://evil.example/http://example.com/"), Ruling::Silent);
    assert_eq!(ask(&policy, &Requester::Anonymous, "GetObject", "b/x", vec![]), Ruling::Silent);
}

#[test]
fn tags_decide_about_objects_one_by_one_and_all_together() {
    let policy = read(
        r#"{"Version":"2012-10-17","Statement":[
            {"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*",
             "Condition":{"StringEquals":{"s3:ExistingObjectTag/environment":"production"}}},
            {"Effect":"Allow","Principal":"*","Action":"s3:PutObjectTagging","Resource":"arn:aws:s3:::b/*",
             "Condition":{"ForAllValues:StringEquals":{"s3:RequestObjectTagKeys":["Owner","CreationDate"]}}},
            {"Effect":"Allow","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::b/*",
             "Condition":{"ForAnyValue:StringEquals":{"s3:RequestObjectTagKeys":"Owner"}}}]}"#,
    )
    .unwrap();
    assert!(policy.needs_object());
    let existing = |value| vec![(Fact::ExistingObjectTag("environment".into()), value)];
    let get = |known| ask(&policy, &user("bob"), "GetObject", "b/x", known);
    assert_eq!(get(existing("production")), Ruling::Allow);
    assert_eq!(get(existing("test")), Ruling::Silent);
    let keys = |keys: &[&'static str]| {
        keys.iter().map(|key| (Fact::RequestObjectTagKeys, *key)).collect::<Vec<_>>()
    };
    for (given, all, any) in [
        (&["Owner"][..], Ruling::Allow, Ruling::Allow),
        (&["Owner", "Other"], Ruling::Silent, Ruling::Allow),
        (&["CreationDate"], Ruling::Allow, Ruling::Silent),
        (&[], Ruling::Allow, Ruling::Silent),
    ] {
        let ask = |action| ask(&policy, &user("bob"), action, "b/x", keys(given));
        assert_eq!(ask("PutObjectTagging"), all, "{given:?}");
        assert_eq!(ask("PutObject"), any, "{given:?}");
    }
}

#[test]
fn a_denial_wins_whatever_else_and_its_exceptions_are_excepted() {
    let policy = read(
        r#"{"Version":"2012-10-17","Statement":[
            {"Effect":"Deny","NotPrincipal":{"AWS":"alice"},"Action":"s3:DeleteObject","Resource":"arn:aws:s3:::b/*"},
            {"Effect":"Allow","Principal":"*","NotAction":"s3:PutObject","NotResource":"arn:aws:s3:::b/secret/*"}]}"#,
    )
    .unwrap();
    let ask = |who, action, resource| ask(&policy, &user(who), action, resource, vec![]);
    assert_eq!(ask("bob", "DeleteObject", "b/x"), Ruling::Deny);
    assert_eq!(ask("alice", "DeleteObject", "b/x"), Ruling::Allow);
    assert_eq!(ask("bob", "GetObject", "b/x"), Ruling::Allow);
    assert_eq!(ask("bob", "GetObject", "b/secret/x"), Ruling::Silent);
    assert_eq!(ask("bob", "PutObject", "b/x"), Ruling::Silent);
}

#[test]
fn faults_are_told_in_the_words_of_s3() {
    let with = |principal: &str, action: &str, resource: &str, rest: &str| {
        statement(&format!(
            "\"Effect\":\"Allow\",\"Principal\":{principal},\"Action\":{action},\"Resource\":{resource}{rest}"
        ))
    };
    let object = "\"arn:aws:s3:::b/*\"";
    let get = "\"s3:GetObject\"";
    let when = |condition: &str| with("\"*\"", get, object, &format!(",\"Condition\":{condition}"));
    let principal = "Invalid principal in policy";
    let resource = "Policy has invalid resource";
    let mismatch = "Action does not apply to any resource(s) in statement";
    let combination =
        "Conditions do not apply to combination of actions and resources in statement";
    for (text, told) in [
        ("{true}".into(), "This policy contains invalid Json"),
        ("false".into(), "Policies must be valid JSON and the first byte must be '{'"),
        ("{}".into(), "Missing required field Statement"),
        ("{\"Statement\":[]}".into(), "Could not parse the policy: Statement is empty!"),
        (
            "{\"Version\":\"2012\",\"Statement\":[]}".into(),
            "The policy must contain a valid version string",
        ),
        (with("\"*\"", get, object, "").replace("Allow", "Perhaps"), "Invalid effect: Perhaps"),
        (with("\"\"", get, object, ""), principal),
        (with("[]", get, object, ""), principal),
        (with("{\"AWS\":[]}", get, object, ""), principal),
        (with("[\"*\",\"alice\"]", get, object, ""), principal),
        (with("[\"nobody\"]", get, object, ""), principal),
        (with("{\"AWS\":\"arn:aws:iam::acme:user/nobody\"}", get, object, ""), principal),
        (with("\"*\"", "\"\"", object, ""), "Policy has invalid action"),
        (with("\"*\"", "[]", object, ""), "Policy has invalid action"),
        (with("\"*\"", "\"s3:Abort?\"", object, ""), "Policy has invalid action"),
        (with("\"*\"", get, "\"\"", ""), resource),
        (with("\"*\"", get, "[]", ""), resource),
        (with("\"*\"", get, "\"arn:aws:iam:::b\"", ""), resource),
        (with("\"*\"", get, "\"arn:aws:s3:::/b\"", ""), resource),
        (with("\"*\"", get, "\"arn:aws:s3:::other/*\"", ""), resource),
        (with("\"*\"", get, "\"arn:aws:s3:::b\"", ""), mismatch),
        (with("\"*\"", "\"s3:GetBucket*\"", object, ""), mismatch),
        (
            when("{\"stringequals\":{\"aws:UserAgent\":\"x\"}}"),
            "Invalid Condition type : stringequals",
        ),
        (
            when("{\"NullIfExists\":{\"aws:UserAgent\":\"true\"}}"),
            "Invalid Condition type : NullIfExists",
        ),
        (
            when("{\"ForSomeValues:StringEquals\":{\"aws:UserAgent\":\"x\"}}"),
            "Invalid Condition type : ForSomeValues:StringEquals",
        ),
        (when("{\"StringEquals\":{\"s3:Fake\":\"x\"}}"), "Policy has an invalid condition key"),
        (when("{\"StringEquals\":{\"s3:prefix\":\"x\"}}"), combination),
        (when("{\"StringEquals\":{\"s3:VersionId\":\"x\"}}"), combination),
        (when("{\"Null\":{\"aws:SourceIp\":\"true\"}}"), "Invalid IP address in Conditions"),
        (
            when("{\"IpAddress\":{\"aws:SourceIp\":\"300.1.1.1/40\"}}"),
            "Invalid IP address in Conditions",
        ),
        (
            format!("{{{}}}", " ".repeat(20 << 10)),
            "Policy exceeds the maximum allowed document size.",
        ),
    ] {
        assert_eq!(read(&text).unwrap_err().to_string(), told, "{text}");
    }
    for fine in [
        with("[\"alice\",\"bob\"]", "\"s3:*\"", "[\"arn:aws:s3:::b\",\"arn:aws:s3:::b/*\"]", ""),
        with(
            "{\"CanonicalUser\":\"alice\"}",
            get,
            "[\"arn:aws:s3:::b/*/*\",\"arn:aws:s3:::b/m?-obj/*\"]",
            "",
        ),
        with("{\"AWS\":\"arn:aws:iam::elsewhere:user/x\"}", get, "\"arn:aws:s3:::*\"", ""),
        with(
            "\"*\"",
            "\"s3:PutObject*\"",
            object,
            ",\"Condition\":{\"StringEquals\":{\"s3:x-amz-acl\":\"private\"}}",
        ),
        with("\"*\"", get, "[\"arn:aws:s3:::b/*\",\"arn:aws:s3:::b/*\"]", ""),
    ] {
        read(&fine).unwrap();
    }
}

#[test]
fn what_is_public_is_told_from_what_is_not() {
    for (rest, public) in [
        (r#""Effect":"Allow","Principal":"*""#, true),
        (r#""Effect":"Deny","Principal":"*""#, false),
        (r#""Effect":"Allow","Principal":"alice""#, false),
        (
            r#""Effect":"Allow","Principal":{"AWS":"*"},"Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/32"}}"#,
            false,
        ),
        (
            r#""Effect":"Allow","Principal":"*","Condition":{"IpAddress":{"aws:SourceIp":"0.0.0.0/1"}}"#,
            true,
        ),
        (
            r#""Effect":"Allow","Principal":"*","Condition":{"NotIpAddress":{"aws:SourceIp":"10.0.0.0/32"}}"#,
            true,
        ),
        (
            r#""Effect":"Allow","Principal":"*","Condition":{"StringLike":{"aws:PrincipalArn":"*"}}"#,
            true,
        ),
        (
            r#""Effect":"Allow","Principal":"*","Condition":{"StringEquals":{"aws:SourceVpc":"vpc-1"}}"#,
            false,
        ),
        (
            r#""Effect":"Allow","Principal":"*","Condition":{"StringEqualsIfExists":{"aws:SourceVpc":"vpc-1"}}"#,
            true,
        ),
        (
            r#""Effect":"Allow","Principal":"*","Condition":{"StringLike":{"aws:Referer":"x"}}"#,
            true,
        ),
    ] {
        let text = format!("{rest},\"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::b/*\"");
        assert_eq!(read(&statement(&text)).unwrap().is_public(), public, "{rest}");
    }
}

#[test]
fn a_policy_of_a_user_names_nobody_and_may_be_about_everything() {
    let place = PolicyPlace { bucket: None, knows: &|_| false, has_account: &|_| false };
    let text = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow",
        "Action":["s3:ListAllMyBuckets","sts:AssumeRole","s3:GetObject"],"Resource":"*"}]}"#;
    let policy = PolicyDocument::read(text, &place).unwrap();
    assert_eq!(ask(&policy, &user("alice"), "GetObject", "any/thing", vec![]), Ruling::Allow);
    let text = text.replace("\"Effect\"", "\"Principal\":\"*\",\"Effect\"");
    let fault = PolicyDocument::read(&text, &place).unwrap_err();
    assert_eq!(fault, PolicyFault::Unexpected("Principal".into()));
}
