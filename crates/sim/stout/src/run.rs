use crate::{
    Outcome, Store,
    store::{Server, Visit},
};
use core::{mem, time::Duration};
use ripstop_batching::{
    BatchAction, BatchEnd, BatchEvent, BatchId, BatchMember, BatchSettings, Batcher,
    ControllerSettings, KeyMark, Rhythm, WriteTicket, by_name,
};
use ripstop_delay::Dice;
use ripstop_engine::Calendar;
use ripstop_figure::LatencyRecorder;
use ripstop_model::{TenantId, Timestamp};
use std::collections::VecDeque;

/// A document, in bytes.
const BYTES: u32 = 256;
/// Writes that are measured at least, and cycles of all writers.
const WRITES_MIN: f64 = 12_000.0;
/// Cycles of all writers together that are measured at least: few writers need more to tell.
const TURNS_MIN: f64 = 160.0;
/// Before measuring begins, in parts of what is measured.
const WARM_UP: f64 = 2.0;
/// What is measured must be answered within as much time again.
const GRACE: f64 = 1.0;
/// Parts of what is measured whose means are compared, and how much longer the last may take than
/// the second.
const PARTS: usize = 4;
const GROWTH_MAX: f64 = 1.5;

/// Writers that share a store under an open Poisson load.
///
/// Reads are not played: they pass a batcher by and see the last commit, so half of the requests
/// being reads means twice the load in requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// What they share.
    pub store: Store,
    /// The name of every writer's controller.
    pub controller: &'static str,
    /// What the controllers are told; how many writers there are is told as well.
    pub settings: ControllerSettings,
    /// What the batchers are told.
    pub batch: BatchSettings,
    /// How many writers.
    pub writers: u32,
    /// Those that come only when half of the run before measuring is over.
    pub late: u32,
    /// Writes a second of all writers together, once all are there.
    pub load_per_s: f64,
    /// Keys, each as likely as every other, at every writer.
    pub keys: u64,
    /// Cycles that are measured, as [`Store::cycle_ms`] has them.
    pub cycles: f64,
    /// Whether the run goes on when writes are refused.
    pub is_overloaded: bool,
}

impl Run {
    /// One writer, 50 writes a second to 10,000 keys.
    pub fn new(store: Store, controller: &'static str) -> Self {
        Self {
            store,
            controller,
            settings: ControllerSettings::default(),
            batch: BatchSettings::default(),
            writers: 1,
            late: 0,
            load_per_s: 50.0,
            keys: 10_000,
            cycles: 60.0,
            is_overloaded: false,
        }
    }

    /// Plays it. Equal seeds give equal outcomes.
    ///
    /// # Panics
    /// If no controller has the name.
    pub fn play(&self, seed: u64) -> Outcome {
        let mut world = World::new(self, seed);
        world.play();
        world.outcome()
    }

    /// How long is measured.
    fn measured_s(&self) -> f64 {
        let cycles = self.cycles.max(TURNS_MIN / f64::from(self.writers));
        let cycles = cycles * self.cycle_ms() / 1e3;
        cycles.max(WRITES_MIN / self.load_per_s)
    }

    /// The cycle of each writer without an interval, in milliseconds: at most that of batches with
    /// all keys.
    pub fn cycle_ms(&self) -> f64 {
        // Beyond the capacity there is no cycle: then that of 90 % counts.
        let load = self.load_per_s.min(0.9 * self.store.capacity_per_s());
        let all_keys = Store { fixed_ms: self.store.cost_mean_ms(self.keys), ..self.store };
        self.store.cycle_ms(self.writers, load).min(all_keys.cycle_ms(self.writers, 0.0))
    }
}

type Batch = (u32, BatchId);

struct World<'a> {
    run: &'a Run,
    batchers: Vec<Batcher>,
    joined: u32,
    calendar: Calendar,
    server: Server<Batch>,
    /// Batches in the part that overlaps, by slot; the free slots.
    overlapping: Vec<Option<Visit<Batch>>>,
    free: Vec<u32>,
    arrivals: Dice,
    services: Dice,
    actions: Vec<BatchAction>,
    /// Events that follow at once.
    events: VecDeque<(u32, BatchEvent)>,
    begin: Timestamp,
    end: Timestamp,
    measured_s: f64,
    came: u64,
    refused: u64,
    /// Of each part: answers and milliseconds.
    parts: [(u64, f64); PARTS],
    outcome: Outcome,
}

/// Slots of the calendar: the next arrival, the service that ends, the late writers; from here on
/// the writers' timers, then batches in the part that overlaps.
const ARRIVAL: u32 = 0;
const SERVICE: u32 = 1;
const JOIN: u32 = 2;
const TIMERS: u32 = 3;

impl<'a> World<'a> {
    fn new(run: &'a Run, seed: u64) -> Self {
        let measured_s = run.measured_s();
        let at = |seconds: f64| Timestamp::ZERO + Duration::from_secs_f64(seconds);
        let begin = at(WARM_UP * measured_s);
        let joined = run.writers - run.late.min(run.writers - 1);
        let settings = ControllerSettings { writers: joined, ..run.settings };
        let batcher = |_| {
            let controller = by_name(run.controller, &settings).expect("there is such a one");
            Batcher::new(run.batch, controller)
        };
        let mut calendar = Calendar::default();
        calendar.set(ARRIVAL, Timestamp::ZERO);
        if joined < run.writers {
            calendar.set(JOIN, at(0.5 * WARM_UP * measured_s));
        }
        let outcome = Outcome {
            latency: LatencyRecorder::new(),
            writers: vec![(0, 0.0); run.writers as usize],
            batches: 0,
            left: 0,
            answered: 0,
            is_saturated: false,
            interval_ms: 0.0,
            measured_s,
        };
        Self {
            run,
            batchers: (0..run.writers).map(batcher).collect(),
            joined,
            calendar,
            server: Server::new(),
            overlapping: Vec::new(),
            free: Vec::new(),
            arrivals: Dice::numbered(seed, 1),
            services: Dice::numbered(seed, 2),
            actions: Vec::new(),
            events: VecDeque::new(),
            begin,
            end: begin + Duration::from_secs_f64(measured_s),
            measured_s,
            came: 0,
            refused: 0,
            parts: [(0, 0.0); PARTS],
            outcome,
        }
    }

    fn play(&mut self) {
        let last = self.end + Duration::from_secs_f64(GRACE * self.measured_s);
        while let Some((now, slot)) = self.calendar.pop() {
            let is_done = now > self.end && self.outcome.answered + self.refused >= self.came;
            if is_done || now > last || (self.refused > 0 && !self.run.is_overloaded) {
                return;
            }
            let timers = TIMERS..TIMERS + self.run.writers;
            match slot {
                ARRIVAL => self.arrive(now),
                JOIN => self.join(),
                SERVICE => {
                    let (served, next) = self.server.end(&self.run.store);
                    self.serve(now, next);
                    self.events.push_back((served.0, BatchEvent::BatchStored(served.1)));
                }
                slot if timers.contains(&slot) => {
                    self.events.push_back((slot - TIMERS, BatchEvent::TimerFired));
                }
                slot => self.overlapped(now, slot),
            }
            while let Some((writer, event)) = self.events.pop_front() {
                self.handle(now, writer, event);
            }
        }
    }

    fn arrive(&mut self, now: Timestamp) {
        let writer = self.arrivals.below(u64::from(self.joined)) as u32;
        let key = self.arrivals.below(self.run.keys.max(1));
        let each_per_s = self.run.load_per_s / f64::from(self.run.writers);
        let rate = each_per_s * f64::from(self.joined);
        let next = Duration::from_secs_f64(self.arrivals.exponential() / rate);
        self.calendar.set(ARRIVAL, now + next);
        self.came += u64::from(self.is_measured(now));
        self.events.push_back((
            writer,
            BatchEvent::MemberCame(BatchMember {
                // When it came is all that its answer must tell.
                ticket: WriteTicket(now.as_nanos()),
                key: Some(KeyMark(u128::from(key))),
                bytes: BYTES,
                tenant: TenantId::ANYBODY,
                is_conditional: false,
            }),
        ));
    }

    fn join(&mut self) {
        self.joined = self.run.writers;
        let counted = BatchEvent::WritersCounted(self.joined);
        self.events.extend((0..self.joined).map(|writer| (writer, counted)));
    }

    fn is_measured(&self, came: Timestamp) -> bool {
        (self.begin..self.end).contains(&came)
    }

    fn handle(&mut self, now: Timestamp, writer: u32, event: BatchEvent) {
        let mut actions = mem::take(&mut self.actions);
        let batcher = &mut self.batchers[writer as usize];
        batcher.handle(now, event, &mut actions);
        match batcher.deadline() {
            Some(due) => self.calendar.set(TIMERS + writer, due.max(now)),
            None => drop(self.calendar.remove(TIMERS + writer)),
        }
        for action in actions.drain(..) {
            match action {
                BatchAction::Depart(departure) => {
                    let members = departure.tickets.len() as u64;
                    if self.is_measured(now) {
                        self.outcome.batches += 1;
                    }
                    self.depart(now, (writer, departure.batch), members);
                }
                BatchAction::Commit(batch) => {
                    let ended = BatchEvent::BatchEnded(batch, BatchEnd::Committed);
                    self.events.push_back((writer, ended));
                }
                BatchAction::Answer { ticket, fate } => {
                    let has_left = fate == ripstop_batching::Fate::Committed;
                    self.answer(now, writer, Timestamp::from_nanos(ticket.0), has_left);
                }
                BatchAction::Refuse { ticket, .. } => {
                    let is_measured = self.is_measured(Timestamp::from_nanos(ticket.0));
                    // Also a refusal before measuring says that too much comes.
                    self.refused += u64::from(is_measured || !self.run.is_overloaded);
                }
                BatchAction::Drop(_) => {}
            }
        }
        self.actions = actions;
    }

    fn answer(&mut self, now: Timestamp, writer: u32, came: Timestamp, has_left: bool) {
        if !self.is_measured(came) {
            return;
        }
        let latency = now.since(came);
        let ms = latency.as_secs_f64() * 1e3;
        self.outcome.latency.record(latency);
        self.outcome.answered += 1;
        self.outcome.left += u64::from(has_left);
        let of = &mut self.outcome.writers[writer as usize];
        *of = (of.0 + 1, of.1 + ms);
        let share = came.since(self.begin).as_secs_f64() / self.measured_s;
        let part = &mut self.parts[((share * PARTS as f64) as usize).min(PARTS - 1)];
        *part = (part.0 + 1, part.1 + ms);
    }

    fn depart(&mut self, now: Timestamp, batch: Batch, members: u64) {
        let cost_ms = self.run.store.cost_ms(members, &mut self.services);
        let visit = Visit { batch, cost_ms };
        if self.run.store.overlap <= 0.0 {
            return self.enter(now, visit);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.overlapping.push(None);
            (self.overlapping.len() - 1) as u32
        });
        self.overlapping[place as usize] = Some(visit);
        let took = Duration::from_secs_f64(self.run.store.overlap * cost_ms / 1e3);
        self.calendar.set(TIMERS + self.run.writers + place, now + took);
    }

    fn overlapped(&mut self, now: Timestamp, slot: u32) {
        let place = slot - TIMERS - self.run.writers;
        let visit = self.overlapping[place as usize].take().expect("its slot was set");
        self.free.push(place);
        if self.run.store.overlap < 1.0 {
            return self.enter(now, visit);
        }
        self.events.push_back((visit.batch.0, BatchEvent::BatchStored(visit.batch.1)));
    }

    fn enter(&mut self, now: Timestamp, visit: Visit<Batch>) {
        let took = self.server.enter(&self.run.store, visit);
        self.serve(now, took);
    }

    fn serve(&mut self, now: Timestamp, took: Option<Duration>) {
        if let Some(took) = took {
            self.calendar.set(SERVICE, now + took);
        }
    }

    fn outcome(mut self) -> Outcome {
        let mean = |part: usize| {
            let (count, sum) = self.parts[part];
            sum / count.max(1) as f64
        };
        let grows = mean(PARTS - 1) > GROWTH_MAX * mean(1);
        let is_behind = self.outcome.answered < self.came;
        self.outcome.is_saturated = self.refused > 0 || is_behind || grows;
        let interval_ms = |batcher: &Batcher| match batcher.rhythm() {
            Rhythm::AfterEnd(interval) | Rhythm::Every(interval) => interval.as_secs_f64() * 1e3,
            Rhythm::Alone => 0.0,
        };
        let sum: f64 = self.batchers.iter().map(interval_ms).sum();
        self.outcome.interval_ms = sum / f64::from(self.run.writers);
        self.outcome
    }
}
