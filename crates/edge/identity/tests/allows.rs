//! Who may do what, as a table; and what is refused where rights are given.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

use ripstop_identity::{
    BucketPattern, BucketRights, Credentials, Principal, Privilege, RULES_MAX, Resource, Right,
    Rights, RightsError, allows,
};
use ripstop_model::TenantId;

const ACTIONS: [Privilege; 6] = [
    Privilege::ListBuckets,
    Privilege::Know,
    Privilege::Read,
    Privilege::Write,
    Privilege::Configure,
    Privilege::Own,
];

fn rule(pattern: &str, rights: &[Right]) -> BucketRights {
    BucketRights::new(pattern.parse().unwrap(), rights.iter().copied())
}

fn key(rights: Rights) -> Principal {
    let mut credentials: Credentials = [("KEY", "secret")].into_iter().collect();
    assert!(credentials.grant("KEY", rights));
    credentials.principal("KEY").unwrap()
}

/// What a key with these rights in `photos` may do there and to an object in it: a letter each.
fn letters(rights: &[Right]) -> (String, String) {
    let principal = key(Rights::of(vec![rule("photos", rights)]).unwrap());
    let of = |resource: Resource<'_>| {
        let allowed = ACTIONS.iter().filter(|action| allows(&principal, **action, &resource));
        allowed.map(|action| format!("{action:?}").chars().next().unwrap()).collect()
    };
    (of(Resource::Bucket("photos")), of(Resource::Object { bucket: "photos", key: "k" }))
}

#[test]
fn each_right_allows_its_actions_and_no_others() {
    use Right::{Owner, Read, Write};
    for (rights, bucket, object) in [
        (&[][..], "", ""),
        (&[Read], "KR", "KR"),
        (&[Write], "KW", "KWC"),
        (&[Read, Write], "KRW", "KRWC"),
        (&[Owner], "KRWCO", "KRWCO"),
        (&[Read, Owner], "KRWCO", "KRWCO"),
    ] {
        assert_eq!(letters(rights), (bucket.to_owned(), object.to_owned()), "{rights:?}");
    }
}

#[test]
fn rights_in_one_bucket_are_none_in_another() {
    let principal = key(Rights::of(vec![rule("photos", &[Right::Owner])]).unwrap());
    for other in ["photo", "photos2", "photos-2", "Photos", "", "*", "photos/"] {
        for action in ACTIONS {
            assert!(!allows(&principal, action, &Resource::Bucket(other)), "{action:?} {other}");
            let object = Resource::Object { bucket: other, key: "photos" };
            assert!(!allows(&principal, action, &object), "{action:?} {other}");
        }
    }
}

#[test]
fn a_key_lists_buckets_and_nothing_else_of_the_service() {
    for rights in [Rights::none(), Rights::of(vec![rule("*", &[Right::Owner])]).unwrap()] {
        let principal = key(rights);
        for action in ACTIONS {
            let allowed = allows(&principal, action, &Resource::Service);
            assert_eq!(allowed, action == Privilege::ListBuckets, "{action:?}");
        }
    }
}

#[test]
fn an_administrator_may_do_everything_and_a_key_without_a_word_is_one() {
    let said = key(Rights::administrator());
    let unsaid: Credentials = [("KEY", "secret")].into_iter().collect();
    for principal in [said, unsaid.principal("KEY").unwrap()] {
        for action in ACTIONS {
            for resource in [
                Resource::Service,
                Resource::Bucket("any"),
                Resource::Object { bucket: "any", key: "k" },
            ] {
                assert!(allows(&principal, action, &resource), "{action:?} {resource:?}");
            }
        }
    }
}

#[test]
fn without_a_signature_nothing_may_be_done_but_what_was_given() {
    let mut credentials: Credentials = [("KEY", "secret")].into_iter().collect();
    let closed = credentials.unsigned();
    assert_eq!((closed.access_key(), closed.tenant()), (None, TenantId::ANYBODY));
    credentials.grant_unsigned(Rights::of(vec![rule("public", &[Right::Read])]).unwrap()).unwrap();
    let open = credentials.unsigned();
    for action in ACTIONS {
        for resource in [Resource::Service, Resource::Bucket("public"), Resource::Bucket("other")] {
            assert!(!allows(&closed, action, &resource), "{action:?} {resource:?}");
            let given = resource == Resource::Bucket("public")
                && matches!(action, Privilege::Know | Privilege::Read);
            assert_eq!(allows(&open, action, &resource), given, "{action:?} {resource:?}");
        }
    }
}

#[test]
fn nobody_owns_anything_without_a_signature() {
    let mut credentials = Credentials::new();
    let owner = Rights::of(vec![rule("pub-*", &[Right::Owner])]).unwrap();
    let refused = RightsError::UnsignedOwner { buckets: "pub-*".to_owned() };
    assert_eq!(credentials.grant_unsigned(owner), Err(refused));
    assert!(credentials.grant_unsigned(Rights::administrator()).is_err());
    assert!(!allows(&credentials.unsigned(), Privilege::Read, &Resource::Bucket("pub-1")));
}

#[test]
fn patterns_match_names_beginnings_or_everything() {
    for (pattern, matching, other) in [
        ("photos", &["photos"][..], &["photos-1", "photo", ""][..]),
        ("photos-*", &["photos-", "photos-1"], &["photos", "aphotos-1"]),
        ("a*", &["a", "abc"], &["b", ""]),
        ("*", &["a", "anything"], &[]),
    ] {
        let parsed: BucketPattern = pattern.parse().unwrap();
        assert_eq!(parsed.to_string(), pattern);
        assert!(matching.iter().all(|name| parsed.matches(name)), "{pattern}");
        assert!(!other.iter().any(|name| parsed.matches(name)), "{pattern}");
    }
    let long = "b".repeat(64);
    for bad in ["", "ab", "Photos", "a_b", "a*b", "**", "photos/1", "?", &long, &format!("{long}*")]
    {
        let refused = RightsError::Pattern { pattern: bad.to_owned() };
        assert_eq!(bad.parse::<BucketPattern>(), Err(refused), "{bad}");
    }
}

#[test]
fn words_of_rights_are_three_and_rules_are_bounded() {
    for right in [Right::Read, Right::Write, Right::Owner] {
        assert_eq!(right.name().parse(), Ok(right));
    }
    for bad in ["", "Read", "admin", "read,write", "delete"] {
        assert_eq!(bad.parse::<Right>(), Err(RightsError::Right { word: bad.to_owned() }));
    }
    let rules = |count: usize| (0..count).map(|at| rule(&format!("b-{at}"), &[Right::Read]));
    assert!(Rights::of(rules(RULES_MAX).collect()).is_ok());
    let refused = Rights::of(rules(RULES_MAX + 1).collect()).unwrap_err();
    assert_eq!(refused, RightsError::Rules { rules: RULES_MAX + 1 });
}

#[test]
fn credentials_say_whether_anything_was_given_or_taken() {
    let two = || -> Credentials { [("ONE", "secret"), ("TWO", "secret")].into_iter().collect() };
    let (before, mut after) = (two(), two());
    assert!(before.grant_the_same_as(&after));
    after.insert("ONE", "another secret".to_owned());
    after.assign("ONE", TenantId(3));
    assert!(before.grant_the_same_as(&after), "what it may is the same");
    after.grant("ONE", Rights::none());
    assert!(!before.grant_the_same_as(&after));
    let fewer: Credentials = [("ONE", "secret")].into_iter().collect();
    assert!(!before.grant_the_same_as(&fewer));
    let mut open = two();
    open.grant_unsigned(Rights::of(vec![rule("p*", &[Right::Read])]).unwrap()).unwrap();
    assert!(!before.grant_the_same_as(&open));
    assert!(!after.grant("THREE", Rights::none()), "nobody is let in by being granted something");
}

#[test]
fn printing_shows_access_keys_and_rights_and_no_secret() {
    let mut credentials: Credentials = [("KEY", "hidden")].into_iter().collect();
    credentials.grant("KEY", Rights::of(vec![rule("b-*", &[Right::Read])]).unwrap());
    let principal = credentials.principal("KEY").unwrap();
    let printed = format!("{credentials:?} {principal:?} {:?}", Rights::administrator());
    for shown in ["KEY", r#"{"b-*": "read"}"#, "administrator"] {
        assert!(printed.contains(shown), "{printed}");
    }
    assert!(!printed.contains("hidden"), "{printed}");
}
