use super::{parse, resolve::Place};
use expect_test::{Expect, expect};

fn refusal(text: &str, variables: &[(&str, &str)]) -> String {
    let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    format!("{:#}", parse(text, variables).expect_err("must be refused"))
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&refusal(text, &[]));
}

#[test]
fn nothing_configured_is_six_directories_under_six_four() {
    let config = parse("", []).unwrap();
    assert_eq!(config.pools.len(), 1);
    assert_eq!(config.pools[0].code.to_string(), "(6,4)");
    let ours = |place: &Place| matches!(place, Place::Directory { ours: true, durable: true, .. });
    assert_eq!(config.pools[0].nodes.iter().filter(|node| ours(&node.place)).count(), 6);
    assert!(config.listen.ip().is_loopback() && config.admin.ip().is_loopback());
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
        ("RIPSTOP_SECRET_KEY", "not a part of this"),
        ("HOME", "/"),
    ];
    let variables = variables.map(|(k, v)| (k.to_owned(), v.to_owned()));
    let config = parse(text, variables).unwrap();
    assert_eq!(config.store.grace.as_secs(), 3);
    assert_eq!(config.pools[0].code.to_string(), "(2,1)");
    assert_eq!(config.pools[0].nodes[0].lanes, 3);
    assert_eq!(config.region, "eu-1");
}

#[test]
fn a_refusal_names_the_key_the_value_and_what_would_be_right() {
    check(
        "[store]\ngrace = \"15\"\n",
        &expect![[r#""#]],
    );
    check("[store]\ngraze = \"15m\"\n", &expect![[r#""#]]);
    check("[[pool]]\nname = \"p\"\ncode = [4, 6]\n", &expect![[r#""#]]);
    check("[[pool]]\nname = \"p\"\nanswer_extra = 3\n", &expect![[r#""#]]);
    check("[[pool]]\nname = \"p\"\npolicy = \"best\"\n", &expect![[r#""#]]);
    check("[[node]]\nname = \"a\"\nkind = \"memory\"\n", &expect![[r#""#]]);
    check("[[node]]\nname = \"a\"\nkind = \"memory\"\npath = \"x\"\n", &expect![[r#""#]]);
    check("[store]\nstripe_max = \"1 GiB\"\n", &expect![[r#""#]]);
}

#[test]
fn a_variable_that_names_nothing_is_refused() {
    expect![[r#""#]].assert_eq(&refusal("", &[("RIPSTOP_NODE_X_LANES", "3")]));
    expect![[r#""#]].assert_eq(&refusal("", &[("RIPSTOP_STORE_GRAZE", "3s")]));
}
