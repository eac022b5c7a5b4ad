//! What the machines of a gateway were told and what they said, kept in a file and replayed.
//!
//! A [`Recorder`] is a [`Witness`](ripstop_runtime::Witness) of each pool: in the order in which
//! the machine handled them it keeps every event, its time, and the actions that came of it,
//! together with what made the machine. [`replay`] makes the machines again, tells them the same,
//! and compares what they say, action for action. Since the machine is a function of its events,
//! any difference is a change of its code, an accident that depends on something other than events,
//! or another recording.
//!
//! A recording holds no bytes of objects, no names and no keys: ids, sizes, outcomes and times. It
//! never has gaps: where the disk is too slow or full, it ends, and says so. A process that was
//! killed leaves one that ends early. It deliberately does not go on from an earlier one, for a
//! machine begins with its process.
//!
//! The file: `RIPSTOPR`, the version of the format (4 bytes, little endian, as are all numbers
//! here), then blocks. A block: how many bytes its records are (4), its number (4, from 0), the
//! pool (2), CRC-32C of the version and these (4), CRC-32C of all that and of the records (4), and
//! the records. Those of a pool are in order, those of different pools interleave. A block that
//! ends with the file before its end was cut off by a kill; any other disagreement is damage.
//!
//! A record is its kind, a number, and a CBOR map of its fields by their numbers, which stand in
//! the file `numbers`: a program that does not know one refuses it below 128, with its number, and
//! passes it over from 128 on. A [`Entry`] is one of these records, or several: each action is one,
//! and after the last comes one that says that this was all. Ids are the differences to those that
//! each block begins with, an event's time that to the event before, so that they are short. Files
//! of version 2, which is read for ever, hold members one after another instead of fields.
//!
//! ```
//! use ripstop_gateway::{Event, Machine, NodeSpec, RequestSpec, Request, MachineSettings};
//! use ripstop_model::{NodeId, RequestId, TenantId, Timestamp};
//! use ripstop_recording::{Beginning, Recorder, RecorderSettings, replay};
//! use ripstop_runtime::Witness as _;
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("recording");
//! let recorder = Recorder::create(&file, RecorderSettings::default())?;
//! let beginning = Beginning {
//!     program: "1.2.3".into(),
//!     pool: "default".into(),
//!     settings: MachineSettings::default(),
//!     nodes: vec![NodeSpec { id: NodeId(1), lanes: 4 }],
//!     policy: "fixed".into(),
//!     policy_settings: ripstop_policy::PolicySettings::default(),
//! };
//! let (mut machine, witness) = (beginning.machine()?, recorder.pool(&beginning));
//!
//! let operation = RequestSpec::Write { n: 1, k: 1 };
//! let tenant = TenantId::ANYBODY;
//! let request = Request { id: RequestId(0), tenant, operation, strip_bytes: 4096 };
//! let (now, event) = (Timestamp::ZERO, Event::RequestArrived(request));
//! let mut actions = Vec::new();
//! witness.told(now, &event);
//! machine.handle(now, event, &mut actions);
//! witness.said(&actions);
//! recorder.finish();
//!
//! let replayed = replay(std::fs::File::open(&file)?)?;
//! assert_eq!((replayed.pools[0].events, replayed.pools[0].actions), (1, actions.len() as u64));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod fields;
mod format;
mod frame;
mod numbered;
mod numbers;
mod pool;
mod positional;
mod reader;
mod recorder;
mod replay;
mod values;
mod writer;

pub use format::{Beginning, BeginningError, Entry, POSITIONAL, Stop, VERSION};
pub use pool::PoolRecorder;
pub use reader::{Ending, Recording, RecordingError};
pub use recorder::{Recorder, RecorderSettings};
pub use replay::{Difference, PoolReplay, ReplayError, Replayed, replay};
