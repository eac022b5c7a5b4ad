use crate::{Bound, Fraction, Promise, PromiseError, Tier};
use alloc::string::ToString;
use core::time::Duration;
use proptest::prelude::*;

fn complaint(text: &str) -> alloc::string::String {
    text.parse::<Promise>().unwrap_err().to_string()
}

#[test]
fn a_promise_reads_as_it_is_written() {
    for text in ["0.9:20ms,0.99:50ms,1:500ms", "0.999999999:1ns", "1:2min", "0.5:1.5s,0.75:61s"] {
        assert_eq!(text.parse::<Promise>().unwrap().to_string(), text);
    }
    let promise: Promise = "90%:20 ms, 1.000 : 0.5s".parse().unwrap();
    assert_eq!(promise.to_string(), "0.9:20ms,1:500ms");
    assert_eq!(promise.tiers()[1].bound(), Duration::from_millis(500));
    assert_eq!(promise.tiers()[1].fraction(), Fraction::ALL);
    assert_eq!("3µs".parse::<Bound>().unwrap().0, Duration::from_micros(3));
}

#[test]
fn nonsense_is_refused_with_its_reason() {
    for text in
        ["0", "0.0", "1.1", "101%", "-0.5", "x", "", ".", "1e-3", "0.0000000001", "NaN", "+1"]
    {
        assert!(text.parse::<Fraction>().is_err(), "{text}");
    }
    for text in ["10", "ms", "-1ms", "1.5ns", "10 parsec", "99999999999999999999s", "1.1.1s", "1d"]
    {
        assert!(text.parse::<Bound>().is_err(), "{text}");
    }
    assert!(complaint("1.2:10ms").contains("\"1.2\" is no fraction"), "{}", complaint("1.2:10ms"));
    assert!(complaint("0.9:10").contains("\"10\" is no bound"));
    assert!(complaint("0.9").contains("\"0.9\" is no tier"));
    assert!(complaint("").contains("is no tier"));
    assert_eq!(complaint("0.9:0ms"), "a bound must be above 0");
    assert!(complaint("0.9:10ms,0.9:20ms").starts_with("tier 0.9:20ms must promise more requests"));
    assert!(complaint("0.9:10ms,1:10ms").starts_with("tier 1:10ms must"));
    assert_eq!(Promise::new([].into()), Err(PromiseError::Count { tiers: 0 }));
    let many = (1..=17).map(|at| {
        Tier::new(Fraction::from_billionths(at).unwrap(), Duration::from_millis(at.into())).unwrap()
    });
    assert_eq!(Promise::new(many.collect()), Err(PromiseError::Count { tiers: 17 }));
    let long = Tier::new(Fraction::ALL, Duration::MAX).unwrap_err().to_string();
    assert!(long.ends_with("is more than 584 years"), "{long}");
}

#[test]
fn a_share_of_requests_is_exact() {
    let of = |fraction: &str, requests| fraction.parse::<Fraction>().unwrap().of(requests);
    assert_eq!(of("0.9", 24_783), 22_305);
    assert_eq!(of("0.57", 100), 57);
    assert_eq!(of("1", u64::MAX), u64::MAX);
    assert_eq!(of("0.000000001", 1), 1);
    assert_eq!(of("0.5", 0), 0);
}

proptest! {
    #[test]
    fn every_tier_reads_as_it_is_written(billionths in 1..=1_000_000_000u32, nanos in 1..=u64::MAX) {
        let fraction = Fraction::from_billionths(billionths).unwrap();
        let tier = Tier::new(fraction, Duration::from_nanos(nanos)).unwrap();
        prop_assert_eq!(tier.to_string().parse::<Tier>().unwrap(), tier);
    }
}
