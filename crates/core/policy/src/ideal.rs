//! *Ideal* of Liang and Kozat, TOFEC: the best code for the rate of arrivals, which it knows.

use crate::{
    Choice, Limits, Load, Policy, PolicySettings, RequestClass, eager::eager, tofec::Demand,
};
use alloc::vec::Vec;
use core::time::Duration;
use ripstop_delay::ShiftedExponential;
use ripstop_model::{Code, Timestamp};

/// In each phase the one code that minimises service delay plus queueing delay at the phase's rate:
/// equations (2)–(7). For simulation: nobody knows rates to come.
#[derive(Debug)]
pub struct Ideal {
    limits: Limits,
    model: ShiftedExponential,
    /// When each phase ends, and its requests per second.
    phases: Vec<(Timestamp, f64)>,
    /// What was chosen last, and for what.
    last: Option<(u64, f64, usize, Code)>,
}

impl Ideal {
    /// For phases that follow one another from time zero: how long, and how many requests per
    /// second.
    pub fn new(
        settings: &PolicySettings,
        model: ShiftedExponential,
        phases: &[(Duration, f64)],
    ) -> Self {
        let ends = phases.iter().scan(Timestamp::ZERO, |end, &(span, rate)| {
            *end = *end + span;
            Some((*end, rate))
        });
        Self { limits: settings.limits, model, phases: ends.collect(), last: None }
    }

    /// The best of the possible codes at this rate: equations (2) and (7), codes that the lanes
    /// cannot keep up with left out.
    pub fn best(
        demand: &Demand,
        rate_per_s: f64,
        lanes: usize,
        class: &RequestClass,
        limits: Limits,
    ) -> Code {
        let lanes = lanes as f64;
        let delay = |n: usize, k: usize| {
            let load = rate_per_s / 1000.0 * demand.lane_time_ms(n as f64, k as f64);
            if load >= lanes {
                return f64::INFINITY;
            }
            let queueing = load * load / (rate_per_s / 1000.0 * lanes * (lanes - load));
            demand.service_exact_ms(n, k) + queueing
        };
        let codes =
            limits.ks(class).flat_map(|k| (k..=limits.n_max(class, k)).map(move |n| (n, k)));
        let best = codes.min_by(|a, b| delay(a.0, a.1).total_cmp(&delay(b.0, b.1)));
        let (n, k) = best.filter(|&(n, k)| delay(n, k).is_finite()).unwrap_or((1, 1));
        limits.nearest(class, n, k)
    }
}

impl Policy for Ideal {
    fn choose(&mut self, now: Timestamp, class: &RequestClass, load: Load) -> Choice {
        let phase = self.phases.iter().find(|(end, _)| now < *end).or(self.phases.last());
        let rate = phase.map_or(0.0, |&(_, rate)| rate);
        #[expect(clippy::float_cmp, reason = "the rate is one of a few set ones")]
        if let Some((bytes, known, lanes, code)) = self.last
            && (bytes, lanes) == (class.bytes(), load.lanes)
            && known == rate
        {
            return eager(code);
        }
        let demand = Demand { model: self.model, megabytes: class.bytes().max(1) as f64 / 1e6 };
        let code = Self::best(&demand, rate.max(1e-9), load.lanes.max(1), class, self.limits);
        self.last = Some((class.bytes(), rate, load.lanes, code));
        eager(code)
    }
}
