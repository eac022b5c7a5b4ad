use crate::{Beginning, BeginningError, Ending, Entry, Recording, RecordingError};
use ripstop_gateway::{Action, Event, Machine};
use ripstop_model::Timestamp;
use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    io::Read,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A recording whose machines said the same again.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    /// In the order in which they began.
    pub pools: Vec<PoolReplay>,
    /// How the recording ends.
    pub ending: Ending,
}

/// What was compared of one machine.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolReplay {
    /// What made it.
    pub beginning: Beginning,
    /// Events whose actions were equal.
    pub events: u64,
    /// Those actions.
    pub actions: u64,
    /// Time of the last of those events.
    pub until: Timestamp,
}

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The recording cannot be read.
    #[error("the recording cannot be replayed")]
    Recording(#[from] RecordingError),
    /// A machine cannot be made.
    #[error("the machine of pool {pool:?} cannot be made")]
    Beginning {
        /// The pool's name.
        pool: String,
        /// Why.
        source: BeginningError,
    },
    /// A machine did not say the same.
    #[error("{0}")]
    Differs(Box<Difference>),
}

/// The first place where a machine did not say what it had said.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The pool's name.
    pub pool: String,
    /// Version of the program that recorded.
    pub program: String,
    /// Which of the pool's events, from 1.
    pub event_number: u64,
    /// Where in the file the block is that holds it.
    pub offset: u64,
    /// The event's time.
    pub now: Timestamp,
    /// The event.
    pub event: Event,
    /// Which of its actions, from 1.
    pub action_number: usize,
    /// What the machine had said there.
    pub recorded: Option<Action>,
    /// What it said now; an error is the message of its panic.
    pub replayed: Result<Option<Action>, String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, program, event_number, offset, now, event, action_number, .. } = self;
        writeln!(f, "pool {pool} differs at event {event_number}, action {action_number}")?;
        writeln!(f, "  recorded by version {program}, in the block at byte {offset}")?;
        writeln!(f, "  event     {now:?} {event:?}")?;
        let said = |action: &Option<Action>| match action {
            Some(action) => format!("{action:?}"),
            None => "nothing more".into(),
        };
        writeln!(f, "  recorded  {}", said(&self.recorded))?;
        match &self.replayed {
            Ok(action) => write!(f, "  replayed  {}", said(action)),
            Err(message) => write!(f, "  replayed  a panic: {message}"),
        }
    }
}

/// A machine that lives again.
struct Live {
    machine: Machine,
    replay: PoolReplay,
    /// The event it was told last, and where that is; until what it had said is read.
    told: Option<(Timestamp, Event, u64)>,
    said: Vec<Action>,
}

/// Makes the machines of a recording again, tells them what they were told, and compares what they
/// say.
///
/// An event at the very end, of which the recording does not hold what was said, is not compared.
pub fn replay(from: impl Read) -> Result<Replayed, ReplayError> {
    let mut recording = Recording::open(from)?;
    let mut pools = BTreeMap::<u16, Live>::new();
    while let Some((pool, record)) = recording.next_record()? {
        let offset = recording.offset();
        let misplaced = |why| ReplayError::Recording(RecordingError::Order { offset, why });
        match (record, pools.get_mut(&pool)) {
            (Entry::Began(_), Some(_)) => return Err(misplaced("its pool has begun already")),
            (Entry::Began(beginning), None) => {
                pools.insert(pool, Live::new(beginning)?);
            }
            (Entry::Told { now, event }, Some(live)) => {
                if live.told.is_some() {
                    return Err(misplaced("what was said to the event before it is missing"));
                }
                live.told = Some((now, event, offset));
            }
            (Entry::Said(recorded), Some(live)) => {
                let told = live.told.take().ok_or_else(|| misplaced("nothing was told"))?;
                live.compare(told, recorded)?;
            }
            (Entry::Told { .. } | Entry::Said(_), None) => {
                return Err(misplaced("its pool has not begun"));
            }
            (Entry::Stopped(_) | Entry::Finished, _) => {
                unreachable!("the reader makes an ending of them")
            }
        }
    }
    let ending = recording.ending().expect("the reader found it").clone();
    Ok(Replayed { pools: pools.into_values().map(|live| live.replay).collect(), ending })
}

impl Live {
    fn new(beginning: Beginning) -> Result<Self, ReplayError> {
        let made = beginning.machine();
        let machine =
            made.map_err(|source| ReplayError::Beginning { pool: beginning.pool.clone(), source })?;
        let replay = PoolReplay { beginning, events: 0, actions: 0, until: Timestamp::ZERO };
        Ok(Self { machine, replay, told: None, said: Vec::new() })
    }

    fn compare(
        &mut self,
        (now, event, offset): (Timestamp, Event, u64),
        recorded: Vec<Action>,
    ) -> Result<(), ReplayError> {
        self.said.clear();
        let (machine, said) = (&mut self.machine, &mut self.said);
        let again = event.clone();
        // A live machine that panicked does so again: that is worth more than a crash here.
        let handled = catch_unwind(AssertUnwindSafe(|| machine.handle(now, again, said)));
        if handled.is_ok() && self.said == recorded {
            self.replay.events += 1;
            self.replay.actions += recorded.len() as u64;
            self.replay.until = now;
            return Ok(());
        }
        let pairs = self.said.iter().zip(&recorded);
        let at = pairs.take_while(|(replayed, recorded)| replayed == recorded).count();
        Err(ReplayError::Differs(Box::new(Difference {
            pool: self.replay.beginning.pool.clone(),
            program: self.replay.beginning.program.clone(),
            event_number: self.replay.events + 1,
            offset,
            now,
            event,
            action_number: at + 1,
            recorded: recorded.into_iter().nth(at),
            replayed: match handled {
                Ok(()) => Ok(self.said.get(at).cloned()),
                Err(panic) => Err(message(&*panic)),
            },
        })))
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
