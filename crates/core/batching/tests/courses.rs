//! A batcher under random courses of events, beside a naive account of what it owes.

use proptest::prelude::*;
use ripstop_batching::{
    BatchAction, BatchEnd, BatchEvent, BatchId, BatchLimits, BatchMember, BatchSettings, Batcher,
    ControllerSettings, Departure, Fate, KeyMark, WriteTicket, by_name, names,
};
use ripstop_model::{TenantId, Timestamp};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Where a write stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stand {
    Waiting,
    Dropped,
    Departed(BatchId),
    Answered,
}

/// What is known of writes from outside.
#[derive(Default)]
struct Account {
    members: BTreeMap<WriteTicket, (BatchMember, Stand)>,
    /// Of each key, its tickets in the order in which they came, not yet answered.
    keys: BTreeMap<KeyMark, Vec<WriteTicket>>,
    stored: BTreeSet<BatchId>,
    outstanding: Vec<BatchId>,
    committing: Option<BatchId>,
    log: Vec<BatchAction>,
}

const LIMITS: BatchLimits = BatchLimits {
    batch_bytes_max: 2000,
    batch_members_max: 5,
    waiting_bytes_max: 8000,
    waiting_members_max: 20,
    key_waiting_max: 4,
    outstanding_max: 2,
    outstanding_free_max: 3,
};

impl Account {
    /// Those whose bytes wait.
    fn waiting(&self) -> impl Iterator<Item = &BatchMember> {
        self.members.values().filter(|it| it.1 == Stand::Waiting).map(|it| &it.0)
    }

    fn took(&mut self, action: &BatchAction, ended: Option<(BatchId, BatchEnd)>) {
        match action {
            BatchAction::Refuse { ticket, .. } => self.refused(*ticket),
            BatchAction::Drop(ticket) => self.dropped(*ticket),
            BatchAction::Depart(departure) => self.departed(departure),
            BatchAction::Commit(batch) => {
                assert_eq!(self.outstanding.first(), Some(batch), "commits are in order");
                assert!(self.stored.contains(batch) && self.committing.is_none());
                self.committing = Some(*batch);
            }
            BatchAction::Answer { ticket, fate } => self.answered(*ticket, *fate, ended),
        }
    }

    fn refused(&mut self, ticket: WriteTicket) {
        let (member, stand) = self.members.remove(&ticket).expect("it came");
        assert_eq!(stand, Stand::Waiting);
        if let Some(key) = member.key {
            self.keys.get_mut(&key).expect("its key is known").retain(|it| *it != ticket);
        }
    }

    fn dropped(&mut self, ticket: WriteTicket) {
        let (member, stand) = self.members.get_mut(&ticket).expect("it came");
        assert_eq!(*stand, Stand::Waiting);
        assert!(!member.is_conditional, "what a condition decides is not dropped");
        *stand = Stand::Dropped;
        let tickets = &self.keys[&member.key.expect("only a key collapses")];
        let place = tickets.iter().position(|it| *it == ticket).expect("it waits");
        let later = self.members[&tickets[place + 1]].0;
        assert!(!later.is_conditional, "what a condition may observe is not dropped");
    }

    fn departed(&mut self, departure: &Departure) {
        let Departure { batch, tickets, bytes } = departure;
        assert!(!tickets.is_empty() && tickets.len() <= LIMITS.batch_members_max);
        assert!(*bytes <= LIMITS.batch_bytes_max);
        let (mut keys, mut sum) = (BTreeSet::new(), 0);
        for ticket in tickets {
            let (member, stand) = self.members.get_mut(ticket).expect("it came");
            assert_eq!(*stand, Stand::Waiting, "dropped bytes never leave, others once");
            *stand = Stand::Departed(*batch);
            sum += u64::from(member.bytes);
            assert!(member.key.is_none_or(|key| keys.insert(key)), "one of each key");
        }
        assert_eq!(*bytes, sum);
        assert!(self.outstanding.last().is_none_or(|last| last < batch));
        self.outstanding.push(*batch);
    }

    fn answered(&mut self, ticket: WriteTicket, fate: Fate, ended: Option<(BatchId, BatchEnd)>) {
        let (batch, end) = ended.expect("answers come with ends");
        let (member, stand) = self.members.get_mut(&ticket).expect("it came");
        match (*stand, fate) {
            (Stand::Departed(its), Fate::Committed) => {
                assert_eq!((its, end), (batch, BatchEnd::Committed));
            }
            (Stand::Dropped, Fate::Collapsed) => assert_eq!(end, BatchEnd::Committed),
            (Stand::Departed(its), Fate::Failed) => {
                assert_eq!((its, end), (batch, BatchEnd::Failed));
            }
            (Stand::Dropped, Fate::Failed) => assert_eq!(end, BatchEnd::Failed),
            other => panic!("{ticket:?}: {other:?}"),
        }
        *stand = Stand::Answered;
        if let Some(key) = member.key {
            let tickets = self.keys.get_mut(&key).expect("its key is known");
            // A batch that fails may be overtaken by none: commits are in order.
            if end == BatchEnd::Committed {
                assert_eq!(tickets.first(), Some(&ticket), "answers of a key are in order");
            }
            tickets.retain(|it| *it != ticket);
        }
    }

    fn is_settled(&self) -> bool {
        self.members.values().all(|it| it.1 == Stand::Answered)
    }
}

struct Course {
    batcher: Batcher,
    account: Account,
    now: Timestamp,
    next: u64,
}

impl Course {
    fn tell(&mut self, event: BatchEvent) {
        let ended =
            if let BatchEvent::BatchEnded(batch, end) = event { Some((batch, end)) } else { None };
        if let Some((batch, _)) = ended {
            self.account.outstanding.retain(|it| *it != batch);
            if self.account.committing == Some(batch) {
                self.account.committing = None;
            }
        }
        let mut actions = Vec::new();
        self.batcher.handle(self.now, event, &mut actions);
        for action in &actions {
            self.account.took(action, ended);
        }
        self.account.log.extend(actions);
        assert!(self.account.waiting().count() <= LIMITS.waiting_members_max);
        let bytes = self.account.waiting().map(|it| u64::from(it.bytes)).sum::<u64>();
        assert!(bytes <= LIMITS.waiting_bytes_max);
        assert_eq!(self.batcher.outstanding(), self.account.outstanding.len());
        assert!(self.batcher.outstanding() <= 3);
        assert!(self.batcher.deadline().is_none_or(|due| due > self.now), "what is due is done");
    }

    fn step(&mut self, [kind, one, two]: [u8; 3]) {
        self.now = self.now + Duration::from_millis(u64::from(two % 7));
        let outstanding = &self.account.outstanding;
        let batch = outstanding.get(usize::from(one) % outstanding.len().max(1)).copied();
        match kind % 8 {
            0..4 => self.come(one, two),
            4 => self.tell(BatchEvent::TimerFired),
            5 => {
                if let Some(batch) = batch {
                    self.account.stored.insert(batch);
                    self.tell(BatchEvent::BatchStored(batch));
                }
            }
            6 => {
                if let Some(batch) = self.account.committing {
                    self.tell(BatchEvent::BatchEnded(batch, BatchEnd::Committed));
                }
            }
            _ => match batch {
                Some(batch) if two < 60 => {
                    self.tell(BatchEvent::BatchEnded(batch, BatchEnd::Failed));
                }
                _ => self.tell(BatchEvent::WritersCounted(u32::from(one % 9))),
            },
        }
    }

    fn come(&mut self, one: u8, two: u8) {
        let ticket = WriteTicket(self.next);
        self.next += 1;
        let key = (one % 4 < 3).then(|| KeyMark(u128::from(one % 5)));
        let member = BatchMember {
            ticket,
            key,
            bytes: 10 * u32::from(two),
            tenant: TenantId(u16::from(one % 3)),
            is_conditional: key.is_some() && two.is_multiple_of(4),
        };
        self.account.members.insert(ticket, (member, Stand::Waiting));
        if let Some(key) = key {
            self.account.keys.entry(key).or_default().push(ticket);
        }
        self.tell(BatchEvent::MemberCame(member));
    }

    /// Everything that is outstanding ends well, until nothing waits.
    fn finish(&mut self) {
        for _ in 0..200 {
            if let Some(&batch) = self.account.outstanding.first() {
                self.account.stored.insert(batch);
                self.tell(BatchEvent::BatchStored(batch));
                self.tell(BatchEvent::BatchEnded(batch, BatchEnd::Committed));
            } else if let Some(due) = self.batcher.deadline() {
                self.now = due;
                self.tell(BatchEvent::TimerFired);
            } else {
                break;
            }
        }
        assert!(self.account.is_settled(), "every write was answered");
    }
}

fn play(name: &str, collapse: bool, steps: &[[u8; 3]]) -> Vec<BatchAction> {
    let interval = Duration::from_millis(9);
    let settings = ControllerSettings { interval, ..ControllerSettings::default() };
    let controller = by_name(name, &settings).expect("it is registered");
    let puts_per_second_max = (!collapse).then_some(200.0);
    // Half of them with a timer as coarse as the interval.
    let timer_step = if collapse { Duration::ZERO } else { interval };
    let settings = BatchSettings { limits: LIMITS, collapse, puts_per_second_max, timer_step };
    let batcher = Batcher::new(settings, controller);
    let account = Account::default();
    let mut course = Course { batcher, account, now: Timestamp::ZERO, next: 0 };
    for step in steps {
        course.step(*step);
    }
    course.finish();
    course.account.log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_write_is_answered_once_and_in_order(
        steps in prop::collection::vec(any::<[u8; 3]>(), 0..300),
    ) {
        for name in names() {
            for collapse in [true, false] {
                let log = play(name, collapse, &steps);
                let drops = log.iter().any(|action| matches!(action, BatchAction::Drop(_)));
                prop_assert!(collapse || !drops, "nothing collapses where versions are kept");
                prop_assert_eq!(log, play(name, collapse, &steps), "equal events, equal actions");
            }
        }
    }
}
