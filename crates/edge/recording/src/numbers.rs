//! The kinds of records and the fields of each, by their numbers: for ever.
//!
//! A number is never used for something else. A field or a kind that changes what the others say
//! gets a number below 128, which programs that do not know it refuse; one that can be passed over
//! a number from 128 on. What a field is where it was not there yet stands behind its `=`: what the
//! machine did before there was one. Without it the field is 0, empty or nothing, or (codes,
//! fractions, reals) must be there; an id is then that which the last event named.

use crate::{
    Beginning, Stop,
    fields::{
        Base, Others, choice, names, no_others, read_fields, record, rest, shape, write_fields,
    },
};
use ripstop_delay::ShiftedExponential;
use ripstop_form::{Fields, Found, Unreadable};
use ripstop_gateway::{
    Action, AfterAnswer, Cause, Event, MachineSettings, NodeSpec, NodeState, Placement,
    PlacementGroup, ReadSelection, Recombination, Report, Request, RequestSpec, Shaping, Task,
    TaskEnd, TaskOutcome, TenantTerms, TierTerms,
};
use ripstop_policy::Limits;

type PolicySettings = ripstop_policy::PolicySettings;

/// Kinds of records beside those of events (below) and actions. Frequent ones are below 24: one
/// byte.
pub(crate) mod kind {
    /// What the first ids and the first time of its block are relative to: 1 the time, 2 the
    /// request, 3 the task.
    pub(crate) const BASE: u64 = 1;
    /// All that was said to the last event stands before it.
    pub(crate) const SAID: u64 = 2;
    /// [`Beginning`](crate::Beginning)
    pub(crate) const BEGAN: u64 = 24;
    /// 1: why.
    pub(crate) const STOPPED: u64 = 25;
    pub(crate) const FINISHED: u64 = 26;
}

/// In every event: nanoseconds since the event before it in its block, or since the block's base.
pub(crate) const SINCE: u64 = 1;

/// What the ids in the actions that are said to an event are relative to, and those in the next
/// event.
pub(crate) fn base_after(event: &Event, base: Base) -> Base {
    match *event {
        Event::RequestArrived(Request { id: request, .. })
        | Event::RequestAbandoned(request)
        | Event::EncodeEnded(request)
        | Event::DecodeEnded(request, _) => Base { request: request.0, ..base },
        Event::TaskEnded(task, _) => Base { task: task.0, ..base },
        Event::NodeChanged(..)
        | Event::LanesChanged(_)
        | Event::ShapingChanged(_)
        | Event::PlacementChanged(_)
        | Event::TimerFired => base,
    }
}

// 1 is what all events have.
choice! { Event {
    3 TaskEnded (2 task, 3 outcome),
    4 RequestArrived [request],
    5 RequestAbandoned (2 request),
    6 EncodeEnded (2 request),
    7 DecodeEnded (2 request, 3 done),
    8 TimerFired {},
    23 LanesChanged (2 nodes),
    27 NodeChanged (2 node, 3 state),
    28 ShapingChanged [shaping],
    29 PlacementChanged [placement],
} }

choice! { Action {
    9 StartTask [task],
    10 CancelTask (1 task),
    11 Encode { 1 request, 2 code },
    12 Decode { 1 request, 2 from },
    13 Complete (1 request),
    14 Settle { 1 request, 2 stored },
    30 Fail (1 request, 2 cause),
    31 Reject { 1 request, 2 retry_after },
    32 Probe (1 node),
} else Report }

choice! { Report {
    15 Task [task],
    16 Started { 1 request, 2 write, 3 code, 4 waited },
    17 Answered { 1 request, 2 tenant, 3 tier, 4 write, 5 took, 6 done = true },
    18 Admitted { 1 request, 2 tenant, 3 tier },
    33 Refused { 1 request, 2 tenant },
    34 FragmentLost { 1 request, 2 fragment, 3 outcome },
    35 Node { 1 node, 2 up },
} }

// 1 is what all events have.
record! { Request { 2 id, 3 tenant, 4 operation, 5 strip_bytes } }

choice! { RequestSpec {
    1 Read { 1 k, 2 wanted, 3 places },
    2 Write { 1 n, 2 k },
    3 ReadShared { 1 n, 2 k, 3 node },
    4 WriteUnique { 1 n, 2 k },
    5 Mend { 1 fragment, 2 node, 3 taken },
} }

record! { Task { 1 id, 2 request, 3 node, 4 fragment, 5 strips = 1 } }

record! { TaskEnd {
    1 task, 2 write, 3 outcome, 4 bytes, 5 waited, 6 served, 7 extra, 8 redundant,
} }

names! { TaskOutcome { Done, 1 Missing, 2 Damaged, 3 Unavailable, 4 Refused, 5 Cancelled } }
names! { NodeState { Up, 1 Down } }
names! { Cause { Lost, 1 Unavailable, 2 TimedOut, 3 Abandoned } }

// 1 is what all events have.
record! { Shaping { 2 recombination, 3 tenants } }
record! { TenantTerms { 1 tenant, 2 tiers } }
record! { TierTerms { 1 fraction, 2 bound, 3 capacity } }
names! { Recombination { Fifo, 1 Split, 2 Fair, 3 PClock, 4 Miser } }

// 1 is what all events have.
record! { Placement { 2 selection, 3 groups } }
record! { PlacementGroup { 1 weight, 2 nodes, 3 dispatch } }
names! { ReadSelection { Ready, 1 Probabilistic, 2 LeastWork, 3 LeastWorkPlanned } }

record! { Beginning {
    1 program, 2 pool, 3 settings, 4 nodes, 5 policy, 6 policy_settings,
} }

record! { MachineSettings {
    1 requests_waiting_max,
    2 mends_waiting_max,
    3 tasks_waiting_max,
    4 task_timeout,
    5 request_timeout,
    6 patience,
    7 late_after,
    8 tries_max,
    9 answer_extra,
    10 answer_extra_min,
    11 degraded_after,
    12 after_answer,
    13 left_bytes_max,
    14 probe_every,
    15 failures_to_down,
} }

names! { AfterAnswer { Continue, 1 Background, 2 Cancel, 3 Leave } }
record! { NodeSpec { 1 id, 2 lanes } }

record! { PolicySettings {
    1 code, 2 read_chunks, 3 limits, 4 memory, 5 model, 6 hedge_after,
} }

record! { Limits { 1 k_max, 2 r_max } }
record! { ShiftedExponential { 1 shift_ms, 2 shift_ms_per_mb, 3 mean_ms, 4 mean_ms_per_mb } }

choice! { Stop { 1 Behind {}, 2 Limit {}, 3 Disk (1 error) } }
