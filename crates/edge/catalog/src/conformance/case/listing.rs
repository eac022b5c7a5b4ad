//! Pages of keys and prefixes.

use super::{applied, create, put};
use crate::{
    Audited, ListingRequest, PAGE_LEN_MAX,
    conformance::make::{KEY_LEN_MAX, listing_of},
};
use ripstop_model::StripeId;

async fn with_keys(catalog: &dyn Audited, keys: &[&str]) {
    applied(catalog, create("b", 1)).await;
    for (at, key) in keys.iter().enumerate() {
        let id = at as u128 + 2;
        applied(catalog, put(key, &[id], &[id])).await;
    }
}

/// Keys, prefixes and `next` of a page.
async fn listed(
    catalog: &dyn Audited,
    (prefix, delimiter, after, max): (&str, &str, &str, usize),
) -> (Vec<String>, Vec<String>, Option<String>) {
    let request = ListingRequest {
        prefix: prefix.into(),
        delimiter: delimiter.into(),
        after: after.into(),
        max,
        ..listing_of("b")
    };
    let page = catalog.list(&request).await.expect("the bucket is there");
    (page.objects.into_iter().map(|(key, _)| key).collect(), page.prefixes, page.next)
}

fn page(keys: &[&str], prefixes: &[&str], next: Option<&str>) -> PageShown {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    (owned(keys), owned(prefixes), next.map(str::to_owned))
}

type PageShown = (Vec<String>, Vec<String>, Option<String>);

pub(super) async fn a_rolled_up_prefix_is_given_once_over_all_pages(catalog: &dyn Audited) {
    with_keys(catalog, &["a", "p/", "p/1", "p/2", "p0", "q/1/x", "r"]).await;
    assert_eq!(listed(catalog, ("", "/", "", 2)).await, page(&["a"], &["p/"], Some("p/")));
    assert_eq!(listed(catalog, ("", "/", "p/", 2)).await, page(&["p0"], &["q/"], Some("q/")));
    assert_eq!(listed(catalog, ("", "/", "q/", 2)).await, page(&["r"], &[], None));
    assert_eq!(listed(catalog, ("p/", "/", "p/", 9)).await, page(&["p/1", "p/2"], &[], None));
}

pub(super) async fn a_start_inside_a_rolled_up_prefix_still_shows_it(catalog: &dyn Audited) {
    with_keys(catalog, &["p/1", "p/2", "q"]).await;
    assert_eq!(listed(catalog, ("", "/", "p/1", 9)).await, page(&["q"], &["p/"], None));
    assert_eq!(listed(catalog, ("", "/", "p/1", 1)).await, page(&[], &["p/"], Some("p/")));
    assert_eq!(listed(catalog, ("", "/", "p/2", 9)).await, page(&["q"], &[], None));
    assert_eq!(listed(catalog, ("", "/", "p", 9)).await, page(&["q"], &["p/"], None));
    assert_eq!(listed(catalog, ("p", "/", "a", 9)).await, page(&[], &["p/"], None));
    assert_eq!(listed(catalog, ("p", "/", "pz", 9)).await, page(&[], &[], None));
    assert_eq!(listed(catalog, ("p", "/", "q", 9)).await, page(&[], &[], None));
}

pub(super) async fn delimiters_may_be_long_or_inside_the_prefix(catalog: &dyn Audited) {
    with_keys(catalog, &["a--b--1", "a--b--2", "a--c", "a-d", "\u{e9}/1", "\u{e9}/2"]).await;
    assert_eq!(
        listed(catalog, ("", "--", "", 9)).await,
        page(&["a-d", "\u{e9}/1", "\u{e9}/2"], &["a--"], None)
    );
    assert_eq!(listed(catalog, ("a--", "--", "", 9)).await, page(&["a--c"], &["a--b--"], None));
    assert_eq!(listed(catalog, ("a-", "-", "", 9)).await, page(&["a-d"], &["a--"], None));
    assert_eq!(listed(catalog, ("\u{e9}", "/", "", 9)).await, page(&[], &["\u{e9}/"], None));
    assert_eq!(
        listed(catalog, ("", "\u{e9}/", "a-", 9)).await,
        page(&["a--b--1", "a--b--2", "a--c", "a-d"], &["\u{e9}/"], None)
    );
}

pub(super) async fn no_room_gives_an_empty_last_page(catalog: &dyn Audited) {
    with_keys(catalog, &["a", "b"]).await;
    assert_eq!(listed(catalog, ("", "", "", 0)).await, page(&[], &[], None));
    assert_eq!(catalog.buckets("", 0).await.expect("buckets"), []);
    assert_eq!(catalog.stripes_after(StripeId(0), 0).await.expect("stripes"), []);
    assert_eq!(catalog.garbage(u64::MAX, StripeId(0), 0).await.expect("garbage"), []);
}

pub(super) async fn next_is_given_exactly_when_there_is_more(catalog: &dyn Audited) {
    with_keys(catalog, &["a", "p/1", "p/2"]).await;
    assert_eq!(listed(catalog, ("", "/", "", 2)).await, page(&["a"], &["p/"], None));
    assert_eq!(listed(catalog, ("", "/", "", 1)).await, page(&["a"], &[], Some("a")));
    assert_eq!(listed(catalog, ("", "", "", 3)).await, page(&["a", "p/1", "p/2"], &[], None));
    assert_eq!(listed(catalog, ("", "", "", 2)).await, page(&["a", "p/1"], &[], Some("p/1")));
    assert_eq!(listed(catalog, ("a", "", "", 1)).await, page(&["a"], &[], None));
}

pub(super) async fn a_page_ends_where_its_keys_are_long(catalog: &dyn Audited) {
    let count = PAGE_LEN_MAX / KEY_LEN_MAX;
    let key = |at: usize| format!("{at:04}{}", "k".repeat(KEY_LEN_MAX - 4));
    let keys: Vec<String> = (0..=count).map(key).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    with_keys(catalog, &keys).await;
    let (listed, _, next) = listed(catalog, ("", "", "", count + 9)).await;
    assert_eq!((listed.len(), next.as_deref()), (count, Some(keys[count - 1])));
    let rolled = self::listed(catalog, ("", "k", "", count + 9)).await;
    assert_eq!((rolled.1.len(), rolled.2), (count + 1, None), "what is rolled up is short");
}

/// Not to be asked of a catalog whose keys are no longer than S3's.
pub(super) async fn a_key_longer_than_a_page_is_on_a_page(catalog: &dyn Audited) {
    let len = PAGE_LEN_MAX / 4;
    let keys = ["a", "b", "p/c", "q/d", "q/e"].map(|key| key.repeat(len / key.len()));
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    with_keys(catalog, &keys).await;
    let (listed, _, next) = listed(catalog, ("", "", "", 9)).await;
    assert_eq!((listed.len(), next.as_deref()), (4, Some(keys[3])));
    let whole = self::listed(catalog, ("", "/", keys[1], 9)).await;
    assert_eq!(whole, page(&[], &["p/", "q/"], None), "what is rolled up is short");
    let long = "z".repeat(PAGE_LEN_MAX + 1);
    applied(catalog, put(&long, &[9], &[9])).await;
    let listed = self::listed(catalog, ("z", "", "", 9)).await;
    assert_eq!(listed, page(&[&long], &[], None), "one fits at least");
}
