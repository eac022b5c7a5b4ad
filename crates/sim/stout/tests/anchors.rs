//! Where the answer is known, and what must hold of every run.

use core::num::NonZero;
use ripstop_batching::{BatchSettings, ControllerSettings};
use ripstop_stout::{Budget, Run, Store, evaluate};
use std::time::Duration;

fn mean_ms(run: &Run) -> f64 {
    run.play(1).latency.mean_ms().expect("writes were answered")
}

#[test]
fn a_lone_writer_that_nobody_hurries_takes_what_a_batch_of_one_takes() {
    let run = Run { load_per_s: 1.0, ..Run::new(Store::SERIAL, "natural") };
    assert!((mean_ms(&run) / 5.05 - 1.0).abs() < 0.02, "{}", mean_ms(&run));
}

#[test]
fn unbatched_writes_are_a_queue_with_general_service() {
    // Pollaczek and Khinchin: service of 5.05 ms with a squared variation of e^0.09 − 1, half load.
    let run = Run { load_per_s: 0.5e3 / 5.05, ..Run::new(Store::SERIAL, "none") };
    let wait = 0.5 * 5.05 * (1.0 + libm::expm1(0.09)) / (2.0 * 0.5);
    assert!((mean_ms(&run) / (5.05 + wait) - 1.0).abs() < 0.05, "{}", mean_ms(&run));
}

#[test]
fn writers_without_an_interval_keep_a_shared_store_busy() {
    // Each write waits half a cycle for its batch and a cycle for its turn.
    let run = Run { writers: 8, load_per_s: 8000.0, ..Run::new(Store::SERIAL, "natural") };
    let cycle = Store::SERIAL.cycle_ms(8, 8000.0);
    assert!((mean_ms(&run) / (1.5 * cycle) - 1.0).abs() < 0.05, "{} of {cycle}", mean_ms(&run));
}

#[test]
fn equal_seeds_are_equal_runs() {
    let run = Run { writers: 8, load_per_s: 2000.0, ..Run::new(Store::SLOWING, "modelled") };
    let played = [1, 1, 2].map(|seed| run.play(seed).latency.mean_ms());
    assert_eq!(played[0], played[1]);
    assert_ne!(played[0], played[2]);
}

#[test]
fn a_load_that_is_too_high_is_told() {
    let run = Run { load_per_s: 1000.0, ..Run::new(Store::SERIAL, "none") };
    assert!(run.play(1).is_saturated);
    let run = Run { writers: 8, load_per_s: 8000.0, ..Run::new(Store::SERIAL, "natural") };
    assert!(!run.play(1).is_saturated);
}

#[test]
fn the_literal_rule_drifts_where_the_load_is_light_and_the_model_does_not() {
    let of = |name| mean_ms(&Run { writers: 8, ..Run::new(Store::SERIAL, name) });
    let natural = of("natural");
    assert!(of("stout") > 10.0 * natural, "{} to {natural}", of("stout"));
    let (ten, modelled) = (of("stout-10"), of("modelled"));
    assert!(ten < 1.5 * natural && modelled < 1.05 * natural, "{ten}, {modelled}, {natural}");
}

/// Ours over the best of the fixed intervals, and over natural batching.
fn ratios(run: &Run, fixed_ms: &[u64]) -> [f64; 2] {
    let fixed = |ms: &u64| {
        let interval = Duration::from_millis(*ms);
        let settings = ControllerSettings { interval, ..ControllerSettings::default() };
        mean_ms(&Run { controller: "fixed", settings, ..*run })
    };
    let best = fixed_ms.iter().map(fixed).fold(f64::INFINITY, f64::min);
    let of = |controller| mean_ms(&Run { controller, ..*run });
    [of("modelled") / best, of("modelled") / of("natural")]
}

#[test]
fn the_model_is_near_the_best_fixed_interval_of_a_shared_store() {
    let scan = [0, 20, 35, 50, 75, 100, 150];
    for (store, load_per_s) in
        [(Store::SERIAL, 2000.0), (Store::SERIAL, 8000.0), (Store::SLOWING, 8000.0)]
    {
        let run = Run { writers: 8, load_per_s, cycles: 120.0, ..Run::new(store, "modelled") };
        let [best, natural] = ratios(&run, &scan);
        assert!(best < 1.1 && natural < 0.75, "{store:?}, {load_per_s}: {best}, {natural}");
    }
}

#[test]
fn the_model_waits_for_no_company_where_that_only_hurts() {
    let cases = [(1, Store::SERIAL, 12_000.0), (8, Store::PARALLEL, 8000.0)];
    for (writers, store, load_per_s) in cases {
        let run = Run { writers, load_per_s, ..Run::new(store, "modelled") };
        let [_, natural] = ratios(&run, &[0]);
        assert!(natural < 1.05, "{writers}, {store:?}: {natural}");
    }
}

#[test]
fn a_budget_for_puts_is_kept() {
    let batch = BatchSettings { puts_per_second_max: Some(10.0), ..BatchSettings::default() };
    let run = Run { batch, load_per_s: 1000.0, ..Run::new(Store::PARALLEL, "modelled") };
    let outcome = run.play(1);
    assert!(outcome.batches as f64 <= 10.01 * outcome.measured_s + 1.0, "{}", outcome.batches);
    assert!(!outcome.is_saturated);
}

#[test]
#[ignore = "a minute; run it after changes to the figures"]
fn figures_are_the_same_whatever_the_number_of_threads() {
    let budget = Budget { seeds: 1, cycles: 2.0 };
    let of = |threads| {
        let evaluation = evaluate(budget, NonZero::new(threads), || ()).unwrap();
        evaluation.report().html()
    };
    assert_eq!(of(1), of(3));
}
