//! How long the search takes: `cargo test --release -p ripstop-shaping --test speed -- --ignored
//! --nocapture`.

use ripstop_delay::Dice;
use ripstop_model::Timestamp;
use ripstop_shaping::{AdmissionRule, Arrivals, Fraction, Question, Search};
use std::time::{Duration, Instant};

/// Arrivals whose rate changes by a factor of a hundred.
fn bursts(requests: u64) -> Vec<Timestamp> {
    let (mut dice, mut now, mut mean) = (Dice::new(1), 0, 0.0);
    let times = (0..requests).map(|at| {
        if at % 300 == 0 {
            mean = 1e5 * 10f64.powf(2.0 * dice.uniform());
        }
        now += (mean * dice.exponential()) as u64;
        Timestamp::from_nanos(now)
    });
    times.collect()
}

#[test]
#[ignore = "measures; ten million requests"]
fn six_fractions_and_four_bounds() {
    for requests in [24_783, 1_000_000, 10_000_000] {
        let times = bursts(requests);
        let arrivals = Arrivals::new(&times).unwrap();
        let bounds = [5, 10, 20, 50].map(Duration::from_millis);
        let fractions = [0.9, 0.95, 0.99, 0.995, 0.999, 1.0]
            .map(|share: f64| Fraction::from_billionths((share * 1e9).round() as u32).unwrap());
        let cells = bounds.iter().flat_map(|bound| fractions.map(|fraction| (*bound, fraction)));
        let questions: Vec<_> = cells
            .map(|(bound, share)| Question {
                rule: AdmissionRule::Exact,
                bound,
                need: share.of(requests),
            })
            .collect();
        let start = Instant::now();
        let mut search = Search::new(arrivals, &questions);
        let mut walks = 0;
        while search.step() {
            walks += 1;
        }
        let took = start.elapsed();
        println!("{requests} requests, {} questions: {walks} walks, {took:?}", questions.len());
        println!("{:?}", search.capacities());
    }
}
