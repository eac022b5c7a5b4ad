//! Settings that nobody chose: drawn by a seed, so that a policy cannot be made for them.

use super::Arena;
use crate::{ClassSetting, Delay, Layout, Load, NodeSetting, Process, Setting};
use core::time::Duration;
use ripstop_delay::{Dice, Preset, Recorded, Replay, ShiftedExponential, StorageOperation};
use ripstop_model::{Code, Operation};
use ripstop_policy::Limits;

/// A pool, what arrives there, and what no policy may exceed.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The pool, named by what was drawn.
    pub arena: Arena,
    /// What arrives.
    pub load: Load,
    /// Bounds of all codes, the rivals' too.
    pub limits: Limits,
}

/// Lanes of a pool.
const LANES: [u16; 8] = [4, 6, 8, 12, 16, 24, 32, 64];
/// K of pools whose chunks are runs of strips, and codes of those with a strip at each node.
const DIVIDED: [usize; 4] = [4, 6, 12, 60];
const SPREAD: [(usize, usize); 6] = [(3, 2), (4, 2), (5, 4), (6, 3), (6, 4), (9, 6)];
/// Bytes of a request.
const SIZES: [u64; 7] = [65_536, 262_144, 1_000_000, 3_000_000, 5_000_000, 8_000_000, 12_000_000];
/// Delays that a recorded law holds for each of its sizes.
const RECORDED: usize = 2000;
/// Sizes that a recorded law holds, bytes.
const RECORDED_SIZES: [u64; 5] = [10_000, 100_000, 1_000_000, 4_000_000, 16_000_000];
/// Load at which a surge or a burst ends, at most.
const PEAK_MAX: f64 = 1.1;

/// The setting number `number` of those that `seed` stands for, for runs of so many requests.
pub fn drawn(seed: u64, number: u64, requests: u64) -> Drawn {
    let mut draw = Draw { dice: Dice::numbered(seed, number), name: format!("{number:03}") };
    let mut setting = draw.pool();
    setting.classes = draw.classes(setting.layout);
    setting.correlation = draw.weighted(&[(0.0, 6), (0.17, 3), (0.4, 1)]);
    let stop_ms = draw.weighted(&[(0.0, 6), (5.0, 1), (20.0, 2), (50.0, 1)]);
    setting.cancellation = Duration::from_secs_f64(stop_ms / 1000.0);
    if setting.correlation > 0.0 {
        draw.say(&format!("correlation {}", setting.correlation));
    }
    if stop_ms > 0.0 {
        draw.say(&format!("cancellation {stop_ms} ms"));
    }
    let r_max = draw.weighted(&[(2.0, 7), (1.5, 2), (3.0, 1)]);
    let limits = Limits { k_max: draw.weighted(&[(6, 3), (12, 1)]), r_max };
    draw.say(&format!("k ≤ {}, n ≤ {r_max} k", limits.k_max));
    let load = draw.load(setting.capacity_per_s(), requests);
    Drawn { arena: Arena { name: draw.name, setting }, load, limits }
}

/// Every code that a pool can serve with within these limits.
pub fn codes(setting: &Setting, limits: Limits) -> Vec<Code> {
    let stored = setting.code;
    let is_spread = setting.layout == Layout::Spread;
    let possible = |&k: &usize| match is_spread {
        true => k == stored.k(),
        false => stored.k().is_multiple_of(k) && k <= usize::from(limits.k_max),
    };
    let of = |k: usize| {
        let most = (stored.n() * k / stored.k()).min((limits.r_max * k as f64) as usize);
        (k..=most.max(k)).filter_map(move |n| Code::new(n, k).ok())
    };
    (1..=stored.k()).filter(possible).flat_map(of).collect()
}

struct Draw {
    dice: Dice,
    name: String,
}

impl Draw {
    fn say(&mut self, what: &str) {
        self.name += ", ";
        self.name += what;
    }

    fn one<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.dice.below(among.len() as u64) as usize]
    }

    fn weighted<T: Copy>(&mut self, among: &[(T, u64)]) -> T {
        let mut at = self.dice.below(among.iter().map(|&(_, weight)| weight).sum());
        for &(one, weight) in among {
            if at < weight {
                return one;
            }
            at -= weight;
        }
        among[0].0
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.dice.uniform()
    }

    /// Nodes, their delays, and the layout.
    fn pool(&mut self) -> Setting {
        let delay = self.delay();
        let mut setting = Setting::of_tofec(delay.clone(), self.one(&LANES));
        let lanes = setting.nodes[0].lanes;
        match self.weighted(&[(0, 13), (1, 5), (2, 2)]) {
            0 => {
                let k = self.one(&DIVIDED);
                setting.code = Code::new(3 * k, k).expect("K of 3 K is a code");
                self.say(&format!("one node of {lanes} lanes, K {k}"));
            }
            1 => {
                let (n, k) = self.one(&SPREAD);
                setting.code = Code::new(n, k).expect("it is a code");
                setting.layout = Layout::Spread;
                let nodes = n + self.dice.below(3) as usize;
                self.nodes(&mut setting, nodes, self_lanes(lanes, nodes));
                self.say(&format!("({n},{k}) spread"));
            }
            _ => {
                setting.code = Code::new(24, 12).expect("12 of 24 is a code");
                self.nodes(&mut setting, 2, self_lanes(lanes, 2));
                self.say("shared, K 12");
            }
        }
        setting
    }

    fn nodes(&mut self, setting: &mut Setting, count: usize, lanes: u16) {
        let unlike = self.dice.below(3) == 0;
        let delay = setting.nodes[0].delay.clone();
        let node = |scale: f64| {
            let delay = delay.clone();
            NodeSetting { lanes, delay, scale, changes: Vec::new() }
        };
        let scales = (0..count).map(|_| if unlike { self.between(0.8, 2.0) } else { 1.0 });
        setting.nodes = scales.collect::<Vec<_>>().into_iter().map(node).collect();
        let what = if unlike { "unlike nodes" } else { "nodes" };
        self.say(&format!("{count} {what} of {lanes} lanes"));
    }

    fn delay(&mut self) -> Delay {
        match self.dice.below(8) {
            0..4 => {
                let preset = self.one(&Preset::ALL);
                self.say(preset.name());
                Delay::Preset(preset)
            }
            4 => {
                let model = ShiftedExponential {
                    shift_ms: self.between(2.0, 60.0),
                    shift_ms_per_mb: self.between(5.0, 40.0),
                    mean_ms: self.between(2.0, 80.0),
                    mean_ms_per_mb: self.between(0.0, 30.0),
                };
                self.say(&format!(
                    "{:.0} + {:.0}/MB ms and exponential {:.0} + {:.0}/MB",
                    model.shift_ms, model.shift_ms_per_mb, model.mean_ms, model.mean_ms_per_mb
                ));
                Delay::ShiftedExponential(model)
            }
            5 => {
                let (share, late_ms) = (self.between(0.01, 0.15), self.between(100.0, 800.0));
                self.say(&format!("{:.0} % late by {late_ms:.0} ms and more", share * 100.0));
                let late = move |dice: &mut Dice| {
                    if dice.uniform() < share {
                        late_ms * (1.0 + 0.5 * dice.uniform())
                    } else {
                        0.0
                    }
                };
                self.recorded(move |dice, mb| {
                    30.0 * libm::exp(0.25 * dice.normal()) + 12.0 * mb + late(dice)
                })
            }
            6 => {
                self.say("nearly constant");
                self.recorded(|dice, mb| (30.0 + 12.0 * mb) * (1.0 + 0.02 * dice.normal()).max(0.5))
            }
            _ => {
                let sigma = self.between(0.3, 1.1);
                self.say(&format!("lognormal {sigma:.1}"));
                self.recorded(move |dice, mb| 25.0 * libm::exp(sigma * dice.normal()) + 12.0 * mb)
            }
        }
    }

    fn recorded(&mut self, ms: impl Fn(&mut Dice, f64) -> f64) -> Delay {
        let mut delays = Vec::new();
        for bytes in RECORDED_SIZES {
            for _ in 0..RECORDED {
                let ms = ms(&mut self.dice, bytes as f64 / 1e6);
                let took = Duration::from_secs_f64(ms / 1000.0);
                delays.push((StorageOperation::Get, bytes, took));
            }
        }
        Delay::Recorded(Recorded::new(delays, Replay::Sampled).expect("there are delays"))
    }

    fn classes(&mut self, layout: Layout) -> Vec<ClassSetting> {
        let kinds = self.weighted(&[(1, 6), (2, 3), (3, 1)]);
        let writes = self.dice.below(4) == 0;
        let mut classes = Vec::new();
        for _ in 0..kinds {
            let bytes = self.one(&SIZES);
            let share = self.between(0.2, 1.0);
            self.say(&format!("{} kB", bytes / 1000));
            classes.push(ClassSetting::new(Operation::Read, bytes, share));
            // Spread, every write takes all N: there is nothing to choose but when to answer.
            if writes && layout != Layout::Spread {
                classes.push(ClassSetting::new(Operation::Write, bytes, share));
            }
        }
        if classes.len() > kinds {
            self.say("read and written");
        }
        classes
    }

    fn load(&mut self, capacity: f64, requests: u64) -> Load {
        let share = self.between(0.05, 0.97);
        let rate = share * capacity;
        let percent = share * 100.0;
        let span_s = requests as f64 / rate;
        let peak = |times: f64| times.min(PEAK_MAX / share);
        let phase = |s: f64, process| (Duration::from_secs_f64(s), process);
        match self.weighted(&[(0, 8), (1, 2), (2, 3), (3, 2), (4, 3), (5, 2)]) {
            0 => {
                self.say(&format!("{percent:.0} %"));
                Load::Requests { process: Process::Poisson(rate), count: requests }
            }
            1 => {
                self.say(&format!("{percent:.0} % equally spaced"));
                Load::Requests { process: Process::Deterministic(rate), count: requests }
            }
            2 => {
                let high = peak(self.between(1.5, 3.0)).max(1.01);
                let spell = Duration::from_secs_f64(self.between(0.2, 3.0));
                self.say(&format!("{percent:.0} % in bursts of {high:.1} for {spell:.1?}"));
                let process = Process::Bursty { rate, high, low: 0.6, spell };
                Load::Requests { process, count: requests }
            }
            3 => {
                let (high, every_s) = (peak(2.5).max(1.01), self.between(1.0, 5.0));
                let low = (1.0 - 0.1 * high) / 0.9;
                self.say(&format!("{percent:.0} %, {high:.1} for a tenth of {every_s:.1} s"));
                let rounds = (span_s / every_s) as usize + 1;
                let round = [
                    phase(0.9 * every_s, Process::Poisson(low * rate)),
                    phase(0.1 * every_s, Process::Poisson(high * rate)),
                ];
                Load::Phases(round.repeat(rounds))
            }
            4 => {
                let high = peak(self.between(1.5, 4.0)).max(1.01);
                self.say(&format!("{percent:.0} % with surges of 10 s to {high:.1}"));
                let rounds = (span_s / 60.0) as usize + 1;
                let low = (60.0 - 10.0 * high).max(5.0) / 50.0;
                let round = [
                    phase(50.0, Process::Poisson(low * rate)),
                    phase(10.0, Process::Poisson(high * rate)),
                ];
                Load::Phases(round.repeat(rounds))
            }
            _ => {
                let swing = (peak(1.8) - 1.0).max(0.01);
                self.say(&format!("{percent:.0} %, a day with {:.1} at noon", 1.0 + swing));
                let hour = |hour: usize| {
                    let angle = core::f64::consts::TAU * hour as f64 / 24.0;
                    let rate = rate * (1.0 - swing.min(0.9) * libm::cos(angle));
                    phase(span_s / 24.0, Process::Poisson(rate))
                };
                Load::Phases((0..24).map(hour).collect())
            }
        }
    }
}

/// Lanes of each of several nodes that have this many together.
fn self_lanes(all: u16, nodes: usize) -> u16 {
    (all / nodes as u16).clamp(2, 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_settings_always_and_another_draws_others() {
        let names = |seed| (0..40).map(|number| drawn(seed, number, 1000).arena.name);
        assert!(names(1).eq(names(1)));
        assert!(names(1).zip(names(2)).all(|(one, other)| one != other));
    }

    #[test]
    fn every_drawn_pool_has_codes_and_a_load_that_it_can_carry() {
        for number in 0..300 {
            let Drawn { arena, load, limits } = drawn(5, number, 2000);
            let setting = &arena.setting;
            let codes = codes(setting, limits);
            assert!(!codes.is_empty(), "{}", arena.name);
            let chunks = codes.iter().all(|code| {
                let name = format!("fixed{code}");
                let policy: crate::PolicyChoice = name.parse().unwrap();
                policy.check(setting.code, setting.layout).is_ok()
            });
            assert!(chunks, "{}: {codes:?}", arena.name);
            let rates = load.rates();
            let most = rates.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
            assert!(most < 1.2 * setting.capacity_per_s(), "{}", arena.name);
            let requests = load.requests();
            assert!((1800.0..500_000.0).contains(&requests), "{}: {requests}", arena.name);
        }
    }
}
