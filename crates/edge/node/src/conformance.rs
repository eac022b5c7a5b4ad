//! What every node must do, whatever it stores fragments in: one suite, run by each node's tests.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use ripstop_node::{MemoryNode, conformance};
//! use std::sync::Arc;
//! let scale = conformance::Scale { fragments: 20, rounds: 5, seed: 1 };
//! conformance::check(&(Arc::new(MemoryNode::new(1 << 30)) as _), scale).await;
//! # }
//! ```

use crate::{Node, NodeError};
use bytes::Bytes;
use futures::{TryStreamExt, future::join_all};
use ripstop_delay::Dice;
use ripstop_model::{FragmentId, StripeId};
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// How much of everything the suite does.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Fragments that the listing must find.
    pub fragments: usize,
    /// Overwrites under readers, and puts dropped midway.
    pub rounds: usize,
    /// Of the names, contents and moments; the same seed makes the same suite.
    pub seed: u64,
}

/// Runs the suite on an empty node that nobody else uses, and leaves it empty.
///
/// # Panics
///
/// If the node breaks a rule; the message says which.
pub async fn check(node: &Arc<dyn Node>, scale: Scale) {
    let mut dice = Dice::new(scale.seed);
    node.health().await.expect("a node fit for the suite is healthy");
    assert_eq!(listing(node).await, BTreeMap::new(), "the suite starts with an empty node");
    ranges_are_slices(node, &mut dice).await;
    absent_fragments_are_missing(node, &mut dice).await;
    overwrites_are_one_step(node, &mut dice, scale.rounds).await;
    dropped_puts_are_absent_or_whole(node, &mut dice, scale.rounds).await;
    listing_is_all_and_only(node, &mut dice, scale.fragments).await;
    node.health().await.expect("the node is still healthy");
}

fn name(dice: &mut Dice) -> FragmentId {
    let unix_ms =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_millis());
    let random = u128::from(dice.next_u64()) << 64 | u128::from(dice.next_u64());
    FragmentId { stripe: StripeId::new(unix_ms as u64, random), index: dice.next_u64() as u8 }
}

fn content(dice: &mut Dice, len: usize) -> Bytes {
    let words = (0..len.div_ceil(8)).flat_map(|_| dice.next_u64().to_le_bytes());
    words.take(len).collect::<Vec<u8>>().into()
}

fn below(dice: &mut Dice, end: usize) -> usize {
    (dice.next_u64() % end as u64) as usize
}

/// Cuts content where header and body might meet.
fn segments(content: &Bytes, cuts: &[usize]) -> Vec<Bytes> {
    let ends = cuts.iter().copied().chain([content.len()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    starts.zip(ends).map(|(start, end)| content.slice(start..end)).collect()
}

async fn listing(node: &Arc<dyn Node>) -> BTreeMap<FragmentId, u64> {
    let listed: Vec<_> = node.list().try_collect().await.expect("the node lists");
    let count = listed.len();
    let map: BTreeMap<_, _> = listed.into_iter().map(|listed| (listed.name, listed.len)).collect();
    assert_eq!(map.len(), count, "no fragment is listed twice");
    map
}

async fn ranges_are_slices(node: &Arc<dyn Node>, dice: &mut Dice) {
    for (len, cuts) in
        [(0, vec![]), (1, vec![]), (5000, vec![0, 100, 100, 4096]), (300_000, vec![100, 70_000])]
    {
        let (name, content) = (name(dice), content(dice, len));
        node.put(name, segments(&content, &cuts)).await.expect("put");
        let mut ranges: Vec<Range<usize>> =
            vec![0..len, 0..0, len..len, 0..len.min(1), len / 2..len];
        for &cut in &cuts {
            ranges.extend([0..cut, cut..len, cut.saturating_sub(1)..cut + 1]);
        }
        for _ in 0..10 {
            let (a, b) = (below(dice, len + 1), below(dice, len + 1));
            ranges.push(a.min(b)..a.max(b));
        }
        for range in ranges {
            let asked = range.start as u64..range.end as u64;
            let got = node.get(name, asked).await.expect("a range within the fragment");
            assert!(got == content[range.clone()], "bytes {range:?} of {len} differ");
        }
        past_the_end(node, name, len as u64).await;
        node.delete(name).await.expect("delete");
    }
    let nothing = name(dice);
    node.put(nothing, vec![]).await.expect("put of no segments");
    assert_eq!(node.get(nothing, 0..0).await.expect("an empty fragment"), Bytes::new());
    node.delete(nothing).await.expect("delete");
}

async fn past_the_end(node: &Arc<dyn Node>, name: FragmentId, end: u64) {
    for range in [0..end + 1, end..end + 1, end + 1..end + 1, end + 7..end + 9, 0..u64::MAX / 4] {
        match node.get(name, range.clone()).await {
            Err(NodeError::Short { len, asked }) => assert_eq!((len, asked), (end, range.end)),
            other => panic!("bytes {range:?} of {end} must be Short, not {other:?}"),
        }
    }
}

async fn absent_fragments_are_missing(node: &Arc<dyn Node>, dice: &mut Dice) {
    let name = name(dice);
    for _ in 0..2 {
        for range in [0..0, 0..1, 10..20] {
            let got = node.get(name, range).await;
            assert!(matches!(got, Err(NodeError::Missing)), "{got:?} is not Missing");
        }
        node.delete(name).await.expect("a fragment not there is removed already");
        node.put(name, vec![Bytes::from_static(b"x")]).await.expect("put");
        node.delete(name).await.expect("delete");
        node.delete(name).await.expect("delete again");
    }
    let neighbour = FragmentId { index: name.index.wrapping_add(1), ..name };
    node.put(neighbour, vec![Bytes::from_static(b"y")]).await.expect("put");
    let got = node.get(name, 0..1).await;
    assert!(matches!(got, Err(NodeError::Missing)), "another index is another fragment: {got:?}");
    node.delete(neighbour).await.expect("delete");
}

/// Version `v` of a fragment: its bytes are all `v`, its length says it again.
fn version(v: usize) -> Vec<Bytes> {
    let body = Bytes::from(vec![v as u8; 20_000 + v % 256]);
    segments(&body, &[100])
}

async fn overwrites_are_one_step(node: &Arc<dyn Node>, dice: &mut Dice, rounds: usize) {
    let name = name(dice);
    node.put(name, version(0)).await.expect("put");
    let readers = (0..4).map(|_| {
        let node = Arc::clone(node);
        tokio::spawn(async move {
            for _ in 0..2 * rounds {
                let got = node.get(name, 0..20_000).await.expect("an overwrite leaves no gap");
                assert!(got.iter().all(|&byte| byte == got[0]), "two versions were mixed");
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    for v in 1..=rounds {
        node.put(name, version(v)).await.expect("overwrite");
        let end = 20_000 + (v % 256) as u64;
        let got = node.get(name, 0..end).await.expect("the new version");
        assert!(got.iter().all(|&byte| byte == v as u8), "a put that answered is seen");
        past_the_end(node, name, end).await;
    }
    for reader in join_all(readers).await {
        reader.expect("a reader saw whole versions only");
    }
    node.delete(name).await.expect("delete");
}

async fn dropped_puts_are_absent_or_whole(node: &Arc<dyn Node>, dice: &mut Dice, rounds: usize) {
    let mut dropped = Vec::new();
    for round in 0..rounds {
        let name = name(dice);
        if round % 2 == 0 {
            node.put(name, version(1)).await.expect("put");
        }
        let put = node.put(name, version(2));
        let polls = below(dice, 4);
        if below(dice, 2) == 0 {
            let after = Duration::from_millis(below(dice, 6) as u64);
            // Whether it ended in time does not matter here.
            let _ = tokio::time::timeout(after, put).await;
        } else {
            let polled = async {
                for _ in 0..polls {
                    tokio::task::yield_now().await;
                }
            };
            futures::future::select(put, Box::pin(polled)).await;
        }
        dropped.push((name, round % 2 == 0));
        if below(dice, 3) == 0 {
            whole_or_absent(node, name, round % 2 == 0).await;
        }
    }
    // What had begun may still end.
    tokio::time::sleep(Duration::from_millis(100)).await;
    for (name, was_there) in dropped {
        whole_or_absent(node, name, was_there).await;
        node.delete(name).await.expect("delete");
    }
}

async fn whole_or_absent(node: &Arc<dyn Node>, name: FragmentId, was_there: bool) {
    match node.get(name, 0..20_002).await {
        Ok(got) => assert!(got.iter().all(|&byte| byte == 2), "a dropped put left a mix"),
        Err(NodeError::Short { len, .. }) if was_there => {
            assert_eq!(len, 20_001, "a dropped put left a part");
        }
        Err(NodeError::Missing) if !was_there => {}
        Err(other) => panic!("a dropped put left a fragment that is neither: {other}"),
    }
}

async fn listing_is_all_and_only(node: &Arc<dyn Node>, dice: &mut Dice, fragments: usize) {
    let names: Vec<_> = (0..fragments).map(|_| name(dice)).collect();
    let bodies: Vec<_> = (0..fragments).map(|i| content(dice, i % 3000)).collect();
    let expected: BTreeMap<_, _> =
        names.iter().zip(&bodies).map(|(&name, body)| (name, body.len() as u64)).collect();
    // Many at once: whatever a node shares between operations must bear it.
    for some in names.iter().zip(&bodies).collect::<Vec<_>>().chunks(32) {
        let puts = some.iter().map(|&(&name, body)| node.put(name, vec![body.clone()]));
        assert!(join_all(puts).await.iter().all(Result::is_ok), "concurrent puts");
        let gets = some.iter().map(|&(&name, body)| node.get(name, 0..body.len() as u64));
        for (got, (_, body)) in join_all(gets).await.into_iter().zip(some) {
            assert_eq!(&got.expect("concurrent gets"), *body);
        }
    }
    let before = SystemTime::now() + Duration::from_mins(1);
    let listed: Vec<_> = node.list().try_collect().await.expect("the node lists");
    assert!(listed.iter().all(|l| l.modified < before), "stored in the past");
    assert!(listing(node).await == expected, "the listing is not what is held");
    let (gone, kept) = names.split_at(fragments / 2);
    for some in gone.chunks(32) {
        let deletes = join_all(some.iter().map(|&name| node.delete(name))).await;
        assert!(deletes.iter().all(Result::is_ok), "concurrent deletes");
    }
    assert!(
        listing(node)
            .await
            .into_keys()
            .eq(kept.iter().copied().collect::<std::collections::BTreeSet<_>>())
    );
    for &name in kept {
        node.delete(name).await.expect("delete");
    }
    assert_eq!(listing(node).await, BTreeMap::new(), "all is deleted");
}
