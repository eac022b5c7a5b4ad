//! The door that speaks memcached, configured.

use super::check;
use crate::config::{KvPlace, describe, parse};
use expect_test::expect;
use std::time::Duration;

#[test]
fn without_the_section_there_is_no_door_and_an_empty_one_has_memcacheds_defaults() {
    assert_eq!(parse("", []).unwrap().kv, None);
    let config = parse("[kv]\n", []).unwrap();
    let kv = config.kv.as_ref().unwrap();
    assert_eq!(kv.listen, ([127, 0, 0, 1], 11211).into());
    assert_eq!(kv.place, KvPlace::Here { memory_max: 64 << 20 });
    assert_eq!((kv.connections_max, kv.item_max, kv.idle_timeout), (1024, 1 << 20, None));
    let told = "memcached on 127.0.0.1:11211: 64 MiB of items in this process";
    assert!(describe(&config).iter().any(|line| line == told));
}

#[test]
fn all_of_it_can_be_configured_by_file_and_variable() {
    let text = "[kv]\nlisten = \"127.0.0.1:1\"\nrings = [[\"127.0.0.1:2\", \"127.0.0.1:3\"], [\"[::1]:4\"]]\n\
                code = [2, 1]\nshared = true\nmemory_max = \"8 MiB\"\nusers = \"u\"\n\
                tls_certificate = \"c\"\ntls_key = \"k\"\nconnections_max = 7\n\
                connections_per_address_max = 3\nitem_max = \"64 KiB\"\nincoming_max = \"1 MiB\"\n\
                idle_timeout = \"5m\"\n";
    let variable = ("RIPSTOP_KV_STALL_TIMEOUT".to_owned(), "2s".to_owned());
    let config = parse(text, [variable]).unwrap();
    let kv = config.kv.as_ref().unwrap();
    assert_eq!(kv.stall_timeout, Duration::from_secs(2));
    assert_eq!(kv.idle_timeout, Some(Duration::from_mins(5)));
    // Clients, servers, and the port itself.
    assert_eq!(kv.sockets(), 7 + 3 + 1);
    assert_eq!(kv.memory(), 9 << 20);
    let stored_max = |text| match parse(text, []).unwrap().kv.unwrap().place {
        KvPlace::Servers { stored_max, .. } => stored_max,
        KvPlace::Here { .. } => unreachable!("servers are named"),
    };
    assert_eq!(stored_max(text), (3 * 40) << 20, "as much for each server");
    let limited = "[kv]\nrings = [[\"127.0.0.1:2\"]]\nservers_memory_max = \"1 GiB\"\n";
    assert_eq!(stored_max(limited), 1 << 30);
    let told = "memcached on 127.0.0.1:1: items at 3 memcached servers, code (2,1)";
    assert!(describe(&config).iter().any(|line| line == told));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    check("[kv]\ncode = [3, 2]\n", &expect!["kv.code is given without kv.rings"]);
    check(
        "[kv]\nservers_memory_max = \"1 GiB\"\n",
        &expect!["kv.servers_memory_max is given without kv.rings"],
    );
    check(
        "[kv]\nrings = [[\"127.0.0.1:1\"]]\ncode = [3, 2]\n",
        &expect!["kv.rings has 1 rings, and kv.code = [3, 2] takes 3"],
    );
    check(
        "[kv]\nrings = [[\"127.0.0.1:1\"], []]\n",
        &expect!["kv.rings has a ring without servers"],
    );
    check(
        "[kv]\nmemory_max = \"2 MiB\"\n",
        &expect!["kv.memory_max is 2 MiB: it must hold at least 4 items of kv.item_max (1 MiB)"],
    );
    check(
        "[kv]\nincoming_max = \"3 MiB\"\n",
        &expect!["kv.incoming_max is 3 MiB: it must hold at least 4 items of kv.item_max (1 MiB)"],
    );
    check("[kv]\ntls_key = \"k\"\n", &expect!["kv.tls_key is given without kv.tls_certificate"]);
    let refused = super::refusal("[kv]\nport = 11211\n", &[]);
    assert!(refused.contains("unknown field `port`"), "{refused}");
}

#[test]
fn its_memory_counts_beside_the_stores() {
    let config = parse("[kv]\nmemory_max = \"2 GiB\"\n", []).unwrap();
    assert!(config.fits_memory(3 << 30).is_ok());
    expect![
        "store.memory_max, store.catalog_cache, kv.memory_max and kv.incoming_max come to 2400 MiB: this machine has 2 GiB"
    ]
    .assert_eq(&config.fits_memory(2 << 30).unwrap_err().to_string());
}
