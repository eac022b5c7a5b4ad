//! What somebody does who may write to nodes and has no key is found out; and what is left where
//! the key is lost.

mod common;

use bytes::{BufMut as _, Bytes, BytesMut};
use common::*;
use crc_fast::{CrcAlgorithm, Digest, checksum};
use ripstop_catalog::Object;
use ripstop_gateway::{NodeGauge, NodeState};
use ripstop_keeper::{CheckOptions, CheckReport};
use ripstop_model::{FragmentId, StripeId};
use ripstop_node::Node as _;
use ripstop_runtime::{Cut, Header, Seals};
use ripstop_seal::StoreKey;
use std::time::Duration;

fn key() -> StoreKey {
    StoreKey::from_bytes([3; 32])
}

fn seals() -> Seals {
    // A store that was new: every stripe of it is sealed.
    Seals::new(&key()).since(0)
}

/// One form of each layout.
fn forms() -> [Form; 3] {
    [Form::spread(6, 4), Form::shared((7, 4), (3, 2)), Form::unique((24, 12), (5, 3))]
}

async fn check(bench: &Bench, repair: bool) -> CheckReport {
    bench.keeper.check(CheckOptions { repair }, |_| {}).await.expect("checked")
}

/// Every fragment as it is.
async fn all(bench: &Bench) -> Vec<(usize, FragmentId, Bytes)> {
    let mut all = Vec::new();
    for (node, name) in fragments(&bench.nodes).await {
        all.push((node, name, read_whole(bench, node, name).await));
    }
    all
}

async fn object(bench: &Bench, key: &str) -> Object {
    bench.store.object("b", key).await.expect("there").object.clone()
}

/// A block's checksum over its place and bytes: what takes no key.
fn block_checksum(stripe: StripeId, strip: u8, number: u32, block: &[u8]) -> [u8; 8] {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(&stripe.0.to_le_bytes());
    digest.update(&[strip]);
    digest.update(&number.to_le_bytes());
    digest.update(block);
    digest.finalize().to_le_bytes()
}

/// A fragment's header as a program before seals wrote it, in which it fits: records are short
/// here.
fn first_version(header: &Header) -> Vec<u8> {
    let code = header.shape.code();
    let together = if header.cut.is_together() { header.cut.fragments(code) } else { 0 };
    let mut out = BytesMut::new();
    out.put_slice(b"RIPSTOP\x01");
    let len = (52 + header.record.len() + 8).next_multiple_of(64);
    out.put_u32_le(len as u32);
    out.put_u128_le(header.name.stripe.0);
    out.put_slice(&[header.name.index, code.n() as u8, code.k() as u8, header.cut.number(code)]);
    out.put_u32_le(header.shape.payload_len());
    out.put_u16_le(header.origin.pool.0);
    out.put_slice(&[together as u8, 0]);
    out.put_u64_le(header.origin.store);
    out.put_u32_le(header.record.len() as u32);
    out.put_slice(&header.record);
    out.put_bytes(0, len - 8 - out.len());
    let seal = checksum(CrcAlgorithm::Crc64Nvme, &out);
    out.put_u64_le(seal);
    out.to_vec()
}

/// A store with `content` at "k", none of its writes under way.
async fn written(form: Form, seals: &Seals, encrypt: bool, content: &[u8]) -> Bench {
    let bench = bench_sealed(form, seals, encrypt);
    bench.store.create_bucket("b").await.expect("created");
    put(&bench.store, "k", content).await;
    settle(&bench).await;
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_block_with_its_checksum_mended_is_not_served_and_is_named_and_mended() {
    for encrypt in [false, true] {
        let content = bytes(5000, 7);
        let bench = written(Form::spread(6, 4), &seals(), encrypt, &content).await;
        let stripe = object(&bench, "k").await.extents[0].stripe;
        let mine = |fragment: &(usize, FragmentId, Bytes)| fragment.1.stripe == stripe;
        let whole: Vec<_> = all(&bench).await.into_iter().filter(mine).collect();
        for (node, name, bytes) in &whole {
            let (_, len) = Header::parse(bytes, &seals()).expect("a header");
            let (head, body) = bytes.split_at(len as usize);
            let seal_len = body.len() - 1250;
            let mut block = body[..1250].to_vec();
            block[7] ^= 1;
            let mut seal = block_checksum(stripe, name.index, 0, &block).to_vec();
            seal.resize(seal_len, 0);
            let forged = [head, &block, &seal].concat();
            bench.nodes[*node].put(*name, vec![forged.into()]).await.expect("put");
            assert!(get(&bench.store, "k").await.expect("read") == content, "{name}");
            let report = check(&bench, false).await;
            assert_eq!(report.forged + report.damaged, 1, "{report:?}");
            assert!(encrypt || report.forged == 1, "a checksum there is no accident: {report:?}");
            let report = check(&bench, true).await;
            assert!(report.is_clean() && report.repaired == 1, "{report:?}");
            assert!(read_whole(&bench, *node, *name).await == bytes, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_fragment_made_without_the_key_is_not_served_and_is_named_forged() {
    let content = bytes(5000, 7);
    let bench = written(Form::spread(6, 4), &seals(), false, &content).await;
    let stripe = object(&bench, "k").await.extents[0].stripe;
    for (node, name, bytes) in all(&bench).await {
        if name.stripe != stripe {
            continue;
        }
        let (header, len) = Header::parse(&bytes, &seals()).expect("a header");
        let mut block = bytes[len as usize..][..1250].to_vec();
        block[1249] ^= 0x80;
        let seal = block_checksum(stripe, name.index, 0, &block);
        let plain = Header::new(name, header.shape, header.cut, header.origin, header.record);
        let second = plain.encode(&Seals::default()).expect("no key").to_vec();
        for head in [second, first_version(&plain)] {
            let forged = [&head, &block, &seal[..]].concat();
            bench.nodes[node].put(name, vec![forged.into()]).await.expect("put");
            assert!(get(&bench.store, "k").await.expect("read") == content, "{name}");
            let report = check(&bench, true).await;
            assert_eq!((report.forged, report.repaired), (1, 1), "{report:?}");
            assert!(report.is_clean() && read_whole(&bench, node, name).await == bytes);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_believes_no_header_that_takes_no_key_however_many_say_the_same() {
    let mut bench = written(Form::spread(6, 4), &seals(), false, b"what all may see").await;
    put(&bench.store, "secret", b"what nobody may see").await;
    settle(&bench).await;
    let (public, secret) = (object(&bench, "k").await, object(&bench, "secret").await);
    // The key of the one tells of the bytes of the other, in all headers.
    let forged = Object { len: secret.len, extents: secret.extents, ..public.clone() };
    let record: Bytes =
        postcard::to_extend(&(1_u32, "b", "k", &forged), vec![1]).expect("a record").into();
    let mut count = 0;
    for (node, name, bytes) in all(&bench).await {
        if name.stripe != public.told_by {
            continue;
        }
        let (header, len) = Header::parse(&bytes, &seals()).expect("a header");
        let plain = Header::new(name, header.shape, header.cut, header.origin, record.clone());
        let first = first_version(&plain);
        let head: Bytes =
            if count % 2 == 0 { first.into() } else { plain.encode(&Seals::default()).unwrap() };
        let pieces = vec![head, bytes.slice(len as usize..)];
        bench.nodes[node].put(name, pieces).await.expect("put");
        count += 1;
    }
    assert_eq!(count, 6);
    let report = rebuild(&mut bench).await;
    assert_eq!((report.forged, report.objects), (6, 1), "{report:?}");
    assert_eq!(report.damaged, 6, "{report:?}");
    assert!(get(&bench.store, "k").await.is_err(), "nothing is better than what is forged");
    assert_eq!(get(&bench.store, "secret").await.expect("read"), b"what nobody may see");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_forged_header_of_six_changes_nothing_at_a_rebuild() {
    let mut bench = written(Form::spread(6, 4), &seals(), false, b"content").await;
    let told_by = object(&bench, "k").await.told_by;
    let all = all(&bench).await;
    let (node, name, bytes) = all.iter().find(|it| it.1.stripe == told_by).expect("there");
    let (header, len) = Header::parse(bytes, &seals()).expect("a header");
    let plain = Header::new(*name, header.shape, Cut::Spread, header.origin, "other".into());
    let pieces = vec![first_version(&plain).into(), bytes.slice(len as usize..)];
    bench.nodes[*node].put(*name, pieces).await.expect("put");
    let report = rebuild(&mut bench).await;
    assert!(report.is_whole() && report.forged == 1, "{report:?}");
    assert_eq!(get(&bench.store, "k").await.expect("read"), b"content");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_key_a_rebuild_finds_sealed_objects_if_asked_to_and_no_encrypted_ones() {
    for form in forms() {
        for encrypt in [false, true] {
            let content = bytes(700_000, 5);
            let mut bench = written(form, &seals(), encrypt, &content).await;
            for wrong in [Seals::default(), Seals::new(&StoreKey::from_bytes([4; 32]))] {
                bench.seals = wrong.clone();
                let report = rebuild(&mut bench).await;
                assert_eq!((report.objects, report.unsealed), (0, 0), "{report:?}");
                let locked = report.locked.get(&key().id().to_string());
                assert!(locked.is_some_and(|count| *count == report.damaged), "{report:?}");
                assert!(!report.is_whole());
                bench.seals = wrong.unsealed();
                let report = rebuild(&mut bench).await;
                if encrypt {
                    assert_eq!((report.objects, report.is_whole()), (0, false), "{report:?}");
                    continue;
                }
                assert!(report.is_whole() && report.unsealed == report.fragments, "{report:?}");
                assert!(get(&bench.store, "k").await.expect("read") == content);
                assert!(check(&bench, false).await.is_clean());
            }
            bench.seals = seals();
            let report = rebuild(&mut bench).await;
            assert!(report.is_whole() && report.unsealed == 0, "{report:?}");
            assert!(get(&bench.store, "k").await.expect("read") == content, "the key is back");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_pool_reads_ranges_degraded_and_mends_what_it_was() {
    for form in forms() {
        let content = bytes(700_000, 5);
        let bench = written(form, &seals(), true, &content).await;
        let before = all(&bench).await;
        for (from, to) in [(0, 1), (65_535, 65_537), (100_000, 400_000), (699_999, 700_000)] {
            let found = range(&bench.store, "k", from..to).await.expect("read");
            assert!(found == content[from as usize..to as usize], "{from}..{to}");
        }
        if form.nodes > 2 {
            bench.down(&[0, 3], true);
            assert!(get(&bench.store, "k").await.expect("read") == content);
            bench.down(&[0, 3], false);
            // Until they are probed they are out of service.
            let pool = &bench.store.keeping().pools()[0];
            let up = |node: NodeGauge| node.state == NodeState::Up;
            for _ in 0..500 {
                if pool.inspect(|machine| machine.nodes().all(up)) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        // Of every stripe a fragment is gone, and there are strips enough to make it again.
        let gone = before.iter().filter(|(_, name, _)| name.index == 1);
        for (node, name, _) in gone {
            bench.nodes[*node].delete(*name).await.expect("deleted");
        }
        assert!(get(&bench.store, "k").await.expect("read") == content);
        let report = check(&bench, true).await;
        assert!(report.is_clean(), "{report:?}");
        assert!(all(&bench).await == before, "it is byte for byte what it was");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_an_encrypted_pool_show_neither_bytes_nor_names() {
    let content = b"a line that is easily found\n".repeat(9000);
    for (encrypt, form) in forms().into_iter().flat_map(|form| [(false, form), (true, form)]) {
        let bench = bench_sealed(form, &seals(), encrypt);
        bench.store.create_bucket("b").await.expect("created");
        put(&bench.store, "folder/easily-found-name", &content).await;
        put(&bench.store, "folder/easily-found-name-2", b"easily found").await;
        settle(&bench).await;
        let words: [&[u8]; 3] = [b"easily found", b"easily-found", b"etag"];
        for word in words {
            let mut count = 0;
            for (_, _, bytes) in all(&bench).await {
                count += bytes.windows(word.len()).filter(|window| *window == word).count();
            }
            assert_eq!(count == 0, encrypt, "{form:?} {}", String::from_utf8_lossy(word));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stripes_of_the_first_version_are_read_and_mended_as_they_were_beside_sealed_ones() {
    for form in forms() {
        let content = bytes(700_000, 5);
        let mut bench = written(form, &Seals::default(), false, &content).await;
        for (node, name, bytes) in all(&bench).await {
            let (header, len) = Header::parse(&bytes, &Seals::default()).expect("a header");
            let (len, head) = (len as usize, Bytes::from(first_version(&header)));
            let end = if header.cut.is_together() { bytes.len() - len } else { bytes.len() };
            let last = if header.cut.is_together() { head.clone() } else { Bytes::new() };
            let pieces = vec![head, bytes.slice(len..end), last];
            bench.nodes[node].put(name, pieces).await.expect("put");
        }
        // From now on it seals.
        let now = bench.store.object("b", "k").await.expect("there").object.modified_ms;
        bench.seals = Seals::new(&key()).since(now + 60_000);
        let report = rebuild(&mut bench).await;
        assert!(report.is_whole() && report.forged == 0, "{report:?}");
        let before = all(&bench).await;
        assert!(before.iter().all(|(_, _, bytes)| bytes.starts_with(b"RIPSTOP\x01")));
        assert!(get(&bench.store, "k").await.expect("read") == content);
        for (node, name, _) in before.iter().filter(|(_, name, _)| name.index == 1) {
            bench.nodes[*node].delete(*name).await.expect("deleted");
        }
        let report = check(&bench, true).await;
        assert!(report.is_clean(), "{report:?}");
        assert!(all(&bench).await == before, "mended, in the version that it had");
        put(&bench.store, "new", &content).await;
        settle(&bench).await;
        let told_by = object(&bench, "new").await.told_by;
        let new = all(&bench).await;
        let mut new = new.iter().filter(|(_, name, _)| name.stripe == told_by);
        assert!(new.all(|(_, _, bytes)| Header::parse(bytes, &Seals::default()).is_err()));
        assert!(get(&bench.store, "new").await.expect("read") == content);
    }
}
