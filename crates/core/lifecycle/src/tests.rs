use crate::{
    Day, Due, Expiration, Filter, LifecycleRule, MOVED_LEN_MIN, Noncurrent, Removal, Rules, Shown,
    Sizes, Standing, Succession, Transition, View,
};
use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};
use proptest::prelude::*;

const DAY_MS: u64 = 86_400_000;

fn rule(id: &str, prefix: &str) -> LifecycleRule {
    let filter = Filter { prefix: prefix.to_owned(), ..Filter::default() };
    LifecycleRule { id: id.to_owned(), is_enabled: true, filter, ..LifecycleRule::default() }
}

fn expiring(id: &str, prefix: &str, when: Due) -> LifecycleRule {
    LifecycleRule { expiration: Some(Expiration::Objects(when)), ..rule(id, prefix) }
}

fn view(key: &str, standing: Standing) -> View<'_> {
    View { key, len: 0, tags: Some(&[]), modified_ms: 1, standing }
}

#[test]
fn days_end_at_midnight_and_of_two_rules_the_earlier_counts() {
    let rules = Rules::new(vec![
        expiring("later", "", Due::AfterDays(9)),
        expiring("first", "a", Due::AfterDays(2)),
        expiring("second", "ab", Due::AfterDays(2)),
        expiring("date", "abc", Due::At(DAY_MS)),
    ]);
    let removal = |key| {
        let found = rules.removal(&view(key, Standing::Latest), Day::STANDARD);
        found.map(|Removal { at_ms, rule }| (at_ms / DAY_MS, rule))
    };
    assert_eq!(removal("b"), Some((10, "later")));
    assert_eq!(removal("ab"), Some((3, "first")));
    assert_eq!(removal("abc"), Some((1, "date")));
    assert_eq!(Day::STANDARD.ends_after(DAY_MS, 1), 2 * DAY_MS, "midnight is an end");
    assert_eq!(Day::of_ms(0).ends_after(u64::MAX, u32::MAX), u64::MAX);
}

#[test]
fn a_delete_marker_alone_goes_by_days_too_unless_a_rule_asks_for_what_it_cannot_have() {
    let lone = view("k", Standing::LoneMarker);
    let of = |rule| Rules::new(vec![rule]).removal(&lone, Day::STANDARD).map(|it| it.at_ms);
    assert_eq!(of(expiring("days", "", Due::AfterDays(1))), Some(2 * DAY_MS));
    let markers =
        LifecycleRule { expiration: Some(Expiration::LoneMarkers), ..rule("markers", "k") };
    assert_eq!(of(markers.clone()), Some(1));
    let object = view("k", Standing::Latest);
    assert_eq!(Rules::new(vec![markers.clone()]).removal(&object, Day::STANDARD), None);
    let filter = Filter { tags: vec![("a".into(), "b".into())], ..Filter::default() };
    assert_eq!(of(LifecycleRule { filter, ..markers.clone() }), None);
    let filter = Filter { shorter_than: Some(9), ..Filter::default() };
    assert_eq!(of(LifecycleRule { filter, ..markers }), None);
}

#[test]
fn sizes_are_compared_strictly_and_all_tags_must_be_there() {
    let tag = |name: &str| (name.to_owned(), "v".to_owned());
    let filter = Filter {
        tags: vec![tag("a"), tag("b")],
        longer_than: Some(10),
        shorter_than: Some(20),
        ..Filter::default()
    };
    let rules = Rules::new(vec![LifecycleRule { filter, ..expiring("r", "", Due::At(5)) }]);
    let is_due = |len, tags: Option<&[(String, String)]>| {
        let view = View { len, tags, ..view("k", Standing::Latest) };
        rules.removal(&view, Day::STANDARD).is_some()
    };
    let both = [tag("b"), tag("c"), tag("a")];
    assert!(is_due(11, Some(&both)) && is_due(19, Some(&both)) && is_due(19, None));
    assert!(!is_due(10, Some(&both)) && !is_due(20, Some(&both)));
    assert!(!is_due(11, Some(&both[..2])));
}

#[test]
fn a_walk_is_confined_to_what_all_rules_begin_with() {
    let off = LifecycleRule { is_enabled: false, ..expiring("off", "", Due::At(0)) };
    let uploads = LifecycleRule { uploads_after_days: Some(1), ..rule("uploads", "up") };
    let all = |rules: &[LifecycleRule]| Rules::new(rules.to_vec());
    let (one, other) = (expiring("1", "aé/x", Due::At(0)), expiring("2", "aè/", Due::At(0)));
    assert_eq!(all(&[off.clone(), uploads.clone()]).prefix_of_objects(), None);
    assert_eq!(all(&[off, uploads.clone()]).prefix_of_uploads(), Some("up"));
    assert_eq!(all(&[one.clone(), uploads.clone()]).prefix_of_objects(), Some("aé/x"));
    assert_eq!(all(&[one, uploads, other]).prefix_of_objects(), Some("a"), "no half characters");
}

#[test]
fn versions_stand_as_those_before_and_after_them_say() {
    let shown =
        |key, modified_ms, is_latest, is_marker| Shown { key, modified_ms, is_latest, is_marker };
    let listing = [
        shown("a", 9, true, false),
        shown("a", 8, false, true),
        shown("a", 7, false, false),
        shown("b", 6, true, true),
        shown("c", 5, true, true),
        shown("c", 4, false, false),
        shown("d", 3, true, true),
    ];
    let mut succession = Succession::default();
    let all: Vec<_> = listing
        .iter()
        .flat_map(|shown| succession.next(*shown, (shown.key, shown.modified_ms)))
        .collect();
    let all: Vec<_> = all.into_iter().chain([succession.end()]).flatten().collect();
    let noncurrent = |since_ms, later| Standing::Noncurrent { since_ms, later };
    let expected = [
        (("a", 9), Standing::Latest),
        (("a", 8), noncurrent(9, 0)),
        (("a", 7), noncurrent(8, 1)),
        (("b", 6), Standing::LoneMarker),
        (("c", 4), noncurrent(5, 0)),
        (("d", 3), Standing::LoneMarker),
    ];
    assert_eq!(all, expected);
}

fn moving(id: &str, to: &[(&str, u32)]) -> LifecycleRule {
    let transition = |(class, days): &(&str, u32)| Transition {
        class: (*class).to_owned(),
        when: Due::AfterDays(*days),
    };
    LifecycleRule { transitions: to.iter().map(transition).collect(), ..rule(id, "") }
}

const CLASSES: [&str; 3] = ["STANDARD_IA", "WARM", "GLACIER"];

/// Where an object of a class goes by these rules, this many days after it was written.
fn goes(rules: &Rules, len: u64, class: &str, days: u64) -> Option<String> {
    let view = View { len, ..view("k", Standing::Latest) };
    let when = (Day::STANDARD, days * DAY_MS);
    rules.relocation(&view, class, &CLASSES, when).map(|found| found.class.to_owned())
}

#[test]
fn objects_are_moved_on_as_days_pass_and_never_back() {
    let rules = Rules::new(vec![
        moving("1", &[("STANDARD_IA", 30), ("GLACIER", 90)]),
        moving("2", &[("WARM", 60), ("NONE", 0)]),
    ]);
    let goes = |class, days| goes(&rules, MOVED_LEN_MIN, class, days);
    assert_eq!(goes("", 30), None, "the day it was written is not over");
    assert_eq!(goes("", 31).as_deref(), Some("STANDARD_IA"));
    assert_eq!(goes("STANDARD_IA", 31), None);
    assert_eq!(goes("STANDARD_IA", 61).as_deref(), Some("WARM"));
    assert_eq!(goes("", 91).as_deref(), Some("GLACIER"), "what came between is passed over");
    assert_eq!(goes("GLACIER", 1000), None);
    assert_eq!(goes("GONE", 31).as_deref(), Some("STANDARD_IA"), "of a class that is no more");
    let off = LifecycleRule { is_enabled: false, ..moving("off", &[("WARM", 0)]) };
    assert_eq!(Rules::new(vec![off]).prefix_of_objects(), None);
    assert_eq!(rules.prefix_of_objects(), Some(""));
}

#[test]
fn short_objects_stay_unless_their_rule_or_the_class_says_otherwise() {
    let rules = || Rules::new(vec![moving("1", &[("WARM", 0), ("GLACIER", 5)])]);
    let short = MOVED_LEN_MIN - 1;
    assert_eq!(goes(&rules(), short, "", 9), None);
    assert_eq!(goes(&rules(), MOVED_LEN_MIN, "", 1).as_deref(), Some("WARM"));
    let varying = rules().with_sizes(Sizes::ByClass);
    assert_eq!(goes(&varying, short, "", 1), None);
    assert_eq!(goes(&varying, 0, "", 9).as_deref(), Some("GLACIER"));
    let filter = Filter { longer_than: Some(9), ..Filter::default() };
    let asked = Rules::new(vec![LifecycleRule { filter, ..moving("1", &[("WARM", 0)]) }]);
    assert_eq!(goes(&asked, 10, "", 1).as_deref(), Some("WARM"));
    assert_eq!(goes(&asked, 9, "", 1), None);
}

#[test]
fn other_versions_are_moved_by_rules_of_their_own_but_for_those_that_are_kept() {
    let when = Noncurrent { after_days: 2, kept: 1 };
    let noncurrent_transitions = vec![Transition { class: "WARM".into(), when }];
    let rule = LifecycleRule { noncurrent_transitions, ..moving("1", &[("GLACIER", 0)]) };
    let rules = Rules::new(vec![rule]);
    let goes = |since_days: u64, later, days: u64| {
        let standing = Standing::Noncurrent { since_ms: since_days * DAY_MS, later };
        let view = View { len: MOVED_LEN_MIN, ..view("k", standing) };
        let found = rules.relocation(&view, "", &CLASSES, (Day::STANDARD, days * DAY_MS));
        found.map(|found| found.class)
    };
    assert_eq!(goes(3, 1, 4), None);
    assert_eq!(goes(3, 1, 5), Some("WARM"));
    assert_eq!(goes(3, 0, 9), None, "the latest of them is kept");
    let lone = View { len: MOVED_LEN_MIN, ..view("k", Standing::LoneMarker) };
    assert_eq!(rules.relocation(&lone, "", &CLASSES, (Day::STANDARD, u64::MAX)), None);
}

fn any_rule() -> impl Strategy<Value = LifecycleRule> {
    let when = prop_oneof![
        (1..9_u32).prop_map(Due::AfterDays),
        (0..9_u64).prop_map(|days| Due::At(days * DAY_MS)),
    ];
    let expiration =
        prop_oneof![when.prop_map(Expiration::Objects), Just(Expiration::LoneMarkers),];
    let noncurrent =
        (1..9_u32, 0..4_u32).prop_map(|(after_days, kept)| Noncurrent { after_days, kept });
    let filter = ("[ab]{0,3}", proptest::option::of(0..9_u64), proptest::option::of(0..9_u64));
    (
        filter,
        any::<bool>(),
        proptest::option::of(expiration),
        proptest::option::of(noncurrent),
        proptest::option::of(1..9_u32),
    )
        .prop_map(
            |((prefix, longer_than, shorter_than), is_enabled, expiration, noncurrent, days)| {
                let filter = Filter { prefix, longer_than, shorter_than, ..Filter::default() };
                let id = String::from("r");
                LifecycleRule {
                    id,
                    is_enabled,
                    filter,
                    expiration,
                    noncurrent,
                    uploads_after_days: days,
                    ..LifecycleRule::default()
                }
            },
        )
}

fn any_standing() -> impl Strategy<Value = Standing> {
    prop_oneof![
        Just(Standing::Latest),
        Just(Standing::LoneMarker),
        (0..9 * DAY_MS, 0..5_u32)
            .prop_map(|(since_ms, later)| Standing::Noncurrent { since_ms, later }),
    ]
}

proptest! {
    /// Another rule never keeps what would go without it, and what is due at all is met by a walk
    /// below the prefix.
    #[test]
    fn rules_only_ever_remove_more_and_only_below_their_prefix(
        rules in proptest::collection::vec(any_rule(), 0..5),
        more in any_rule(),
        key in "[ab]{1,4}",
        (len, modified_ms) in (0..9_u64, 0..9 * DAY_MS),
        standing in any_standing(),
    ) {
        let view = View { key: &key, len, tags: Some(&[]), modified_ms, standing };
        let few = Rules::new(rules.clone());
        let many = Rules::new(rules.iter().cloned().chain([more]).collect());
        let at = |rules: &Rules| rules.removal(&view, Day::STANDARD).map(|it| it.at_ms);
        let end = |rules: &Rules| rules.upload_end(&key, modified_ms, Day::STANDARD).is_some();
        match (at(&few), at(&many)) {
            (Some(few), Some(many)) => prop_assert!(many <= few),
            (Some(_), None) => prop_assert!(false, "a rule kept something"),
            (None, _) => {}
        }
        if at(&many).is_some() {
            prop_assert!(key.starts_with(many.prefix_of_objects().expect("a rule removes it")));
        }
        if end(&many) {
            prop_assert!(key.starts_with(many.prefix_of_uploads().expect("a rule ends it")));
        }
    }

    /// Nothing goes by days before they have passed, nor later than a day after.
    #[test]
    fn days_pass_and_no_more_than_one_is_added(
        from_ms in 0..u64::from(u32::MAX) * 1000,
        days in 1..100_000_u32,
        ms in 1..2 * DAY_MS,
    ) {
        let end = Day::of_ms(ms).ends_after(from_ms, days);
        let passed = from_ms + u64::from(days) * ms;
        prop_assert!((passed..passed + ms).contains(&end) && end.is_multiple_of(ms));
    }

    /// The latest noncurrent versions that a rule keeps stay, however old.
    #[test]
    fn what_a_rule_keeps_is_kept(kept in 0..5_u32, later in 0..9_u32) {
        let noncurrent = Some(Noncurrent { after_days: 1, kept });
        let rules: Vec<_> = [LifecycleRule { noncurrent, ..rule("r", "") }].into();
        let view = view("k", Standing::Noncurrent { since_ms: 0, later });
        let rules = Rules::new(rules);
        let removal = rules.removal(&view, Day::STANDARD);
        prop_assert_eq!(removal.is_some(), later >= kept);
    }
}
