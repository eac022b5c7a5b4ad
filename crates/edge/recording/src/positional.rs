//! Version 2 of the records, which is read for ever: member after member, without names or numbers,
//! in postcard's form. Numbers are seven bits to a byte, the lowest first, the highest bit set
//! where another follows; lists and texts begin with their length, what may be missing with 0 or 1,
//! variants with theirs, from 0.
//!
//! What was added to a type in core since then is given here what it was when there was none of it.

use crate::{Beginning, Stop, format::Entry};
use ripstop_delay::ShiftedExponential;
use ripstop_form::Unreadable;
use ripstop_gateway::{
    Action, AfterAnswer, Cause, Event, MachineSettings, NodeSpec, NodeState, Placement,
    PlacementGroup, ReadSelection, Recombination, Report, Request, RequestSpec, Shaping, Task,
    TaskEnd, TaskOutcome, TenantTerms, TierTerms,
};
use ripstop_model::{Code, NodeId, RequestId, StripSet, TaskId, TenantId, Timestamp};
use ripstop_policy::Limits;
use std::time::Duration;

type Read<T> = Result<T, Unreadable>;

/// The first record of `bytes`, and how many bytes that is.
pub(crate) fn first(bytes: &[u8]) -> Read<(usize, Entry)> {
    let mut members = Members(bytes);
    let record = members.record()?;
    Ok((bytes.len() - members.0.len(), record))
}

fn wrong<T>(reason: &str) -> Read<T> {
    Err(Unreadable::Form(reason.to_owned()))
}

/// What is not read yet.
struct Members<'b>(&'b [u8]);

impl<'b> Members<'b> {
    fn take(&mut self, len: usize) -> Read<&'b [u8]> {
        match self.0.split_at_checked(len) {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(taken)
            }
            None => wrong("it ends amid a value"),
        }
    }

    fn byte(&mut self) -> Read<u8> {
        Ok(self.take(1)?[0])
    }

    fn truth(&mut self) -> Read<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => wrong("a truth is neither 0 nor 1"),
        }
    }

    fn number(&mut self) -> Read<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return wrong("a number is too large");
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        wrong("a number does not end")
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Read<T> {
        T::try_from(self.number()?).or_else(|_| wrong("a number is too large"))
    }

    fn real(&mut self) -> Read<f64> {
        Ok(f64::from_le_bytes(self.take(8)?.try_into().expect("as many bytes as were taken")))
    }

    fn text(&mut self) -> Read<String> {
        let len = self.small()?;
        match str::from_utf8(self.take(len)?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => wrong("a text is not UTF-8"),
        }
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.truth()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Each member of a list is a byte at least, so that a length cannot ask for more than there
    /// is.
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let len: usize = self.small()?;
        let mut list = Vec::new();
        for _ in 0..len {
            list.push(read(self)?);
        }
        Ok(list)
    }

    fn span(&mut self) -> Read<Duration> {
        let (seconds, nanos) = (self.number()?, self.small()?);
        match nanos {
            0..1_000_000_000 => Ok(Duration::new(seconds, nanos)),
            _ => wrong("a span has a second of nanoseconds"),
        }
    }

    fn time(&mut self) -> Read<Timestamp> {
        self.number().map(Timestamp::from_nanos)
    }

    fn request_id(&mut self) -> Read<RequestId> {
        self.number().map(RequestId)
    }

    fn task_id(&mut self) -> Read<TaskId> {
        self.number().map(TaskId)
    }

    fn node_id(&mut self) -> Read<NodeId> {
        self.small().map(NodeId)
    }

    fn tenant_id(&mut self) -> Read<TenantId> {
        self.small().map(TenantId)
    }

    fn code(&mut self) -> Read<Code> {
        let (n, k) = (self.byte()?, self.byte()?);
        Code::new(n.into(), k.into()).or_else(|error| wrong(&error.to_string()))
    }

    fn strips(&mut self) -> Read<StripSet> {
        let words = [self.number()?, self.number()?, self.number()?, self.number()?];
        Ok(StripSet::from_words(words))
    }

    fn places(&mut self) -> Read<Vec<Option<NodeId>>> {
        self.list(|it| it.option(Self::node_id))
    }

    /// The variant of this number among these.
    fn variant<T: Copy>(&mut self, variants: &[T]) -> Read<T> {
        let number: usize = self.small()?;
        variants.get(number).copied().map_or_else(|| wrong("a variant is none"), Ok)
    }

    fn record(&mut self) -> Read<Entry> {
        Ok(match self.number()? {
            0 => Entry::Began(self.beginning()?),
            1 => Entry::Told { now: self.time()?, event: self.event()? },
            2 => Entry::Said(self.list(Self::action)?),
            3 => Entry::Stopped(match self.number()? {
                0 => Stop::Behind,
                1 => Stop::Limit,
                2 => Stop::Disk(self.text()?),
                _ => return wrong("a reason to stop is none"),
            }),
            4 => Entry::Finished,
            _ => return wrong("a record is of no kind"),
        })
    }

    fn beginning(&mut self) -> Read<Beginning> {
        Ok(Beginning {
            program: self.text()?,
            pool: self.text()?,
            settings: self.settings()?,
            nodes: self.list(|it| Ok(NodeSpec { id: it.node_id()?, lanes: it.small()? }))?,
            policy: self.text()?,
            policy_settings: self.policy_settings()?,
        })
    }

    fn settings(&mut self) -> Read<MachineSettings> {
        use AfterAnswer::{Background, Cancel, Continue, Leave};
        Ok(MachineSettings {
            requests_waiting_max: self.small()?,
            mends_waiting_max: self.small()?,
            tasks_waiting_max: self.small()?,
            task_timeout: self.span()?,
            request_timeout: self.span()?,
            patience: self.span()?,
            late_after: self.span()?,
            tries_max: self.byte()?,
            answer_extra: self.byte()?,
            answer_extra_min: self.byte()?,
            degraded_after: self.span()?,
            after_answer: self.variant(&[Continue, Background, Cancel, Leave])?,
            left_bytes_max: self.number()?,
            probe_every: self.span()?,
            failures_to_down: self.small()?,
        })
    }

    fn policy_settings(&mut self) -> Read<ripstop_policy::PolicySettings> {
        Ok(ripstop_policy::PolicySettings {
            code: self.option(Self::code)?,
            read_chunks: self.option(Self::byte)?,
            limits: Limits { k_max: self.byte()?, r_max: self.real()? },
            memory: self.real()?,
            model: self.option(|it| {
                Ok(ShiftedExponential {
                    shift_ms: it.real()?,
                    shift_ms_per_mb: it.real()?,
                    mean_ms: it.real()?,
                    mean_ms_per_mb: it.real()?,
                })
            })?,
            hedge_after: self.span()?,
        })
    }

    fn event(&mut self) -> Read<Event> {
        Ok(match self.number()? {
            0 => Event::RequestArrived(Request {
                id: self.request_id()?,
                tenant: self.tenant_id()?,
                operation: self.operation()?,
                strip_bytes: self.small()?,
            }),
            1 => Event::RequestAbandoned(self.request_id()?),
            2 => Event::EncodeEnded(self.request_id()?),
            3 => Event::TaskEnded(self.task_id()?, self.outcome()?),
            4 => Event::DecodeEnded(self.request_id()?, self.truth()?),
            5 => Event::NodeChanged(
                self.node_id()?,
                self.variant(&[NodeState::Up, NodeState::Down])?,
            ),
            6 => Event::ShapingChanged(self.shaping()?),
            7 => Event::PlacementChanged(self.placement()?),
            8 => Event::TimerFired,
            _ => return wrong("an event is of no kind"),
        })
    }

    fn operation(&mut self) -> Read<RequestSpec> {
        Ok(match self.number()? {
            0 => RequestSpec::Read {
                k: self.byte()?,
                wanted: self.strips()?,
                places: self.places()?,
            },
            1 => {
                let (n, k, node) = (self.byte()?, self.byte()?, self.option(Self::node_id)?);
                RequestSpec::ReadShared { n, k, node }
            }
            2 => RequestSpec::WriteUnique { n: self.byte()?, k: self.byte()? },
            3 => RequestSpec::Write { n: self.byte()?, k: self.byte()? },
            4 => RequestSpec::Mend {
                fragment: self.byte()?,
                node: self.option(Self::node_id)?,
                taken: self.list(Self::node_id)?,
            },
            _ => return wrong("an operation is of no kind"),
        })
    }

    fn outcome(&mut self) -> Read<TaskOutcome> {
        use TaskOutcome::{Cancelled, Damaged, Done, Missing, Refused, Unavailable};
        self.variant(&[Done, Missing, Damaged, Unavailable, Refused, Cancelled])
    }

    fn shaping(&mut self) -> Read<Shaping> {
        use Recombination::{Fair, Fifo, Miser, PClock, Split};
        let recombination = self.variant(&[Fifo, Split, Fair, PClock, Miser])?;
        let tenants = self
            .list(|it| Ok(TenantTerms { tenant: it.tenant_id()?, tiers: it.list(Self::tier)? }))?;
        Ok(Shaping { recombination, tenants })
    }

    fn tier(&mut self) -> Read<TierTerms> {
        let fraction = self.text()?;
        let fraction = fraction.parse().or_else(|_| wrong("a fraction is none"))?;
        Ok(TierTerms { fraction, bound: self.span()?, capacity: self.number()? })
    }

    fn placement(&mut self) -> Read<Placement> {
        use ReadSelection::{LeastWork, LeastWorkPlanned, Probabilistic, Ready};
        let selection = self.variant(&[Ready, Probabilistic, LeastWork, LeastWorkPlanned])?;
        let groups = self.list(|it| {
            Ok(PlacementGroup {
                weight: it.number()?,
                nodes: it.list(Self::node_id)?,
                dispatch: it.list(Self::small)?,
            })
        })?;
        Ok(Placement { selection, groups })
    }

    fn action(&mut self) -> Read<Action> {
        Ok(match self.number()? {
            0 => Action::Encode { request: self.request_id()?, code: self.code()? },
            1 => Action::StartTask(self.task()?),
            2 => Action::CancelTask(self.task_id()?),
            3 => Action::Decode { request: self.request_id()?, from: self.strips()? },
            4 => Action::Complete(self.request_id()?),
            5 => {
                use Cause::{Abandoned, Lost, TimedOut, Unavailable};
                let (request, causes) =
                    (self.request_id()?, [Lost, Unavailable, TimedOut, Abandoned]);
                Action::Fail(request, self.variant(&causes)?)
            }
            6 => Action::Reject { request: self.request_id()?, retry_after: self.span()? },
            7 => Action::Settle { request: self.request_id()?, stored: self.places()? },
            8 => Action::Probe(self.node_id()?),
            9 => Action::Report(self.report()?),
            _ => return wrong("an action is of no kind"),
        })
    }

    fn task(&mut self) -> Read<Task> {
        Ok(Task {
            id: self.task_id()?,
            request: self.request_id()?,
            node: self.node_id()?,
            fragment: self.byte()?,
            strips: self.byte()?,
        })
    }

    fn report(&mut self) -> Read<Report> {
        Ok(match self.number()? {
            0 => Report::Started {
                request: self.request_id()?,
                write: self.truth()?,
                code: self.code()?,
                waited: self.span()?,
            },
            1 => Report::Task(TaskEnd {
                task: self.task()?,
                write: self.truth()?,
                outcome: self.outcome()?,
                bytes: self.number()?,
                waited: self.span()?,
                served: self.span()?,
                extra: self.truth()?,
                redundant: self.truth()?,
            }),
            2 => Report::Admitted {
                request: self.request_id()?,
                tenant: self.tenant_id()?,
                tier: self.option(Self::byte)?,
            },
            3 => Report::Refused { request: self.request_id()?, tenant: self.tenant_id()? },
            4 => Report::Answered {
                request: self.request_id()?,
                tenant: self.tenant_id()?,
                tier: self.option(Self::byte)?,
                write: self.truth()?,
                took: self.span()?,
                done: self.truth()?,
            },
            5 => Report::FragmentLost {
                request: self.request_id()?,
                fragment: self.byte()?,
                outcome: self.outcome()?,
            },
            6 => Report::Node { node: self.node_id()?, up: self.truth()? },
            _ => return wrong("a report is of no kind"),
        })
    }
}
