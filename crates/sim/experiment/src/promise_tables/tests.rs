use super::*;
use core::num::NonZero;

const FLOOD: &str = r#"
name = "flood"
policies = ["fixed(1,1)"]
recombination = ["none", "pclock"]
seeds = 2
warmup = 0.0

[[tenant]]
name = "calm"
promise = "0.95:250ms"
capacity = 8

[[tenant]]
name = "loud"
promise = "0.5:300ms,0.9:1s"
share = 0.5
parts = [1, 1]

[[tenant]]
name = "guest"

[[class]]
operation = "read"
bytes = 1_048_576
tenant = "calm"
phase = [{ seconds = 20, rate_per_s = 60 }]

[[class]]
operation = "read"
bytes = 1_048_576
tenant = "loud"
phase = [{ seconds = 5, rate_per_s = 20 }, { seconds = 10, rate_per_s = 600 }]

[[class]]
operation = "read"
bytes = 1000
tenant = "guest"
phase = [{ seconds = 20, rate_per_s = 2 }]

[[node]]
lanes = 16
delay = "s3-2025"
"#;

fn played() -> (Scenario, Vec<Played>) {
    let scenario = Scenario::parse(FLOOD).expect("it is a scenario");
    let played = scenario.play(NonZero::new(2), || ());
    (scenario, played)
}

#[test]
fn a_calm_tenant_is_kept_its_promise_with_a_shaper_and_not_without() {
    let (scenario, played) = played();
    assert_eq!(played.len(), 4);
    let summary = promise_summary(&scenario.promise_table(&played)).unwrap();
    let of = |shaping: &str, tenant: &str| {
        let rows = summary.only("shaping", shaping).unwrap();
        rows.only("tenant", tenant).unwrap()
    };
    assert_eq!(of("none", "calm").numbers("kept").unwrap(), [0.0]);
    assert_eq!(of("pclock", "calm").numbers("kept").unwrap(), [2.0]);
    assert_eq!(of("none", "loud").numbers("refused").unwrap(), [0.0, 0.0]);
    let loud = of("pclock", "loud");
    let [requests, refused] =
        ["requests", "refused"].map(|column| loud.numbers(column).unwrap()[0]);
    assert!(refused > 0.1 * requests && refused < 0.9 * requests, "{refused} of {requests}");
    let admitted = loud.numbers("admitted").unwrap();
    let moved = loud.numbers("moved_down").unwrap()[0];
    assert!((admitted[1] - moved).abs() < 0.5 && moved > 0.0);
    assert!((admitted.iter().sum::<f64>() + refused - requests).abs() < 0.5);
    assert_eq!(of("pclock", "guest").rows()[0][summary.index("tier").unwrap()], Cell::Missing);
}

#[test]
fn equal_seeds_ask_the_same_whatever_the_shaping() {
    let (scenario, played) = played();
    let asked = |at: usize| -> Vec<u64> {
        played[at].outcome.tenants.iter().map(|tenant| tenant.asked).collect()
    };
    assert_eq!((asked(0), asked(1)), (asked(2), asked(3)));
    assert_ne!(asked(0), asked(1));
    assert_eq!(scenario.labels(), ["fixed(1,1), none", "fixed(1,1), pclock"]);
    let text = scenario.promises_text(&played).unwrap();
    assert!(text.contains("0.95:250ms") && text.contains("2 of 2"), "{text}");
    let html = scenario.report(&played).unwrap().html();
    assert!(html.contains("Promised and kept") && html.contains("Tenants over time"));
}

#[test]
fn what_tenants_cannot_have_is_refused() {
    let refusal = |from: &str, to: &str| {
        let text = FLOOD.replacen(from, to, 1);
        assert_ne!(text, FLOOD, "{from:?} is there");
        Scenario::parse(&text).expect_err("must be refused").to_string()
    };
    let missing = refusal("capacity = 8", "capacity = 8.5");
    assert_eq!(
        missing,
        "the pool has 16 lanes, and its tenants are promised 16.5: 0.5 lanes are missing"
    );
    let unknown = refusal("tenant = \"calm\"", "tenant = \"clam\"");
    assert!(unknown.contains("no [[tenant]] of that name"), "{unknown}");
    let parts = refusal("parts = [1, 1]", "parts = [1]");
    assert!(parts.contains("parts has 1 numbers, and the promise 2 tiers"), "{parts}");
    let twice = refusal("[\"none\", \"pclock\"]", "[\"pclock\", \"pclock\"]");
    assert!(twice.contains("twice"), "{twice}");
    let lacks = refusal("phase = [{ seconds = 20, rate_per_s = 2 }]", "");
    assert!(lacks.contains("all must have"), "{lacks}");
    let both = refusal("seeds = 2", "seeds = 2\nloads = [0.5]");
    assert!(both.contains("leave rates_per_s, loads"), "{both}");
}
