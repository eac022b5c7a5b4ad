//! When small writes that wait together leave as one batch, after Stout (McCullough, Dunagan,
//! Wolman, Snoeren).
//!
//! A [`Batcher`] is told what happened and says what is to be done. Members come and wait; a batch
//! of them departs when nothing of the batcher's is outstanding and the interval that its
//! [`Controller`] asks for is over, or when the batch is full; it is stored, committed in the order
//! of departures, and ends; then each member is answered once. A member that comes while the
//! batcher is idle leaves at once.
//!
//! * [`Batcher`], [`BatchEvent`], [`BatchAction`]: the batch itself.
//! * [`Controller`], [`by_name`]: how long to wait for company, a file per controller: `natural`,
//!   `fixed`, `stout`, `modelled` …
//! * [`BatchLimits`]: what bounds all of it.
//! * [`CleaningSurvey`]: which stripes of small objects are written again, together.
//!
//! It deliberately knows nothing of objects, nodes and catalogs: a member is some bytes, a mark
//! that its key has, a tenant, and a ticket by which the caller knows it. It has no clock, and
//! whether a commit did what a conditional member asked for is between the caller and its catalog.
//!
//! ```
//! use ripstop_batching::{
//!     BatchAction, BatchEnd, BatchEvent, BatchMember, BatchSettings, Batcher, ControllerSettings,
//!     Fate, KeyMark, WriteTicket, by_name,
//! };
//! use ripstop_model::{TenantId, Timestamp};
//!
//! let natural = by_name("natural", &ControllerSettings::default()).expect("it is registered");
//! let mut batcher = Batcher::new(BatchSettings::default(), natural);
//! let member = |number| BatchMember {
//!     ticket: WriteTicket(number),
//!     key: Some(KeyMark(7)),
//!     bytes: 256,
//!     tenant: TenantId::ANYBODY,
//!     is_conditional: false,
//! };
//! let mut actions = Vec::new();
//! let at = Timestamp::from_nanos;
//! // Nothing is outstanding: a lone write leaves at once.
//! batcher.handle(at(0), BatchEvent::MemberCame(member(1)), &mut actions);
//! let [BatchAction::Depart(first)] = &actions[..] else { panic!("{actions:?}") };
//! let (batch, mut actions) = (first.batch, Vec::new());
//! // Two more of one key wait meanwhile: the later one drops the bytes of the earlier one.
//! batcher.handle(at(1), BatchEvent::MemberCame(member(2)), &mut actions);
//! batcher.handle(at(2), BatchEvent::MemberCame(member(3)), &mut actions);
//! assert_eq!(actions, [BatchAction::Drop(WriteTicket(2))]);
//! batcher.handle(at(3), BatchEvent::BatchStored(batch), &mut actions);
//! assert_eq!(actions[1..], [BatchAction::Commit(batch)]);
//! let ended = BatchEvent::BatchEnded(batch, BatchEnd::Committed);
//! batcher.handle(at(4), ended, &mut actions);
//! let answer = BatchAction::Answer { ticket: WriteTicket(1), fate: Fate::Committed };
//! assert_eq!(actions[2], answer);
//! let BatchAction::Depart(second) = &actions[3] else { panic!("{actions:?}") };
//! assert_eq!(second.tickets, [WriteTicket(3)]);
//! ```
#![no_std]
extern crate alloc;

mod batcher;
mod cleaning;
mod controller;
mod event;
mod fixed;
mod limits;
mod line;
mod member;
mod modelled;
mod natural;
mod outstanding;
mod registry;
mod settings;
mod stout;

pub use batcher::Batcher;
pub use cleaning::{CleaningPlan, CleaningRule, CleaningSurvey, Wear, WearSample};
pub use controller::{BatchCourse, Controller, Rhythm};
pub use event::{BatchAction, BatchEnd, BatchEvent, BatchRefusal, Departure, Fate};
pub use limits::{BatchLimits, BatchSettings};
pub use member::{BatchId, BatchMember, KeyMark, WriteTicket};
pub use registry::{UnknownController, by_name, descriptions, names};
pub use settings::ControllerSettings;
