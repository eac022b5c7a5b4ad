//! One line: what waits, and what its batcher says.

use super::PackCounts;
use crate::{
    Batch, Deed, Done, Member, StoreError, StoreSettings, Target, error::RETRY_AFTER,
    target::marker,
};
use ripstop_batching::{
    BatchAction, BatchEnd, BatchEvent, BatchId, BatchMember, BatchRefusal, Batcher, Fate, KeyMark,
    Rhythm, WriteTicket,
};
use ripstop_catalog::{CatalogError, Condition, Object};
use ripstop_host::unix_ms;
use ripstop_model::{PoolId, TenantId, Timestamp};
use ripstop_runtime::Share;
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

type Answer = Result<Done, StoreError>;

/// The lines that there are.
#[derive(Debug)]
pub(crate) struct Lines {
    /// One for each pool and tenant that ever gathered something.
    lines: Mutex<BTreeMap<(PoolId, TenantId), Arc<Line>>>,
    /// Of each pool that gathers.
    counts: BTreeMap<PoolId, Arc<PackCounts>>,
}

impl Lines {
    pub(crate) fn new(settings: &StoreSettings) -> Self {
        let gather = settings.packs.keys().filter(|pool| settings.packs_of(**pool).is_some());
        let counts = gather.map(|pool| (*pool, Arc::default())).collect();
        Self { lines: Mutex::default(), counts }
    }

    pub(super) fn of(&self, whose: (PoolId, TenantId), settings: &StoreSettings) -> Arc<Line> {
        let mut lines = self.lines();
        let line = lines.entry(whose).or_insert_with(|| {
            let packs = settings.packs_of(whose.0).cloned().unwrap_or_default();
            let counts = self.counts_of(whose.0).cloned().unwrap_or_default();
            let batcher = packs.batcher(settings.stripe_max);
            let batcher = batcher.expect("its name is checked as the settings are");
            Arc::new(Line::new(whose, batcher, counts))
        });
        line.clone()
    }

    pub(super) fn counts_of(&self, pool: PoolId) -> Option<&Arc<PackCounts>> {
        self.counts.get(&pool)
    }

    /// The longest that a line of the pool waits for company now.
    pub(super) fn interval_of(&self, pool: PoolId) -> Duration {
        // Lines' own locks are not taken under ours.
        let lines: Vec<Arc<Line>> = self.lines().values().cloned().collect();
        let of_pool = lines.iter().filter(|line| line.pool == pool);
        of_pool.map(|line| line.interval()).max().unwrap_or_default()
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<(PoolId, TenantId), Arc<Line>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Line {
    pool: PoolId,
    tenant: TenantId,
    /// The batcher's times count from here.
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    batcher: Batcher,
    counts: Arc<PackCounts>,
    next: u64,
    waiting: HashMap<WriteTicket, Waiting>,
    /// Who waits to be told to commit.
    going: HashMap<BatchId, oneshot::Sender<()>>,
    /// Whether somebody wakes it when the batcher's time comes.
    has_timer: bool,
}

/// A write that has no answer yet.
#[derive(Debug)]
struct Waiting {
    came: Timestamp,
    /// Until it departs.
    member: Option<Member>,
    /// Which later write of its key took its place, and its answer if that is committed.
    collapsed: Option<(WriteTicket, Done)>,
    share: Option<Share>,
    answer: oneshot::Sender<Answer>,
}

/// A batch that departs.
#[derive(Debug)]
pub(super) struct Departing {
    pub(super) id: BatchId,
    pub(super) batch: Batch,
    pub(super) tickets: Vec<WriteTicket>,
    pub(super) go: oneshot::Receiver<()>,
}

impl Line {
    fn new((pool, tenant): (PoolId, TenantId), batcher: Batcher, counts: Arc<PackCounts>) -> Self {
        let state = State {
            batcher,
            counts,
            next: 0,
            waiting: HashMap::new(),
            going: HashMap::new(),
            has_timer: false,
        };
        Self { pool, tenant, begun: ripstop_host::now(), state: Mutex::new(state) }
    }

    pub(super) fn pool(&self) -> PoolId {
        self.pool
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::ZERO + ripstop_host::since(self.begun)
    }

    /// How long it waits for company now.
    fn interval(&self) -> Duration {
        match self.state().batcher.rhythm() {
            Rhythm::AfterEnd(interval) | Rhythm::Every(interval) => interval,
            Rhythm::Alone => Duration::ZERO,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A member comes: what it is known by from now on, and what departs.
    pub(super) fn enter(
        &self,
        now: Timestamp,
        member: Member,
        share: Option<Share>,
        answer: oneshot::Sender<Answer>,
    ) -> (WriteTicket, Vec<Departing>) {
        let mut state = self.state();
        let ticket = WriteTicket(state.next);
        state.next += 1;
        let came = BatchMember {
            ticket,
            // Versions do not stand in each other's way.
            key: (!member.deed.is_version()).then(|| mark(&member.target)),
            bytes: u32::try_from(member.weight()).unwrap_or(u32::MAX),
            tenant: self.tenant,
            is_conditional: is_conditional(&member),
        };
        let event = BatchEvent::MemberCame(came);
        let (came, member, collapsed) = (now, Some(member), None);
        state.waiting.insert(ticket, Waiting { came, member, collapsed, share, answer });
        (ticket, state.take(now, event, Some(ticket), &mut HashMap::new()))
    }

    pub(super) fn happened(&self, now: Timestamp, event: BatchEvent) -> Vec<Departing> {
        self.state().take(now, event, None, &mut HashMap::new())
    }

    /// A batch ended with these results, one for each of its tickets.
    pub(super) fn ended(
        &self,
        now: Timestamp,
        id: BatchId,
        tickets: Vec<WriteTicket>,
        results: Vec<Answer>,
    ) -> Vec<Departing> {
        let mut results = tickets.into_iter().zip(results).collect();
        let event = BatchEvent::BatchEnded(id, BatchEnd::Committed);
        self.state().take(now, event, None, &mut results)
    }

    /// Whether somebody must wake it from now on, who does not yet.
    pub(super) fn needs_timer(&self) -> bool {
        let mut state = self.state();
        let is_needed = !state.has_timer && state.batcher.deadline().is_some();
        state.has_timer |= is_needed;
        is_needed
    }

    /// When to wake it next; nobody does any more if that is never.
    pub(super) fn due(&self) -> Option<Instant> {
        let mut state = self.state();
        let due = state.batcher.deadline();
        state.has_timer = due.is_some();
        due.map(|due| self.begun + due.since(Timestamp::ZERO))
    }
}

impl State {
    /// Tells the batcher what happened, and answers whoever has an answer now. `came` is the write
    /// that came; `results` are those of a batch that ended.
    fn take(
        &mut self,
        now: Timestamp,
        event: BatchEvent,
        came: Option<WriteTicket>,
        results: &mut HashMap<WriteTicket, Answer>,
    ) -> Vec<Departing> {
        let (mut actions, mut departing) = (Vec::new(), Vec::new());
        if let BatchEvent::BatchEnded(id, _) = event {
            self.going.remove(&id);
        }
        self.batcher.handle(now, event, &mut actions);
        for action in actions {
            match action {
                BatchAction::Refuse { ticket, why } => self.refuse(ticket, why),
                BatchAction::Drop(ticket) => {
                    if let Some(dropped) = self.waiting.get_mut(&ticket) {
                        let member = dropped.member.take();
                        dropped.collapsed = came.zip(member.map(as_if_done));
                        dropped.share = None;
                    }
                    self.counts.collapsed.fetch_add(1, Relaxed);
                }
                BatchAction::Depart(left) => {
                    let (go, told) = oneshot::channel();
                    self.going.insert(left.batch, go);
                    let (id, tickets) = (left.batch, left.tickets);
                    let batch = self.batch(now, &tickets);
                    departing.push(Departing { id, batch, tickets, go: told });
                }
                BatchAction::Commit(batch) => {
                    if let Some(go) = self.going.remove(&batch) {
                        // Its task may have broken off: then it says so.
                        let _ = go.send(());
                    }
                }
                BatchAction::Answer { ticket, fate } => self.answer(ticket, fate, results),
            }
        }
        departing
    }

    /// The members that leave together.
    fn batch(&mut self, now: Timestamp, tickets: &[WriteTicket]) -> Batch {
        let (mut batch, mut bytes) = (Batch::default(), 0);
        for ticket in tickets {
            let waiting = self.waiting.get_mut(ticket).expect("what departs waited until then");
            let member = waiting.member.take().expect("it departs once");
            self.counts.waited.add(now.since(waiting.came));
            bytes += member.payload_len();
            batch.add(member).expect("a batcher's limits are a batch's: one of each key, and room");
        }
        self.counts.departed(batch.len(), bytes);
        batch
    }

    fn refuse(&mut self, ticket: WriteTicket, why: BatchRefusal) {
        let Some(refused) = self.waiting.remove(&ticket) else { return };
        self.counts.refused.fetch_add(1, Relaxed);
        tracing::debug!(?why, "a small write was refused");
        _ = refused.answer.send(Err(StoreError::Busy { retry_after: RETRY_AFTER }));
    }

    fn answer(
        &mut self,
        ticket: WriteTicket,
        fate: Fate,
        results: &mut HashMap<WriteTicket, Answer>,
    ) {
        let Some(waiting) = self.waiting.remove(&ticket) else { return };
        let given_up = || Err(CatalogError::Unavailable("it was given up".into()).into());
        let answer = match fate {
            Fate::Failed => given_up(),
            Fate::Committed => results.remove(&ticket).unwrap_or_else(given_up),
            Fate::Collapsed => self.collapsed(waiting.collapsed, results),
        };
        // The caller may have left.
        _ = waiting.answer.send(answer);
    }

    /// The answer of a write that another took the place of: as if it had been committed just
    /// before, if that was.
    fn collapsed(
        &self,
        collapsed: Option<(WriteTicket, Done)>,
        results: &HashMap<WriteTicket, Answer>,
    ) -> Answer {
        let busy = Err(StoreError::Busy { retry_after: RETRY_AFTER });
        let Some((mut by, done)) = collapsed else { return busy };
        while let Some((next, _)) = self.waiting.get(&by).and_then(|it| it.collapsed.as_ref()) {
            by = *next;
        }
        if matches!(results.get(&by), Some(Ok(_))) { Ok(done) } else { busy }
    }
}

/// What a member that never leaves is answered with.
fn as_if_done(member: Member) -> Done {
    match member.deed {
        Deed::Put { bytes, attributes, .. } => Done::Put(Object {
            len: bytes.len() as u64,
            modified_ms: unix_ms(),
            attributes,
            ..Object::default()
        }),
        Deed::Retell(object) | Deed::Move { object, .. } => Done::Put(object),
        Deed::Mark(_) => Done::Put(marker()),
        Deed::Delete { .. } | Deed::Rebury(_) => Done::Deleted(None),
    }
}

/// What is the same for writes of one key only.
fn mark(target: &Target) -> KeyMark {
    let mut digest = Sha256::new();
    // No bucket's name has a zero byte.
    digest.update(target.bucket.as_bytes());
    digest.update([0]);
    digest.update(target.key.as_bytes());
    let digest: [u8; 32] = digest.finalize().into();
    let (first, _) = digest.split_first_chunk::<16>().expect("it has 32 bytes");
    KeyMark(u128::from_le_bytes(*first))
}

fn is_conditional(member: &Member) -> bool {
    // What is told again was read before.
    member.target.condition != Condition::None || matches!(member.deed, Deed::Retell(_))
}
