//! What becomes of what is configured of a bucket.

use super::telling::{behind, buried_by, delete_bucket, forget, outlived, stamp};
use super::{applied, brought, create, refused, tables};
use crate::conformance::make::bucket;
use crate::{
    Audited, BUCKET_DOCUMENTS_LEN_MAX, Bucket, BucketDocuments, CatalogError, Change, Refusal,
};
use ripstop_model::StripeId;

pub(super) async fn a_bucket_that_is_set_is_told_again_and_outlives_what_told_it(
    catalog: &dyn Audited,
) {
    let set = |when, id, was, document: &str| {
        let documents = BucketDocuments::default().with("cors", Some(document.to_owned()));
        let bucket = Bucket { stamp: Some(stamp(when, id)), documents, ..bucket("b", id) };
        Change::SetBucket { bucket, was: StripeId(was), stripes: brought(&[id]) }
    };
    let document = async || {
        let found = catalog.bucket("b").await.expect("read").expect("it is there");
        (found.told_by.0, found.documents.get("cors").map(str::to_owned))
    };
    let missing = refused(catalog, set(5, 1, 1, "none")).await;
    assert!(matches!(missing, CatalogError::Refused(Refusal::NoSuchBucket)), "{missing}");
    applied(catalog, create("b", 1)).await;
    applied(catalog, set(5, 2, 1, "first")).await;
    assert_eq!(document().await, (2, Some("first".into())));
    assert_eq!((outlived(catalog, "").await, tables(catalog).await), (vec![1], (vec![2], vec![1])));
    let stale = refused(catalog, set(6, 3, 1, "stale")).await;
    assert!(matches!(stale, CatalogError::Refused(Refusal::ConditionFailed)), "{stale}");
    behind(catalog, set(4, 4, 2, "behind"), stamp(5, 2)).await;
    let len = BUCKET_DOCUMENTS_LEN_MAX + 1;
    let long = refused(catalog, set(6, 5, 2, &"x".repeat(len - "cors".len()))).await;
    assert_eq!(long.to_string(), CatalogError::from(Refusal::DocumentsTooLong { len }).to_string());
    assert_eq!(document().await, (2, Some("first".into())));
    applied(catalog, set(6, 6, 2, "second")).await;
    assert_eq!(document().await, (6, Some("second".into())));
    assert_eq!(
        (outlived(catalog, "").await, tables(catalog).await),
        (vec![1, 2], (vec![6], vec![1, 2]))
    );
    // What told it is at the nodes yet, so its end must be told.
    applied(catalog, delete_bucket(7, 7)).await;
    assert_eq!(
        (buried_by(catalog, "").await, outlived(catalog, "").await),
        (Some(7), vec![1, 2, 6])
    );
    applied(catalog, forget(&[1, 2, 6])).await;
    assert_eq!((buried_by(catalog, "").await, tables(catalog).await), (None, (vec![], vec![7])));
}
