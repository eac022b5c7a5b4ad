//! Small writes that come together are written together, and nobody sees more of it than that.

mod common;

use common::*;
use futures::future::join_all;
use ripstop_catalog::{CatalogError, Condition, Refusal};
use ripstop_model::PoolId;
use ripstop_runtime::Seals;
use ripstop_store::{PackSettings, Store, StoreError, StoreSettings, Target, WriteError};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// A store that packs what is shorter than 64 KiB.
fn packing(batching: &str) -> Bench {
    let interval = Duration::from_millis(30);
    let packs = PackSettings {
        below: 64 << 10,
        batching: batching.into(),
        interval,
        ..PackSettings::default()
    };
    let settings = StoreSettings { packs: BTreeMap::from([(PoolId(0), packs)]), ..settings() };
    bench_by(Form::spread(6, 4), &Seals::default(), false, settings).0
}

async fn put_if(
    store: &Store,
    key: &str,
    content: &[u8],
    condition: Condition,
) -> Result<(), WriteError<&'static str>> {
    let target = Target { condition, ..target(key) };
    let body = Pieces::new(content.to_vec());
    store.put(target, content.len() as u64, body).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread")]
async fn small_objects_that_come_together_are_few_stripes() {
    for batching in ["natural", "fixed", "modelled"] {
        let bench = packing(batching);
        bench.store.create_bucket("b").await.expect("made");
        settle(&bench).await;
        let before = fragments(&bench.nodes).await.len();
        let contents: Vec<Vec<u8>> = (0..300).map(|at| bytes(at * 7, at as u64)).collect();
        let keys: Vec<String> = (0..300).map(|at| format!("k{at}")).collect();
        join_all(keys.iter().zip(&contents).map(|(key, content)| put(&bench.store, key, content)))
            .await;
        settle(&bench).await;
        let stripes = (fragments(&bench.nodes).await.len() - before) / 6;
        assert!(stripes <= 30, "{batching}: {stripes} stripes for 300 objects");
        for (key, content) in keys.iter().zip(&contents) {
            assert_eq!(get(&bench.store, key).await.expect("read"), *content, "{key}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_write_is_a_stripe_of_its_own_and_does_not_wait() {
    let bench = packing("modelled");
    bench.store.create_bucket("b").await.expect("made");
    for at in 0..20 {
        put(&bench.store, &format!("k{at}"), b"alone").await;
        let located = bench.store.object("b", &format!("k{at}")).await.expect("there");
        assert!(located.stripes.iter().all(|(_, stripe)| !stripe.is_pack()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_writes_of_one_key_each_is_answered_and_the_last_stays() {
    let bench = packing("natural");
    bench.store.create_bucket("b").await.expect("made");
    settle(&bench).await;
    let before = fragments(&bench.nodes).await.len();
    let contents: Vec<Vec<u8>> = (0..200).map(|at| bytes(1000, at)).collect();
    join_all(contents.iter().map(|content| put(&bench.store, "k", content))).await;
    let last = get(&bench.store, "k").await.expect("read");
    assert!(contents.contains(&last));
    settle(&bench).await;
    let stripes = (fragments(&bench.nodes).await.len() - before) / 6;
    assert!(stripes <= 20, "{stripes} stripes: what was overwritten while it waited never leaves");
    put(&bench.store, "k", b"later").await;
    assert_eq!(get(&bench.store, "k").await.expect("read"), b"later");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_conditional_writes_of_one_key_one_takes_effect() {
    let bench = packing("natural");
    bench.store.create_bucket("b").await.expect("made");
    for round in 0..20 {
        let key = format!("k{round}");
        let contents: Vec<Vec<u8>> = (0..16).map(|at| bytes(300, at)).collect();
        let writes =
            contents.iter().map(|content| put_if(&bench.store, &key, content, Condition::Absent));
        let answers = join_all(writes).await;
        let won: Vec<usize> = (0..16).filter(|at| answers[*at].is_ok()).collect();
        let [won] = won[..] else { panic!("{won:?} of one key were let in") };
        assert_eq!(get(&bench.store, &key).await.expect("read"), contents[won]);
        let is_refusal = |error: &WriteError<_>| {
            matches!(
                error,
                WriteError::Store(StoreError::Catalog(CatalogError::Refused(
                    Refusal::ConditionFailed
                )))
            )
        };
        assert!(
            answers.iter().filter_map(|answer| answer.as_ref().err()).all(is_refusal),
            "{answers:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_leave_with_writes() {
    let bench = packing("natural");
    bench.store.create_bucket("b").await.expect("made");
    let keys: Vec<String> = (0..100).map(|at| format!("k{at}")).collect();
    join_all(keys.iter().map(|key| put(&bench.store, key, b"old"))).await;
    settle(&bench).await;
    let before = fragments(&bench.nodes).await.len();
    let deleted =
        join_all(keys[..50].iter().map(|key| bench.store.delete("b", key, Condition::None)));
    let written = join_all(keys[50..].iter().map(|key| put(&bench.store, key, b"new")));
    let (deleted, _) = tokio::join!(deleted, written);
    for answer in deleted {
        assert_eq!(answer.expect("deleted").object.expect("it was there").len, 3);
    }
    settle(&bench).await;
    let stripes = (fragments(&bench.nodes).await.len() - before) / 6;
    assert!(stripes <= 12, "{stripes} stripes for 100 changes");
    for (at, key) in keys.iter().enumerate() {
        let found = get(&bench.store, key).await.ok();
        assert_eq!(found, (at >= 50).then(|| b"new".to_vec()), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_too_few_nodes_take_a_pack_all_its_writes_fail_and_change_nothing() {
    let bench = packing("natural");
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "k0", b"before").await;
    bench.down(&[0, 1, 2], true);
    let keys: Vec<String> = (0..40).map(|at| format!("k{at}")).collect();
    let writes = keys.iter().map(|key| put_if(&bench.store, key, b"not", Condition::None));
    for answer in join_all(writes).await {
        assert!(answer.is_err());
    }
    bench.down(&[0, 1, 2], false);
    // Until they are probed they are out of service.
    for _ in 0..200 {
        if get(&bench.store, "k0").await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(get(&bench.store, "k0").await.expect("read"), b"before");
    let there = join_all(keys[1..].iter().map(|key| bench.store.object("b", key))).await;
    assert!(there.iter().all(Result::is_err));
    join_all(keys.iter().map(|key| put(&bench.store, key, b"after"))).await;
    assert_eq!(get(&bench.store, "k7").await.expect("read"), b"after");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_shorter_or_longer_than_announced_is_refused() {
    let bench = packing("natural");
    bench.store.create_bucket("b").await.expect("made");
    for len in [9_u64, 11] {
        let answer = bench.store.put(target("k"), len, Pieces::new(bytes(10, 1))).await;
        assert!(
            matches!(answer, Err(WriteError::Store(StoreError::Length { got: 10, .. }))),
            "{answer:?}"
        );
    }
    assert!(bench.store.object("b", "k").await.is_err());
    settle(&bench).await;
}

/// A store that gathers what is longer than its stripes.
async fn narrow() -> Bench {
    let packs = PackSettings { below: 64 << 10, ..PackSettings::default() };
    let packs = BTreeMap::from([(PoolId(0), packs)]);
    let settings = StoreSettings { packs, stripe_max: 4 << 10, ..settings() };
    let bench = bench_by(Form::spread(6, 4), &Seals::default(), false, settings).0;
    bench.store.create_bucket("b").await.expect("made");
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_more_than_a_stripe_is_written_alone() {
    let bench = narrow().await;
    for len in [100, 3000, 4096, 20_000] {
        let content = bytes(len, len as u64);
        put(&bench.store, "k", &content).await;
        assert_eq!(get(&bench.store, "k").await.expect("read"), content);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_caller_asked_for_that_has_gone_is_whole_or_not_there() {
    let bench = packing("fixed");
    bench.store.create_bucket("b").await.expect("made");
    for at in 0..40 {
        let key = format!("k{at}");
        let put = put_if(&bench.store, &key, b"whole", Condition::None);
        _ = tokio::time::timeout(Duration::from_micros(50 * at), put).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    settle(&bench).await;
    for at in 0..40 {
        if let Ok(found) = get(&bench.store, &format!("k{at}")).await {
            assert_eq!(found, b"whole");
        }
    }
}

/// How many times something was counted.
fn times(count: &AtomicU64) -> usize {
    count.load(Relaxed) as usize
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_small_writes_is_counted_where_it_happens() {
    let bench = packing("fixed");
    assert!(bench.store.pack_counts(PoolId(1)).is_none(), "it gathers nothing");
    let counts = bench.store.pack_counts(PoolId(0)).expect("it gathers");
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "first", &bytes(100, 0)).await;
    assert_eq!((times(&counts.alone), times(&counts.bytes)), (1, 100));
    // Until the interval after it is over, the others wait.
    let keys: Vec<String> = (0..40).map(|at| format!("k{}", at.min(30))).collect();
    let content = bytes(10, 1);
    join_all(keys.iter().map(|key| put(&bench.store, key, &content))).await;
    let (alone, together) = (times(&counts.alone), times(&counts.together));
    let collapsed = times(&counts.collapsed);
    assert_eq!((alone + together + collapsed, times(&counts.refused)), (41, 0));
    assert!(together > 1 && collapsed > 0, "{counts:?}");
    let left = alone + together;
    assert_eq!(times(&counts.bytes), 100 + 10 * (left - 1));
    let (members, waited) = (counts.members.buckets(), counts.waited.buckets());
    assert_eq!((members.sum as usize, members.counts[0]), (left, (1.0, alone as u64)));
    assert_eq!(waited.counts.iter().map(|(_, count)| count).sum::<u64>(), left as u64);
    assert!(waited.sum > 0.001, "they waited {} s", waited.sum);
    assert_eq!(bench.store.pack_interval(PoolId(0)), Duration::from_millis(30));
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_find_their_line_full_are_counted_as_refused() {
    let bench = packing("fixed");
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "first", b"alone").await;
    // More of one key than may wait, none of which may take another's place.
    let writes = (0..200).map(|_| put_if(&bench.store, "k", b"new", Condition::Absent));
    let is_busy = |answer: &Result<(), WriteError<_>>| {
        matches!(answer, Err(WriteError::Store(StoreError::Busy { .. })))
    };
    let busy = join_all(writes).await.iter().filter(|answer| is_busy(answer)).count();
    let counts = bench.store.pack_counts(PoolId(0)).expect("it gathers");
    assert!(busy > 0 && times(&counts.refused) == busy, "{busy} were refused, {counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_room_in_any_batch_is_counted_as_alone() {
    let bench = narrow().await;
    put(&bench.store, "k", &bytes(20_000, 1)).await;
    let counts = bench.store.pack_counts(PoolId(0)).expect("it gathers");
    assert_eq!((times(&counts.alone), counts.members.buckets().sum as usize), (1, 0));
}
