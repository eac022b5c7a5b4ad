//! Objects of many small extents are read slice by slice.

mod common;

use common::*;
use ripstop_catalog::{Attributes, Condition, LOCATED_EXTENTS_MAX};
use ripstop_store::{PartSeal, Store};
use std::ops::Range;

/// Parts of each upload, and extents that come of each before.
const PARTS: usize = 16;

/// Makes `key` of these ranges of `source`.
async fn patch(store: &Store, source: &str, ranges: Vec<Range<u64>>, key: &str) {
    let source = store.object("b", source).await.expect("it is there");
    let upload = store.create_upload(upload_of("b", key)).await.expect("begun");
    let mut parts = Vec::new();
    for (number, range) in (1..).zip(ranges) {
        let seal = PartSeal { etag: "e".into(), checksum: None, salt: None };
        let part = store.copy_part(&source, range, &upload, number, seal).await;
        parts.push(part.expect("copied"));
    }
    let attributes = Attributes::default();
    let whole = store.complete_upload(&upload, &parts, attributes, Condition::None).await;
    whole.expect("completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_thousands_of_extents_is_read_from_any_byte_to_any_other() {
    let bench = bench(3, 2);
    let store = &bench.store;
    store.create_bucket("b").await.unwrap();
    let content = bytes(300_000, 7);
    put(store, "whole", &content).await;
    // Of lengths that differ, within both stripes.
    let ranges: Vec<Range<u64>> =
        (1..=PARTS as u64).map(|part| 17_000 * part..17_000 * part + part % 5 + 1).collect();
    let pieces = ranges.iter().map(|range| &content[range.start as usize..range.end as usize]);
    let mut expected = pieces.collect::<Vec<_>>().concat();
    patch(store, "whole", ranges, "k").await;
    for _ in 0..2 {
        patch(store, "k", vec![0..expected.len() as u64; PARTS], "k").await;
        expected = expected.repeat(PARTS);
    }
    let located = store.object("b", "k").await.unwrap();
    assert_eq!(located.object.extents.len(), PARTS.pow(3));
    assert!(located.object.extents.len() > LOCATED_EXTENTS_MAX, "its stripes are looked up");
    let len = expected.len();
    assert!(get(store, "k").await.unwrap() == expected);
    let froms = [0, 1, len / 3, len - 30, len - 1, len];
    for from in froms {
        for to in [from, from + 1, from + 29, from + 2000].map(|to| to.min(len)) {
            let found = range(store, "k", from as u64..to as u64).await.unwrap();
            assert!(found == expected[from..to], "{from}..{to}");
        }
    }
}
