//! A tier, its servers, and who waits for answers.

use crate::{
    alarm::{Alarm, Wake},
    call::{Waiter, Wish},
    coder::Coder,
    connection::{Replies, Reply},
    copies::Copies,
    label,
    link::{Deliver, Link},
    name::{KeyDigest, Names},
    state::{After, Errand, Servers, State},
    status::CodedMemoryStatus,
};
use ripstop_model::Timestamp;
use ripstop_tier::{MemoryTier, ServerId, TierAction, TierEvent};
use std::{
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// Servers that are added while it runs, at most.
const SERVERS_ADDED_MAX: usize = 1024;

/// A tier, its servers, and what is under way.
pub(crate) struct Shell {
    state: Mutex<State>,
    /// What happened, for whoever has the tier: nobody waits for it.
    inbox: Mutex<Vec<Note>>,
    // Links tell the shell what happens, so they are made after it.
    servers: OnceLock<Servers>,
    names: Names,
    begun: Instant,
    /// What the wall clock said then, so that what expires does so by it.
    begun_at: Timestamp,
    alarm: Alarm,
    damaged: AtomicU64,
}

/// Something that happened.
enum Note {
    Asked(KeyDigest, Wish, Waiter),
    Replied(ServerId, Errand, Reply),
    Happened(TierEvent),
}

impl Shell {
    pub(crate) fn new(tier: MemoryTier, coder: Coder, names: Names, bytes_max: usize) -> Self {
        Self {
            state: Mutex::new(State::new(tier, coder, bytes_max)),
            inbox: Mutex::default(),
            servers: OnceLock::new(),
            names,
            begun: ripstop_host::now(),
            begun_at: Timestamp::ZERO + ripstop_host::since_1970(),
            alarm: Alarm::default(),
            damaged: AtomicU64::new(0),
        }
    }

    /// The servers, by their numbers; before anything else.
    pub(crate) fn set_links(&self, links: Vec<Link<Errand>>) {
        let links = links.into_iter().map(OnceLock::from);
        let more = (0..SERVERS_ADDED_MAX).map(|_| OnceLock::new());
        let servers = Servers { links: links.chain(more).collect(), names: self.names.clone() };
        self.servers.set(servers).expect("servers are set once");
    }

    /// Carries out what the tier said before there were links, where these copies were found.
    pub(crate) fn begin(&self, actions: Vec<TierAction>, copies: Copies) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.begin(self.servers.wait(), actions, copies);
        self.step(state);
        self.note([].into_iter());
    }

    /// Whether the tier has what it can have made again.
    pub(crate) fn is_mending(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_mending = state.is_mending();
        drop(state);
        self.note([].into_iter());
        is_mending
    }

    /// Has time pass for the tier.
    pub(crate) fn keep_time(self: &Arc<Self>) {
        self.alarm.start(Arc::downgrade(self));
    }

    /// A ring gets a server, whose link is started under the number that there is next; false if
    /// there are as many as may be.
    pub(crate) fn add_link(&self, ring: u8, start: impl FnOnce(u16) -> Link<Errand>) -> bool {
        let servers = self.servers.wait();
        let Some(at) = servers.links.iter().position(|link| link.get().is_none()) else {
            return false;
        };
        let number = at as u16;
        let link = start(number);
        servers.links[at].set(link).expect("servers are added one at a time");
        let event = TierEvent::ServerAdded { ring, server: ServerId(number) };
        self.note([Note::Happened(event)].into_iter());
        true
    }

    /// A server is to leave.
    pub(crate) fn remove_link(&self, number: u16) {
        let event = TierEvent::ServerLeaves(ServerId(number));
        self.note([Note::Happened(event)].into_iter());
    }

    /// What could not be mended is tried again.
    pub(crate) fn repair(&self) {
        self.note([Note::Happened(TierEvent::RepairAsked)].into_iter());
    }

    /// Which of these servers are lost.
    pub(crate) fn are_lost(&self, numbers: impl Iterator<Item = u16>) -> Vec<bool> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = numbers.map(|number| state.is_lost(number)).collect();
        drop(state);
        self.note([].into_iter());
        lost
    }

    /// Numbers of servers that left.
    pub(crate) fn dismissed(&self) -> Vec<u16> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let dismissed = state.dismissed.iter().map(|server| server.0).collect();
        drop(state);
        self.note([].into_iter());
        dismissed
    }

    pub(crate) const fn names(&self) -> &Names {
        &self.names
    }

    /// Begins requests of callers.
    pub(crate) fn ask(&self, wishes: impl IntoIterator<Item = (KeyDigest, Wish, Waiter)>) {
        self.note(wishes.into_iter().map(|(key, wish, waiter)| Note::Asked(key, wish, waiter)));
    }

    /// Notes what happened, and has the tier hear of it: from here, or from whoever has it.
    fn note(&self, notes: impl Iterator<Item = Note>) {
        self.inbox().extend(notes);
        // Who has the tier looks again after it is released, so nothing is left behind.
        while !self.inbox().is_empty() {
            let state = match self.state.try_lock() {
                Ok(state) => state,
                // A panic under it would be a bug of the tier; serving others is better than
                // nothing.
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            self.step(state);
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Vec<Note>> {
        // Nothing that can panic is done under it.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all notes, and carries out what the tier says to them.
    fn step(&self, mut state: MutexGuard<'_, State>) {
        // A server that was connected before the others were made waits for them.
        let servers = self.servers.wait();
        for note in mem::take(&mut *self.inbox()) {
            match note {
                Note::Asked(key, wish, waiter) => state.ask(key, wish, waiter),
                Note::Replied(server, errand, reply) => {
                    state.replied(servers, server, errand, reply);
                }
                Note::Happened(event) => state.events.push_back(event),
            }
        }
        state.run(servers, self.now());
        self.alarm.set(state.deadline());
        let After { answers, asked } = mem::take(&mut state.after);
        drop(state);
        for server in asked {
            servers.link(ServerId(server)).wake();
        }
        for (waiter, answer) in answers {
            // Who gave up waiting does not want it.
            drop(waiter.send(answer));
        }
    }

    pub(crate) fn limit_memory(&self, bytes_max: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).limit_memory(bytes_max);
        self.note([Note::Happened(TierEvent::TimePassed)].into_iter());
    }

    pub(crate) fn status(&self) -> CodedMemoryStatus {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let status = state.status();
        drop(state);
        // What was noted meanwhile was left to this.
        self.note([].into_iter());
        CodedMemoryStatus { damaged: self.damaged.load(Ordering::Relaxed), ..status }
    }

    /// Verifies what came of an item. It goes on as what is coded of it, or to another server as
    /// it is.
    fn verify(&self, errand: &Errand, reply: &mut Reply) {
        let (Some(name), Reply::Value(item)) = (errand.name(), &mut *reply) else { return };
        match label::coded(&self.names, name, item) {
            Some(_) if matches!(errand, Errand::Copy { .. }) => {}
            Some(coded) => *item = coded,
            None => {
                self.damaged.fetch_add(1, Ordering::Relaxed);
                *reply = Reply::Damaged;
            }
        }
    }
}

impl Deliver for Shell {
    type Ticket = Errand;

    fn deliver(&self, server: u16, replies: &mut Replies<Errand>) {
        // Seals are verified before the lock is taken.
        for (errand, reply) in replies.iter_mut() {
            self.verify(errand, reply);
        }
        let server = ServerId(server);
        self.note(replies.drain(..).map(|(errand, reply)| Note::Replied(server, errand, reply)));
    }

    fn lost(&self, server: u16) {
        self.note([Note::Happened(TierEvent::ServerLost(ServerId(server)))].into_iter());
    }

    fn returned(&self, server: u16) {
        self.note([Note::Happened(TierEvent::ServerReturned(ServerId(server)))].into_iter());
    }
}

impl Wake for Shell {
    fn now(&self) -> Timestamp {
        self.begun_at + ripstop_host::since(self.begun)
    }

    fn wake(&self) {
        self.note([Note::Happened(TierEvent::TimePassed)].into_iter());
    }
}

impl fmt::Debug for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shell").field("servers", &self.servers).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{answer::Done, link::Standing, settings::LinkSettings};
    use bytes::Bytes;
    use ripstop_model::Code;
    use ripstop_seal::{Sealer, StoreKey};
    use ripstop_tier::{
        ChunkId, ItemLabel, ItemName, KeyHash, Presence, TierTask, TierTicket, Version,
    };
    use std::sync::Weak;
    use tokio::sync::oneshot;

    const NAME: ItemName = ItemName::Object { chunk: ChunkId(0), slot: 0 };

    fn digest(check: u8) -> KeyDigest {
        KeyDigest { hash: KeyHash(7), check: [check; 4] }
    }

    #[tokio::test]
    async fn the_value_of_another_key_of_the_same_hash_is_no_answer() {
        let code = Code::new(1, 1).unwrap();
        let tier = MemoryTier::new(code, &[vec![ServerId(0)]]);
        let names = Names::new(Sealer::new(&StoreKey::from_bytes([1; 32])), "tier", 1);
        let shell = Arc::new(Shell::new(tier, Coder::new(code), names, 1 << 20));
        // What it would be told is told below.
        let at = ([127, 0, 0, 1], 1).into();
        let nobody = Weak::<Shell>::new();
        shell.set_links(vec![Link::start(
            0,
            at,
            LinkSettings::default(),
            (None, Standing::New),
            nobody,
        )]);
        let (waiter, written) = oneshot::channel();
        let wish = Wish::Put {
            value: Bytes::from_static(b"mine"),
            presence: Presence::Any,
            expires: None,
        };
        shell.ask([(digest(1), wish, waiter)]);
        shell.deliver(0, &mut vec![(Errand::Store(TierTask(1)), Reply::Done)]);
        assert!(matches!(written.await.unwrap(), Ok(Done::Written(_))));
        let coded = [&[1; 4], &b"mine"[..]].concat();
        let label = ItemLabel {
            name: NAME,
            key: KeyHash(7),
            version: Version(2),
            offset: 0,
            len: 8,
            expires: None,
            is_tombstone: false,
        };
        let head = label::head(shell.names(), (&label, false), [&coded[..4], &coded[4..]]);
        let item = Bytes::from([&head[..], &coded[4..]].concat());
        for (turn, check, expected) in [(2, 1, Some(&b"mine"[..])), (3, 2, None)] {
            let (waiter, read) = oneshot::channel();
            shell.ask([(digest(check), Wish::Get, waiter)]);
            // The first and only call under way is that of place 0, for the turn's time.
            let ticket = TierTicket((turn - 1) << 32);
            let (task, len) = (TierTask(turn), coded.len() as u32);
            let errand = Errand::Whole { task, ticket, name: NAME, len, is_again: false };
            shell.deliver(0, &mut vec![(errand, Reply::Value(item.clone()))]);
            let Ok(Done::Value(value)) = read.await.unwrap() else { panic!("it is read") };
            assert_eq!(value.map(|value| value.bytes).as_deref(), expected, "{check}");
        }
    }
}
