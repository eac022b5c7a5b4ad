//! Two pools under one catalog: what is copied from one to the other is there.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

mod common;

use common::*;
use futures::TryStreamExt;
use ripstop_catalog::{Attributes, Checksum, ChecksumAlgorithm, Condition, Embedded, Quota};
use ripstop_gateway::MachineSettings;
use ripstop_model::{Code, NodeId, PoolId};
use ripstop_node::{Fault, FaultHandle, FaultSettings, MemoryNode, Node};
use ripstop_runtime::{Memory, Origin, Pins, Pool, PoolNode};
use ripstop_store::{PartSeal, Quotas, Store, StoreError, Target};
use std::{collections::BTreeMap, sync::Arc};

/// A store whose buckets `a` and `b` go to pools of their own, of three nodes each, any two of
/// which suffice; and what takes the nodes down.
fn two_pools() -> (Store, Vec<FaultHandle>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let catalog =
        Embedded::open(&folder.path().join("catalog"), ripstop_catalog::CatalogSettings::default());
    let (to, _) = ripstop_runtime::aftermaths();
    let (pins, mut handles) = (Pins::default(), Vec::new());
    let memory = Memory::new(16 << 20);
    let pools = (0..2_u16).map(|pool| {
        let node = |at| {
            let memory = Arc::new(MemoryNode::new(1 << 30));
            let fault = Fault::new(memory, FaultSettings::default(), u64::from(at));
            handles.push(fault.handle());
            PoolNode { id: NodeId(pool * 3 + at), lanes: 4, node: Arc::new(fault) as Arc<dyn Node> }
        };
        Pool::new(
            Origin { store: 1, pool: PoolId(pool) },
            Code::new(3, 2).unwrap(),
            MachineSettings::default(),
            Box::new(Form::spread(3, 2)),
            (0..3).map(node).collect(),
            Arc::new(Unwatched),
            Arc::default(),
            memory.blocks().clone(),
            pins.clone(),
            to.clone(),
        )
    });
    let pools = pools.collect();
    let buckets = BTreeMap::from([("a".to_owned(), PoolId(0)), ("b".to_owned(), PoolId(1))]);
    let catalog = Arc::new(catalog.unwrap());
    let store = Store::new(catalog, pools, buckets, memory, pins, settings());
    (store, handles, folder)
}

fn at(bucket: &str, key: &str) -> Target {
    Target { bucket: bucket.into(), key: key.into(), condition: Condition::None }
}

async fn read(store: &Store, bucket: &str, key: &str) -> Result<Vec<u8>, StoreError> {
    let located = store.object(bucket, key).await?;
    let len = located.object.len;
    let pieces: Vec<bytes::Bytes> = store.read(located, 0..len).await?.try_collect().await?;
    Ok(pieces.concat())
}

async fn put_in(store: &Store, bucket: &str, content: &[u8]) {
    let body = Pieces::new(content.to_vec());
    store.put(at(bucket, "k"), content.len() as u64, body).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_to_another_pool_outlives_the_pool_it_was_copied_from() {
    let (store, nodes, _folder) = two_pools();
    for bucket in ["a", "b"] {
        store.create_bucket(bucket).await.unwrap();
    }
    let content = bytes(700_000, 1);
    put_in(&store, "a", &content).await;
    let source = store.object("a", "k").await.unwrap();
    let checksum =
        Checksum { algorithm: ChecksumAlgorithm::Crc32, value: vec![1; 4], composite: false };
    let attributes =
        Attributes { etag: "e-2".into(), checksum: Some(checksum), ..Attributes::default() };
    let copied = store.copy(&source, at("b", "far"), attributes.clone()).await.unwrap();
    assert_eq!(
        copied.object.attributes, attributes,
        "the bytes are the same, and so what is said of them"
    );
    let near = store.copy(&source, at("a", "near"), attributes).await.unwrap();
    assert_eq!(near.object.extents, source.object.extents, "within a pool stripes are shared");
    nodes[..3].iter().for_each(|node| node.down(true));
    assert!(read(&store, "a", "near").await.is_err());
    assert!(read(&store, "b", "far").await.unwrap() == content);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_copied_from_another_pool_outlives_it_and_so_does_a_copy_of_what_lies_in_both() {
    let (store, nodes, _folder) = two_pools();
    for bucket in ["a", "b"] {
        store.create_bucket(bucket).await.unwrap();
    }
    let content = bytes(700_000, 2);
    put_in(&store, "a", &content).await;
    put_in(&store, "b", &content).await;
    let begin = async |bucket| store.create_upload(upload_of(bucket, "parts")).await.unwrap();
    let seal = |etag: &str| PartSeal { etag: etag.to_owned(), checksum: None, salt: None };
    let upload = begin("b").await;
    let (far, near) =
        (store.object("a", "k").await.unwrap(), store.object("b", "k").await.unwrap());
    let first = store.copy_part(&far, 100..600_000, &upload, 1, seal("1")).await.unwrap();
    assert_eq!((first.len, first.etag.as_str()), (599_900, "1"));
    let second = store.copy_part(&near, 5..300_000, &upload, 2, seal("2")).await.unwrap();
    assert_eq!(second.extents[0].stripe, near.object.extents[0].stripe);
    let parts = [first, second];
    let attributes = Attributes { etag: "p".into(), ..Attributes::default() };
    store.complete_upload(&upload, &parts, attributes, Condition::None).await.unwrap();
    let whole = [&content[100..600_000], &content[5..300_000]].concat();
    nodes[..3].iter().for_each(|node| node.down(true));
    assert!(read(&store, "b", "parts").await.unwrap() == whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_from_another_pool_is_refused_by_the_quota_of_where_it_goes() {
    let (store, _nodes, _folder) = two_pools();
    for bucket in ["a", "b"] {
        store.create_bucket(bucket).await.unwrap();
    }
    put_in(&store, "a", &bytes(1000, 1)).await;
    let quota = Quota { bytes: Some(999), objects: None };
    let named = BTreeMap::from([("b".to_owned(), quota)]);
    store.set_quotas(Quotas { named, others: Quota::NONE });
    let source = store.object("a", "k").await.unwrap();
    let refused = store.copy(&source, at("b", "far"), Attributes::default()).await;
    assert_eq!(refused.unwrap_err().to_string(), "the bucket's quota of 999 bytes is reached");
    store.copy(&source, at("a", "near"), Attributes::default()).await.unwrap();
    let bytes = async |bucket| store.usage(bucket).await.unwrap().bytes;
    assert_eq!((bytes("a").await, bytes("b").await), (2000, 0));
}
