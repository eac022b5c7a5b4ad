use super::*;
use ripstop_delay::Dice;

/// The mean wait in the ring itself, with lognormal services of mean 1.
fn played(writers: usize, deviation: f64, held: f64) -> f64 {
    const BATCHES: usize = 200_000;
    let (mut dice, mut ends) = (Dice::new(1), alloc::collections::VecDeque::new());
    ends.extend(core::iter::repeat_n(0.0, writers));
    let (mut end, mut waits) = (0.0_f64, 0.0);
    for _ in 0..BATCHES {
        let came = ends.pop_front().unwrap() + held;
        let begun = end.max(came);
        waits += begun - came;
        end = begun + libm::exp(deviation * dice.normal() - 0.5 * deviation * deviation);
        ends.push_back(end);
    }
    waits / BATCHES as f64
}

fn ring(writers: usize, deviation: f64) -> Ring {
    let variation = libm::expm1(deviation * deviation);
    Ring { others: writers as f64 - 1.0, variation }
}

#[test]
fn the_wait_is_that_of_a_ring_that_is_played() {
    for writers in [2, 8, 32] {
        for deviation in [0.1, 0.3, 0.6] {
            for held in [0.0, 0.5, 0.8, 0.9, 1.0, 1.1, 1.3, 2.0] {
                let held = held * (writers - 1) as f64;
                let wait = ring(writers, deviation).wait(1.0, held).mean;
                let played = played(writers, deviation, held);
                // Of the latency, which is a service more.
                let off = (wait - played).abs() / (1.0 + played);
                assert!(
                    off < 0.01 + 0.1 * deviation,
                    "{writers}, {deviation}, {held}: {wait} for {played}"
                );
            }
        }
    }
}

#[test]
fn a_cycle_is_what_it_is_made_of() {
    for held in [0.1, 3.0, 7.0, 8.0, 20.0] {
        let ring = ring(8, 0.3);
        let wait = ring.wait(1.0, held);
        if let Some(again) = ring.wait_in_cycle(1.0, held + 1.0 + wait.mean).filter(|_| held > 6.0)
        {
            assert!((again.mean - wait.mean).abs() < 1e-6, "{held}");
        }
    }
    assert_eq!(ring(8, 0.3).wait_in_cycle(1.0, 7.9), None);
}

#[test]
fn who_is_alone_waits_for_nobody() {
    let ring = ring(1, 0.3);
    assert_eq!(ring.wait(5.0, 0.0), Wait::default());
    assert_eq!(ring.wait_in_cycle(5.0, 5.1), Some(Wait::default()));
}
