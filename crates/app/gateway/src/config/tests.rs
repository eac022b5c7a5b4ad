mod extremes;
mod kv;
mod quotas;
mod tier;

use super::{NodePlace, parse};
use expect_test::{Expect, expect};

fn refusal(text: &str, variables: &[(&str, &str)]) -> String {
    let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    format!("{:#}", parse(text, variables).expect_err("must be refused"))
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&refusal(text, &[]));
}

#[test]
fn a_policy_that_there_is_not_is_answered_with_all_that_are_registered() {
    let all = ripstop_policy::names().collect::<Vec<_>>().join(", ");
    let refused = refusal("[[pool]]\nname = \"p\"\npolicy = \"best\"\n", &[]);
    assert_eq!(refused, format!("pool \"p\": no policy is named \"best\"; there are: {all}"));
    assert!(all.starts_with("fixed, replication, all, greedy, fixed-dimension, tofec"), "{all}");
}

#[test]
fn every_registered_policy_has_its_row_in_the_documentation_of_the_configuration() {
    let text = include_str!("../../../../../docs/configuration.md");
    for name in ripstop_policy::names() {
        assert!(text.contains(&format!("\n| `{name}` | ")), "{name} is not in its table");
    }
}

#[test]
fn nothing_configured_is_six_directories_under_six_four() {
    let config = parse("", []).unwrap();
    assert_eq!(config.pools.len(), 1);
    assert_eq!(config.pools[0].code.to_string(), "(6,4)");
    let ours =
        |place: &NodePlace| matches!(place, NodePlace::Directory { ours: true, durable: true, .. });
    assert_eq!(config.pools[0].nodes.iter().filter(|node| ours(&node.place)).count(), 6);
    assert!(config.signature_v2);
    assert_eq!(config.keeper.uploads_expire_after.as_secs(), 7 * 86_400);
    assert!(config.listen.ip().is_loopback() && !config.admin.is_reached_from_outside());
}

#[test]
fn a_catalog_in_a_database_is_shared_and_its_password_is_not_shown() {
    let variable = |url: &str| [("RIPSTOP_STORE_CATALOG".to_owned(), url.to_owned())];
    let config = parse("", variable("postgres://rip:s3cret@db.internal/cat")).unwrap();
    let url = config.catalog.as_ref().map(ToString::to_string);
    assert_eq!(url.as_deref(), Some("postgres://rip@db.internal:5432/cat"));
    assert!(config.store.is_shared && !format!("{config:?}").contains("s3cret"));
    for url in ["mysql://rip:s3cret@h/c", "postgres://rip:s3cret@h/c?grazing=1", "postgres://"] {
        let error = format!("{:#}", parse("", variable(url)).unwrap_err());
        assert!(error.starts_with("store.catalog: ") && !error.contains("s3cret"), "{error}");
    }
    assert!(!parse("", []).unwrap().store.is_shared);
}

#[test]
fn variables_override_the_file() {
    let text = "[store]\ngrace = \"1m\"\n[[pool]]\nname = \"main\"\ncode = [3, 2]\n\
        [[node]]\nname = \"a-1\"\nkind = \"memory\"\n[[node]]\nname = \"b\"\nkind = \"memory\"\n\
        [[node]]\nname = \"c\"\nkind = \"memory\"\n";
    let variables = [
        ("RIPSTOP_STORE_GRACE", "3s"),
        ("RIPSTOP_POOL_MAIN_CODE", "[2, 1]"),
        ("RIPSTOP_NODE_A_1_LANES", "3"),
        ("RIPSTOP_GATEWAY_REGION", "eu-1"),
        ("RIPSTOP_GATEWAY_SIGNATURE_V2", "false"),
        ("RIPSTOP_STORE_UPLOADS_EXPIRE_AFTER", "1d"),
        ("RIPSTOP_SECRET_KEY", "not a part of this"),
        ("HOME", "/"),
    ];
    let variables = variables.map(|(k, v)| (k.to_owned(), v.to_owned()));
    let config = parse(text, variables).unwrap();
    assert_eq!(config.keeper.grace.as_secs(), 3);
    assert_eq!(config.pools[0].code.to_string(), "(2,1)");
    assert_eq!(config.pools[0].nodes[0].lanes, 3);
    assert_eq!(config.region, "eu-1");
    assert!(!config.signature_v2);
    assert_eq!(config.keeper.uploads_expire_after.as_secs(), 86_400);
}

#[test]
fn a_refusal_names_the_key_the_value_and_what_would_be_right() {
    check(
        "[store]\ngrace = \"15\"\n",
        &expect![[r#"
            TOML parse error at line 2, column 9
              |
            2 | grace = "15"
              |         ^^^^
            "15" is not a time such as "250ms", "30s", "15m" or "6h"
        "#]],
    );
    check(
        "[store]\ngraze = \"15m\"\n",
        &expect![[r#"
            TOML parse error at line 2, column 1
              |
            2 | graze = "15m"
              | ^^^^^
            unknown field `graze`, expected one of `stripe_max`, `stripes_in_flight`, `stripes_ahead`, `memory_max`, `catalog`, `catalog_cache`, `memory_wait`, `catalog_check`, `catalog_scrub_every`, `grace`, `sweep_every`, `list_every`, `uploads_expire_after`, `move_rate_max`, `clean_every`, `clean_rate_max`, `inventory_every`, `lifecycle_every`, `lifecycle_day`, `key_file`, `object_keys_file`
        "#]],
    );
    check(
        "[[pool]]\nname = \"p\"\ncode = [4, 6]\n",
        &expect![[r#"pool "p": code: (4,6) is not a code: 1 ≤ k ≤ n ≤ 255 must hold"#]],
    );
    check(
        "[[pool]]\nname = \"p\"\nanswer_extra = 3\n",
        &expect![[
            r#"pool "p": answer_extra is 3, and the code (6,4) has only 2 fragments to spare"#
        ]],
    );
    check(
        "[[node]]\nname = \"a\"\nkind = \"memory\"\n",
        &expect![[
            r#"pool "default" has 1 nodes, and its code (6,4) needs 6: add [[node]] entries or lower pool.code"#
        ]],
    );
    check(
        "[[node]]\nname = \"a\"\nkind = \"memory\"\npath = \"x\"\n",
        &expect![[r#"node "a": path means nothing for a node of kind Memory"#]],
    );
    check(
        "[store]\nstripe_max = \"1 GiB\"\n",
        &expect!["store.stripe_max is 1 GiB: it must be from 4 KiB to 64 MiB"],
    );
}

#[test]
fn a_number_beyond_its_range_is_refused_with_the_range() {
    let refused = |keys: &str| refusal(keys, &[]);
    expect![[r"
        gateway.connections_max is 0: it must be from 1 to 1000000
        gateway.connections_max is 9000000000000000000: it must be from 1 to 1000000
        gateway.stop_within is 2 h: it must be from 0 ms to 1 h
        store.memory_max is 512 KiB: it must be from 1 MiB to 1 TiB
        store.memory_max is 16000000 TiB: it must be from 1 MiB to 1 TiB
        store.memory_max is 16 MiB: it must hold at least four stripes of store.stripe_max (8 MiB)
        store.sweep_every is 0 ms: it must be from 10 ms to 1 d
        store.stripes_ahead is 65: it must be from 1 to 64"]]
    .assert_eq(
        &[
            "[gateway]\nconnections_max = 0",
            "[gateway]\nconnections_max = 9000000000000000000",
            "[gateway]\nstop_within = \"2h\"",
            "[store]\nmemory_max = \"512 KiB\"",
            "[store]\nmemory_max = \"16000000 TiB\"",
            "[store]\nmemory_max = \"16 MiB\"",
            "[store]\nsweep_every = \"0s\"",
            "[store]\nstripes_ahead = 65",
        ]
        .map(refused)
        .join("\n"),
    );
}

#[test]
fn more_memory_than_the_machine_has_is_refused_where_it_serves() {
    let config = parse("[store]\nmemory_max = \"2 GiB\"\ncatalog_cache = \"1 GiB\"", []).unwrap();
    assert!(config.fits_memory(3 << 30).is_ok());
    expect!["store.memory_max and store.catalog_cache come to 3 GiB: this machine has 2 GiB"]
        .assert_eq(&config.fits_memory(2 << 30).unwrap_err().to_string());
    parse("", []).unwrap().fits_machine().expect("the defaults fit everywhere");
}

#[test]
fn a_variable_that_names_nothing_is_refused() {
    expect!["RIPSTOP_NODE_X_LANES names no node of the configuration"]
        .assert_eq(&refusal("", &[("RIPSTOP_NODE_X_LANES", "3")]));
    expect![[r"
        unknown field `graze`, expected one of `stripe_max`, `stripes_in_flight`, `stripes_ahead`, `memory_max`, `catalog`, `catalog_cache`, `memory_wait`, `catalog_check`, `catalog_scrub_every`, `grace`, `sweep_every`, `list_every`, `uploads_expire_after`, `move_rate_max`, `clean_every`, `clean_rate_max`, `inventory_every`, `lifecycle_every`, `lifecycle_day`, `key_file`, `object_keys_file`
        in `store`
    "]].assert_eq(&refusal("", &[("RIPSTOP_STORE_GRAZE", "3s")]));
}

/// What a pool of these keys comes to, or why it is refused; in the layout shared under (24,12).
fn policy(keys: &str) -> String {
    let text = format!("[[pool]]\nname = \"p\"\nlayout = \"shared\"\n{keys}");
    match parse(&text, []) {
        Ok(config) => {
            let pool = &config.pools[0];
            super::policy::describe(&pool.policy, &pool.policy_settings)
        }
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn a_policy_is_told_what_concerns_it() {
    expect![[r"
        backfill (redundancy on lanes nobody else wants)
        fixed (one code for all), code (3,2)
        tofec (n and k by the backlog), memory 0.99, delay model learned
        tofec (n and k by the backlog), k at most 6, n at most 2 k, memory 0.9, delay model 40 + 15 B ms, 43.5 + 0 B ms
        tofec-multi (the same, for many servers), memory 0.99, delay model 5 + 30 B ms, 95.5 + 5 B ms
        hedge (one more after a set time), code (2,1), after 30ms
        hedge-p95 (one more after the 95th percentile), at first after 100ms
        greedy (whatever lanes idle), n at most 1.5 k"]]
    .assert_eq(
        &[
            "",
            "policy = \"fixed\"\npolicy_code = [3, 2]",
            "policy = \"tofec\"",
            "policy = \"tofec\"\nk_max = 6\nr_max = 2\nmemory = 0.9\ndelay_model = [40, 15, 43.5, 0]",
            "policy = \"tofec-multi\"\ndelay_model = \"s3-2013-b\"",
            "policy = \"hedge\"\npolicy_code = [2, 1]\nhedge_after = \"30ms\"",
            "policy = \"hedge-p95\"",
            "policy = \"greedy\"\nr_max = 1.5",
        ]
        .map(policy)
        .join("\n"),
    );
    let variables =
        [("RIPSTOP_POOL_P_POLICY", "tofec"), ("RIPSTOP_POOL_P_DELAY_MODEL", "[1, 2, 3, 4]")];
    let variables = variables.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let pool = &parse("[[pool]]\nname = \"p\"", variables).unwrap().pools[0];
    assert_eq!(pool.policy_settings.model.map(|model| model.mean_ms), Some(3.0));
    assert_eq!(parse("", []).unwrap().pools[0].policy, "fixed");
}

#[test]
fn where_lanes_wait_for_other_machines_redundancy_is_the_default() {
    let usual = |pool: &str, node: &str| {
        let node = format!("[[node]]\npool = \"p\"\n{node}\n");
        let nodes = format!("{node}name = \"a\"\n[[node]]\nname = \"b\"\nkind = \"memory\"\n");
        let text =
            format!("[[pool]]\nname = \"p\"\ncode = [2, 1]\nanswer_extra = 0\n{pool}\n{nodes}");
        parse(&text, []).unwrap().pools[0].policy.clone()
    };
    let (near, slow) = ("kind = \"memory\"", "kind = \"memory\"\ndelay = \"s3-2025\"");
    let cloud = "kind = \"bucket\"\nendpoint = \"https://s3.example.com\"\nbucket = \"b\"";
    assert_eq!([near, slow, cloud].map(|node| usual("", node)), ["fixed", "backfill", "backfill"]);
    for told in ["read_chunks = 2", "policy_code = [2, 1]", "policy = \"fixed\"", "plan = \"auto\""]
    {
        assert_eq!(usual(told, cloud), "fixed");
    }
}

#[test]
fn what_a_policy_cannot_do_is_refused() {
    expect![[r#"
        pool "p": k_max means nothing for the policy fixed
        pool "p": policy_code means nothing for the policy backfill
        pool "p": hedge_after means nothing for the policy tofec
        pool "p": delay_model means nothing for the policy hedge
        pool "p": read_chunks means nothing in the layout shared
        pool "p": policy_code: (2,3) is not a code: 1 ≤ k ≤ n ≤ 255 must hold
        pool "p": policy_code is (6,5): with the code (24,12) in the layout shared, k must divide 12 and n be at most 24·k/12
        pool "p": policy_code is (7,3): with the code (24,12) in the layout shared, k must divide 12 and n be at most 24·k/12
        pool "p": k_max is 0: it must be from 1 to 255
        pool "p": r_max is 0.5: it must be from 1 to 255
        pool "p": r_max is NaN: it must be from 1 to 255
        pool "p": memory is 1: it must be from 0 to less than 1
        pool "p": hedge_after is 0 ms: it must be from 1 ms to 1 h
        TOML parse error at line 5, column 15
          |
        5 | delay_model = "s3-2025"
          |               ^^^^^^^^^
        "s3-2025" is not [shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb], or the preset "s3-2013-a" or "s3-2013-b"

        TOML parse error at line 5, column 15
          |
        5 | delay_model = [1, 2, 3]
          |               ^^^^^^^^^
        not [shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb], or the preset "s3-2013-a" or "s3-2013-b"

        TOML parse error at line 5, column 15
          |
        5 | delay_model = [1, 2, -3, 4]
          |               ^^^^^^^^^^^^^
        [1.0, 2.0, -3.0, 4.0]: all must be from 0 to 3600000, and mean_ms more than 0
    "#]].assert_eq(
        &[
            "policy = \"fixed\"\nk_max = 6",
            "policy = \"backfill\"\npolicy_code = [3, 2]",
            "policy = \"tofec\"\nhedge_after = \"1s\"",
            "policy = \"hedge\"\ndelay_model = \"s3-2013-a\"",
            "policy = \"fixed\"\nread_chunks = 4",
            "policy = \"fixed\"\npolicy_code = [2, 3]",
            "policy = \"fixed\"\npolicy_code = [6, 5]",
            "policy = \"fixed\"\npolicy_code = [7, 3]",
            "k_max = 0",
            "r_max = 0.5",
            "r_max = nan",
            "policy = \"tofec\"\nmemory = 1.0",
            "policy = \"hedge\"\nhedge_after = \"0s\"",
            "policy = \"tofec\"\ndelay_model = \"s3-2025\"",
            "policy = \"tofec\"\ndelay_model = [1, 2, 3]",
            "policy = \"tofec\"\ndelay_model = [1, 2, -3, 4]",
        ]
        .map(policy)
        .join("\n"),
    );
    check(
        "[[pool]]\nname = \"p\"\npolicy = \"tofec\"\nk_max = 6\n",
        &expect![[r#"pool "p": k_max means nothing in the layout spread: k is 4 there"#]],
    );
    check(
        "[[pool]]\nname = \"p\"\npolicy_code = [4, 2]\n",
        &expect![[
            r#"pool "p": policy_code is (4,2): with the code (6,4) in the layout spread, k must be 4 and n be at most 6·k/4"#
        ]],
    );
    check(
        "[[pool]]\nname = \"p\"\npolicy_code = [5, 4]\nread_chunks = 5\n",
        &expect![[r#"pool "p": read_chunks and policy_code say the same: give one"#]],
    );
}

#[test]
fn a_layout_at_one_node_needs_one_node_and_says_what_is_lost_with_it() {
    let pool = |layout: &str, more: &str| {
        let node = "[[node]]\nname = \"a\"\nkind = \"memory\"\n";
        let text = format!("[[pool]]\nname = \"p\"\nlayout = \"{layout}\"\n{more}{node}");
        super::describe::survival(&parse(&text, []).unwrap().pools[0])
    };
    expect![[r"
        a stripe is one fragment at one node and lost with it; any 12 of its 24 strips may be damaged; a write is answered once the fragment is durable
        a stripe is one fragment at one node and lost with it; any 0 of its 12 strips may be damaged; a write is answered once the fragment is durable
        the fragments of a stripe are at one node and lost with it; for every write the policy chooses n of them, any k of which suffice, within (24,12); it is answered with 1 more than k durable, if there are that many
        any 0 nodes may be lost, a write is answered with 1 of 1 fragments durable
    "]]
    .assert_eq(&format!(
        "{}\n{}\n{}\n{}\n",
        pool("shared", ""),
        pool("shared", "code = [12, 12]\n"),
        pool("unique", ""),
        pool("spread", "code = [1, 1]\n"),
    ));
    let nodes = &parse("[[pool]]\nname = \"p\"\nlayout = \"shared\"\n", []).unwrap().pools[0].nodes;
    assert_eq!(nodes.len(), 6, "as many folders as without a layout");
}

#[test]
fn what_makes_no_sense_in_a_layout_is_refused() {
    check(
        "[[pool]]\nname = \"p\"\nlayout = \"shared\"\nanswer_extra = 1\n",
        &expect![[
            r#"pool "p": answer_extra means nothing in the layout shared: a stripe is one fragment there"#
        ]],
    );
    check(
        "[store]\nmemory_max = \"32 MiB\"\n[[pool]]\nname = \"p\"\nlayout = \"shared\"\ncode = [36, 12]\n",
        &expect![[
            r#"store.memory_max is 32 MiB: half of it must hold a stripe of pool "p", which comes to 24 MiB with the parity of its code (36,12)"#
        ]],
    );
    check(
        "[[pool]]\nname = \"p\"\nlayout = \"unique\"\n[[pool]]\nname = \"q\"\n[[node]]\nname = \"a\"\n\
         kind = \"memory\"\npool = \"q\"\n",
        &expect![[
            r#"pool "p" has 0 nodes, and its code (24,12) needs 1: add [[node]] entries or lower pool.code"#
        ]],
    );
}

#[test]
fn tenants_are_promised_no_more_than_a_pool_has() {
    let pool = "[[pool]]\nname = \"p\"\nlayout = \"shared\"\n[[node]]\nname = \"n\"\nkind = \"memory\"\nlanes = 4\n";
    let tenant = |name: &str, rest: &str| {
        format!("[[tenant]]\nname = \"{name}\"\naccess_keys = [\"KEY{name}\"]\n{rest}\n")
    };
    let promise = "promise = \"0.9:100ms,1:1s\"\ncapacity = 3.0";
    let good = format!("{pool}{}{}", tenant("a", promise), tenant("b", "pools = [\"p\"]"));
    let config = parse(&good, []).unwrap();
    assert_eq!(config.tenants.len(), 2);
    let mut numbers = super::TenantNumbers::default();
    numbers.add(&config.tenants);
    let shaping = super::shaping(&config.pools[0], &config.tenants, &numbers);
    let tiers = &shaping.tenants[0].tiers;
    assert_eq!(tiers.iter().map(|tier| tier.capacity).sum::<u64>() / 1_000_000, 3000);
    assert!(shaping.tenants[1].tiers.is_empty());
    let refused = |rest: &str| refusal(&format!("{pool}{rest}"), &[]);
    let two = tenant("a", promise) + &tenant("b", promise);
    expect![[r#"pool "p" has 4 lanes, and its tenants are promised 6: 2 lanes are missing"#]]
        .assert_eq(&refused(&two));
    let twice = tenant("a", "") + &tenant("b", "").replace("KEYb", "KEYa");
    expect![[r#"access key "KEYa" belongs to two tenants"#]].assert_eq(&refused(&twice));
    let bare = refused(&tenant("a", "promise = \"0.9:100ms\""));
    assert!(bare.starts_with("tenant \"a\": ") && bare.contains("capacity"), "{bare}");
    let falls = refused(&tenant("a", "promise = \"0.9:1s,1:100ms\"\nshare = 0.5"));
    assert!(falls.contains("must promise more requests"), "{falls}");
    let nowhere = refused(&tenant("a", "pools = [\"q\"]"));
    assert!(nowhere.contains("there is no pool \"q\""), "{nowhere}");
}

#[test]
fn what_stands_before_the_ports_is_refused_where_it_is_half_or_wrong() {
    for (text, told) in [
        (
            "trusted_proxies = [\"::1\", \"10.0.0/8\"]",
            "gateway.trusted_proxies: \"10.0.0/8\" is neither an address nor a network such as \
             10.0.0.0/8 or fd00::/8",
        ),
        ("tls_certificate = \"c\"", "gateway.tls_certificate is given without gateway.tls_key"),
        (
            "admin_tls_key = \"k\"",
            "gateway.admin_tls_key is given without gateway.admin_tls_certificate",
        ),
        (
            "admin = \"unix:\"",
            "\"unix:\" is neither an address such as 127.0.0.1:9001 nor unix:/path",
        ),
    ] {
        let refused = refusal(&format!("[gateway]\n{text}\n"), &[]);
        assert!(refused.contains(told), "{refused}");
    }
    let config = parse(
        "[gateway]\nadmin = \"unix:/run/admin\"\ntls_certificate = \"c\"\ntls_key = \"k\"\n",
        [("RIPSTOP_GATEWAY_ADMIN_NAMES".to_owned(), "[\"ripstop.internal\"]".to_owned())],
    )
    .unwrap();
    assert_eq!(config.admin.to_string(), "unix:/run/admin");
    assert_eq!(config.tls.unwrap().key.to_str(), Some("k"));
    assert_eq!((config.admin_tls, config.admin_names), (None, vec!["ripstop.internal".to_owned()]));
}

#[test]
fn a_pool_may_be_a_class_of_storage() {
    let pools = |classes: [&str; 3]| {
        let pool = |(at, class): (usize, &&str)| {
            let line = if class.is_empty() {
                String::new()
            } else {
                format!("storage_class = {class:?}\n")
            };
            format!(
                "[[pool]]\nname = \"p{at}\"\ncode = [1, 1]\n{line}[[node]]\nname = \"n{at}\"\n\
                 pool = \"p{at}\"\nkind = \"memory\"\n"
            )
        };
        classes.iter().enumerate().map(pool).collect::<String>()
    };
    let config = parse(&pools(["", "COLD", "GLACIER"]), []).unwrap();
    let classes: Vec<_> = config.pools.iter().map(|pool| pool.storage_class.as_deref()).collect();
    assert_eq!(classes, [None, Some("COLD"), Some("GLACIER")]);
    let refused = |classes| format!("{:#}", parse(&pools(classes), []).unwrap_err());
    expect![[r#"
        storage_class "COLD" is the first pool's, which keeps what is STANDARD
        storage_class "COLD" is given twice
        storage_class "STANDARD" is each bucket's own pool
        storage_class "cold": a class is 1 to 32 capital letters, digits, '-' or '_'"#]]
    .assert_eq(
        &[["COLD", "", ""], ["", "COLD", "COLD"], ["", "STANDARD", ""], ["", "", "cold"]]
            .map(refused)
            .join("\n"),
    );
}
