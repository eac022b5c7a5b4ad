//! How much buckets may hold.

use super::{super::quota::describe, refusal};
use crate::config::parse;
use expect_test::expect;
use ripstop_catalog::Quota;

const BOTH: &str = "[quotas]\nbytes = \"1 TiB\"\nobjects = 5\n\
    [quotas.bucket.photos]\nbytes = \"10GiB\"\n\
    [quotas.bucket.\"a.b\"]\nobjects = 1000000\nbytes = 0\n[quotas.bucket.free]\n";

#[test]
fn a_bucket_that_is_named_has_its_own_quota_alone() {
    let quotas = parse(BOTH, []).unwrap().quotas;
    let (tib, gib) = (Some(1 << 40), Some(10 << 30));
    assert_eq!(quotas.of("photos"), Quota { bytes: gib, objects: None });
    assert_eq!(quotas.of("a.b"), Quota { bytes: Some(0), objects: Some(1_000_000) });
    assert_eq!(quotas.of("free"), Quota::NONE);
    assert_eq!(quotas.of("any"), Quota { bytes: tib, objects: Some(5) });
    expect![[r"
        every other bucket: at most 1 TiB and 5 objects
        bucket a.b: at most 0 B and 1000000 objects
        bucket free: no quota
        bucket photos: at most 10 GiB"]]
    .assert_eq(&describe(&quotas).join("\n"));
    assert_eq!(parse("", []).unwrap().quotas.of("any"), Quota::NONE);
    assert!(describe(&parse("", []).unwrap().quotas).is_empty());
}

#[test]
fn variables_set_quotas_too() {
    let variables = [
        ("RIPSTOP_QUOTAS_BYTES", "8 MiB"),
        ("RIPSTOP_QUOTAS_BUCKET", "{ photos = { objects = 3 } }"),
    ];
    let variables = variables.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let quotas = parse(BOTH, variables).unwrap().quotas;
    assert_eq!(quotas.of("photos"), Quota { bytes: None, objects: Some(3) });
    assert_eq!(quotas.of("any").bytes, Some(8 << 20));
}

#[test]
fn a_quota_that_is_none_is_refused() {
    let told = |text: &str| refusal(text, &[]);
    expect![[r#"
        quotas.bucket."photos".bytes is 1048577 TiB: it must be from 0 B to 1048576 TiB
        quotas.objects is 1000000000001: it must be from 0 to 1000000000000
        quotas.bucket."": no bucket has such a name"#]]
    .assert_eq(
        &[
            "[quotas.bucket.photos]\nbytes = \"1048577 TiB\"",
            "[quotas]\nobjects = 1000000000001",
            "[quotas.bucket.\"\"]",
        ]
        .map(told)
        .join("\n"),
    );
    for text in ["[quotas]\nobjects = -1", "[quotas]\nbites = 1", "[quotas.bucket]\nphotos = 7"] {
        assert!(told(text).starts_with("TOML parse error"), "{text}");
    }
}
