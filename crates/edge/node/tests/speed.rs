//! How fast nodes are:
//! `cargo test --release -p ripstop-node --test speed -- --ignored --nocapture`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "prints what it measures")]

use bytes::Bytes;
use ripstop_model::{FragmentId, StripeId};
use ripstop_node::{
    BucketCredentials, BucketNode, BucketSettings, Directory, DirectorySettings, MemoryNode, Meter,
    Node, PutDurability,
};
use std::{env, sync::Arc, time::Instant};

const fn name(stripe: u128) -> FragmentId {
    FragmentId { stripe: StripeId(stripe), index: 0 }
}

/// Microseconds per put and per get of `len` bytes, one after the other, and eight at once.
async fn measure(title: &str, node: Arc<dyn Node>, len: usize, count: u128) {
    let body = vec![Bytes::from(vec![1; 100]), Bytes::from(vec![2; len])];
    let (mut put_us, mut get_us) = (Vec::new(), Vec::new());
    for i in 0..count {
        let start = Instant::now();
        node.put(name(i), body.clone()).await.unwrap();
        put_us.push(start.elapsed().as_micros());
    }
    for i in 0..4 * count {
        let start = Instant::now();
        let got = node.get(name(i % count), 100..100 + len as u64).await.unwrap();
        get_us.push(start.elapsed().as_micros());
        assert_eq!(got.len(), len);
    }
    let start = Instant::now();
    let lanes = (0..8).map(|lane| {
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            for i in 0..count {
                node.get(name((i + lane) % count), 100..100 + len as u64).await.unwrap();
            }
        })
    });
    futures::future::try_join_all(lanes).await.unwrap();
    let per_s = (8 * count) as f64 / start.elapsed().as_secs_f64();
    put_us.sort_unstable();
    get_us.sort_unstable();
    let (put, get) = (put_us[put_us.len() / 2], get_us[get_us.len() / 2]);
    println!("{title:24} {len:8} B: put {put:6} µs, get {get:6} µs, 8 lanes {per_s:8.0} gets/s");
    for i in 0..count {
        node.delete(name(i)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; nothing can fail"]
async fn speed() {
    let root = tempfile::tempdir().unwrap();
    for (len, count) in [(4 << 10, 500), (2 << 20, 50)] {
        measure("memory", Arc::new(MemoryNode::new(1 << 30)), len, count).await;
        let metered = Meter::new(Arc::new(MemoryNode::new(1 << 30)));
        measure("meter(memory)", Arc::new(metered), len, count).await;
        for durability in [PutDurability::Relaxed, PutDurability::Full] {
            let settings = DirectorySettings { durability, ..DirectorySettings::default() };
            let node = Directory::new(root.path().into(), settings);
            measure(&format!("directory {durability:?}"), Arc::new(node), len, count).await;
        }
        let Ok(endpoint) = env::var("RIPSTOP_TEST_S3_ENDPOINT") else { continue };
        for sign_payload in [false, true] {
            let settings = BucketSettings {
                endpoint: endpoint.clone(),
                region: "us-east-1".into(),
                bucket: env::var("RIPSTOP_TEST_S3_BUCKET").unwrap(),
                prefix: "speed".into(),
                credentials: BucketCredentials::from_environment("RIPSTOP_TEST_S3").unwrap(),
                allow_http: true,
                path_style: true,
                sign_payload,
            };
            let title = if sign_payload { "bucket, payload signed" } else { "bucket" };
            measure(title, Arc::new(BucketNode::new(settings).unwrap()), len, count).await;
        }
    }
}
