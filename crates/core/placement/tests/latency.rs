//! The latency bound against simulated queues, equation by equation.

mod queue;

use queue::{Law, Policy, mean, simulate};
use ripstop_delay::Dice;
use ripstop_placement::{LatencyBound, Service, Sojourn, testbed};

fn close(a: f64, b: f64, part: f64, what: &str) {
    assert!((a / b - 1.0).abs() < part, "{what}: {a} against {b}");
}

#[test]
fn a_node_s_sojourn_has_the_mean_and_variance_of_6_and_7() {
    for (seed, law) in [
        (1, Law::Erlang(1, 1.0)),
        (2, Law::Two(0.9, 0.5, 4.0)),
        (3, Law::Shifted(0.5, 0.5)),
        (4, Law::Erlang(4, 0.25)),
    ] {
        let rate = 0.6 / law.service().mean();
        let latencies = simulate(&[law], rate, &Policy::Probabilities(&[1.0]), 400_000, seed);
        let sojourn = Sojourn::new(&law.service(), rate).unwrap();
        let average = mean(&latencies);
        let squares: Vec<f64> = latencies.iter().map(|x| (x - average).powi(2)).collect();
        close(average, sojourn.mean, 0.03, "mean");
        close(mean(&squares), sojourn.variance, 0.12, "variance");
    }
}

#[test]
fn exponential_service_gives_the_sojourn_of_an_m_m_1_queue() {
    let service = Service::from_mean_sd(2.0, 2.0, None).unwrap();
    let sojourn = Sojourn::new(&service, 0.3).unwrap();
    // Exponential with rate μ − Λ = 0.2.
    assert!((sojourn.mean - 5.0).abs() < 1e-12 && (sojourn.variance - 25.0).abs() < 1e-12);
    assert_eq!(Sojourn::new(&service, 0.5), None);
}

#[test]
fn several_chunks_of_a_node_have_the_sojourn_of_10_and_11() {
    // Batches of 1 and of 3 chunks as one class of requests whose service is their sum.
    let (one, three, law) = (0.1, 0.08, Law::Erlang(2, 0.6));
    let mut dice = Dice::new(5);
    let (mut now, mut free_at, mut seen) = (0.0, 0.0f64, Vec::new());
    for _ in 0..600_000 {
        now += dice.exponential() / (one + three);
        let chunks = if dice.uniform() < one / (one + three) { 1 } else { 3 };
        free_at = free_at.max(now) + (0..chunks).map(|_| law.draw(&mut dice)).sum::<f64>();
        if chunks == 3 {
            seen.push(free_at - now);
        }
    }
    let sojourn = Sojourn::of_batch(&law.service(), &[(one, 1), (three, 3)], 3).unwrap();
    let average = mean(&seen);
    let squares: Vec<f64> = seen.iter().map(|x| (x - average).powi(2)).collect();
    close(average, sojourn.mean, 0.02, "mean");
    close(mean(&squares), sojourn.variance, 0.08, "variance");
    let single = Sojourn::of_batch(&law.service(), &[(0.3, 1)], 1).unwrap();
    let plain = Sojourn::new(&law.service(), 0.3).unwrap();
    close(single.mean, plain.mean, 1e-12, "one chunk");
    close(single.variance, plain.variance, 1e-12, "one chunk");
}

#[test]
fn a_resized_service_has_the_moments_of_its_samples() {
    let mut dice = Dice::new(6);
    let samples: Vec<f64> = (0..1000).map(|_| 1.0 + dice.exponential()).collect();
    let larger: Vec<f64> = samples.iter().map(|x| 0.4 + 2.5 * (x - 0.4)).collect();
    let resized = Service::from_samples(&samples).unwrap().resized(0.4, 2.5).unwrap();
    let direct = Service::from_samples(&larger).unwrap();
    close(resized.mean(), direct.mean(), 1e-12, "mean");
    close(resized.second(), direct.second(), 1e-12, "second");
    close(resized.third(), direct.third(), 1e-12, "third");
    assert!(Service::from_mean_sd(f64::NAN, 1.0, None).is_err());
    assert!(Service::new(1.0, 0.9, 1.0).is_err() && Service::new(1.0, 2.0, 3.0).is_err());
    assert!(Service::from_samples(&[]).is_err());
}

#[test]
fn the_best_z_is_exact() {
    let mut dice = Dice::new(7);
    for _ in 0..2000 {
        let n = 2 + dice.below(10) as usize;
        let mut branches: Vec<(f64, Sojourn)> = (0..n)
            .map(|_| {
                let (mean, sd) = (10.0 * dice.uniform(), 5.0 * dice.uniform());
                (dice.uniform(), Sojourn { mean, variance: sd * sd })
            })
            .collect();
        branches[0].0 = 1.0;
        branches[1].0 = 0.2 + 0.8 * dice.uniform();
        let bound = LatencyBound::new(&branches);
        for part in [-1.0, -1e-3, -1e-5, 1e-5, 1e-3, 1.0] {
            let other = LatencyBound::at(&branches, bound.z + part);
            assert!(other.seconds >= bound.seconds - 1e-12, "{bound:?} {other:?}");
        }
        let golden = golden_section(&branches, bound.z - 30.0, bound.z + 30.0);
        assert!((golden - bound.seconds).abs() < 1e-9, "{golden} {bound:?}");
    }
}

fn golden_section(branches: &[(f64, Sojourn)], mut low: f64, mut high: f64) -> f64 {
    let at = |z| LatencyBound::at(branches, z).seconds;
    for _ in 0..200 {
        let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if at(a) < at(b) { high = b } else { low = a }
    }
    at(0.5 * (low + high))
}

#[test]
fn equal_nodes_have_the_bound_8() {
    let sojourn = Sojourn { mean: 7.0, variance: 9.0 };
    for (n, k) in [(7u32, 4u32), (12, 6), (5, 5), (4, 1)] {
        let p = f64::from(k) / f64::from(n);
        let bound = LatencyBound::new(&vec![(p, sojourn); n as usize]);
        close(bound.seconds, LatencyBound::of_equal_nodes(sojourn, k), 1e-12, "(8)");
    }
    let one = LatencyBound::new(&[(0.25, sojourn), (0.75, Sojourn { mean: 3.0, variance: 1.0 })]);
    assert_eq!((one.seconds, one.z), (4.0, f64::NEG_INFINITY));
}

#[test]
fn the_paper_s_service_gives_the_reference_latencies() {
    let law = Law::Normal(13.9, 4.3);
    let cases = [(0.6, 54.1, 38.3, 24.4, 150_000), (0.9, 210.7, 143.0, 52.6, 600_000)];
    for (utilisation, bound, probabilistic, least_work, requests) in cases {
        let service = testbed::service();
        let load = utilisation * service.rate();
        let sojourn = Sojourn::new(&service, load).unwrap();
        close(LatencyBound::of_equal_nodes(sojourn, 4), bound, 0.002, "bound");
        let p = [4.0 / 7.0; 7];
        let run =
            |policy: &Policy<'_>| mean(&simulate(&[law; 7], load * 7.0 / 4.0, policy, requests, 8));
        close(run(&Policy::Probabilities(&p)), probabilistic, 0.05, "probabilistic");
        close(run(&Policy::LeastWork(4)), least_work, 0.04, "least work");
    }
}

#[test]
fn the_bounds_are_above_simulated_latencies_in_1000_systems() {
    let mut dice = Dice::new(9);
    for system in 0..1000 {
        let n = 2 + dice.below(9) as usize;
        let k = 1 + dice.below(n as u64) as usize;
        let laws: Vec<Law> = (0..n).map(|_| Law::any(&mut dice)).collect();
        let mut p: Vec<f64> = (0..n).map(|_| dice.uniform()).collect();
        ripstop_placement::project(&mut p, k as f64);
        let most = laws.iter().zip(&p).map(|(law, p)| law.service().mean() * p).fold(0.0, f64::max);
        let rate = (0.1 + 0.75 * dice.uniform()) / most;
        let branches: Vec<(f64, Sojourn)> = laws
            .iter()
            .zip(&p)
            .map(|(law, &p)| (p, Sojourn::new(&law.service(), rate * p).unwrap()))
            .collect();
        let bound = LatencyBound::new(&branches).seconds;
        let latencies = simulate(&laws, rate, &Policy::Probabilities(&p), 6000, system);
        // One chunk: the bound is the mean itself, and the run is short.
        let luck = if k == 1 { 0.75 } else { 0.97 };
        let average = mean(&latencies);
        assert!(
            luck * average <= bound,
            "system {system}: {average} above {bound}, {k} of {laws:?} {p:?}"
        );
        for times in [1.5, 2.0, 4.0] {
            let beyond = latencies.iter().filter(|&&x| x > times * bound).count() as f64 / 6000.0;
            let tail = LatencyBound::tail(&branches, times * bound);
            assert!(beyond <= tail + 0.03, "system {system}: {beyond} above {tail}");
        }
    }
}
