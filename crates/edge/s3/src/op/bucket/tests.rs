//! Operations that no request asked for: they take plain data, as another way in would give them.

#[path = "../../../tests/common/mod.rs"]
mod common;

use super::*;
use crate::{allowance::Allowances, gate::Gate};
use ripstop_identity::{BucketRights, Credentials, Keyring, Principal, Right, Rights};
use std::sync::Arc;

/// The key of somebody who may read buckets that begin with `shop-`.
fn reader() -> Principal {
    let mut credentials: Credentials = [("READER", "secret")].into_iter().collect();
    let rule = BucketRights::new("shop-*".parse().unwrap(), [Right::Read]);
    assert!(credentials.grant("READER", Rights::of(vec![rule]).unwrap()));
    credentials.principal("READER").unwrap()
}

fn desk(folder: &std::path::Path, principal: Principal) -> Desk {
    let (store, _nodes) = common::store(folder, ripstop_store::StoreSettings::default());
    let settings = Arc::new(FrontSettings::default());
    let allowances = Arc::new(Allowances::new(&settings));
    let (known, hashing_ns) = (Arc::default(), Arc::default());
    let (client, request_id) = (None, String::new());
    let (gate, keyring) = (Gate::new(principal, "ripstop".into()), Keyring::default());
    Desk { store, settings, allowances, known, client, request_id, gate, keyring, hashing_ns }
}

#[tokio::test]
async fn an_operation_is_done_and_told_without_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut desk = desk(folder.path(), reader());
    let create = |name: &str| Create {
        bucket: name.to_owned(),
        tags: Vec::new(),
        has_lock: false,
        ownership: None,
        granting: Granting::Unsaid,
    };
    for name in ["other", "shop-a", "shop-b", "shop-c"] {
        assert_eq!(create(name).run(&desk).await.unwrap(), name);
    }
    assert_eq!(create("shop-a").run(&desk).await.unwrap(), "shop-a", "as in us-east-1");
    desk.settings =
        Arc::new(FrontSettings { region: "eu-west-1".to_owned(), ..FrontSettings::default() });
    let again = create("shop-a").run(&desk).await.unwrap_err();
    assert_eq!(again.code, Code::BucketAlreadyOwnedByYou);
    let (prefix, after, elsewhere) = (String::new(), String::new(), false);
    let listed = List { max: 2, prefix, elsewhere, after }.run(&desk).await.unwrap();
    let names: Vec<_> = listed.buckets.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, listed.truncated), (vec!["shop-a", "shop-b"], true));
    let reply = List::render(listed, &desk.settings);
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.body.left() > 0);
    let absent = Head { bucket: "shop-d".to_owned() }.run(&desk).await.unwrap_err();
    assert_eq!(absent.code, Code::NoSuchBucket);
}
