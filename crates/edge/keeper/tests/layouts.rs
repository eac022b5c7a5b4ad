//! Stripes at one node: what is fetched, what may be damaged, what is mended and where.

mod common;

use bytes::Bytes;
use common::*;
use ripstop_gateway::AfterAnswer;
use ripstop_keeper::CheckOptions;
use ripstop_model::FragmentId;
use ripstop_node::Node as _;
use ripstop_runtime::Layout;
use ripstop_store::StoreError;
use std::collections::BTreeSet;
use std::time::Duration;

const WIDE: (usize, usize) = (24, 12);
/// Strips of 4096 bytes under [`WIDE`], each one block and its checksum.
const LEN: usize = 12 * 4096;
const BODY: usize = 4096 + 8;

/// A store with one object of one stripe, its fragments, and the length of its header.
async fn one_stripe(form: Form) -> (Bench, Vec<u8>, Vec<(usize, FragmentId)>, usize) {
    let bench = bench_of(form);
    bench.store.create_bucket("b").await.expect("done");
    let content = bytes(LEN, 3);
    put(&bench.store, "k", &content).await;
    settle(&bench).await;
    let located = bench.store.object("b", "k").await.expect("done");
    let (id, stripe) = located.stripes.first().expect("one stripe");
    let all = fragments(&bench.nodes).await;
    let mine = all.into_iter().filter(|(_, name)| name.stripe == *id).collect();
    (bench, content, mine, stripe.header_len as usize)
}

/// Flips a bit in each of these strips of a fragment that begins with them all.
async fn damage(
    bench: &Bench,
    fragment: &(usize, FragmentId),
    header_len: usize,
    strips: impl IntoIterator<Item = usize>,
) {
    let (node, name) = *fragment;
    let mut bytes = read_whole(bench, node, name).await.to_vec();
    for strip in strips {
        bytes[header_len + strip * BODY + 17 * (strip + 1)] ^= 4;
    }
    bench.nodes[node].put(name, vec![Bytes::from(bytes)]).await.expect("done");
}

async fn check(bench: &Bench, repair: bool) -> ripstop_keeper::CheckReport {
    bench.keeper.check(CheckOptions { repair }, |_| {}).await.expect("done")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_a_stripe_fetches_as_many_chunks_as_the_policy_says() {
    for read in [(1, 1), (2, 1), (3, 3), (6, 3), (12, 12), (24, 12)] {
        let (bench, content, fragments, _) = one_stripe(Form::shared(WIDE, read)).await;
        assert_eq!(fragments.len(), 1);
        let before = bench.gets();
        assert!(get(&bench.store, "k").await.unwrap() == content);
        let gets = bench.gets() - before;
        let (n, k) = (read.0 as u64, read.1 as u64);
        // Redundant ones that never reached a lane were not asked for.
        assert!((k..=n).contains(&gets), "{read:?}: {gets} gets");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_unique_chunks_stores_as_many_as_the_policy_says_at_one_node() {
    for write in [(1, 1), (2, 1), (3, 3), (5, 3), (12, 12), (24, 12)] {
        let (bench, content, fragments, _) = one_stripe(Form::unique(WIDE, write)).await;
        assert_eq!(fragments.len(), write.0, "{write:?}");
        let nodes: BTreeSet<usize> = fragments.iter().map(|(node, _)| *node).collect();
        assert_eq!(nodes.len(), 1, "{write:?}");
        let before = bench.gets();
        assert!(get(&bench.store, "k").await.unwrap() == content);
        assert_eq!(bench.gets() - before, write.1 as u64, "{write:?}");
        assert!(check(&bench, false).await.is_clean());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_is_one_fetch_of_each_fragment_that_has_some_of_it() {
    let (bench, content, ..) = one_stripe(Form::shared(WIDE, (1, 1))).await;
    let before = bench.gets();
    let found = range(&bench.store, "k", 100..40_000).await.unwrap();
    assert!(found == content[100..40_000]);
    assert_eq!(bench.gets() - before, 1);
    let (bench, content, ..) =
        one_stripe(Form { read: (1, 1), ..Form::unique(WIDE, (3, 3)) }).await;
    let before = bench.gets();
    let found = range(&bench.store, "k", 100..20_000).await.unwrap();
    assert!(found == content[100..20_000]);
    assert_eq!(bench.gets() - before, 2, "fragments of 16384 bytes of payload");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_parity_many_strips_of_a_shared_fragment_may_be_damaged() {
    for read in [(1, 1), (2, 1), (6, 3), (12, 12), (24, 12)] {
        let (bench, content, fragments, header_len) = one_stripe(Form::shared(WIDE, read)).await;
        let whole = read_whole(&bench, fragments[0].0, fragments[0].1).await;
        let sets: [Vec<usize>; 5] = [
            vec![0],
            vec![5, 17],
            (0..12).collect(),
            (0..24).step_by(2).collect(),
            (6..18).collect(),
        ];
        for strips in sets {
            damage(&bench, &fragments[0], header_len, strips.iter().copied()).await;
            assert!(get(&bench.store, "k").await.unwrap() == content, "{read:?} {strips:?}");
            for (from, to) in [(0, 1), (20_479, 20_482), (4000, 45_000), (1, LEN)] {
                let found = range(&bench.store, "k", from as u64..to as u64).await.unwrap();
                assert!(found == content[from..to], "{read:?} {strips:?} {from}..{to}");
            }
            let report = check(&bench, false).await;
            assert_eq!((report.damaged, report.lost), (1, 0), "{read:?} {strips:?}");
            let report = check(&bench, true).await;
            assert!(report.is_clean() && report.repaired == 1, "{report:?}");
            assert!(read_whole(&bench, fragments[0].0, fragments[0].1).await == whole);
        }
        damage(&bench, &fragments[0], header_len, 0..13).await;
        assert!(matches!(get(&bench.store, "k").await, Err(StoreError::Lost { .. })), "{read:?}");
        let spared = range(&bench.store, "k", 0..1).await;
        assert!(matches!(spared, Err(StoreError::Lost { .. })), "{read:?}");
        let report = check(&bench, true).await;
        assert_eq!((report.damaged, report.lost, report.repaired), (1, 1, 0), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_noticed_where_no_parity_is_stored() {
    let form = Form::shared((12, 12), (4, 4));
    let (bench, content, fragments, header_len) = one_stripe(form).await;
    damage(&bench, &fragments[0], header_len, [7]).await;
    assert!(matches!(get(&bench.store, "k").await, Err(StoreError::Lost { .. })));
    let found = range(&bench.store, "k", 0..4096).await.unwrap();
    assert!(found == content[..4096], "other strips are whole");
    let report = check(&bench, true).await;
    assert_eq!((report.damaged, report.lost, report.repaired), (1, 1, 0), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unique_fragments_beyond_k_may_be_missing_and_come_back_to_their_node() {
    for (write, lost) in [((2, 1), vec![0]), ((5, 3), vec![0, 4]), ((24, 12), (3..15).collect())] {
        let (bench, content, fragments, _) = one_stripe(Form::unique(WIDE, write)).await;
        for &index in &lost {
            let (node, name) = fragments[index];
            bench.nodes[node].delete(name).await.unwrap();
        }
        assert!(get(&bench.store, "k").await.unwrap() == content, "{write:?}");
        let found = range(&bench.store, "k", 10..30_000).await.unwrap();
        assert!(found == content[10..30_000], "{write:?}");
        let report = check(&bench, true).await;
        assert_eq!((report.missing, report.lost), (lost.len() as u64, 0), "{write:?}");
        assert!(report.is_clean(), "{report:?}");
        let now = common::fragments(&bench.nodes).await;
        assert!(fragments.iter().all(|fragment| now.contains(fragment)), "{write:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unique_fragments_may_each_be_damaged_where_others_are_whole() {
    // Runs of four strips: every fragment is damaged, and 15 of 20 strips are whole.
    let (bench, content, fragments, header_len) = one_stripe(Form::unique(WIDE, (5, 3))).await;
    for fragment in &fragments {
        damage(&bench, fragment, header_len, [usize::from(fragment.1.index) % 4]).await;
    }
    assert!(get(&bench.store, "k").await.unwrap() == content);
    let report = check(&bench, true).await;
    assert_eq!((report.damaged, report.lost), (5, 0), "{report:?}");
    assert!(report.is_clean(), "{report:?}");
    assert!(check(&bench, false).await.damaged == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_down_takes_no_writes_and_hides_what_it_has_until_it_is_back() {
    for form in [Form::shared(WIDE, (6, 3)), Form::unique(WIDE, (5, 3))] {
        let (bench, content, fragments, _) = one_stripe(form).await;
        let home = fragments[0].0;
        bench.down(&[home], true);
        let hidden = get(&bench.store, "k").await;
        assert!(matches!(hidden, Err(StoreError::Unavailable { .. })), "{form:?}");
        for key in 0..4 {
            let key = format!("other-{key}");
            put(&bench.store, &key, &content).await;
            assert!(get(&bench.store, &key).await.unwrap() == content);
        }
        let report = check(&bench, true).await;
        assert!(report.unknown > 0 && report.lost == 0 && report.repaired == 0, "{report:?}");
        bench.down(&[home], false);
        for _ in 0..500 {
            if get(&bench.store, "k").await.is_ok_and(|found| found == content) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(get(&bench.store, "k").await.unwrap() == content, "{form:?}");
        settle(&bench).await;
        let report = check(&bench, true).await;
        assert!(report.is_clean(), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_node_loses_its_stripes_and_a_check_says_so() {
    for form in [Form::shared(WIDE, (6, 3)), Form::unique(WIDE, (24, 12))] {
        let (bench, _, fragments, _) = one_stripe(form).await;
        wipe(&bench, fragments[0].0).await;
        assert!(matches!(get(&bench.store, "k").await, Err(StoreError::Lost { .. })));
        let report = check(&bench, true).await;
        assert!(report.lost >= 1 && report.repaired == 0, "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_an_answered_write_left_out_are_made_later() {
    let after_answer = AfterAnswer::Cancel;
    let form = Form { after_answer, ..Form::unique(WIDE, (24, 12)) };
    let (bench, content, before, _) = one_stripe(form).await;
    assert!(get(&bench.store, "k").await.unwrap() == content);
    for _ in 0..100 {
        bench.keeper.mend_waiting().await;
        let report = check(&bench, false).await;
        if report.is_clean() {
            let id = before[0].1.stripe;
            let now = fragments(&bench.nodes).await;
            let mine: Vec<_> = now.iter().filter(|(_, name)| name.stripe == id).collect();
            assert_eq!(mine.len(), 24);
            assert!(mine.iter().all(|(node, _)| *node == before[0].0), "all at one node");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not mended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_is_rebuilt_from_a_lone_fragment_whose_first_header_is_damaged() {
    for (layout, offset) in [(Layout::Shared, 0), (Layout::Shared, 40), (Layout::Unique, 9)] {
        let form = match layout {
            Layout::Shared | Layout::Spread => Form::shared(WIDE, (6, 3)),
            Layout::Unique => Form::unique(WIDE, (1, 1)),
        };
        let (mut bench, content, _, _) = one_stripe(form).await;
        for (node, name) in fragments(&bench.nodes).await {
            let mut bytes = read_whole(&bench, node, name).await.to_vec();
            bytes[offset] ^= 1;
            bench.nodes[node].put(name, vec![Bytes::from(bytes)]).await.unwrap();
        }
        rebuild(&mut bench).await;
        assert!(get(&bench.store, "k").await.unwrap() == content, "{layout}");
        let report = check(&bench, true).await;
        assert_eq!((report.damaged, report.repaired), (2, 2), "{report:?}");
        assert!(check(&bench, false).await.is_clean());
    }
}
