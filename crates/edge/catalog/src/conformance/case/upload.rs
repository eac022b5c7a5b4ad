//! Uploads and their parts.

use super::{applied, brought, create, put, refused, tables};
use crate::{
    Audited, CatalogError, Change, Condition, ListingRequest, Quota, Refusal,
    conformance::make::{listing_of, object, part, upload},
};

fn put_part(upload: &str, number: u16, etag: &str, stripes: &[u128]) -> Change {
    let part = part(number, etag, stripes);
    let (upload, stripes) = (upload.into(), brought(stripes));
    Change::PutPart { upload, part, stripes, quota: Quota::NONE }
}

fn complete(upload: &str, parts: &[(u16, &str)], named: &[u128], told_by: u128) -> Change {
    Change::CompleteUpload {
        version: None,
        upload: upload.into(),
        parts: parts.iter().map(|(number, etag)| (*number, (*etag).into())).collect(),
        object: object("whole", named, told_by),
        stripes: brought(&[told_by]),
        condition: Condition::None,
        quota: Quota::NONE,
    }
}

pub(super) async fn a_part_replaced_lets_its_stripes_go(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let late = refused(catalog, put_part("u", 1, "p", &[2])).await;
    assert!(matches!(late, CatalogError::Refused(Refusal::NoSuchUpload)));
    let nowhere = refused(catalog, Change::CreateUpload(upload("u", "absent", "k"))).await;
    assert!(matches!(nowhere, CatalogError::Refused(Refusal::NoSuchBucket)));
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    let again = refused(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    assert!(matches!(again, CatalogError::Refused(Refusal::ConditionFailed)));
    applied(catalog, put_part("u", 1, "p", &[2, 3])).await;
    applied(catalog, put_part("u", 1, "q", &[4])).await;
    assert_eq!(tables(catalog).await, (vec![1, 4], vec![2, 3]));
    assert_eq!(catalog.parts("u", 0, 9).await.expect("parts"), [part(1, "q", &[4])]);
}

pub(super) async fn completing_moves_the_stripes_of_used_parts_and_drops_the_rest(
    catalog: &dyn Audited,
) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, put("k", &[2], &[2])).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    for (number, id) in [(1, 3), (2, 4), (9, 5)] {
        applied(catalog, put_part("u", number, "p", &[id])).await;
    }
    let done = applied(catalog, complete("u", &[(1, "p"), (9, "p")], &[3, 5], 6)).await;
    assert_eq!(done.replaced, Some(object("e", &[2], 2)));
    assert_eq!(tables(catalog).await, (vec![1, 3, 5, 6], vec![2, 4]));
    let located = catalog.object("b", "k").await.expect("read").expect("there");
    assert_eq!(located.object, object("whole", &[3, 5], 6));
    assert_eq!(catalog.upload("u").await.expect("read"), None);
    assert_eq!(catalog.parts("u", 0, 9).await.expect("parts"), []);
}

pub(super) async fn completing_with_a_part_that_changed_changes_nothing(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    applied(catalog, put_part("u", 1, "p", &[2])).await;
    applied(catalog, put_part("u", 2, "p", &[3])).await;
    // Same bytes and etag as before, other stripes.
    applied(catalog, put_part("u", 2, "p", &[4])).await;
    for (parts, named, number) in [
        ([(1, "other"), (2, "p")], vec![2, 4], 1),
        ([(1, "p"), (3, "p")], vec![2, 4], 3),
        ([(1, "p"), (2, "p")], vec![2, 3], 2),
    ] {
        let error = refused(catalog, complete("u", &parts, &named, 9)).await;
        let is_of_part = |n| matches!(error, CatalogError::Refused(Refusal::PartChanged { number }) if number == n);
        assert!(is_of_part(number), "{error}");
    }
    assert_eq!(tables(catalog).await, (vec![1, 2, 4], vec![3]));
    assert!(catalog.object("b", "k").await.expect("read").is_none());
    assert!(catalog.upload("u").await.expect("read").is_some());
}

pub(super) async fn an_ended_upload_is_no_more(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::CreateUpload(upload("u", "b", "k"))).await;
    applied(catalog, put_part("u", 1, "p", &[2])).await;
    applied(catalog, Change::AbortUpload { upload: "u".into() }).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
    for change in [
        Change::AbortUpload { upload: "u".into() },
        put_part("u", 1, "p", &[3]),
        complete("u", &[], &[], 4),
    ] {
        assert!(matches!(
            refused(catalog, change).await,
            CatalogError::Refused(Refusal::NoSuchUpload)
        ));
    }
    assert_eq!(tables(catalog).await, (vec![1], vec![2]));
}

pub(super) async fn uploads_of_one_key_are_paged_by_id(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    for (id, key) in [("3", "k"), ("1", "k"), ("9", "a"), ("2", "k"), ("0", "k\0"), ("5", "z/y")] {
        applied(catalog, Change::CreateUpload(upload(id, "b", key))).await;
    }
    let mut request = ListingRequest { max: 2, delimiter: "/".into(), ..listing_of("b") };
    let mut pages = Vec::new();
    loop {
        let page = catalog.uploads(&request).await.expect("the bucket is there");
        let ids = page.uploads.iter().map(|upload| upload.id.clone());
        pages.push(ids.chain(page.prefixes.clone()).collect::<Vec<_>>().join(" "));
        let Some(next) = page.next else { break };
        request.after = next;
        request.after_upload = page.next_upload.unwrap_or_default();
    }
    assert_eq!(pages, ["9 1", "2 3", "0 z/"]);
    let after = ListingRequest { after: "k".into(), ..listing_of("b") };
    let ids = catalog.uploads(&after).await.expect("there").uploads.into_iter().map(|it| it.id);
    assert_eq!(ids.collect::<Vec<_>>(), ["0", "5"], "the whole key is skipped");
}
