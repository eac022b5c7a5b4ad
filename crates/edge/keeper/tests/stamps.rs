//! Stamps order what is written as it was written, whatever the clocks say of those who write.

mod common;

use common::{Bench, bench, bytes, get, put, rebuild, settle};
use ripstop_catalog::{Attributes, Change, Condition, Object, Quota, Session, Stamp, Stripe};
use ripstop_model::StripeId;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HOUR: Duration = Duration::from_hours(1);
/// A gateway whose clock is an hour ahead.
const AHEAD: Session = Session(77);

fn in_an_hour() -> u64 {
    (SystemTime::now().duration_since(UNIX_EPOCH).expect("later") + HOUR).as_millis() as u64
}

async fn object(bench: &Bench, key: &str) -> Object {
    bench.store.object("b", key).await.expect("there").object.clone()
}

async fn one_object() -> Bench {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "k", &bytes(10_000, 1)).await;
    settle(&bench).await;
    bench
}

/// Has the gateway ahead write the key, sharing the bytes of what is there.
async fn written_ahead(bench: &Bench) -> Object {
    let present = object(bench, "k").await;
    let told_by = AHEAD.name(in_an_hour(), 1);
    let stripe = bench.catalog.stripes(&[present.told_by]).await.expect("read").remove(0);
    let stripe = Stripe { payload_len: 0, ..stripe.expect("in force") };
    let stamp = Stamp { when: Stamp::at(in_an_hour()), stripe: told_by };
    let ahead = Object { told_by, stamp: Some(stamp), ..present };
    let change = Change::PutObject {
        bucket: "b".into(),
        key: "k".into(),
        object: ahead.clone(),
        stripes: vec![(told_by, stripe)],
        condition: Condition::None,
        quota: Quota::NONE,
    };
    bench.catalog.commit_one(0, change).await.expect("put");
    ahead
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_behind_what_another_gateway_wrote_is_told_again_later_than_that() {
    let mut bench = one_object().await;
    let ahead = written_ahead(&bench).await;
    let content = bytes(20_000, 2);
    put(&bench.store, "k", &content).await;
    let written = object(&bench, "k").await;
    assert!(written.stamp() > ahead.stamp(), "{:?} {:?}", written.stamp(), ahead.stamp());
    assert_eq!(get(&bench.store, "k").await.expect("read"), content);
    settle(&bench).await;
    // The stripe of its bytes tells of it with the earlier stamp; the later telling counts.
    assert_eq!(rebuild(&mut bench).await.objects, 1);
    assert_eq!(object(&bench, "k").await, written);
    assert_eq!(get(&bench.store, "k").await.expect("read"), content);
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_copies_and_deletions_behind_what_another_gateway_wrote_take_effect() {
    let mut bench = one_object().await;
    let ahead = written_ahead(&bench).await;
    let read = bench.store.object("b", "k").await.expect("there");
    let attributes = Attributes { tags: vec![("a".into(), "b".into())], ..Attributes::default() };
    let tagged = bench.store.set_attributes("b", "k", &read, attributes).await.expect("set");
    assert!(tagged.stamp() > ahead.stamp());
    assert_eq!(object(&bench, "k").await, tagged);
    // This gateway knows of the later clock by now; another of its own clock does not.
    let ahead = written_ahead(&bench).await;
    assert!(bench.store.delete("b", "k", Condition::None).await.expect("deleted").object.is_some());
    assert!(bench.store.object("b", "k").await.is_err(), "{ahead:?}");
    settle(&bench).await;
    rebuild(&mut bench).await;
    assert!(bench.store.object("b", "k").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_follows_one_with_a_clock_ahead_stamps_later() {
    let bench = bench(6, 4);
    let until_ms = in_an_hour();
    let reserve = Change::Reserve { session: AHEAD, until_ms };
    bench.catalog.commit_one(0, reserve).await.expect("reserved");
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "k", b"content").await;
    let stamp = object(&bench, "k").await.stamp();
    assert!(stamp.unix_ms() > until_ms, "{stamp:?}");
    assert!(stamp.stripe.unix_ms() < until_ms - 1000, "names of stripes follow the clock");
    let next = bench.catalog.vouched().await.expect("read");
    let own = Session::of(stamp.stripe);
    assert!(next.sessions[&own] >= stamp.unix_ms(), "the next one will be later still");
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_that_come_together_are_told_by_one_stripe() {
    let bench = one_object().await;
    for at in 0..100 {
        put(&bench.store, &format!("o{at}"), b"content").await;
    }
    settle(&bench).await;
    let before = bench.catalog.stripes_after(StripeId(0), 1000).await.expect("read").len();
    let deletions = (0..100).map(|at| {
        let store = bench.store.clone();
        tokio::spawn(async move { store.delete("b", &format!("o{at}"), Condition::None).await })
    });
    for deleted in futures::future::join_all(deletions).await {
        assert!(deleted.expect("it does not panic").expect("deleted").object.is_some());
    }
    let after = bench.catalog.stripes_after(StripeId(0), 1000).await.expect("read").len();
    // The hundred that told of the objects are garbage.
    assert!((1..=20).contains(&(after + 100 - before)), "{before} stripes before, {after} after");
}
