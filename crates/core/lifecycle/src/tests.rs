use crate::{
    Day, Expiration, Filter, Noncurrent, Removal, Rule, Rules, Shown, Standing, Succession, View,
    When,
};
use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};
use proptest::prelude::*;

const DAY_MS: u64 = 86_400_000;

fn rule(id: &str, prefix: &str) -> Rule {
    let filter = Filter { prefix: prefix.to_owned(), ..Filter::default() };
    Rule { id: id.to_owned(), is_enabled: true, filter, ..Rule::default() }
}

fn expiring(id: &str, prefix: &str, when: When) -> Rule {
    Rule { expiration: Some(Expiration::Objects(when)), ..rule(id, prefix) }
}

fn view(key: &str, standing: Standing) -> View<'_> {
    View { key, len: 0, tags: Some(&[]), modified_ms: 1, standing }
}

#[test]
fn days_end_at_midnight_and_of_two_rules_the_earlier_counts() {
    let rules = Rules::new(vec![
        expiring("later", "", When::AfterDays(9)),
        expiring("first", "a", When::AfterDays(2)),
        expiring("second", "ab", When::AfterDays(2)),
        expiring("date", "abc", When::At(DAY_MS)),
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
    assert_eq!(of(expiring("days", "", When::AfterDays(1))), Some(2 * DAY_MS));
    let markers = Rule { expiration: Some(Expiration::LoneMarkers), ..rule("markers", "k") };
    assert_eq!(of(markers.clone()), Some(1));
    let object = view("k", Standing::Latest);
    assert_eq!(Rules::new(vec![markers.clone()]).removal(&object, Day::STANDARD), None);
    let filter = Filter { tags: vec![("a".into(), "b".into())], ..Filter::default() };
    assert_eq!(of(Rule { filter, ..markers.clone() }), None);
    let filter = Filter { shorter_than: Some(9), ..Filter::default() };
    assert_eq!(of(Rule { filter, ..markers }), None);
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
    let rules = Rules::new(vec![Rule { filter, ..expiring("r", "", When::At(5)) }]);
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
    let off = Rule { is_enabled: false, ..expiring("off", "", When::At(0)) };
    let uploads = Rule { uploads_after_days: Some(1), ..rule("uploads", "up") };
    let all = |rules: &[Rule]| Rules::new(rules.to_vec());
    let (one, other) = (expiring("1", "aé/x", When::At(0)), expiring("2", "aè/", When::At(0)));
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

fn any_rule() -> impl Strategy<Value = Rule> {
    let when = prop_oneof![
        (1..9_u32).prop_map(When::AfterDays),
        (0..9_u64).prop_map(|days| When::At(days * DAY_MS)),
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
                Rule { id, is_enabled, filter, expiration, noncurrent, uploads_after_days: days }
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
        let rules: Vec<_> = [Rule { noncurrent, ..rule("r", "") }].into();
        let view = view("k", Standing::Noncurrent { since_ms: 0, later });
        let rules = Rules::new(rules);
        let removal = rules.removal(&view, Day::STANDARD);
        prop_assert_eq!(removal.is_some(), later >= kept);
    }
}
