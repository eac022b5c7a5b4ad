//! How many requests a second the simulator plays, at the rates of the paper's Fig. 8 (TOFEC, 16
//! lanes): `cargo run --release -p ripstop-lab --example simulator [-- --short]`.

use ripstop_delay::Preset;
use ripstop_experiment::{Delay, Load, Process, Run, Scenario, Setting};
use ripstop_policy::Limits;
use std::{
    error::Error,
    io::{Write as _, stdout},
    time::Instant,
};

const RATES_PER_S: [f64; 12] =
    [2.0, 6.0, 10.0, 14.0, 20.0, 26.0, 32.0, 40.0, 48.0, 56.0, 64.0, 72.0];
const REQUESTS: u64 = 200_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let setting = Setting::of_tofec(Delay::Preset(Preset::S3In2013B), 16);
    let policy = "tofec".parse()?;
    let limits = Limits { k_max: 6, r_max: 2.0 };
    let mut out = stdout();
    writeln!(out, "one core, TOFEC, 16 lanes, best of {ROUNDS} rounds of {REQUESTS} requests")?;
    let (mut seconds, mut speeds) = (0.0, 0.0);
    for rate in RATES_PER_S {
        let load = Load::Requests { process: Process::Poisson(rate), count: REQUESTS };
        let (memory, warmup, keep_courses) = (0.99, 0, false);
        let mut best = f64::INFINITY;
        for seed in 0..ROUNDS as u64 {
            let (setting, load, policy) = (&setting, &load, &policy);
            let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
            let begun = Instant::now();
            let outcome = run.play();
            best = best.min(begun.elapsed().as_secs_f64());
            assert_eq!(outcome.took_ns.len() as u64, REQUESTS);
        }
        seconds += best;
        speeds += REQUESTS as f64 / best;
        writeln!(out, "{rate:>4} requests/s: {:>9.0} requests per second", REQUESTS as f64 / best)?;
    }
    let rates = RATES_PER_S.len() as f64;
    let all = rates * REQUESTS as f64;
    writeln!(out, "mean over the rates: {:.0} requests per second", speeds / rates)?;
    writeln!(out, "all requests over all time: {:.0} requests per second", all / seconds)?;
    if std::env::args().any(|word| word == "--short") {
        return Ok(());
    }
    let mut scenario = Scenario::sweep("fig8", setting, &RATES_PER_S, 25_000);
    scenario.every_fixed = true;
    let begun = Instant::now();
    let played = scenario.play(None, || ()).len();
    let took = begun.elapsed().as_secs_f64();
    writeln!(
        out,
        "every fixed code, 12 rates, 5 seeds of 25,000 requests: {played} runs in {took:.1} s on all cores"
    )?;
    Ok(())
}
