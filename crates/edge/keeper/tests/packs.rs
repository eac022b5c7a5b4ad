//! Packs are kept as other stripes are, and a catalog is made again from what they tell.

mod common;

use bytes::Bytes;
use common::*;
use ripstop_catalog::{
    Attributes, Audited as _, Catalog as _, Change, Condition, Object, Versioning,
};
use ripstop_keeper::{CheckOptions, complete};
use ripstop_model::{FragmentId, StripeId};
use ripstop_node::Node as _;
use ripstop_runtime::{Header, Layout, Seals};
use ripstop_seal::StoreKey;
use ripstop_store::{Deed, Target};
use std::collections::BTreeMap;

/// One form of each layout.
fn forms() -> [Form; 3] {
    [Form::spread(6, 4), Form::shared((7, 4), (3, 2)), Form::unique((24, 12), (5, 3))]
}

fn seals() -> Seals {
    Seals::new(&StoreKey::from_bytes([3; 32])).since(0)
}

const LENS: [usize; 9] = [0, 1, 256, 256, 700, 3000, 9000, 30_000, 5];

/// A store with a pack of objects at "p0", "p1" ..., none of its writes under way.
async fn packed(form: Form, seals: &Seals, encrypt: bool) -> (Bench, Vec<Vec<u8>>) {
    let bench = bench_sealed(form, seals, encrypt);
    bench.store.create_bucket("b").await.expect("made");
    let contents = put_pack(&bench.store, &LENS).await;
    settle(&bench).await;
    (bench, contents)
}

async fn object(bench: &Bench, key: &str) -> Object {
    bench.store.object("b", key).await.expect("there").object.clone()
}

async fn read_all(bench: &Bench, contents: &[Vec<u8>]) {
    for (at, content) in contents.iter().enumerate() {
        assert_eq!(get(&bench.store, &format!("p{at}")).await.expect("read"), *content, "p{at}");
    }
}

/// The fragments of a stripe as they are.
async fn of(bench: &Bench, stripe: StripeId) -> Vec<(usize, FragmentId, Bytes)> {
    let mut all = Vec::new();
    for (node, name) in fragments(&bench.nodes).await {
        if name.stripe == stripe {
            all.push((node, name, read_whole(bench, node, name).await));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_finds_the_members_of_packs_in_every_layout_and_sealing() {
    for form in forms() {
        for (seals, encrypt) in [(Seals::default(), false), (seals(), false), (seals(), true)] {
            let (mut bench, contents) = packed(form, &seals, encrypt).await;
            let before = object(&bench, "p5").await;
            let report = rebuild(&mut bench).await;
            assert!(report.is_whole(), "{report:?}");
            assert_eq!(report.objects, LENS.len() as u64);
            assert_eq!(object(&bench, "p5").await, before);
            read_all(&bench, &contents).await;
            let check = bench.keeper.check(CheckOptions::default(), |_| {}).await;
            assert!(check.expect("checked").is_clean());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_reads_a_directory_from_any_k_fragments_and_counts_what_fewer_would_have_told() {
    for encrypt in [false, true] {
        for lost in [[0, 1], [0, 5], [2, 3], [4, 5]] {
            let (mut bench, contents) = packed(Form::spread(6, 4), &seals(), encrypt).await;
            for node in lost {
                wipe(&bench, node).await;
            }
            let report = rebuild(&mut bench).await;
            assert!(report.is_whole(), "{report:?}");
            read_all(&bench, &contents).await;
        }
    }
    let (mut bench, _) = packed(Form::spread(6, 4), &seals(), false).await;
    for node in 0..3 {
        wipe(&bench, node).await;
    }
    let report = rebuild(&mut bench).await;
    assert!(!report.is_whole());
    assert_eq!((report.objects, report.lost.count), (0, LENS.len() as u64 + 1), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_only_sealed_is_rebuilt_without_its_key_if_the_digest_holds() {
    for is_changed in [false, true] {
        let (mut bench, contents) = packed(Form::spread(6, 4), &seals(), false).await;
        let pack = object(&bench, "p2").await.told_by;
        if is_changed {
            // No seal is verified; the digest tells which strip to leave out.
            for (node, name, whole) in of(&bench, pack).await.into_iter().take(1) {
                let mut changed = whole.to_vec();
                let (_, len) = Header::parse(&whole, &seals()).expect("a header");
                changed[len as usize + 50] ^= 1;
                bench.nodes[node].put(name, vec![changed.into()]).await.expect("put");
            }
        }
        bench.seals = Seals::default().unsealed();
        let report = rebuild(&mut bench).await;
        assert!(report.is_whole() && report.unsealed > 0, "{report:?}");
        assert_eq!(report.objects, LENS.len() as u64);
        if !is_changed {
            read_all(&bench, &contents).await;
        }
    }
}

/// Changes one byte of a fragment's first block and mends the checksum behind it: what somebody can
/// do who has no key, where there is none.
fn forge(whole: &Bytes, name: FragmentId) -> Bytes {
    let (header, len) = Header::parse(whole, &Seals::default()).expect("a header");
    let block_len = header.shape.block_len().bytes().min(header.shape.strip_len()) as usize;
    let mut forged = whole.to_vec();
    let body = len as usize;
    forged[body + 40] ^= 1;
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
    digest.update(&name.stripe.0.to_le_bytes());
    digest.update(&[name.index]);
    digest.update(&0_u32.to_le_bytes());
    digest.update(&forged[body..body + block_len]);
    let seal = digest.finalize().to_le_bytes();
    forged[body + block_len..][..8].copy_from_slice(&seal);
    forged.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_forges_a_part_of_a_directory_changes_nothing_in_a_rebuild() {
    let (mut bench, contents) = packed(Form::spread(6, 4), &Seals::default(), false).await;
    let pack = object(&bench, "p2").await.told_by;
    let whole = of(&bench, pack).await;
    let (node, name, bytes) = whole.iter().find(|(_, name, _)| name.index == 0).expect("there");
    bench.nodes[*node].put(*name, vec![forge(bytes, *name)]).await.expect("put");
    let check = bench.keeper.check(CheckOptions::default(), |_| {}).await.expect("checked");
    assert!(check.is_clean(), "without a key nothing tells: {check:?}");
    let located = object(&bench, "p6").await;
    let report = rebuild(&mut bench).await;
    assert!(report.is_whole(), "{report:?}");
    assert_eq!(report.objects, LENS.len() as u64);
    assert_eq!(object(&bench, "p6").await, located);
    bench.nodes[*node].put(*name, vec![bytes.clone()]).await.expect("put");
    read_all(&bench, &contents).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_in_every_part_of_a_pack_is_noticed_and_mended_and_never_served() {
    for (form, encrypt) in [(forms()[0], false), (forms()[1], true), (forms()[2], false)] {
        let (bench, contents) = packed(form, &seals(), encrypt).await;
        let pack = object(&bench, "p2").await.told_by;
        for (node, name, whole) in of(&bench, pack).await {
            // Headers, directory, members, gaps and parity: a byte in each 997.
            for at in (0..whole.len()).step_by(997).chain([whole.len() - 1]) {
                let mut flipped = whole.to_vec();
                flipped[at] ^= 0x10;
                bench.nodes[node].put(name, vec![flipped.into()]).await.expect("put");
                let report =
                    bench.keeper.check(CheckOptions { repair: true }, |_| {}).await.expect("check");
                assert_eq!((report.damaged, report.repaired), (1, 1), "{name} {at}: {report:?}");
                assert!(read_whole(&bench, node, name).await == whole, "{name} {at}");
            }
            let mut flipped = whole.to_vec();
            flipped.iter_mut().skip(4).step_by(3000).for_each(|byte| *byte ^= 1);
            bench.nodes[node].put(name, vec![flipped.into()]).await.expect("put");
            if form.layout == Layout::Spread {
                read_all(&bench, &contents).await;
            }
            bench.nodes[node].put(name, vec![whole]).await.expect("put");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_pack_shows_neither_bytes_nor_names() {
    let found = |encrypt| async move {
        let bench = bench_sealed(Form::spread(6, 4), &seals(), encrypt);
        bench.store.create_bucket("b").await.expect("made");
        let members = (0..40).map(|at| {
            let mut member = put_member(&format!("a-secret-key-{at}"), &[], Condition::None);
            let attributes = Attributes {
                etag: "a-secret-etag".into(),
                user: vec![("a-secret-name".into(), "x".into())],
                ..Attributes::default()
            };
            let bytes = Bytes::from_static(b"what a-secret is about");
            member.deed = Deed::Put { bytes, attributes, versioning: Versioning::Never };
            member
        });
        for done in write_batch(&bench.store, members).await {
            done.expect("written");
        }
        settle(&bench).await;
        let pack = object(&bench, "a-secret-key-7").await.told_by;
        let all = of(&bench, pack).await;
        assert_eq!(all.len(), 6);
        all.iter().filter(|(_, _, it)| it.windows(8).any(|it| it == b"a-secret")).count()
    };
    assert_eq!(found(true).await, 0);
    assert!(found(false).await >= 4, "the test would see it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_believes_of_each_key_the_latest_whether_packs_tell_it_or_not() {
    let mut bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "over", b"1").await;
    put(&bench.store, "gone", b"1").await;
    put(&bench.store, "kept", b"1").await;
    let (none, absent) = (Condition::None, Condition::Absent);
    let first = [
        put_member("over", b"22", none.clone()),
        delete_member("gone", none.clone()),
        put_member("k", b"k", none.clone()),
        put_member("later", b"packed", none.clone()),
        put_member("kept", b"refused", absent.clone()),
        put_member("stays", b"in the first pack", none.clone()),
    ];
    assert_eq!(write_batch(&bench.store, first).await.iter().filter(|it| it.is_err()).count(), 1);
    put(&bench.store, "later", b"lone").await;
    let second = [
        put_member("over", b"333", none.clone()),
        delete_member("k", none.clone()),
        put_member("new", b"new", absent),
    ];
    assert!(write_batch(&bench.store, second).await.iter().all(Result::is_ok));
    bench.store.delete("b", "new", none).await.expect("deleted");
    settle(&bench).await;
    for _ in 0..2 {
        for (key, content) in [
            ("over", Some(&b"333"[..])),
            ("gone", None),
            ("k", None),
            ("later", Some(b"lone")),
            ("kept", Some(b"1")),
            ("stays", Some(b"in the first pack")),
            ("new", None),
        ] {
            assert_eq!(get(&bench.store, key).await.ok().as_deref(), content, "{key}");
        }
        // What nothing needs any more is swept; what is told of deletions stays as long as that.
        bench.keeper.sweep_garbage().await.expect("swept");
        bench.keeper.sweep_unclaimed().await.expect("swept");
        let report = rebuild(&mut bench).await;
        assert!(report.is_whole() && report.unfinished.count == 0, "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_share_a_members_bytes_and_copies_do_not() {
    let (mut bench, contents) = packed(Form::spread(6, 4), &Seals::default(), false).await;
    let source = bench.store.object("b", "p5").await.expect("there");
    let (pack, attributes) = (source.object.told_by, source.object.attributes.clone());
    let to = |key: &str| Target { key: key.into(), ..target("") };
    let copy = bench.store.copy(&source, to("copy"), attributes.clone()).await.expect("copied");
    assert!(copy.object.extents.iter().all(|extent| extent.stripe != pack), "{copy:?}");
    let onto = bench.store.copy(&source, to("p5"), attributes.clone()).await.expect("copied");
    assert!(onto.object.extents.iter().all(|extent| extent.stripe != pack));
    let upload = bench.store.create_upload(upload_of("b", "parts")).await.expect("begun");
    let seal = ripstop_store::PartSeal { etag: "e".into(), checksum: None, salt: None };
    let part = bench.store.copy_part(&source, 10..2000, &upload, 1, seal).await.expect("copied");
    assert!(part.extents.iter().all(|extent| extent.stripe != pack));
    bench.store.complete_upload(&upload, &[part], attributes, Condition::None).await.expect("put");
    let read = bench.store.object("b", "p6").await.expect("there");
    let tags = vec![("colour".into(), "blue".into())];
    let attributes = Attributes { tags, ..read.object.attributes.clone() };
    let tagged = bench.store.set_attributes("b", "p6", &read, attributes).await.expect("tagged");
    assert_eq!(tagged.extents, read.object.extents);
    for _ in 0..2 {
        read_all(&bench, &contents).await;
        assert_eq!(get(&bench.store, "copy").await.expect("read"), contents[5]);
        assert_eq!(get(&bench.store, "parts").await.expect("read"), contents[5][10..2000]);
        assert_eq!(object(&bench, "p6").await, tagged);
        assert!(rebuild(&mut bench).await.is_whole());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_tells_again_what_a_gateway_did_not_that_was_killed_as_a_pack_was_committed() {
    let mut bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "k", b"was there before").await;
    let before = object(&bench, "k").await;
    // There is room for each alone, and for the first of all.
    set_quota(&bench, Some(1000), None);
    let members = ["m", "k", "l"].map(|key| put_member(key, &[7; 700], Condition::None));
    let refused = write_batch(&bench.store, members).await;
    assert_eq!(refused.iter().filter(|it| it.is_err()).count(), 2);
    let again = object(&bench, "k").await;
    assert!(again.told_by != before.told_by && again.extents == before.extents);
    settle(&bench).await;
    // As if nothing had been told again.
    let untold = |names: Vec<StripeId>| {
        let bench = &bench;
        async move {
            for (node, name) in fragments(&bench.nodes).await {
                if names.contains(&name.stripe) {
                    bench.nodes[node].delete(name).await.expect("deleted");
                }
            }
        }
    };
    let buried = bench.catalog.tombstone("b", "l").await.expect("read").expect("told");
    let telling = [again.told_by, buried.told_by];
    let catalog = ripstop_catalog::Embedded::in_memory(ripstop_catalog::CatalogSettings::default())
        .expect("opens");
    let mut names = BTreeMap::new();
    for (id, stripe) in bench.catalog.stripes_after(StripeId(0), 99).await.expect("read") {
        names.insert(id, stripe);
    }
    untold(telling.to_vec()).await;
    let told_by = object(&bench, "m").await.told_by;
    for (name, id) in bench.catalog.nodes().await.expect("read") {
        let change = Change::NameNode { name };
        let named = catalog.commit_one(1, change).await.expect("named");
        assert_eq!(named.node, Some(id));
    }
    let bucket = bench.catalog.bucket("b").await.expect("read").expect("there");
    let stripes = |ids: &[StripeId]| ids.iter().map(|id| (*id, names[id].clone())).collect();
    let put = |key: &str, object: Object, ids: &[StripeId]| Change::PutObject {
        bucket: "b".into(),
        key: key.into(),
        object,
        stripes: stripes(ids),
        condition: Condition::None,
        quota: ripstop_catalog::Quota::NONE,
    };
    let own = before.told_by;
    let changes = vec![
        Change::CreateBucket { stripes: stripes(&[bucket.told_by]), bucket: bucket.clone() },
        put("k", before.clone(), &[own]),
        put("m", object(&bench, "m").await, &[told_by]),
    ];
    for outcome in catalog.commit(1, changes).await.expect("committed") {
        outcome.expect("applied");
    }
    let nodes = bench.nodes.iter().map(|node| node.clone() as _).collect();
    let kept = store(std::sync::Arc::new(catalog), nodes, bench.form, bench.memory.clone());
    bench.take(kept.clone());
    let report = kept.keeper.check(CheckOptions { repair: true }, |_| {}).await.expect("checked");
    assert!(report.is_clean(), "{report:?}");
    settle(&bench).await;
    for _ in 0..2 {
        assert_eq!(get(&bench.store, "k").await.expect("read"), b"was there before");
        assert_eq!(get(&bench.store, "m").await.expect("read"), [7; 700]);
        assert!(get(&bench.store, "l").await.is_err());
        assert!(rebuild(&mut bench).await.is_whole());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_old_catalog_lacks_of_packs_is_brought_in_and_what_they_tell_otherwise_is_noted() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "old", b"old").await;
    settle(&bench).await;
    // A catalog of this moment.
    let surveyed = || ripstop_keeper::SurveyedPool {
        id: ripstop_model::PoolId(0),
        name: "p".into(),
        code: ripstop_model::Code::new(6, 4).expect("a code"),
        layout: Layout::Spread,
        nodes: (0..)
            .zip(&bench.nodes)
            .map(|(id, node)| ripstop_keeper::SurveyedNode {
                id: ripstop_model::NodeId(id),
                name: format!("d{id}"),
                node: node.clone(),
            })
            .collect(),
    };
    let (old, _) = rebuilt(surveyed()).await;
    let members = ["k", "l", "old"].map(|key| put_member(key, b"packed", Condition::None));
    assert!(write_batch(&bench.store, members).await.iter().all(Result::is_ok));
    let pack = object(&bench, "k").await.told_by;
    bench.store.delete("b", "l", Condition::None).await.expect("deleted");
    put(&bench.store, "old", b"newer").await;
    settle(&bench).await;
    let (found, report) = rebuilt(surveyed()).await;
    assert!(report.is_whole(), "{report:?}");
    let report = complete(&*old, &*found, |_| {}).await.expect("completed");
    assert_eq!((report.objects, report.left_out), (2, 0), "{report:?}");
    let outlived = old.outlived_by(pack, ("", ""), 9).await.expect("read");
    assert_eq!(outlived, ["l", "old"].map(|key| ("b".to_owned(), key.to_owned())));
    assert!(old.tombstone("b", "l").await.expect("read").is_some());
    assert!(old.audit().await.expect("audited").is_clean());
    let again = complete(&*old, &*found, |_| {}).await.expect("completed");
    assert_eq!(again.objects, 0);
}
