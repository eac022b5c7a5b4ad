//! Memory tiers, and pools that keep something there, configured.

use super::check;
use crate::config::{describe, parse};
use expect_test::expect;
use std::time::Duration;

const POOL: &str = "[[pool]]\nname = \"p\"\nhot = \"near-by\"\n";

fn tier(keys: &str) -> String {
    let rings = "rings = [[\"127.0.0.1:2\", \"127.0.0.1:3\"], [\"[::1]:4\"]]";
    format!("[[tier]]\nname = \"near-by\"\n{rings}\n{keys}\n{POOL}")
}

#[test]
fn all_of_it_can_be_configured_by_file_and_variable() {
    let config = parse(&tier(""), []).unwrap();
    let only = &config.tiers[0];
    assert_eq!((only.code.n(), only.code.k(), only.servers()), (2, 2, 3));
    assert_eq!((only.stored_max, only.requests_max), ((3 * 40) << 20, 64 << 20));
    assert_eq!((only.wait, only.shared), (Duration::from_millis(10), false));
    assert_eq!(config.pools[0].hot.as_deref(), Some("near-by"));
    let lines = describe(&config);
    let told = "tier near-by: 120 MiB at 3 memcached servers, code (2,2)";
    assert!(lines.iter().any(|line| line == told), "{lines:?}");
    assert!(lines.iter().any(|line| line == "  what is read often: in tier near-by"), "{lines:?}");
    let text =
        tier("code = [2, 1]\nshared = true\nmemory_max = \"1 GiB\"\nrequests_max = \"8 MiB\"");
    let variable = ("RIPSTOP_TIER_NEAR_BY_WAIT".to_owned(), "3ms".to_owned());
    let config = parse(&text, [variable]).unwrap();
    let only = &config.tiers[0];
    assert_eq!((only.code.k(), only.stored_max, only.requests_max), (1, 1 << 30, 8 << 20));
    assert_eq!((only.wait, only.shared), (Duration::from_millis(3), true));
}

#[test]
fn what_cannot_be_is_refused() {
    check(
        "[[pool]]\nname = \"p\"\nhot = \"t\"\n",
        &expect![[r#"pool "p": hot = "t", and there is no such tier"#]],
    );
    check(
        "[[tier]]\nname = \"kv\"\nrings = [[\"127.0.0.1:2\"]]\n",
        &expect![[
            r#"tier.name "kv": a name is 1 to 64 letters, digits, '-' or '_', and not "kv""#
        ]],
    );
    check(
        &tier("code = [3, 2]"),
        &expect![[r#"tier "near-by": tier.rings has 2 rings, and tier.code = [3, 2] takes 3"#]],
    );
    check(
        "[[tier]]\nname = \"t\"\nrings = [[\"127.0.0.1:2\"], []]\n",
        &expect![[r#"tier "t": tier.rings has a ring without servers"#]],
    );
    check(
        "[[tier]]\nname = \"t\"\nrings = [[\"127.0.0.1:2\"], [\"127.0.0.1:2\"]]\n",
        &expect![[r#"tier "t": tier.rings has server 127.0.0.1:2 twice"#]],
    );
    check(
        &tier("wait = \"2s\""),
        &expect![[r#"tier "near-by": wait is 2 s: it must be from 1 ms to 1 s"#]],
    );
    check(
        &tier("memory_max = \"1 KiB\""),
        &expect![[r#"tier "near-by": memory_max is 1 KiB: it must be from 1 MiB to 1 TiB"#]],
    );
    let refused = super::refusal(&tier("servers = []"), &[]);
    assert!(refused.contains("unknown field `servers`"), "{refused}");
}

#[test]
fn two_that_are_not_both_shared_have_no_server_in_common() {
    let other = |shared: &str| {
        format!("[[tier]]\nname = \"t\"\nrings = [[\"127.0.0.1:3\"]]\nshared = {shared}\n")
    };
    let (open, closed) = (tier("shared = true"), tier("shared = false"));
    assert!(parse(&format!("{}{open}", other("true")), []).is_ok());
    for text in [format!("{}{closed}", other("true")), format!("{}{open}", other("false"))] {
        check(
            &text,
            &expect![[
                r"near-by and t both use server 127.0.0.1:3, and would empty it under each other: give them servers of their own, or say shared = true in both"
            ]],
        );
    }
    let kv = "[kv]\nrings = [[\"127.0.0.1:2\"]]\n";
    let refused = super::refusal(&format!("{kv}{open}"), &[]);
    assert!(refused.starts_with("near-by and kv both use server 127.0.0.1:2"), "{refused}");
}

#[test]
fn its_memory_counts_beside_the_stores() {
    let config = parse(&tier("requests_max = \"2 GiB\""), []).unwrap();
    assert!(config.fits_memory(3 << 30).is_ok());
    expect![
        "store.memory_max and store.catalog_cache, with requests_max of each tier, come to 2336 MiB: this machine has 2 GiB"
    ]
    .assert_eq(&config.fits_memory(2 << 30).unwrap_err().to_string());
}
