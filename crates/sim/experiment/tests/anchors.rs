//! Right where the answer is known: queues and order statistics with closed forms.

use ripstop_delay::ShiftedExponential;
use ripstop_experiment::{Delay, Load, Outcome, Process, Run, Setting, sweep};
use ripstop_model::Code;
use ripstop_policy::Limits;

const SEEDS: u64 = 12;

fn model(shift_ms: f64, mean_ms: f64) -> Delay {
    let (shift_ms_per_mb, mean_ms_per_mb) = (0.0, 0.0);
    Delay::ShiftedExponential(ShiftedExponential {
        shift_ms,
        shift_ms_per_mb,
        mean_ms,
        mean_ms_per_mb,
    })
}

/// Runs with different seeds.
fn outcomes(delay: Delay, lanes: u16, code: (usize, usize), rate: f64, count: u64) -> Vec<Outcome> {
    let setting = Setting::of_tofec(delay, lanes);
    let policy = format!("fixed({},{})", code.0, code.1).parse().expect("it is a policy");
    let load = Load::Requests { process: Process::Poisson(rate), count };
    let seeds: Vec<u64> = (0..SEEDS).collect();
    let limits = Limits { k_max: 60, r_max: 2.0 };
    let (memory, warmup, keep_courses) = (0.99, count / 5, false);
    let play = |&seed: &u64| {
        let (setting, load, policy) = (&setting, &load, &policy);
        Run { setting, load, policy, limits, memory, seed, warmup, keep_courses }.play()
    };
    sweep(&seeds, None, play, || ())
}

/// The mean over the seeds lies within its 99.9 % confidence interval of what is expected, and that
/// is narrow enough to tell.
fn assert_mean(what: &str, values: &[f64], expected: f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // Student's t with 11 degrees of freedom, 99.9 %.
    let half = 4.437 * (variance / count).sqrt();
    assert!(half < 0.1 * expected, "{what}: {mean} ± {half} says little");
    assert!((mean - expected).abs() < half.max(1e-9), "{what}: {mean} ± {half}, not {expected}");
}

fn means(outcomes: &[Outcome]) -> Vec<f64> {
    outcomes.iter().map(|outcome| outcome.delay().mean_ms).collect()
}

#[test]
fn one_lane_with_exponential_delays_is_m_m_1() {
    // Service 10 ms, load 0.7: sojourn 1/(µ − λ), exponentially distributed.
    let runs = outcomes(model(0.0, 10.0), 1, (1, 1), 70.0, 60_000);
    let sojourn = 10.0 / 0.3;
    assert_mean("mean", &means(&runs), sojourn);
    let p99: Vec<f64> = runs.iter().map(|outcome| outcome.delay().p99_ms).collect();
    assert_mean("p99", &p99, sojourn * 100_f64.ln());
}

#[test]
fn many_lanes_with_exponential_delays_are_m_m_c() {
    // Erlang C: 4 servers, 0.7 each.
    let (servers, load) = (4, 2.8_f64);
    let term = |i: i32| load.powi(i) / (1..=i).map(f64::from).product::<f64>();
    let busy = term(servers) / (1.0 - load / f64::from(servers));
    let waits = busy / ((0..servers).map(term).sum::<f64>() + busy);
    let wait = waits * 10.0 / (f64::from(servers) - load);
    let runs = outcomes(model(0.0, 10.0), 4, (1, 1), 280.0, 200_000);
    assert_mean("mean", &means(&runs), 10.0 + wait);
    let waited = |outcome: &Outcome| outcome.waited_s * 1000.0 / outcome.took_ns.len() as f64;
    assert_mean("wait", &runs.iter().map(waited).collect::<Vec<_>>(), wait);
}

#[test]
fn one_lane_with_shifted_exponential_delays_is_m_g_1() {
    // Pollaczek and Khinchine: wait λ E[S²] / 2(1 − ρ).
    let (shift, mean) = (6.0, 4.0);
    let (rate_per_ms, service) = (0.06, shift + mean);
    let second_moment = service * service + mean * mean;
    let wait = rate_per_ms * second_moment / (2.0 * (1.0 - rate_per_ms * service));
    let runs = outcomes(model(shift, mean), 1, (1, 1), 60.0, 60_000);
    assert_mean("mean", &means(&runs), service + wait);
}

#[test]
fn without_load_the_kth_of_n_tasks_is_an_order_statistic() {
    for (n, k) in [(1, 1), (2, 1), (4, 2), (6, 6), (12, 6), (9, 5)] {
        let runs = outcomes(model(20.0, 30.0), 200, (n, k), 0.5, 6_000);
        let harmonic: f64 = (n - k + 1..=n).map(|i| 1.0 / i as f64).sum();
        assert_mean(&format!("({n},{k})"), &means(&runs), 20.0 + 30.0 * harmonic);
        let code = Code::new(n, k).unwrap();
        let chosen: Vec<_> = runs[0].codes.iter().map(|(n, k, _)| (n, k)).collect();
        assert_eq!(chosen, [(code.n(), code.k())]);
    }
}

#[test]
fn a_cancellation_costs_its_lane_time() {
    // One lane, (2,1): the second task starts when the first is done and is told to stop at once,
    // so each request holds the lane for its service and the cancellation... which a deterministic
    // delay shows exactly.
    let mut setting = Setting::of_tofec(model(10.0, 0.0), 2);
    setting.cancellation = core::time::Duration::from_millis(7);
    let policy = "fixed(2,1)".parse().unwrap();
    let load = Load::Requests { process: Process::Deterministic(10.0), count: 100 };
    let limits = Limits { k_max: 60, r_max: 2.0 };
    let (setting, load, policy) = (&setting, &load, &policy);
    let (memory, seed, warmup, keep_courses) = (0.99, 1, 0, false);
    let run = Run { setting, load, policy, limits, memory, seed, warmup, keep_courses };
    let outcome = run.play();
    assert!((outcome.delay().mean_ms - 10.0).abs() < 1e-6);
    let lane_ms = outcome.tasks.lane_s * 1000.0 / 100.0;
    assert!((lane_ms - 27.0).abs() < 1e-6, "10 + 10 + 7, not {lane_ms}");
}

#[test]
fn equal_seeds_give_equal_runs_whatever_the_number_of_threads() {
    let setting = Setting::of_tofec(Delay::Preset(ripstop_delay::Preset::S3In2025), 16);
    let policy = "backfill".parse().unwrap();
    let load = Load::Requests { process: Process::Poisson(80.0), count: 2_000 };
    let limits = Limits { k_max: 6, r_max: 2.0 };
    let play = |&seed: &u64| {
        let (setting, load, policy) = (&setting, &load, &policy);
        let (memory, warmup, keep_courses) = (0.99, 0, true);
        Run { setting, load, policy, limits, memory, seed, warmup, keep_courses }.play()
    };
    let seeds: Vec<u64> = (0..6).collect();
    let one = sweep(&seeds, core::num::NonZero::new(1), play, || ());
    let many = sweep(&seeds, core::num::NonZero::new(5), play, || ());
    assert_eq!(one, many);
    assert_ne!(one[0], one[1]);
}
