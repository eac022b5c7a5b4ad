//! What a sample costs:
//! `cargo test --release -p ripstop-estimator --test speed -- --ignored --nocapture`.

mod drawn;

use drawn::first_of;
use ripstop_delay::{Correlation, Preset};
use ripstop_estimator::{Quantiles, Sample, Window, WindowSettings, parse_log};
use ripstop_model::{Operation, Timestamp};
use std::{fmt::Write as _, hint::black_box, time::Instant};

fn ns_each(name: &str, samples: &[Sample], mut take: impl FnMut(Sample)) -> String {
    let start = Instant::now();
    for sample in samples {
        take(*sample);
    }
    let ns = start.elapsed().as_nanos() as f64 / samples.len() as f64;
    format!("{name:40} {ns:7.1} ns")
}

#[test]
#[ignore = "a measurement, for release builds"]
fn samples() {
    let samples = first_of(Preset::S3In2013A, (12, 6), 600_000, Correlation::NONE, 1);
    let now = Timestamp::ZERO;
    let mut window = Window::new(WindowSettings::default());
    println!("{}", ns_each("window: add", &samples, |sample| window.add(now, sample)));
    println!(
        "{}",
        ns_each("window: add, fit kept up to date", &samples, |sample| {
            window.add(now, sample);
            black_box(window.fit(now, Operation::Read));
        })
    );
    println!(
        "{}",
        ns_each("window: a node's fit, of 8192", &samples[..100], |sample| {
            black_box(window.fit_node(now, Operation::Read, sample.node));
        })
    );
    let mut quantiles = Quantiles::new(Some(1000));
    println!("{}", ns_each("quantiles: add", &samples, |sample| quantiles.add(sample.served)));
    println!(
        "{}",
        ns_each("quantiles: add, ask", &samples, |sample| {
            quantiles.add(sample.served);
            black_box(quantiles.quantile(0.95));
        })
    );
    let mut text = String::from("time_s,operation,node,bytes,served_ms,outcome\n");
    for sample in &samples {
        let ms = sample.served.as_secs_f64() * 1e3;
        writeln!(text, "1.5,read,1,{},{ms},done", sample.bytes).unwrap();
    }
    let start = Instant::now();
    let count = parse_log(&text).unwrap().len();
    let ns = start.elapsed().as_nanos() as f64 / count as f64;
    println!("{:40} {ns:7.1} ns", "task log: a line");
}
