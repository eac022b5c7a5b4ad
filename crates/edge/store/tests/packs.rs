//! Many small objects and deletions are one stripe and one transaction; each answers for itself.

mod common;

use common::*;
use ripstop_catalog::{CatalogError, Condition, Object, Refusal};
use ripstop_runtime::Layout;
use ripstop_store::{Batch, Deed, Done, MEMBERS_MAX, Member, StoreError, Target};
use std::collections::BTreeSet;

fn object(done: &Result<Done, StoreError>) -> &Object {
    match done {
        Ok(Done::Put(object)) => object,
        other => panic!("{other:?}"),
    }
}

fn refusal(done: &Result<Done, StoreError>) -> &Refusal {
    match done {
        Err(StoreError::Catalog(CatalogError::Refused(refusal))) => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_read_whole_and_in_ranges_in_every_layout() {
    for form in Form::all() {
        let bench = bench_of(form);
        bench.store.create_bucket("b").await.expect("made");
        let before = fragments(&bench.nodes).await.len();
        let lens = [0, 1, 255, 256, 4096, 5000, 30_000, 700, 64, 12];
        let contents = put_pack(&bench.store, &lens).await;
        settle(&bench).await;
        let names = fragments(&bench.nodes).await;
        let stripes: BTreeSet<_> = names.iter().map(|(_, name)| name.stripe).collect();
        assert_eq!(stripes.len(), 2, "the bucket's and the pack");
        if form.layout == Layout::Spread {
            assert_eq!(names.len() - before, form.code.0);
        }
        for (at, content) in contents.iter().enumerate() {
            let key = format!("p{at}");
            assert_eq!(get(&bench.store, &key).await.expect("read"), *content, "{form:?} {key}");
            let len = content.len() as u64;
            let part = range(&bench.store, &key, len / 3..len / 2).await.expect("read");
            assert_eq!(part, content[content.len() / 3..content.len() / 2]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_member_is_one_request_at_one_node_for_one_block_and_its_seal() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    let contents = put_pack(&bench.store, &[256; 200]).await;
    settle(&bench).await;
    let mut lone = 0;
    for (at, content) in contents.iter().enumerate() {
        let (gets, bytes) = (bench.gets(), bench.got_bytes());
        assert_eq!(get(&bench.store, &format!("p{at}")).await.expect("read"), *content);
        let moved = bench.got_bytes() - bytes;
        if bench.gets() - gets == 1 {
            lone += 1;
            assert!((256 + 8..=4096 + 8).contains(&moved), "{moved} bytes");
        }
    }
    // A node that does not answer in time, as on a busy machine, is not waited for.
    assert!(lone >= 180, "{lone} of 200 were one request");
    // Larger ones lie in one strip, too, and are one request.
    let contents = put_pack(&bench.store, &[9000; 30]).await;
    settle(&bench).await;
    let mut asked = Vec::new();
    for _ in 0..5 {
        let (gets, bytes) = (bench.gets(), bench.got_bytes());
        let read = range(&bench.store, "p3", 5000..5001).await.expect("read");
        assert_eq!(read, contents[3][5000..5001]);
        asked.push((bench.gets() - gets, bench.got_bytes() - bytes));
        let gets = bench.gets();
        assert_eq!(get(&bench.store, "p4").await.expect("read"), contents[4]);
        asked.push((bench.gets() - gets, 0));
    }
    assert!(asked.contains(&(1, 4096 + 8)) && asked.contains(&(1, 0)), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_256_bytes_takes_little_more_than_its_bytes_and_record_at_the_nodes() {
    for count in [64, 256, 1000] {
        let bench = bench(6, 4);
        bench.store.create_bucket("b").await.expect("made");
        settle(&bench).await;
        let stored = || async {
            let mut stored = 0;
            for (node, name) in fragments(&bench.nodes).await {
                stored += read_whole(&bench, node, name).await.len();
            }
            stored
        };
        let before = stored().await;
        put_pack(&bench.store, &vec![256; count]).await;
        settle(&bench).await;
        // What is told of a document apart: its bucket, its key, and the record of the object.
        let told = bench.store.object("b", "p7").await.expect("there").object.clone();
        let record = ripstop_form::encode(&told, Vec::new()).len() + "b".len() + "p7".len();
        let each = (stored().await - before) as f64 / count as f64;
        let factor = each / (256 + record) as f64;
        assert!(factor <= 2.2, "{count}: {each} bytes for 256 + {record}, {factor}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_member_answers_for_itself_and_what_is_refused_changes_nothing() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "there", b"was there before").await;
    put(&bench.store, "gone", b"goes").await;
    put(&bench.store, "tagged", b"tagged").await;
    let tagged = bench.store.object("b", "tagged").await.expect("there");
    let mut retold = tagged.object.clone();
    retold.attributes.tags = vec![("colour".into(), "blue".into())];
    let condition = Condition::ToldBy(retold.told_by);
    // There is room for each of two alone.
    set_quota(&bench, Some(1000), None);
    let members = [
        put_member("new", &[7; 700], Condition::Absent),
        put_member("there", &[8; 700], Condition::None),
        delete_member("gone", Condition::Present),
        delete_member("never", Condition::None),
        delete_member("there2", Condition::Present),
        Member { target: Target { condition, ..target("tagged") }, deed: Deed::Retell(retold) },
        Member {
            target: Target { bucket: "nowhere".into(), ..target("k") },
            deed: put_member("k", b"k", Condition::None).deed,
        },
    ];
    let done = write_batch(&bench.store, members).await;
    let pack = object(&done[0]).told_by;
    assert!(matches!(refusal(&done[1]), Refusal::QuotaExceeded { .. }));
    assert!(matches!(&done[2], Ok(Done::Deleted(Some(_)))), "{:?}", done[2]);
    assert!(matches!(&done[3], Ok(Done::Deleted(None))), "{:?}", done[3]);
    assert_eq!(refusal(&done[4]), &Refusal::NoSuchKey);
    assert_eq!(object(&done[5]).told_by, pack);
    assert_eq!(object(&done[5]).extents, tagged.object.extents, "its bytes are where they were");
    assert_eq!(refusal(&done[6]), &Refusal::NoSuchBucket);
    assert_eq!(get(&bench.store, "new").await.expect("read"), [7; 700]);
    assert_eq!(get(&bench.store, "there").await.expect("read"), b"was there before");
    assert_eq!(get(&bench.store, "tagged").await.expect("read"), b"tagged");
    assert!(get(&bench.store, "gone").await.is_err());
    let tags = bench.store.object("b", "tagged").await.expect("there");
    assert_eq!(tags.object.attributes.tags, [("colour".to_owned(), "blue".to_owned())]);
    // What was refused is told again before the answer, later than the pack tells it.
    let there = bench.store.object("b", "there").await.expect("there");
    assert!(there.object.told_by > pack && there.object.stamp() > object(&done[0]).stamp());
    let outlived = bench.catalog.outlived_by(pack, ("", ""), 10).await.expect("read");
    let name = |bucket: &str, key: &str| (bucket.to_owned(), key.to_owned());
    assert_eq!(outlived, [name("b", "there"), name("nowhere", "k")]);
    let buried = bench.catalog.tombstone("nowhere", "k").await.expect("read");
    assert!(buried.expect("told").stamp > object(&done[0]).stamp());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_refuses_those_for_which_there_is_no_room() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    set_quota(&bench, Some(1000), None);
    let members = ["k", "l", "m"].map(|key| put_member(key, &[7; 400], Condition::None));
    let done = write_batch(&bench.store, members).await;
    assert!(done[0].is_ok() && done[1].is_ok());
    assert!(matches!(refusal(&done[2]), Refusal::QuotaExceeded { .. }));
    assert_eq!(held(&bench).await, (800, 2));
    let buried = bench.catalog.tombstone("b", "m").await.expect("read");
    assert!(buried.is_some(), "a rebuild would find it else");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_alone_is_written_as_if_there_were_no_packs() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    let done = write_batch(&bench.store, [put_member("k", &[3; 5000], Condition::None)]).await;
    let lone = object(&done[0]);
    let found = bench.store.object("b", "k").await.expect("there");
    assert_eq!((found.object.extents[0].offset, &found.object), (0, lone));
    assert!(!found.stripes[0].1.is_pack());
    put(&bench.store, "l", b"l").await;
    let gone = ["k", "l"].map(|key| delete_member(key, Condition::None));
    let done = write_batch(&bench.store, gone).await;
    assert!(done.iter().all(|done| matches!(done, Ok(Done::Deleted(Some(_))))), "{done:?}");
    let names = bench.catalog.stripes_after(ripstop_model::StripeId(0), 99).await.expect("read");
    assert!(names.iter().all(|(_, stripe)| !stripe.is_pack()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_that_too_few_nodes_take_is_an_error_for_objects_and_deletes_all_the_same() {
    let bench = bench(6, 4);
    bench.store.create_bucket("b").await.expect("made");
    put(&bench.store, "old", b"old").await;
    put(&bench.store, "gone", b"gone").await;
    settle(&bench).await;
    bench.down(&[0, 1, 2], true);
    let members = [
        put_member("new", b"new", Condition::None),
        put_member("old", b"newer", Condition::None),
        delete_member("gone", Condition::None),
    ];
    let done = write_batch(&bench.store, members).await;
    assert!(matches!(done[0], Err(StoreError::Unavailable { .. })), "{:?}", done[0]);
    assert!(matches!(done[1], Err(StoreError::Unavailable { .. })), "{:?}", done[1]);
    assert!(matches!(done[2], Ok(Done::Deleted(Some(_)))), "{:?}", done[2]);
    bench.down(&[0, 1, 2], false);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(get(&bench.store, "old").await.expect("read"), b"old");
    assert!(get(&bench.store, "new").await.is_err());
}

#[test]
fn a_batch_has_each_key_once_and_an_end() {
    let mut batch = Batch::default();
    batch.add(put_member("k", b"1", Condition::None)).expect("room");
    let back = batch.add(delete_member("k", Condition::None)).expect_err("it is there");
    assert!(matches!(back.deed, Deed::Delete { .. }));
    assert!(batch.has("b", "k") && !batch.has("b", "l"));
    for at in 1..MEMBERS_MAX {
        batch.add(delete_member(&at.to_string(), Condition::None)).expect("room");
    }
    assert_eq!(batch.len(), MEMBERS_MAX);
    assert!(batch.add(delete_member("one more", Condition::None)).is_err());
    let mut small = Batch::within(1000);
    small.add(put_member("k", &[1; 5000], Condition::None)).expect("one alone always has room");
    assert!(small.add(put_member("l", b"l", Condition::None)).is_err());
    let mut small = Batch::within(1000);
    for key in ["k", "l", "m"] {
        small.add(put_member(key, &[1; 200], Condition::None)).expect("room");
    }
    assert!(small.bytes() <= 1000);
    assert!(small.add(put_member("n", &[1; 200], Condition::None)).is_err());
}
