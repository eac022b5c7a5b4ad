//! Whatever is done to one fragment, no wrong byte is served, and a check notices.

mod common;

use bytes::Bytes;
use common::*;
use ripstop_keeper::CheckOptions;
use ripstop_model::FragmentId;
use ripstop_node::Node as _;
use ripstop_runtime::{Layout, Seals};
use ripstop_seal::StoreKey;

/// An object of one stripe, and its fragments as they were written.
struct Walk {
    bench: Bench,
    content: Vec<u8>,
    whole: Vec<(usize, FragmentId, Bytes)>,
}

impl Walk {
    async fn new(form: Form, len: usize) -> Self {
        Self::sealed(form, len, &Seals::default(), false).await
    }

    /// The same of a store that seals, or encrypts, with these keys.
    async fn sealed(form: Form, len: usize, seals: &Seals, encrypt: bool) -> Self {
        let bench = bench_sealed(form, seals, encrypt);
        let count = match form.layout {
            Layout::Spread => form.code.0,
            Layout::Shared => 1,
            Layout::Unique => form.write.0,
        };
        bench.store.create_bucket("b").await.expect("created");
        let content = bytes(len, 7);
        put(&bench.store, "k", &content).await;
        let id = bench.store.object("b", "k").await.expect("there").object.extents[0].stripe;
        let mut whole = Vec::new();
        while whole.len() < count {
            whole.clear();
            for (node, name) in fragments(&bench.nodes).await {
                if name.stripe == id {
                    whole.push((node, name, read_whole(&bench, node, name).await));
                }
            }
        }
        let walk = Self { bench, content, whole };
        walk.settled().await;
        walk
    }

    /// Waits until nothing of the write is under way: a check passes over stripes being written.
    async fn settled(&self) {
        let (node, name, whole) = &self.whole[0];
        let node = &self.bench.nodes[*node];
        for _ in 0..500 {
            node.put(*name, vec![whole.slice(1..)]).await.expect("stored");
            let report = self.bench.keeper.check(CheckOptions::default(), |_| {}).await;
            node.put(*name, vec![whole.clone()]).await.expect("stored");
            if report.expect("checked").damaged > 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("the write never ends");
    }

    /// Puts `bytes` in the fragment's place, looks, and puts the fragment back.
    async fn try_with(&self, at: usize, bytes: Bytes, what: &str) {
        let (node, name, whole) = &self.whole[at];
        let node = &self.bench.nodes[*node];
        node.put(*name, vec![bytes]).await.expect("stored");
        let got = get(&self.bench.store, "k").await.expect("readable");
        assert!(got == self.content, "{name} {what}: other bytes were served");
        let report =
            self.bench.keeper.check(CheckOptions::default(), |_| {}).await.expect("checked");
        assert_eq!(report.damaged, 1, "{name} {what}: {report:?}");
        node.put(*name, vec![whole.clone()]).await.expect("stored");
    }

    /// Puts `bytes` in the fragment's place and has it mended.
    async fn try_mend(&self, at: usize, bytes: Bytes, what: &str) {
        let (node, name, whole) = &self.whole[at];
        self.bench.nodes[*node].put(*name, vec![bytes]).await.expect("stored");
        let options = CheckOptions { repair: true };
        let report = self.bench.keeper.check(options, |_| {}).await.expect("checked");
        assert!(report.is_clean() && report.repaired == 1, "{name} {what}: {report:?}");
        assert!(read_whole(&self.bench, *node, *name).await == whole, "{name} {what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flipped_byte_is_noticed() {
    let walk = Walk::new(Form::spread(6, 4), 5000).await;
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
    let walk = Walk::new(Form::spread(6, 4), 300).await;
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
    let walk = Walk::new(Form::spread(6, 4), 5000).await;
    for at in 0..walk.whole.len() {
        for other in (0..walk.whole.len()).filter(|other| *other != at) {
            let bytes = walk.whole[other].2.clone();
            walk.try_with(at, bytes, &format!("replaced by fragment {other}")).await;
        }
    }
}

/// Layouts at one node whose stripes have strips to spare.
const TOGETHER: [fn() -> Form; 5] = [
    || Form::shared((24, 12), (1, 1)),
    || Form::shared((24, 12), (13, 12)),
    || Form::shared((7, 4), (3, 2)),
    || Form::unique((24, 12), (2, 1)),
    || Form::unique((24, 12), (5, 3)),
];

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bytes_at_one_node_are_noticed_and_mended() {
    for form in TOGETHER {
        let walk = Walk::new(form(), 5000).await;
        for at in 0..walk.whole.len() {
            let whole = walk.whole[at].2.clone();
            for byte in (0..whole.len()).step_by(29).chain([whole.len() - 1]) {
                let mut flipped = whole.to_vec();
                flipped[byte] ^= 1 << (byte % 8);
                walk.try_with(at, flipped.clone().into(), &format!("flipped at {byte}")).await;
                walk.try_mend(at, flipped.into(), &format!("flipped at {byte}")).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cut_or_grown_at_one_node_is_noticed_and_mended() {
    for form in TOGETHER {
        let walk = Walk::new(form(), 300).await;
        for at in 0..walk.whole.len() {
            let whole = walk.whole[at].2.clone();
            // Half of a lone fragment is enough; of what is shorter nothing can be made.
            let least = if walk.whole.len() == 1 { whole.len() * 2 / 3 } else { 0 };
            for len in (least..whole.len()).step_by(7) {
                walk.try_with(at, whole.slice(..len), &format!("cut to {len}")).await;
                walk.try_mend(at, whole.slice(..len), &format!("cut to {len}")).await;
            }
            let grown = Bytes::from([&whole[..], b"x"].concat());
            walk.try_with(at, grown.clone(), "grown").await;
            walk.try_mend(at, grown, "grown").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bytes_of_sealed_and_encrypted_fragments_are_noticed_and_mended() {
    let seals = Seals::new(&StoreKey::from_bytes([5; 32])).since(0);
    let forms = [Form::spread(6, 4), Form::shared((7, 4), (3, 2)), Form::unique((24, 12), (5, 3))];
    for (form, encrypt) in forms.into_iter().flat_map(|form| [(form, false), (form, true)]) {
        let walk = Walk::sealed(form, 5000, &seals, encrypt).await;
        for at in 0..walk.whole.len() {
            let whole = walk.whole[at].2.clone();
            for byte in (0..whole.len()).step_by(31).chain([whole.len() - 1]) {
                let mut flipped = whole.to_vec();
                flipped[byte] ^= 1 << (byte % 8);
                let what = format!("flipped at {byte}, encrypted: {encrypt}");
                walk.try_with(at, flipped.clone().into(), &what).await;
                walk.try_mend(at, flipped.into(), &what).await;
            }
            for len in [0, 7, 64, whole.len() * 3 / 4, whole.len() - 1] {
                if walk.whole.len() == 1 && len < whole.len() * 2 / 3 {
                    continue;
                }
                let what = format!("cut to {len}, encrypted: {encrypt}");
                walk.try_mend(at, whole.slice(..len), &what).await;
            }
        }
    }
}
