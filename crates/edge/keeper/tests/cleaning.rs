//! Small objects are written again, together, and nobody who reads them notices.

mod common;

use common::*;
use ripstop_batching::CleaningRule;
use ripstop_catalog::{Attributes, Condition, Held, Object};
use ripstop_keeper::{CheckOptions, Cleaned};
use ripstop_model::StripeId;
use ripstop_store::{Batch, Done, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// Nothing that is dead is kept, and whatever is short is merged.
const EAGER: CleaningRule = CleaningRule {
    dead_share_max: 0.0,
    dying_share_max: 0.0,
    short_below: 64 << 10,
    short_members_below: 1024,
    merged_len: 1,
    short_max: 2,
};

async fn object(bench: &Bench, key: &str) -> Object {
    bench.store.object("b", key).await.expect("there").object.clone()
}

/// Its stripes in force, and what holds them.
async fn held_stripes(bench: &Bench) -> BTreeMap<StripeId, Held> {
    let stripes = bench.catalog.stripes_after(StripeId(0), 100_000).await.expect("read");
    let ids: Vec<StripeId> = stripes.into_iter().map(|(id, _)| id).collect();
    let held = bench.catalog.held(&ids).await.expect("read");
    ids.into_iter().zip(held).map(|(id, held)| (id, held.expect("in force"))).collect()
}

/// Bytes of packs' payloads, and how many of them are of use.
async fn packed(bench: &Bench) -> (u64, u64) {
    let held = held_stripes(bench).await;
    let packs = held.values().filter(|held| held.stripe.is_pack());
    packs.fold((0, 0), |(bytes, useful), held| {
        (bytes + u64::from(held.stripe.payload_len), useful + held.useful())
    })
}

/// That everything is where the catalog says, and a rebuild finds the same.
async fn must_be_sound(bench: &mut Bench, keys: &[(String, Vec<u8>)]) {
    settle(bench).await;
    bench.keeper.sweep_garbage().await.expect("swept");
    let report = bench.keeper.check(CheckOptions::default(), |_| {}).await.expect("checked");
    assert!(report.is_clean() && report.catalog.findings.is_empty(), "{report:?}");
    let mut before = Vec::new();
    for (key, content) in keys {
        assert_eq!(get(&bench.store, key).await.expect("read"), *content, "{key}");
        before.push(object(bench, key).await);
    }
    let rows = held_stripes(bench).await;
    let report = rebuild(bench).await;
    assert!(report.is_whole(), "{report:?}");
    assert_eq!(report.objects, keys.len() as u64, "nothing comes back");
    for ((key, content), before) in keys.iter().zip(before) {
        assert_eq!(get(&bench.store, key).await.expect("read"), *content, "{key}");
        assert_eq!(object(bench, key).await, before);
    }
    // The pool has another number now.
    let known = |held: &BTreeMap<StripeId, Held>| {
        let facts = |held: &Held| (held.useful(), held.stripe.members, held.stripe.member_bytes);
        held.iter().map(|(id, held)| (*id, facts(held))).collect::<Vec<_>>()
    };
    assert_eq!(known(&held_stripes(bench).await), known(&rows));
}

/// What must stay of an object that was written again.
fn seen(object: &Object) -> Object {
    let (told_by, extents) = Default::default();
    Object { told_by, extents, ..object.clone() }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_alive_in_mostly_dead_packs_is_told_again_as_it_was_and_the_packs_go() {
    for form in [Form::spread(6, 4), Form::shared((7, 4), (3, 2)), Form::unique((24, 12), (5, 3))] {
        let mut bench = bench_of(form);
        bench.store.create_bucket("b").await.expect("made");
        let lens = [300, 4000, 9000, 20_000, 0, 1, 70_000, 700];
        let contents = put_pack(&bench.store, &lens).await;
        let pack = object(&bench, "p1").await.told_by;
        // One has other tags, told elsewhere; two are deleted, one is written again.
        let tagged = bench.store.object("b", "p2").await.expect("there");
        let tags = vec![("a".into(), "b".into())];
        let attributes = Attributes { tags, ..tagged.object.attributes.clone() };
        bench.store.set_attributes("b", "p2", &tagged, attributes).await.expect("told");
        for key in ["p0", "p6"] {
            bench.store.delete("b", key, Condition::None).await.expect("deleted");
        }
        put(&bench.store, "p3", b"again").await;
        settle(&bench).await;
        let keys: Vec<(String, Vec<u8>)> = (0..)
            .zip(contents)
            .filter(|(at, _)| ![0, 3, 6].contains(at))
            .map(|(at, content)| (format!("p{at}"), content))
            .chain([("p3".into(), b"again".to_vec())])
            .collect();
        let mut before = Vec::new();
        for (key, _) in &keys {
            before.push(seen(&object(&bench, key).await));
        }
        let cleaned = bench.keeper.clean(&EAGER).await.expect("cleaned");
        // Five objects of the pack; the deletions stay where they are told.
        assert_eq!((cleaned.packs, cleaned.objects, cleaned.overtaken), (1, 5, 0));
        assert!(!held_stripes(&bench).await.contains_key(&pack));
        for ((key, _), before) in keys.iter().zip(before) {
            let after = object(&bench, key).await;
            assert_eq!(seen(&after), before);
            assert!(after.told_by != pack && after.extents.iter().all(|it| it.stripe != pack));
        }
        must_be_sound(&mut bench, &keys).await;
        assert_eq!(bench.keeper.clean(&EAGER).await.expect("cleaned"), Cleaned::default());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stripes_of_lone_objects_and_deletions_become_few_packs() {
    let mut bench = bench_gathering(Form::spread(6, 4), 4096);
    bench.store.create_bucket("b").await.expect("made");
    let mut keys = Vec::new();
    for at in 0..120 {
        let content = bytes(at * 13, at as u64);
        put(&bench.store, &format!("k{at:03}"), &content).await;
        keys.push((format!("k{at:03}"), content));
    }
    // What is not small stays alone: its last stripe is as short as an object.
    let large = bytes((8 << 20) + 100, 5);
    put(&bench.store, "large", &large).await;
    for (key, _) in keys.split_off(100) {
        bench.store.delete("b", &key, Condition::None).await.expect("deleted");
    }
    keys.push(("large".into(), large));
    settle(&bench).await;
    let before = held_stripes(&bench).await.len();
    assert_eq!(before, 123, "100 objects, 20 deletions, a bucket, and two of what is not small");
    let rule = CleaningRule { merged_len: 1 << 30, short_max: 10_000, ..EAGER };
    assert_eq!(bench.keeper.clean(&rule).await.expect("cleaned"), Cleaned::default());
    let cleaned = bench.keeper.clean(&EAGER).await.expect("cleaned");
    assert_eq!((cleaned.packs, cleaned.stripes, cleaned.overtaken), (1, 120, 0), "{cleaned:?}");
    let after = held_stripes(&bench).await.len();
    assert_eq!(after, 4, "a pack, the bucket, and two of what is not small");
    assert_eq!(bench.keeper.clean(&EAGER).await.expect("cleaned"), Cleaned::default());
    must_be_sound(&mut bench, &keys).await;
    // Now nothing tells of what was deleted any more: nor need the deletions be told.
    bench.keeper.sweep_garbage().await.expect("swept");
    for at in 100..120 {
        let buried = bench.catalog.tombstone("b", &format!("k{at:03}")).await.expect("read");
        assert_eq!(buried, None, "k{at:03}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_writes_meanwhile_stays() {
    let mut bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    let contents = put_pack(&bench.store, &[300; 6]).await;
    let pack = object(&bench, "p0").await.told_by;
    settle(&bench).await;
    let found = bench.store.keeping().survivors(pack).await.expect("read");
    let members = found.expect("all that holds it");
    assert_eq!(members.len(), 6);
    // While they are on their way, one is written and one deleted.
    put(&bench.store, "p0", b"later").await;
    bench.store.delete("b", "p1", Condition::None).await.expect("deleted");
    let mut batch = Batch::default();
    for member in members {
        batch.add(member).expect("room");
    }
    let pool = bench.store.keeping().pools()[0].id();
    let done = bench.store.write_batch(pool, batch).await;
    let refused: Vec<bool> = done.iter().map(Result::is_err).collect();
    assert_eq!(refused, [true, true, false, false, false, false]);
    assert!(done[0].as_ref().is_err_and(|error| matches!(error, StoreError::Catalog(_))));
    assert!(matches!(done[2], Ok(Done::Put(_))));
    let mut keys: Vec<(String, Vec<u8>)> =
        (2..6).map(|at| (format!("p{at}"), contents[at].clone())).collect();
    keys.push(("p0".into(), b"later".to_vec()));
    must_be_sound(&mut bench, &keys).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_half_of_all_objects_are_deleted_a_quarter_is_dead_at_most() {
    let mut bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    let (packs, members) = (12, 200);
    let mut keys = Vec::new();
    for pack in 0..packs {
        let mut batch = Vec::new();
        for at in 0..members {
            let (key, len) = (format!("k{pack}-{at}"), 100 + 37 * ((at * 7 + pack) % 50));
            let content = bytes(len, (pack * members + at) as u64);
            batch.push(put_member(&key, &content, Condition::None));
            keys.push((key, content));
        }
        for done in write_batch(&bench.store, batch).await {
            assert!(done.is_ok());
        }
    }
    let written: usize = keys.iter().map(|(_, content)| content.len()).sum();
    let (bytes, useful) = packed(&bench).await;
    assert_eq!(bytes, useful, "nothing is dead");
    let deleted: BTreeSet<usize> = (0..keys.len()).filter(|at| at * at % 7 < 3).collect();
    assert!(deleted.len() > keys.len() / 3);
    for chunk in deleted.iter().copied().collect::<Vec<_>>().chunks(200) {
        let gone = chunk.iter().map(|at| delete_member(&keys[*at].0, Condition::None));
        write_batch(&bench.store, gone).await;
    }
    let mut at = 0..;
    keys.retain(|_| !deleted.contains(&at.next().expect("endless")));
    let rule = CleaningRule { short_below: 0, ..CleaningRule::default() };
    let (bytes, useful) = packed(&bench).await;
    assert!(4 * (bytes - useful) > bytes, "{useful} of {bytes} are of use");
    let cleaned = bench.keeper.clean(&rule).await.expect("cleaned");
    let (bytes, useful) = packed(&bench).await;
    assert!(4 * (bytes - useful) <= bytes, "{useful} of {bytes} are of use");
    assert!(cleaned.bytes < written as u64, "{cleaned:?} of {written}");
    settle(&bench).await;
    assert_eq!(bench.keeper.clean(&rule).await.expect("cleaned"), Cleaned::default());
    must_be_sound(&mut bench, &keys).await;
}
