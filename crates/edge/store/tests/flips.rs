//! Whatever is done to one fragment, no wrong byte is served, and a check notices.

mod common;

use bytes::Bytes;
use common::*;
use ripstop_model::FragmentId;
use ripstop_node::Node as _;
use ripstop_store::CheckOptions;

/// An object of one stripe over six nodes, and its fragments as they were written.
struct Walk {
    bench: Bench,
    content: Vec<u8>,
    whole: Vec<(usize, FragmentId, Bytes)>,
}

impl Walk {
    async fn new(len: usize) -> Self {
        let bench = bench(6, 4);
        bench.store.create_bucket("b").await.expect("created");
        let content = bytes(len, 7);
        put(&bench.store, "k", &content).await;
        let id = bench.store.object("b", "k").await.expect("there").object.extents[0].stripe;
        let mut whole = Vec::new();
        while whole.len() < 6 {
            whole.clear();
            for (node, name) in fragments(&bench.nodes).await {
                if name.stripe == id {
                    whole.push((node, name, read_whole(&bench, node, name).await));
                }
            }
        }
        Self { bench, content, whole }
    }

    /// Puts `bytes` in the fragment's place, looks, and puts the fragment back.
    async fn try_with(&self, at: usize, bytes: Bytes, what: &str) {
        let (node, name, whole) = &self.whole[at];
        let node = &self.bench.nodes[*node];
        node.put(*name, vec![bytes]).await.expect("stored");
        let got = get(&self.bench.store, "k").await.expect("readable");
        assert!(got == self.content, "{name} {what}: other bytes were served");
        let report =
            self.bench.store.check(CheckOptions::default(), |_| {}).await.expect("checked");
        assert_eq!(report.damaged, 1, "{name} {what}: {report:?}");
        node.put(*name, vec![whole.clone()]).await.expect("stored");
    }
}

async fn read_whole(bench: &Bench, node: usize, name: FragmentId) -> Bytes {
    use futures::TryStreamExt as _;
    let listed: Vec<_> = bench.nodes[node].list().try_collect().await.expect("listed");
    let listed = listed.iter().find(|listed| listed.name == name).expect("listed above");
    bench.nodes[node].get(name, 0..listed.len).await.expect("there")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flipped_byte_is_noticed() {
    let walk = Walk::new(5000).await;
    for at in 0..walk.whole.len() {
        let whole = walk.whole[at].2.clone();
        for byte in 0..whole.len() {
            let mut flipped = whole.to_vec();
            flipped[byte] ^= 1 << (byte % 8);
            walk.try_with(at, flipped.into(), &format!("flipped at {byte}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cut_and_every_growth_is_noticed() {
    let walk = Walk::new(300).await;
    for at in 0..walk.whole.len() {
        let whole = walk.whole[at].2.clone();
        for len in 0..whole.len() {
            walk.try_with(at, whole.slice(..len), &format!("cut to {len}")).await;
        }
        let grown = [&whole[..], b"x"].concat();
        walk.try_with(at, grown.into(), "grown").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_swap_with_another_fragment_is_noticed() {
    let walk = Walk::new(5000).await;
    for at in 0..walk.whole.len() {
        for other in (0..walk.whole.len()).filter(|other| *other != at) {
            let bytes = walk.whole[other].2.clone();
            walk.try_with(at, bytes, &format!("replaced by fragment {other}")).await;
        }
    }
}
