//! A catalog made again from fragments, some of which lie.

mod common;

use bytes::Bytes;
use common::{
    Bench, Form, bench, bench_of, bytes, fragments, get, put, read_whole, rebuild, rebuild_from,
    settle, wipe,
};
use ripstop_catalog::{Condition, Object};
use ripstop_keeper::{CheckOptions, RebuildError};
use ripstop_model::{Code, FragmentId, StripeId, StripeShape};
use ripstop_node::{Fault, FaultSettings, Node};
use ripstop_runtime::{Cut, Header, Seals};
use ripstop_store::StoreError;
use std::sync::Arc;

const SECRET: &[u8] = b"TOP SECRET: nobody's business";
const PUBLIC: &[u8] = b"what everybody may read";

/// A store of six nodes, any four of which suffice, with two objects in a bucket.
async fn two_objects() -> Bench {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "public", PUBLIC).await;
    put(&bench.store, "secret", SECRET).await;
    settle(&bench).await;
    bench
}

async fn object(bench: &Bench, key: &str) -> Object {
    bench.store.object("b", key).await.expect("there").object.clone()
}

/// As the headers' records tell of an object.
fn record(key: &str, object: &Object) -> Bytes {
    postcard::to_extend(&(1_u32, "b", key, object), vec![1]).expect("a record").into()
}

/// The header of one of a stripe's fragments, and where that is.
async fn header(bench: &Bench, stripe: StripeId, nth: usize) -> (usize, Header, Bytes) {
    let all = fragments(&bench.nodes).await;
    let (node, name) =
        *all.iter().filter(|(_, name)| name.stripe == stripe).nth(nth).expect("a fragment");
    let whole = read_whole(bench, node, name).await;
    let (header, len) = Header::parse(&whole, &Seals::default()).expect("a header");
    (node, header, whole.slice(len as usize..))
}

async fn plant(bench: &Bench, node: usize, header: &Header, body: Bytes) {
    let bytes = vec![header.encode(&Seals::default()).expect("no key"), body];
    bench.nodes[node].put(header.name, bytes).await.expect("put");
}

/// Makes the headers of some of the fragments that tell of `public` say that it is what `secret`
/// is.
async fn forge(bench: &Bench, how_many: usize) -> Vec<FragmentId> {
    let (public, secret) = (object(bench, "public").await, object(bench, "secret").await);
    let forged = Object { len: secret.len, extents: secret.extents, ..public.clone() };
    let mut names = Vec::new();
    for nth in 0..how_many {
        let (node, header, body) = header(bench, public.told_by, nth).await;
        let header = Header { record: record("public", &forged), ..header };
        plant(bench, node, &header, body).await;
        names.push(header.name);
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_header_changes_nothing_and_is_reported() {
    for how_many in [1, 2] {
        let mut bench = two_objects().await;
        let names = forge(&bench, how_many).await;
        let report = rebuild(&mut bench).await;
        assert_eq!(get(&bench.store, "public").await.expect("read"), PUBLIC);
        assert_eq!((report.objects, report.differing.count), (2, how_many as u64), "{report:?}");
        for name in names {
            let found = report.differing.named.iter().any(|it| it.starts_with(&name.to_string()));
            assert!(found, "{report:?}");
        }
        assert!(report.is_whole());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_k_headers_agree_nothing_is_believed_and_the_key_is_named() {
    let mut bench = two_objects().await;
    forge(&bench, 3).await;
    let report = rebuild(&mut bench).await;
    let public = get(&bench.store, "public").await;
    assert!(matches!(public, Err(StoreError::Catalog(_))), "{public:?}");
    assert_eq!(get(&bench.store, "secret").await.expect("read"), SECRET);
    assert_eq!((report.objects, report.disputed.count), (1, 1), "{report:?}");
    assert!(report.disputed.named[0].contains("no 4 of its headers agree"), "{report:?}");
    assert!(report.disputed.named[0].contains("b/public"), "{report:?}");
    assert!(!report.is_whole());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_adds_no_object_whatever_code_and_however_many_fragments_it_tells_of() {
    let mut bench = two_objects().await;
    let secret = object(&bench, "secret").await;
    let (_, true_header, body) = header(&bench, secret.told_by, 0).await;
    let later = secret.told_by.unix_ms() + 1000;
    let forms = [((1, 1), Cut::Spread), ((6, 4), Cut::Spread), ((6, 4), Cut::Shared)];
    for (at, ((n, k), cut)) in (0..).zip(forms) {
        let stripe = StripeId::new(later, at);
        let forged = Object { told_by: stripe, ..secret.clone() };
        let shape = StripeShape::new(Code::new(n, k).expect("a code"), 0).expect("a shape");
        for index in 0..cut.fragments(shape.code()) as u8 {
            for key in ["public", "new"] {
                let name = FragmentId { stripe, index };
                let record = record(key, &forged);
                let header = Header { name, shape, cut, record, ..true_header.clone() };
                plant(&bench, 2, &header, body.clone()).await;
            }
        }
    }
    let report = rebuild(&mut bench).await;
    assert_eq!(get(&bench.store, "public").await.expect("read"), PUBLIC);
    assert!(get(&bench.store, "new").await.is_err());
    assert_eq!((report.objects, report.disputed.count), (2, 2), "{report:?}");
    // In the pool's own code it looks like a write that was never answered.
    assert_eq!((report.unfinished.count, report.lost.count), (1, 0), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lists_many_stripes_of_another_store_does_not_make_the_store_that_one() {
    let mut bench = two_objects().await;
    let secret = object(&bench, "secret").await;
    let (_, header, body) = header(&bench, secret.told_by, 0).await;
    for at in 0..300 {
        let name = FragmentId { stripe: StripeId::new(5, at), index: 0 };
        let mut header = Header { name, ..header.clone() };
        header.origin.store = 0xbad;
        plant(&bench, 0, &header, body.clone()).await;
    }
    let report = rebuild(&mut bench).await;
    assert_eq!((report.objects, report.foreign), (2, 300), "{report:?}");
    assert_eq!(ripstop_store::identity(&*bench.catalog).await.expect("known"), 1);
    assert_eq!(get(&bench.store, "secret").await.expect("read"), SECRET);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_two_stores_in_equal_number_are_an_error() {
    let mut bench = two_objects().await;
    for (node, name) in fragments(&bench.nodes).await {
        if node < 3 {
            let whole = read_whole(&bench, node, name).await;
            let (mut header, len) = Header::parse(&whole, &Seals::default()).expect("a header");
            header.origin.store = 2;
            plant(&bench, node, &header, whole.slice(len as usize..)).await;
        }
    }
    let refused = rebuild_from(&mut bench, |_, node| node).await;
    assert!(matches!(refused, Err(RebuildError::WhichStore { one: 1, other: 2 })), "{refused:?}");
    assert!(!bench.folder.path().join("scratch").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_of_six_away_leave_everything_and_copies_share_their_stripes() {
    let mut bench = two_objects().await;
    let content = bytes(700_000, 1);
    put(&bench.store, "large", &content).await;
    put(&bench.store, "large", &content[..600_000]).await;
    let large = bench.store.object("b", "large").await.expect("there");
    let attributes = large.object.attributes.clone();
    let to = common::target("copy");
    bench.store.copy(&large, to, attributes).await.expect("copied");
    bench.store.delete("b", "large", Condition::None).await.expect("deleted");
    put(&bench.store, "large", b"short").await;
    settle(&bench).await;
    let away = |at: usize, node: Arc<dyn Node>| {
        let fault = Fault::new(node, FaultSettings::default(), 1);
        fault.handle().down(at == 1 || at == 4);
        Arc::new(fault) as Arc<dyn Node>
    };
    // What an earlier one left when it was killed.
    let scratch = bench.folder.path().join("scratch");
    std::fs::create_dir(&scratch).expect("made");
    std::fs::write(scratch.join("seen-1"), b"half a run").expect("written");
    let report = rebuild_from(&mut bench, away).await.expect("rebuilt");
    assert_eq!((report.objects, report.unlisted), (4, 2), "{report:?}");
    assert_eq!(get(&bench.store, "large").await.expect("read"), b"short");
    assert!(get(&bench.store, "copy").await.expect("read") == content[..600_000]);
    assert_eq!(get(&bench.store, "secret").await.expect("read"), SECRET);
    let stripes = bench.catalog.stripes_after(StripeId(0), 100).await.expect("listed");
    assert!(
        stripes.iter().all(|(_, stripe)| stripe.pool == 40),
        "the pool's number is the new one"
    );
    let check = bench.keeper.check(CheckOptions { repair: true }, |_| {}).await.expect("checked");
    assert!(check.is_clean(), "{check:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_had_k_fragments_is_unfinished_and_what_nodes_lost_is_lost() {
    let mut bench = two_objects().await;
    put(&bench.store, "public", b"a newer version").await;
    settle(&bench).await;
    let newer = object(&bench, "public").await.told_by;
    for (node, name) in fragments(&bench.nodes).await {
        if name.stripe == newer && name.index > 1 {
            bench.nodes[node].delete(name).await.expect("deleted");
        }
    }
    let report = rebuild(&mut bench).await;
    assert_eq!(report.unfinished.named, ["b/public"], "{report:?}");
    assert_eq!((report.lost.count, report.objects), (0, 2), "{report:?}");
    assert!(report.is_whole());
    assert_eq!(get(&bench.store, "public").await.expect("read"), PUBLIC);
    for node in [0, 1, 2] {
        wipe(&bench, node).await;
    }
    let report = rebuild(&mut bench).await;
    assert_eq!((report.objects, report.unfinished.count), (0, 0), "{report:?}");
    assert!(report.lost.count >= 2 && !report.is_whole(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_fragment_that_contradicts_itself_is_not_believed() {
    let mut bench = bench_of(Form::shared((24, 12), (6, 3)));
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "public", PUBLIC).await;
    settle(&bench).await;
    let public = object(&bench, "public").await;
    let (node, header, rest) = header(&bench, public.told_by, 0).await;
    let forged = Object { len: 1, ..public };
    let forged = Header { record: record("public", &forged), ..header };
    plant(&bench, node, &forged, rest).await;
    let report = rebuild(&mut bench).await;
    assert_eq!((report.objects, report.disputed.count), (0, 1), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_program_told_is_named_and_not_passed_over_in_silence() {
    let mut bench = two_objects().await;
    let public = object(&bench, "public").await;
    for nth in 0..6 {
        let (node, header, body) = header(&bench, public.told_by, nth).await;
        let record = [&[9], &header.record[1..]].concat();
        plant(&bench, node, &Header { record: record.into(), ..header }, body).await;
    }
    let report = rebuild(&mut bench).await;
    assert_eq!((report.objects, report.unreadable.count), (1, 1), "{report:?}");
    let expected =
        format!("what stripe {} tells: it is of version 9, which a newer program", public.told_by);
    assert!(report.unreadable.named[0].starts_with(&expected), "{report:?}");
    assert!(!report.is_whole());
}
