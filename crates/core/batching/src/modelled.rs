//! The interval with the least mean delay by a model of the store that the writers share.
//!
//! Where m writers with one outstanding batch each share a store that serves one batch at a time,
//! each batch waits for those of the others, whether it waits there or with its writer; but with
//! its writer it goes on gathering. So the others' work is waited for here, up to where the store
//! would idle too much: [`ring`] says how long batches then wait at the store, [`outlook`] what
//! that makes of the delay, and seeks its minimum. What the store takes is learned from latencies:
//! [`reading`] takes a batch's own cost out of them, [`cost`] fits how that depends on size and
//! queue. Several readings stand side by side, from a store that serves one batch at a time to one
//! on which batches do not wait for one another; the one that has predicted latencies best so far
//! is followed.

mod cost;
mod group;
mod keys;
mod normal;
mod outlook;
mod reading;
mod ring;

use crate::{BatchCourse, Controller, ControllerSettings, Rhythm};
use core::time::Duration;
use group::{Group, Observed};
use libm::exp;
use outlook::Outlook;
use reading::Reading;
use ring::Ring;
use ripstop_model::Timestamp;

/// No interval is longer, unless told otherwise.
const INTERVAL_MAX_MS: f64 = 5000.0;
/// Batches and members from which is learned at once. What that costs is shared by them.
const BATCHES_MIN: u32 = 4;
const MEMBERS_MIN: usize = 64;
/// Batches of a group at most.
const BATCHES_MAX: u32 = 128;
/// Batches of all writers, and of each at least, that calibrate: none is held back. Their noise is
/// that of as many services.
const CALIBRATING: u32 = 128;
const CALIBRATING_MIN: u32 = 6;
/// What share of a lone batch's time is no work of the store, and overlaps with other batches.
const OVERLAPS: [f64; 3] = [0.0, 0.5, 1.0];
/// The rate is that of about as many groups.
const RATE_MEMORY: f64 = 16.0;
/// The first reading of a store that serves one at a time is followed whose score is at most as
/// many times the best one, or this.
const WORSE: f64 = 1.5;
const SCORE_GOOD: f64 = 0.02;
/// The last reading is followed if latencies fall by less than this for each millisecond that
/// batches are held back longer.
const RESPONSE_MIN: f64 = 0.25;
/// Evidence is the square of the interval over the latency: from how much on the response is
/// believed, and about how much is remembered.
const EVIDENCE_MIN: f64 = 0.15;
const EVIDENCE_MAX: f64 = 4.0;
/// Groups without an interval after which the response is asked for again, the first time and at
/// most: twice as many each time. A store may have changed, and an interval of 0 has no response.
const ASKED_AFTER: (u32, u32) = (16, 512);
/// Batches that cost as many times what calibrating ones did are of another store.
const DEARER: f64 = 2.0;
/// Predictions tell readings apart if the greatest is as many times the least.
const APART: f64 = 1.2;
/// Batches larger by this than the largest that was calibrated are calibrated again.
const LARGER: f64 = 8.0;
/// How far towards what is best an interval goes at once: others do the same meanwhile.
const STEP: f64 = 0.7;
/// No interval is longer than as many latencies of such batches when nobody held them back.
const LONGEST: f64 = 1.5;
/// The same while it is not known how latencies answer.
const ASKING: f64 = 0.5;
/// An interval below this share of the latency is not approached by steps.
const STILL: f64 = 0.02;
/// An interval that changes by less changes nothing that would have to settle first.
const SETTLED: f64 = 0.05;

/// See the file.
#[derive(Debug)]
pub(crate) struct Modelled {
    interval_max_ms: f64,
    members_max: f64,
    writers: u32,
    interval_ms: f64,
    group: Group,
    groups: u32,
    /// The last batch's cycle, in milliseconds.
    cycle_ms: f64,
    /// Batches that are not learned from: the interval has just changed.
    unsettled: u32,
    /// Members, and the milliseconds in which they came; the old fade.
    came: f64,
    span_ms: f64,
    readings: [Reading; OVERLAPS.len()],
    followed: usize,
    /// Batches that are still to calibrate.
    calibrating: u32,
    /// By how much latencies fell for each millisecond of the interval, times the evidence; that.
    response: f64,
    evidence: f64,
    /// Groups until the response is asked for again, of these.
    asked_in: u32,
    asked_after: u32,
}

impl Modelled {
    /// One that knows nothing but what it is told.
    pub(crate) fn new(settings: &ControllerSettings) -> Self {
        let most = settings.interval_max.map_or(INTERVAL_MAX_MS, |most| most.as_secs_f64() * 1e3);
        Self {
            interval_max_ms: most,
            members_max: settings.batch_members_max.max(1) as f64,
            writers: settings.writers.max(1),
            interval_ms: 0.0,
            group: Group::default(),
            groups: 0,
            cycle_ms: 0.0,
            unsettled: 1,
            came: 0.0,
            span_ms: 0.0,
            readings: OVERLAPS.map(Reading::new),
            followed: 0,
            calibrating: calibrating(settings.writers.max(1)),
            response: 0.0,
            evidence: 0.0,
            asked_in: ASKED_AFTER.0,
            asked_after: ASKED_AFTER.0,
        }
    }

    fn is_complete(&self) -> bool {
        let group = &self.group;
        let batches_min = if self.calibrating > 0 { 1 } else { BATCHES_MIN };
        let members_min = if self.calibrating > 0 { 0 } else { MEMBERS_MIN };
        group.batches >= BATCHES_MAX || (group.batches >= batches_min && group.came >= members_min)
    }

    fn decide(&mut self, observed: &Observed, cycle_before: f64) {
        self.groups += 1;
        let memory = (1.0 - 1.0 / RATE_MEMORY).min(1.0 - 1.0 / f64::from(self.groups));
        self.came = memory * self.came + observed.came * observed.batches;
        self.span_ms = memory * self.span_ms + observed.cycle_ms * observed.batches;
        let rate = self.came / self.span_ms.max(f64::MIN_POSITIVE);
        let lone = exp(-rate * (observed.latency_ms + self.interval_ms));
        let others = f64::from(self.writers - 1);
        if self.calibrating > 0 {
            self.calibrating -= 1;
            // What others' batches have, which come between two of this one's, is told by cycles
            // and not by how many came here; half of them are as old as the one before.
            let cycle = 0.5 * (cycle_before + observed.cycle_ms);
            let left = rate * cycle * observed.left / observed.came;
            let observed = &Observed { left, ..*observed };
            self.readings.iter_mut().for_each(|it| it.calibrate(observed, others, lone));
            if self.calibrating > 0 {
                return;
            }
        } else if self.interval_ms <= 0.0 {
            self.readings.iter_mut().for_each(|it| it.calibrate(observed, others, lone));
            self.ask();
        } else {
            self.respond(observed);
            self.judge(observed, others, lone);
            self.readings.iter_mut().for_each(|it| it.learn(observed, others, lone));
        }
        self.follow();
        if self.is_strange(observed) {
            return;
        }
        self.approach(self.best(observed, rate), observed);
    }

    /// The best interval by the reading that is followed.
    fn best(&self, observed: &Observed, rate: f64) -> f64 {
        let reading = &self.readings[self.followed];
        let others = f64::from(self.writers - 1);
        let outlook = Outlook {
            ring: Ring { others, variation: reading.variation() },
            overlap: reading.overlap,
            cost: reading.cost(),
            rate,
            keys: observed.keys(),
            members_max: self.members_max,
        };
        outlook.best_interval(self.interval_max_ms).unwrap_or_else(|| {
            // More comes than can be served: others' work is waited for all the same.
            others * (1.0 - reading.overlap) * reading.lone_ms()
        })
    }

    fn approach(&mut self, best: f64, observed: &Observed) {
        let [.., side_by_side] = &self.readings;
        let natural = side_by_side.calibrated(observed.left);
        let longest = if self.evidence > EVIDENCE_MIN { LONGEST } else { ASKING };
        let to = best.min(self.interval_max_ms).min(longest * natural);
        // Where nobody waits for others, nobody has to be waited for to come along.
        let is_alone = self.followed == self.readings.len() - 1;
        let step = if is_alone { 1.0 } else { STEP };
        let next = self.interval_ms + step * (to - self.interval_ms);
        let most = SETTLED * (self.interval_ms + observed.latency_ms);
        self.unsettled = u32::from((next - self.interval_ms).abs() > most);
        self.interval_ms = if next < STILL * observed.latency_ms { to } else { next };
    }

    /// Compares what readings predicted with what came, where they did not predict the same.
    fn judge(&mut self, observed: &Observed, others: f64, lone: f64) {
        let predicted = self.readings.each_ref().map(|it| it.predicted(observed, others, lone));
        let greatest = predicted.iter().copied().fold(0.0, f64::max);
        let least = predicted.iter().copied().fold(f64::INFINITY, f64::min);
        if greatest > APART * least {
            let both = self.readings.iter_mut().zip(predicted);
            both.for_each(|(reading, predicted)| reading.judge(observed, predicted));
        }
    }

    /// Without an interval nothing is held back: after a while the response is asked for again.
    fn ask(&mut self) {
        self.asked_in -= 1;
        if self.asked_in == 0 {
            self.asked_after = (2 * self.asked_after).min(ASKED_AFTER.1);
            self.asked_in = self.asked_after;
            (self.response, self.evidence) = (0.0, 0.0);
        }
    }

    /// Takes note of how latencies answer to the interval.
    fn respond(&mut self, observed: &Observed) {
        let [.., side_by_side] = &self.readings;
        let natural = side_by_side.calibrated(observed.left);
        if self.interval_ms > 0.0 && natural > 0.0 {
            let share = self.interval_ms / natural;
            let fell = (natural - observed.latency_ms) / self.interval_ms;
            let fade = (1.0 - share * share / EVIDENCE_MAX).max(0.0);
            self.evidence = fade * self.evidence + share * share;
            self.response = fade * self.response + share * share * fell;
        }
    }

    fn follow(&mut self) {
        let last = self.readings.len() - 1;
        if self.evidence > EVIDENCE_MIN && self.response < RESPONSE_MIN * self.evidence {
            self.followed = last;
            return;
        }
        let shared = &self.readings[..last];
        let best = shared.iter().map(Reading::score).fold(f64::INFINITY, f64::min);
        let good = |reading: &Reading| reading.score() <= (WORSE * best).max(SCORE_GOOD);
        self.followed = shared.iter().position(good).unwrap_or(0);
    }

    /// Whether calibrating begins again: batches cost far more than those that calibrated, or are
    /// far larger. Others see the same, and calibrate meanwhile.
    fn is_strange(&mut self, observed: &Observed) -> bool {
        let reading = &self.readings[self.followed];
        if reading.dearer() > DEARER {
            self.readings = OVERLAPS.map(Reading::new);
        } else if reading.members_max().is_none_or(|most| observed.left <= LARGER * most) {
            return false;
        }
        self.calibrating = calibrating(self.writers);
        self.interval_ms = 0.0;
        self.unsettled = 1;
        true
    }
}

/// Batches of each of as many writers that calibrate.
fn calibrating(writers: u32) -> u32 {
    (CALIBRATING / writers).max(CALIBRATING_MIN)
}

impl Controller for Modelled {
    fn rhythm(&self) -> Rhythm {
        Rhythm::AfterEnd(Duration::from_secs_f64(self.interval_ms / 1e3))
    }

    fn learn(&mut self, _: Timestamp, course: &BatchCourse) {
        let cycle = course.since_departure.map_or(0.0, |cycle| cycle.as_secs_f64() * 1e3);
        let before = core::mem::replace(&mut self.cycle_ms, cycle);
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return;
        }
        self.group.add(course);
        if self.is_complete() {
            let observed = core::mem::take(&mut self.group).observed();
            self.decide(&observed, before);
        }
    }

    fn count_writers(&mut self, writers: u32) {
        let writers = writers.max(1);
        if writers != self.writers {
            self.writers = writers;
            self.readings = OVERLAPS.map(Reading::new);
            self.calibrating = calibrating(writers);
            self.group = Group::default();
            self.interval_ms = 0.0;
            self.unsettled = 1;
        }
    }
}
