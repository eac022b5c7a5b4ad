//! What a sample costs:
//! `cargo test --release -p ripstop-delay --test speed -- --ignored --nocapture`.

use ripstop_delay::{Correlated, Correlation, DelayModel, Dice, Luck, Preset, StorageOperation};
use ripstop_model::RequestId;
use std::{hint::black_box, time::Instant};

const COUNT: u64 = 5_000_000;

fn ns_each(name: &str, mut throw: impl FnMut(u64) -> f64) -> String {
    let start = Instant::now();
    let sum: f64 = (0..COUNT).map(&mut throw).sum();
    let ns = start.elapsed().as_nanos() as f64 / COUNT as f64;
    format!("{name:28} {ns:6.1} ns   (mean {:.4})", black_box(sum) / COUNT as f64)
}

#[test]
#[ignore = "a measurement, for release builds"]
fn samples() {
    let mut dice = Dice::new(1);
    println!("{}", ns_each("uniform", |_| dice.uniform()));
    println!("{}", ns_each("exponential", |_| dice.exponential()));
    println!("{}", ns_each("exponential by libm", |_| -libm::log(dice.uniform())));
    println!("{}", ns_each("normal", |_| dice.normal()));
    for preset in Preset::ALL {
        let mut model: Box<dyn DelayModel> = black_box(preset.model());
        let mut sample = |luck: &mut dyn Luck, at: u64| {
            let bytes = 1_000_000 + (at & 1023);
            model.sample(StorageOperation::Get, bytes, luck).as_nanos() as u64 as f64 * 1e-6
        };
        println!("{}", ns_each(preset.name(), |at| sample(&mut dice, at)));
        for asked in [0.0, 0.3] {
            let correlation = black_box(Correlation::new(asked));
            let name = format!("{}, correlation {asked}", preset.name());
            let correlated = ns_each(&name, |at| {
                sample(&mut Correlated::new(correlation, 1, RequestId(at / 12), &mut dice), at)
            });
            println!("{correlated}");
        }
    }
}
