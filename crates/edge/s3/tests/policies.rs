//! Policies of buckets: put, shown, and what they let happen; and whose buckets are.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/people.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod people;

use client::Call;
use people::{ALICE, BOB, CLERK, NOBODY, People, denied, text};

/// A statement about a bucket and all in it.
fn all(effect: &str, principal: &str, action: &str) -> String {
    format!(
        "{{\"Effect\":\"{effect}\",\"Principal\":{principal},\"Action\":{action},\
         \"Resource\":[\"arn:aws:s3:::mine\",\"arn:aws:s3:::mine/*\"]}}"
    )
}

/// A statement about what is in a bucket, on a condition.
fn when(effect: &str, action: &str, condition: &str) -> String {
    format!(
        "{{\"Effect\":\"{effect}\",\"Principal\":\"*\",\"Action\":{action},\
         \"Resource\":\"arn:aws:s3:::mine/*\",\"Condition\":{condition}}}"
    )
}

#[tokio::test]
async fn a_policy_is_kept_as_it_was_put_until_it_is_deleted() {
    let people = People::with_bucket("mine", &[]).await;
    let get = || people.told(ALICE, "GET", "/mine", "policy=", b"");
    let none = (404, "NoSuchBucketPolicy".to_owned());
    assert_eq!(get().await, none);
    let policy = format!("{{ \"Statement\": [{}] }}", all("Allow", "\"*\"", "\"s3:GetObject\""));
    for _ in 0..2 {
        let put = people.ok(ALICE, "PUT", "/mine", "policy=", policy.as_bytes()).await;
        assert_eq!(put.status, 204);
    }
    let shown = people.ok(ALICE, "GET", "/mine", "policy=", b"").await;
    assert_eq!(text(&shown), policy);
    assert!(shown.head.contains("application/json"), "{}", shown.head);
    for (rest, public) in [
        (all("Allow", "\"*\"", "\"s3:GetObject\""), true),
        (all("Deny", "\"*\"", "\"s3:GetObject\""), false),
        (all("Allow", "\"bob\"", "\"s3:GetObject\""), false),
    ] {
        people.policy("mine", &rest).await;
        let status = text(&people.ok(ALICE, "GET", "/mine", "policyStatus=", b"").await);
        assert!(status.contains(&format!("<IsPublic>{public}</IsPublic>")), "{rest}: {status}");
    }
    for _ in 0..2 {
        assert_eq!(people.status(ALICE, "DELETE", "/mine", "policy=").await, 204);
        assert_eq!(get().await, none);
    }
    assert_eq!(people.told(ALICE, "GET", "/mine", "policyStatus=", b"").await, none);
    let absent = people.told(ALICE, "PUT", "/nothing-here", "policy=", policy.as_bytes()).await;
    assert_eq!(absent, (404, "NoSuchBucket".to_owned()));
}

#[tokio::test]
async fn what_is_no_policy_is_refused_in_the_words_of_s3_and_changes_nothing() {
    let people = People::with_bucket("mine", &[]).await;
    people.policy("mine", &all("Allow", "\"bob\"", "\"s3:ListBucket\"")).await;
    for (policy, told) in [
        ("", "Policies must be valid JSON and the first byte must be '{'"),
        ("{true}", "This policy contains invalid Json"),
        ("{}", "Missing required field Statement"),
        (&all("Allow", "\"nobody-here\"", "\"s3:*\""), "Missing required field Statement"),
    ] {
        let answer = people.send(ALICE, "PUT", "/mine", "policy=", policy.as_bytes()).await;
        assert_eq!((answer.status, answer.code()), (400, "MalformedPolicy".to_owned()), "{policy}");
        let is_told = text(&answer).contains(told) || policy.contains("nobody");
        assert!(is_told, "{policy}: {}", text(&answer));
    }
    for (statement, told) in [
        (all("Allow", "\"nobody-here\"", "\"s3:*\""), "Invalid principal in policy"),
        (
            all("Allow", "{\"AWS\":\"arn:aws:iam:::user/none\"}", "\"s3:*\""),
            "Invalid principal in policy",
        ),
        (all("Allow", "\"*\"", "\"s3:Nothing\""), "Policy has invalid action"),
        (
            all("Allow", "\"*\"", "\"s3:*\"").replace("mine", "theirs"),
            "Policy has invalid resource",
        ),
    ] {
        let policy = format!("{{\"Statement\":[{statement}]}}");
        let answer = people.send(ALICE, "PUT", "/mine", "policy=", policy.as_bytes()).await;
        assert!(text(&answer).contains(told), "{policy}: {}", text(&answer));
    }
    let long = format!("{{\"Statement\":[]{}}}", " ".repeat(30 << 10));
    let answer = people.send(ALICE, "PUT", "/mine", "policy=", long.as_bytes()).await;
    assert_eq!(answer.code(), "MalformedPolicy");
    assert_eq!(people.status(BOB, "GET", "/mine", "").await, 200, "the first still stands");
}

#[tokio::test]
async fn users_own_what_they_make_and_see_nothing_of_others() {
    let people = People::with_bucket("mine", &["k"]).await;
    people.ok("test", "PUT", "/shared", "", b"").await;
    people.ok("test", "PUT", "/shared/k", "", b"x").await;
    let names = |answer: String| {
        let names = answer.split("<Name>").skip(1);
        names.map(|rest| rest.split_once("</Name>").unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    for (who, seen, owner) in [
        (ALICE, vec!["mine"], "alice"),
        (BOB, vec![], "bob"),
        (CLERK, vec!["shared"], "ripstop"),
        ("test", vec!["mine", "shared"], "ripstop"),
    ] {
        let listed = text(&people.ok(who, "GET", "/", "", b"").await);
        assert!(listed.contains(&format!("<ID>{owner}</ID>")), "{listed}");
        assert_eq!(names(listed), seen, "{who}");
    }
    for (method, path, query) in [
        ("GET", "/mine", ""),
        ("GET", "/mine/k", ""),
        ("PUT", "/mine/k", ""),
        ("DELETE", "/mine/k", ""),
        ("GET", "/mine", "policy="),
        ("DELETE", "/mine", "policy="),
        ("GET", "/mine", "acl="),
        ("DELETE", "/mine", ""),
        ("GET", "/shared/k", ""),
    ] {
        for who in [BOB, NOBODY] {
            assert_eq!(
                people.told(who, method, path, query, b"").await,
                denied(),
                "{who} {method} {path}"
            );
        }
    }
    assert_eq!(people.told(CLERK, "GET", "/mine/k", "", b"").await, denied());
    let taken = (409, "BucketAlreadyExists".to_owned());
    assert_eq!(people.told(BOB, "PUT", "/mine", "", b"").await, taken);
    assert_eq!(people.told("test", "PUT", "/mine", "", b"").await, taken);
    assert_eq!(people.status(ALICE, "PUT", "/mine", "").await, 200, "as in us-east-1");
    let listed = text(&people.ok(ALICE, "GET", "/mine", "", b"").await);
    assert!(listed.contains("<Owner><ID>alice</ID>"), "{listed}");
    let absent = people.told(BOB, "GET", "/nothing-here", "", b"").await;
    assert_eq!(absent, (404, "NoSuchBucket".to_owned()));
    for (method, path) in
        [("GET", "/nothing-here"), ("GET", "/nothing-here/k"), ("PUT", "/nothing-here/k")]
    {
        let told = people.told(NOBODY, method, path, "", b"").await;
        assert_eq!(told, (404, "NoSuchBucket".to_owned()), "{method} {path}: there are users");
    }
    for (owner, told) in [("alice", 200), ("ripstop", 403)] {
        let call = Call::new("GET", "/mine").header("x-amz-expected-bucket-owner", owner);
        assert_eq!(people.send_with(ALICE, call, b"").await.status, told, "{owner}");
    }
    assert_eq!(
        people.status("test", "GET", "/mine/k", "").await,
        200,
        "the operator may everything"
    );
}

#[tokio::test]
async fn a_policy_lets_in_whom_it_names_and_nobody_else() {
    let people = People::with_bucket("mine", &["k", "secret/k"]).await;
    people
        .policy(
            "mine",
            &all(
                "Allow",
                "{\"AWS\":\"arn:aws:iam::bob:user/bob\"}",
                "[\"s3:GetObject\",\"s3:ListBucket\"]",
            ),
        )
        .await;
    assert_eq!(text(&people.ok(BOB, "GET", "/mine/k", "", b"").await), "k");
    assert_eq!(people.status(BOB, "HEAD", "/mine", "").await, 200);
    assert_eq!(people.told(BOB, "PUT", "/mine/k", "", b"").await, denied());
    assert_eq!(people.told(CLERK, "GET", "/mine/k", "", b"").await, denied());
    assert_eq!(people.told(NOBODY, "GET", "/mine/k", "", b"").await, denied());
    assert_eq!(people.told(BOB, "GET", "/mine/k", "versionId=null", b"").await, denied());
    people
        .policy("mine", &all("Allow", "\"*\"", "[\"s3:GetObject\",\"s3:GetObjectVersion\"]"))
        .await;
    for who in [BOB, CLERK, NOBODY] {
        assert_eq!(people.status(who, "GET", "/mine/k", "").await, 200, "{who}");
        assert_eq!(people.status(who, "GET", "/mine/k", "versionId=null").await, 200, "{who}");
        assert_eq!(people.told(who, "GET", "/mine", "", b"").await, denied(), "{who}");
        let absent = people.told(who, "GET", "/mine/none", "", b"").await;
        assert_eq!(absent, denied(), "{who}: who may not list learns nothing of what is not there");
    }
    assert_eq!(people.status(ALICE, "DELETE", "/mine", "policy=").await, 204);
    assert_eq!(people.told(NOBODY, "GET", "/mine/k", "", b"").await, denied(), "at once");
}

#[tokio::test]
async fn a_denial_binds_everybody_but_those_who_can_take_it_back() {
    let people = People::with_bucket("mine", &["k"]).await;
    people.policy("mine", &all("Deny", "\"*\"", "\"s3:*\"")).await;
    for who in [ALICE, BOB, "test", NOBODY] {
        assert_eq!(people.told(who, "GET", "/mine/k", "", b"").await, denied(), "{who}");
    }
    let answer = text(&people.send(ALICE, "GET", "/mine/k", "", b"").await);
    let told = "User: arn:aws:iam::alice:user/alice is not authorized to perform: s3:GetObject on resource: \
                &quot;arn:aws:s3:::mine/k&quot; with an explicit deny in a resource-based policy";
    assert!(answer.replace('"', "&quot;").contains(told), "{answer}");
    assert_eq!(people.told(BOB, "DELETE", "/mine", "policy=", b"").await, denied());
    for who in [ALICE, "test"] {
        people.policy("mine", &all("Deny", "\"*\"", "\"s3:*\"")).await;
        assert_eq!(people.status(who, "GET", "/mine", "policy=").await, 200, "{who}");
        assert_eq!(people.status(who, "DELETE", "/mine", "policy=").await, 204, "{who}");
        assert_eq!(people.status(ALICE, "GET", "/mine/k", "").await, 200);
    }
}

#[tokio::test]
async fn a_policy_lets_a_key_of_the_operators_in_and_keeps_it_out() {
    let people = People::new().await;
    people.ok("test", "PUT", "/shared", "", b"").await;
    people.ok("test", "PUT", "/shared/k", "", b"x").await;
    assert_eq!(people.status(CLERK, "GET", "/shared/k", "").await, 200);
    assert_eq!(people.told(CLERK, "PUT", "/shared/k", "", b"").await, denied());
    for (effect, action, read, write) in
        [("Allow", "s3:PutObject", 200, 200), ("Deny", "s3:GetObject", 403, 403)]
    {
        let policy = format!(
            "{{\"Statement\":[{{\"Effect\":\"{effect}\",\"Principal\":\"CLERK\",\"Action\":\"{action}\",\
             \"Resource\":\"arn:aws:s3:::shared/*\"}}]}}"
        );
        people.ok("test", "PUT", "/shared", "policy=", policy.as_bytes()).await;
        assert_eq!(people.status(CLERK, "GET", "/shared/k", "").await, read, "{policy}");
        assert_eq!(people.status(CLERK, "PUT", "/shared/new", "").await, write, "{policy}");
    }
}

#[tokio::test]
async fn conditions_are_about_the_request() {
    let people = People::with_bucket("mine", &["k"]).await;
    let get = |name: &str, value: &str| {
        people.send_with(BOB, Call::new("GET", "/mine/k").header(name, value), b"")
    };
    let site = "{\"StringLike\":{\"aws:Referer\":\"http://site/*\"}}";
    people.policy("mine", &when("Allow", "\"s3:GetObject\"", site)).await;
    assert_eq!(get("referer", "http://site/page").await.status, 200);
    assert_eq!(get("referer", "http://other/page").await.status, 403);
    for (condition, status) in [
        ("{\"IpAddress\":{\"aws:SourceIp\":\"127.0.0.0/8\"}}", 200),
        ("{\"NotIpAddress\":{\"aws:SourceIp\":\"127.0.0.0/8\"}}", 403),
        ("{\"Bool\":{\"aws:SecureTransport\":\"false\"}}", 200),
        ("{\"Bool\":{\"aws:SecureTransport\":\"true\"}}", 403),
        ("{\"DateGreaterThan\":{\"aws:CurrentTime\":\"2020-01-01T00:00:00Z\"}}", 200),
        ("{\"DateLessThan\":{\"aws:CurrentTime\":\"2020-01-01T00:00:00Z\"}}", 403),
        ("{\"ArnLike\":{\"aws:PrincipalArn\":\"arn:aws:iam::*:user/b*\"}}", 200),
        ("{\"StringEquals\":{\"aws:username\":\"alice\"}}", 403),
        (
            "{\"StringEquals\":{\"s3:signatureversion\":\"AWS4-HMAC-SHA256\",\"s3:authType\":\"REST-HEADER\"}}",
            200,
        ),
        ("{\"StringEquals\":{\"s3:authType\":\"REST-QUERY-STRING\"}}", 403),
    ] {
        people.policy("mine", &when("Allow", "\"s3:GetObject\"", condition)).await;
        assert_eq!(people.status(BOB, "GET", "/mine/k", "").await, status, "{condition}");
    }
    let list = |condition: &str| {
        format!(
            "{{\"Effect\":\"Allow\",\"Principal\":\"bob\",\"Action\":\"s3:ListBucket\",\"Resource\":\"arn:aws:s3:::mine\",\"Condition\":{condition}}}"
        )
    };
    for (condition, query, status) in [
        ("{\"StringEquals\":{\"s3:prefix\":\"a/\"}}", "prefix=a%2F", 200),
        ("{\"StringEquals\":{\"s3:prefix\":\"a/\"}}", "prefix=b%2F", 403),
        ("{\"NumericLessThanEquals\":{\"s3:max-keys\":\"10\"}}", "max-keys=10", 200),
        ("{\"NumericLessThanEquals\":{\"s3:max-keys\":\"10\"}}", "max-keys=11", 403),
        ("{\"StringEquals\":{\"s3:delimiter\":\"/\"}}", "delimiter=%2F", 200),
        ("{\"Null\":{\"s3:prefix\":\"true\"}}", "", 200),
        ("{\"Null\":{\"s3:prefix\":\"true\"}}", "prefix=a", 403),
    ] {
        people.policy("mine", &list(condition)).await;
        assert_eq!(people.status(BOB, "GET", "/mine", query).await, status, "{condition} {query}");
    }
}

#[tokio::test]
async fn conditions_are_about_what_is_put() {
    let people = People::with_bucket("mine", &["public/k", "private/k"]).await;
    let allow =
        all("Allow", "\"bob\"", "[\"s3:PutObject\",\"s3:PutObjectTagging\",\"s3:GetObject\"]");
    let put = |name: &'static str, value: &'static str| {
        people.send_with(BOB, Call::new("PUT", "/mine/new").header(name, value), b"")
    };
    let unconditional =
        when("Deny", "\"s3:PutObject\"", "{\"Null\":{\"s3:if-none-match\":\"true\"}}");
    people.policy("mine", &format!("{allow},{unconditional}")).await;
    assert_eq!(people.status(BOB, "PUT", "/mine/new", "").await, 403);
    assert_eq!(put("if-none-match", "*").await.status, 200);
    assert_eq!(put("if-none-match", "*").await.status, 412, "the policy has no say in that");
    let list = when("Deny", "\"s3:PutObject\"", "{\"StringLike\":{\"s3:x-amz-acl\":\"public*\"}}");
    people.policy("mine", &format!("{allow},{list}")).await;
    assert_eq!(put("x-amz-acl", "public-read").await.status, 403);
    assert_eq!(put("x-amz-acl", "private").await.status, 200);
    let tag =
        when("Deny", "\"s3:PutObject\"", "{\"StringNotEquals\":{\"s3:RequestObjectTag/a\":\"1\"}}");
    people.policy("mine", &format!("{allow},{tag}")).await;
    assert_eq!(put("x-amz-tagging", "a=1&b=2").await.status, 200);
    assert_eq!(put("x-amz-tagging", "a=2").await.status, 403);
    let plain = all("Allow", "\"bob\"", "\"s3:PutObject\"");
    people.policy("mine", &plain).await;
    assert_eq!(put("x-amz-tagging", "a=1").await.status, 403, "tags take an action of their own");
    assert_eq!(put("x-amz-meta-a", "1").await.status, 200);
    let from = when(
        "Deny",
        "\"s3:PutObject\"",
        "{\"StringNotLike\":{\"s3:x-amz-copy-source\":\"mine/public/*\"}}",
    );
    people.policy("mine", &format!("{allow},{from}")).await;
    assert_eq!(put("x-amz-copy-source", "/mine/public/k").await.status, 200);
    for other in ["/mine/private/k", "mine/private/k", "/mine/%70rivate/k"] {
        assert_eq!(put("x-amz-copy-source", other).await.status, 403, "{other}");
    }
}

#[tokio::test]
async fn tags_of_what_is_there_decide() {
    let people = People::with_bucket("mine", &["open", "shut"]).await;
    let tags = |value: &str| {
        format!(
            "<Tagging><TagSet><Tag><Key>level</Key><Value>{value}</Value></Tag></TagSet></Tagging>"
        )
    };
    for (key, value) in [("open", "public"), ("shut", "secret")] {
        let call = Call::new("PUT", &format!("/mine/{key}"))
            .header("x-amz-tagging", format!("level={value}"));
        assert_eq!(people.send_with(ALICE, call, b"x").await.status, 200);
    }
    let actions =
        "[\"s3:GetObject\",\"s3:GetObjectTagging\",\"s3:PutObjectTagging\",\"s3:GetObjectAcl\"]";
    let condition = "{\"StringEquals\":{\"s3:ExistingObjectTag/level\":\"public\"}}";
    people.policy("mine", &when("Allow", actions, condition)).await;
    for query in ["", "tagging=", "acl="] {
        assert_eq!(people.status(BOB, "GET", "/mine/open", query).await, 200, "{query}");
        assert_eq!(people.told(BOB, "GET", "/mine/shut", query, b"").await, denied(), "{query}");
        assert_eq!(people.told(BOB, "GET", "/mine/none", query, b"").await, denied(), "{query}");
    }
    let body = tags("public");
    let put = |key: &str| {
        let md5 = {
            use base64::Engine as _;
            use md5::Digest as _;
            base64::engine::general_purpose::STANDARD.encode(md5::Md5::digest(&body))
        };
        Call::new("PUT", &format!("/mine/{key}")).query("tagging=").header("content-md5", md5)
    };
    assert_eq!(people.send_with(BOB, put("open"), body.as_bytes()).await.status, 200);
    assert_eq!(people.send_with(BOB, put("shut"), body.as_bytes()).await.status, 403);
    let deny = when(
        "Deny",
        "\"s3:GetObject\"",
        "{\"StringEquals\":{\"s3:ExistingObjectTag/level\":\"secret\"}}",
    );
    people.policy("mine", &deny).await;
    assert_eq!(people.told(ALICE, "GET", "/mine/shut", "", b"").await, denied());
    assert_eq!(people.status(ALICE, "GET", "/mine/open", "").await, 200);
    let copy = Call::new("PUT", "/mine/copy").header("x-amz-copy-source", "/mine/shut");
    assert_eq!(people.send_with(ALICE, copy, b"").await.status, 403, "a copy reads");
}

#[tokio::test]
async fn each_key_of_a_batch_is_asked_for_by_itself() {
    let people = People::with_bucket("mine", &["a", "b"]).await;
    let statement =
        all("Allow", "\"bob\"", "\"s3:DeleteObject\"").replace("\"arn:aws:s3:::mine\",", "");
    people.policy("mine", &statement.replace("mine/*", "mine/a")).await;
    let batch = "<Delete><Object><Key>a</Key></Object><Object><Key>b</Key></Object>\
                 <Object><Key>a</Key><VersionId>null</VersionId></Object></Delete>";
    let md5 = {
        use base64::Engine as _;
        use md5::Digest as _;
        base64::engine::general_purpose::STANDARD.encode(md5::Md5::digest(batch))
    };
    let call = || Call::new("POST", "/mine").query("delete=").header("content-md5", &md5);
    let answer = text(&people.send_with(BOB, call(), batch.as_bytes()).await);
    assert!(answer.contains("<Deleted><Key>a</Key></Deleted>"), "{answer}");
    assert_eq!(answer.matches("<Code>AccessDenied</Code>").count(), 2, "{answer}");
    assert_eq!(people.send_with(CLERK, call(), batch.as_bytes()).await.status, 403);
    assert_eq!(people.status(ALICE, "GET", "/mine/b", "").await, 200);
    assert_eq!(people.status(ALICE, "GET", "/mine/a", "").await, 404);
}

#[tokio::test]
async fn the_public_is_kept_out_where_it_is_not_wanted() {
    let people = People::with_bucket("mine", &["k"]).await;
    let get = || people.told(ALICE, "GET", "/mine", "publicAccessBlock=", b"");
    let none = (404, "NoSuchPublicAccessBlockConfiguration".to_owned());
    assert_eq!(get().await, none);
    let block = |flags: &str| {
        format!("<PublicAccessBlockConfiguration>{flags}</PublicAccessBlockConfiguration>")
    };
    let put = |flags: &'static str| {
        let document = block(flags);
        let people = &people;
        async move {
            people
                .send(ALICE, "PUT", "/mine", "publicAccessBlock=", document.as_bytes())
                .await
                .status
        }
    };
    people.policy("mine", &all("Allow", "\"*\"", "\"s3:GetObject\"")).await;
    assert_eq!(people.status(NOBODY, "GET", "/mine/k", "").await, 200);
    assert_eq!(put("<RestrictPublicBuckets>true</RestrictPublicBuckets>").await, 200);
    for who in [BOB, NOBODY] {
        assert_eq!(people.told(who, "GET", "/mine/k", "", b"").await, denied(), "{who}");
    }
    assert_eq!(people.status(ALICE, "GET", "/mine/k", "").await, 200);
    assert_eq!(put("<BlockPublicPolicy>TRUE</BlockPublicPolicy>").await, 200);
    let shown = text(&people.ok(ALICE, "GET", "/mine", "publicAccessBlock=", b"").await);
    assert!(shown.contains("<BlockPublicPolicy>true</BlockPublicPolicy>"), "{shown}");
    assert!(shown.contains("<RestrictPublicBuckets>false</RestrictPublicBuckets>"), "{shown}");
    let public = format!("{{\"Statement\":[{}]}}", all("Allow", "\"*\"", "\"s3:GetObject\""));
    assert_eq!(people.told(ALICE, "PUT", "/mine", "policy=", public.as_bytes()).await, denied());
    people.policy("mine", &all("Allow", "\"bob\"", "\"s3:GetObject\"")).await;
    assert_eq!(put("<BlockPublicPolicy>perhaps</BlockPublicPolicy>").await, 400);
    assert_eq!(people.status(ALICE, "DELETE", "/mine", "publicAccessBlock=").await, 204);
    assert_eq!(get().await, none);
}

#[tokio::test]
async fn what_policies_let_anybody_do_has_its_bounds_without_a_signature() {
    let people = People::with_bucket("mine", &["k"]).await;
    people.policy("mine", &all("Allow", "\"*\"", "\"s3:*\"")).await;
    let source = Call::new("PUT", "/mine/copy").header("x-amz-copy-source", "mine/k");
    let begin = Call::new("POST", "/mine/k").query("uploads=");
    let list = Call::new("PUT", "/mine").query("acl=").header("x-amz-acl", "private");
    for (call, what) in [
        (source, "copy objects"),
        (begin, "initiate multipart uploads"),
        (list, "invoke this API"),
        (Call::new("PUT", "/mine").query("cors="), "invoke this API"),
    ] {
        let refused = people.send_with(NOBODY, call, b"").await;
        let said = format!("<Message>Anonymous users cannot {what}. Please authenticate.</");
        assert_eq!((refused.status, refused.code().as_str()), (403, "AccessDenied"), "{what}");
        assert!(text(&refused).contains(&said), "{refused:?}");
    }
    let elsewhere = (405, "MethodNotAllowed".to_owned());
    for who in [BOB, CLERK, NOBODY] {
        for method in ["GET", "PUT", "DELETE"] {
            let told = people.told(who, method, "/mine", "policy=", b"{}").await;
            assert_eq!(told, elsewhere, "{who} {method}: a policy is its own account's");
        }
    }
    assert_eq!(people.status("test", "GET", "/mine", "policy=").await, 200);
    for query in ["response-content-type=text%2Fplain", "response-expires=0"] {
        let refused = people.told(NOBODY, "GET", "/mine/k", query, b"").await;
        assert_eq!(refused, (400, "InvalidRequest".to_owned()), "{query}");
        assert_eq!(people.status(NOBODY, "HEAD", "/mine/k", query).await, 400);
        assert_eq!(people.status(ALICE, "GET", "/mine/k", query).await, 200);
    }
    assert_eq!(people.status(NOBODY, "PUT", "/mine/new", "").await, 200);
    // What is no request is told so, whoever sends it.
    for (method, path, query, status, code) in [
        ("POST", "/", "", 405, "MethodNotAllowed"),
        ("POST", "/mine/k", "", 405, "MethodNotAllowed"),
        ("PUT", "/mine/k", "uploadId=u", 405, "MethodNotAllowed"),
        ("PUT", "/mine/k", "partNumber=1", 400, "InvalidArgument"),
        ("GET", "/mine/k", "uploads=", 400, "InvalidRequest"),
        ("GET", "/mine/k", "versions=", 400, "InvalidRequest"),
        ("PUT", "/mine", "replication=", 403, "AccessDenied"),
    ] {
        let told = people.told(NOBODY, method, path, query, b"").await;
        assert_eq!(told, (status, code.to_owned()), "{method} {path}?{query}");
    }
}
