//! What a member costs: `cargo bench -p ripstop-batching`. The time shown is that of one member:
//! its coming, its share of its batch's departure and end, its answer, and what the controller
//! makes of the batch. Ends with an error if it takes more than [`MEMBER_MAX`].

use criterion::Criterion;
use ripstop_batching::{
    BatchAction, BatchEnd, BatchEvent, BatchId, BatchMember, BatchSettings, Batcher,
    ControllerSettings, KeyMark, WriteTicket, by_name,
};
use ripstop_delay::Dice;
use ripstop_model::{TenantId, Timestamp};
use std::{
    hint::black_box,
    io::{Write as _, stdout},
    process::ExitCode,
    time::{Duration, Instant},
};

/// Most that a member may take.
const MEMBER_MAX: Duration = Duration::from_micros(1);
const WARM_UP: u64 = 200_000;
const CONTROLLERS: [&str; 4] = ["natural", "stout", "stout-10", "modelled"];
/// Members of a batch, at about as many of which the store ends it; keys.
const SHAPES: [(u64, u64); 4] = [(1, 10_000), (30, 10_000), (1000, 10_000), (1000, 100)];

struct Stream {
    batcher: Batcher,
    dice: Dice,
    now_ns: u64,
    members: u64,
    keys: u64,
    actions: Vec<BatchAction>,
    outstanding: Vec<BatchId>,
}

impl Stream {
    fn new(name: &str, (members, keys): (u64, u64)) -> Self {
        let settings = ControllerSettings { writers: 8, ..ControllerSettings::default() };
        let controller = by_name(name, &settings).expect("it is registered");
        Self {
            batcher: Batcher::new(BatchSettings::default(), controller),
            dice: Dice::new(1),
            now_ns: 0,
            members,
            keys,
            actions: Vec::new(),
            outstanding: Vec::new(),
        }
    }

    fn tell(&mut self, event: BatchEvent) {
        let now = Timestamp::from_nanos(self.now_ns);
        self.batcher.handle(now, event, &mut self.actions);
        for action in self.actions.drain(..) {
            if let BatchAction::Depart(departure) = &action {
                self.outstanding.push(departure.batch);
            }
            drop(black_box(action));
        }
    }

    /// As many members come, and batches end after about as many of them as they are to have.
    fn members(&mut self, count: u64) {
        for number in 0..count {
            self.now_ns += (100_000.0 * self.dice.exponential()) as u64;
            let member = BatchMember {
                ticket: WriteTicket(number),
                key: Some(KeyMark(u128::from(self.dice.below(self.keys)))),
                bytes: 256,
                tenant: TenantId((number % 3) as u16),
                is_conditional: false,
            };
            self.tell(BatchEvent::MemberCame(member));
            if self.dice.below(self.members) == 0 {
                for batch in core::mem::take(&mut self.outstanding) {
                    self.tell(BatchEvent::BatchStored(batch));
                    self.tell(BatchEvent::BatchEnded(batch, BatchEnd::Committed));
                }
            }
            let now = Timestamp::from_nanos(self.now_ns);
            if self.batcher.deadline().is_some_and(|due| due <= now) {
                self.tell(BatchEvent::TimerFired);
            }
        }
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// A stream that has run for a while.
fn stream(name: &str, shape: (u64, u64)) -> (Stream, String) {
    let mut stream = Stream::new(name, shape);
    stream.members(WARM_UP);
    (stream, format!("{name}, batches of about {}, {} keys", shape.0, shape.1))
}

/// Whether a member takes no longer than it may, whatever the controller.
fn is_quick() -> std::io::Result<bool> {
    let mut quick = true;
    for name in CONTROLLERS {
        for shape in SHAPES {
            let (mut stream, title) = stream(name, shape);
            let rounds = (0..5).map(|_| timed(|| stream.members(WARM_UP)) / WARM_UP as u32);
            let best = rounds.min().unwrap_or_default();
            if best > MEMBER_MAX {
                quick = false;
                writeln!(stdout(), "{title}: {best:?} a member")?;
            }
        }
    }
    let verdict = if quick { "holds" } else { "DOES NOT HOLD" };
    writeln!(stdout(), "at most {MEMBER_MAX:?} a member: {verdict}")?;
    Ok(quick)
}

fn main() -> ExitCode {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("member");
    for name in CONTROLLERS {
        for shape in SHAPES {
            let (mut stream, title) = stream(name, shape);
            group.bench_function(title, |bencher| {
                bencher.iter_custom(|members| timed(|| stream.members(members)));
            });
        }
    }
    group.finish();
    criterion.final_summary();
    // Without the word it is a test run: nothing is measured.
    let measured = std::env::args().any(|word| word == "--bench");
    let quick = !measured || is_quick().unwrap_or(false);
    if quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
