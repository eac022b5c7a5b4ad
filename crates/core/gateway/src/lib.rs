//! The machine in the middle: events in, actions out.
//!
//! [`Machine`] decides everything about requests for the stripes of one pool: when each starts, on
//! which nodes, which failures are made good by which other fragments, when it is answered, and
//! what becomes of what is left. A driver, live or simulated, tells it what happened and carries
//! out what it says; whatever takes time is an action that an event answers. It deliberately knows
//! no bytes, no clock, no I/O and no threads, and rolls no dice: equal events at equal times give
//! equal actions.
//!
//! The machine answers every request that it does not reject once ([`Action::Complete`] or
//! [`Action::Fail`]) and then settles it once ([`Action::Settle`]), its last word on the request.
//!
//! Where to read on: each folder keeps its state to itself. `face` has events, actions and
//! settings; `book` the requests that are not settled, and the timers; `floor` the nodes and tasks,
//! with `preemption`; `line` who waits to start, with `tenants` kept apart; `choose` which nodes
//! are best. `serve` holds no state and uses all of them: `dispatch` has the rule by which requests
//! start, `read`, `shared`, `write` and `mend` what each kind does, `read_end` and `write_end` what
//! follows from a task's end, `answer` what follows an answer, `health` when a node is taken out of
//! service. `machine` is one match.
//!
//! ```
//! use ripstop_gateway::{
//!     Action, Event, Machine, MachineSettings, NodeSpec, Request, RequestSpec, TaskOutcome,
//! };
//! use ripstop_model::{NodeId, RequestId, StripSet, TenantId, Timestamp};
//!
//! let nodes = (0..3).map(|id| NodeSpec { id: NodeId(id), lanes: 4 }).collect();
//! let policy = ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default());
//! let policy = policy.expect("it is registered");
//! let mut machine = Machine::new(MachineSettings::default(), nodes, policy);
//!
//! // A stripe of code (3,2) whose fragment 0 is missing: strip 0 is computed from 1 and 2.
//! let places = vec![None, Some(NodeId(1)), Some(NodeId(2))];
//! let operation = RequestSpec::Read { k: 2, wanted: StripSet::first(1), places };
//! let (id, tenant) = (RequestId(7), TenantId::ANYBODY);
//! let request = Request { id, tenant, operation, strip_bytes: 4096 };
//! let mut actions = Vec::new();
//! machine.handle(Timestamp::ZERO, Event::RequestArrived(request), &mut actions);
//! let mut answers = Vec::new();
//! while let Some(action) = (!actions.is_empty()).then(|| actions.remove(0)) {
//!     let event = match action {
//!         Action::StartTask(task) => Event::TaskEnded(task.id, TaskOutcome::Done),
//!         Action::Decode { request, .. } => Event::DecodeEnded(request, true),
//!         Action::Report(_) => continue,
//!         other => {
//!             answers.push(other);
//!             continue;
//!         }
//!     };
//!     machine.handle(Timestamp::ZERO, event, &mut actions);
//! }
//! let settled = Action::Settle { request: RequestId(7), stored: vec![] };
//! assert_eq!(answers, [Action::Complete(RequestId(7)), settled]);
//! ```
#![no_std]
extern crate alloc;

mod book;
mod choose;
mod face;
mod floor;
mod line;
mod machine;
mod serve;

pub use face::{
    Action, AfterAnswer, Cause, Event, Grant, LANE, LanesMissing, MachineSettings, NodeGauge,
    NodeState, Placement, PlacementGroup, Promised, PromisedError, ReadSelection, Recombination,
    Report, Request, RequestSpec, SettingsError, Shaping, Task, TaskEnd, TaskOutcome, TenantGauge,
    TenantTerms, TierGauge, TierTerms, WHOLE_CHUNK,
};
pub use machine::Machine;
pub use ripstop_policy::Load;
pub use ripstop_scheduling::NodeSpec;
