//! What a drill is to be, drawn from its seed; and the same with parts of it left out.

use crate::{
    fleet::Fleet,
    taste::{Sizes, Taste},
    tempo::Tempo,
};
use ripstop_delay::Dice;
use std::{collections::BTreeSet, fmt, time::Duration};

/// Sessions of one drill, at most: gateways that follow one another.
const SESSIONS_MAX: u64 = 3;
/// Clients of one session, at most.
const CLIENTS_MAX: u64 = 4;
/// Operations of one client in a session, at most.
const OPERATIONS_MAX: u64 = 24;
/// Faults of one session, at most.
const FAULTS_MAX: u64 = 8;
/// Within how many milliseconds of a session what happens once happens: one of these.
const SPANS_MS: [u64; 3] = [200, 1000, 4000];
/// Kinds of faults.
const FAULT_KINDS: u64 = 24;
/// Nodes of the other class of storage, where there is one.
const COLD_NODES: usize = 5;
/// Garbage that is kept for less may go while somebody reads it.
const GRACE_MIN: Duration = Duration::from_secs(2);

/// What harms, or is done, during a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A node takes this many times as long.
    Slow(usize, u32),
    /// Of a thousand operations of a node this many fail, and change nothing.
    Errors(usize, u32),
    /// … have their effect, and fail.
    LostAnswers(usize, u32),
    /// … last longer than anybody waits, and have their effect then or never.
    Stalls(usize, u32),
    /// … of those that read answer with a bit flipped.
    Flips(usize, u32),
    /// … of those that read answer with another fragment's bytes.
    Swaps(usize, u32),
    /// A node's listings are late: they lack some, and have some that are gone.
    LateListing(usize),
    /// A node takes nothing more.
    Full(usize),
    /// A node is away from this millisecond on, for this many.
    Down(usize, u64, u64),
    /// The session's victim loses everything at this millisecond; if that is the first, before
    /// there is a gateway.
    Wipe(u64),
    /// Of a thousand fragments that the victim stores this many rot.
    Rot(u32),
    /// … are cut short.
    Truncation(u32),
    /// … are not stored, though it says so.
    Lies(u32),
    /// The power of a node fails at this millisecond: what was deleted may be back.
    NodePower(usize, u64),
    /// The wall clock jumps at this millisecond, by this many seconds.
    Wall(u64, i64),
    /// Of a thousand exchanges with clients this many have their connection cut.
    Cuts(u32),
    /// Of a thousand pieces on a connection this many are late.
    Lags(u32),
    /// Everything is checked, and put right, at this millisecond.
    Check(u64),
    /// From this millisecond on stripes are to be at these nodes, from this one on.
    Move(u64, usize),
}

/// When a gateway is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kill {
    /// After this many steps of its tasks.
    Step(u64),
    /// Instead of this operation of the catalog's disk.
    Disk(u64),
    /// At this operation of a node.
    Node(u64),
}

/// How a session ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The kill, if it is one; else everything comes to rest.
    pub kill: Option<Kill>,
    /// Whether the power of the catalog's disk fails with it.
    pub is_power: bool,
    /// Whether the catalog is lost after it has come to rest: what a rebuild finds takes its place.
    pub loses_catalog: bool,
}

/// One gateway's life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// How many operations each client has.
    pub clients: Vec<u64>,
    /// What happens meanwhile, with the number that it can be left out by.
    pub faults: Vec<(u64, Fault)>,
    /// Its end.
    pub end: End,
    /// The node that may lose or spoil what it holds.
    pub victim: usize,
}

/// A drill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// What it is drawn from, and all luck in it.
    pub seed: u64,
    /// How many nodes the first pool has.
    pub nodes: usize,
    /// How many the other has: none if there is none.
    pub cold_nodes: usize,
    /// The code (n,k) of the first pool.
    pub code: (usize, usize),
    /// Further lines of its configuration.
    pub pool: Vec<String>,
    /// Further lines of the store's.
    pub store: Vec<String>,
    /// How long garbage is kept.
    pub grace: Duration,
    /// What clients ask for.
    pub taste: Taste,
    /// How quick everything is.
    pub tempo: Tempo,
    /// The lives.
    pub sessions: Vec<Session>,
    /// What else there is where several gateways share a catalog.
    pub fleet: Option<Fleet>,
}

/// What is left out of a drill.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Less {
    /// Sessions, at most.
    pub sessions: Option<usize>,
    /// Clients of a session, at most.
    pub clients: Option<usize>,
    /// Operations of a client, at most.
    pub operations: Option<u64>,
    /// Faults by their number.
    pub without: BTreeSet<u64>,
}

impl fmt::Display for Less {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sessions) = self.sessions {
            write!(f, " --sessions {sessions}")?;
        }
        if let Some(clients) = self.clients {
            write!(f, " --clients {clients}")?;
        }
        if let Some(operations) = self.operations {
            write!(f, " --operations {operations}")?;
        }
        if !self.without.is_empty() {
            let numbers: Vec<String> = self.without.iter().map(u64::to_string).collect();
            write!(f, " --without {}", numbers.join(","))?;
        }
        Ok(())
    }
}

fn of<T: Copy>(dice: &mut Dice, all: &[T]) -> T {
    all[dice.below(all.len() as u64) as usize]
}

impl Plan {
    /// The drill of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::numbered(seed, 0);
        let code = of(&mut dice, &[(4, 2), (6, 4), (5, 3), (6, 3)]);
        let nodes = code.0.max(6) + dice.below(7) as usize;
        let nodes = nodes.min(12);
        let after = of(&mut dice, &["continue", "background", "cancel", "leave"]);
        let batching = of(&mut dice, &["natural", "natural", "fixed", "none"]);
        let mut pool = vec![
            format!("after_answer = \"{after}\""),
            format!("batching = \"{batching}\""),
            format!("encrypt = {}", dice.below(4) == 0),
        ];
        if batching == "fixed" {
            pool.push("batch_interval = \"20ms\"".into());
        }
        let taste = Taste::draw(&mut dice);
        let cold_nodes = if taste.cold > 0 { COLD_NODES } else { 0 };
        let grace = Duration::from_millis(of(&mut dice, &[300, 2000, 2000]));
        let mut store = Vec::new();
        if dice.below(2) == 0 {
            // What is dead of packs stays, and what it tells.
            store.push("clean_rate_max = 0".into());
        }
        let kinds = Fault::kinds(&mut dice);
        let count = 1 + dice.below(SESSIONS_MAX);
        let mut number = 0;
        let mut sessions: Vec<Session> = Vec::new();
        for at in 0..count {
            // Whoever was harmed stays the one until all is made good.
            let before = sessions.last().filter(|last| last.end.kill.is_some());
            let all = nodes + cold_nodes;
            let victim = before.map_or(dice.below(all as u64) as usize, |last| last.victim);
            let is_last = at + 1 == count;
            let mut harm = Harm { kinds: &kinds, nodes: all, number: &mut number };
            sessions.push(Session::draw(&mut dice, &mut harm, victim, is_last));
        }
        let (tempo, fleet) = (Tempo::draw(seed), None);
        let plan = Self {
            seed,
            nodes,
            cold_nodes,
            code,
            pool,
            store,
            grace,
            taste,
            tempo,
            sessions,
            fleet,
        };
        if tempo.is_calm { plan.calm() } else { plan }
    }

    /// The same without faults, and with objects that take a while to read.
    fn calm(mut self) -> Self {
        self.grace = self.grace.max(GRACE_MIN);
        self.taste.sizes = Sizes::Large;
        self.sessions.iter_mut().for_each(|session| session.faults.clear());
        self
    }

    /// How many nodes there are.
    pub fn all_nodes(&self) -> usize {
        self.nodes + self.cold_nodes
    }

    /// Whether, when this session comes to rest, something may be missing or told wrongly that only
    /// a check makes good: a victim lost it, or a gateway was killed before it could.
    pub(crate) fn may_need_a_check(&self, at: usize) -> bool {
        let ended = self.sessions[..at].iter().rev();
        let was_killed = ended.take_while(|session| session.end.kill.is_some()).count() > 0;
        // Of several gateways one mends, and looks once an hour for what others left to be mended.
        self.fleet.is_some()
            || was_killed
            || self.sessions[at].faults.iter().any(|(_, fault)| fault.is_of_victim())
    }

    /// The same without parts of it.
    #[must_use]
    pub fn less(mut self, less: &Less) -> Self {
        if let Some(sessions) = less.sessions {
            self.sessions.truncate(sessions.max(1));
        }
        for session in &mut self.sessions {
            if let Some(clients) = less.clients {
                session.clients.truncate(clients.max(1));
            }
            if let Some(most) = less.operations {
                session.clients.iter_mut().for_each(|own| *own = most.min(*own));
            }
            session.faults.retain(|(number, _)| !less.without.contains(number));
        }
        if let Some(fleet) = &mut self.fleet {
            fleet.troubles.retain(|(number, _)| !less.without.contains(number));
        }
        self
    }

    /// The numbers of all that can be left out.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let troubles = self.fleet.iter().flat_map(|fleet| &fleet.troubles);
        let faults = self.sessions.iter().flat_map(|session| &session.faults);
        faults.map(|(number, _)| *number).chain(troubles.map(|(number, _)| *number))
    }

    /// All faults, with their numbers.
    pub fn faults(&self) -> impl Iterator<Item = (u64, Fault)> {
        self.sessions.iter().flat_map(|session| session.faults.iter().copied())
    }
}

/// What harm there is in a drill.
struct Harm<'a> {
    /// The kinds of faults.
    kinds: &'a [u64],
    nodes: usize,
    /// How many faults there are already.
    number: &'a mut u64,
}

impl Session {
    /// Whether nothing excuses that a request is answered by a failure.
    pub(crate) fn is_calm(&self, grace: Duration) -> bool {
        let harmless =
            |fault: &Fault| matches!(fault, Fault::Check(_) | Fault::Move(..) | Fault::Lags(_));
        grace >= GRACE_MIN && self.faults.iter().all(|(_, fault)| harmless(fault))
    }

    fn draw(dice: &mut Dice, harm: &mut Harm<'_>, victim: usize, is_last: bool) -> Self {
        let clients = 1 + dice.below(CLIENTS_MAX);
        let clients = (0..clients).map(|_| 4 + dice.below(OPERATIONS_MAX - 3)).collect();
        // Some sessions are calm, so that what happens to others shows.
        let faults = if dice.below(5) == 0 { 0 } else { dice.below(FAULTS_MAX + 1) };
        let faults = (0..faults).map(|_| {
            *harm.number += 1;
            let kind = of(dice, harm.kinds);
            (*harm.number, Fault::draw(dice, harm.nodes, kind))
        });
        let faults = faults.collect();
        let end = End::draw(dice, is_last);
        Self { clients, faults, end, victim }
    }
}

impl End {
    fn draw(dice: &mut Dice, is_last: bool) -> Self {
        let kill = match dice.below(6) {
            0 | 1 => Some(Kill::Step(1 + dice.below(30_000))),
            2 => Some(Kill::Disk(1 + dice.below(600))),
            3 => Some(Kill::Node(1 + dice.below(900))),
            _ => None,
        };
        let (is_power, loses_catalog) = (dice.below(2) == 0, dice.below(3) == 0);
        Self { kill: kill.filter(|_| !is_last), is_power, loses_catalog }
    }
}

impl Fault {
    /// Whether it loses or spoils what is stored.
    fn is_of_victim(&self) -> bool {
        matches!(self, Self::Wipe(_) | Self::Rot(_) | Self::Truncation(_) | Self::Lies(_))
    }

    /// The kinds of faults of one drill: all of them, or a few, which come the more often.
    fn kinds(dice: &mut Dice) -> Vec<u64> {
        match dice.below(4) {
            0 => (0..FAULT_KINDS).collect(),
            few => (0..=few).map(|_| dice.below(FAULT_KINDS)).collect(),
        }
    }

    fn draw(dice: &mut Dice, nodes: usize, kind: u64) -> Self {
        let node = dice.below(nodes as u64) as usize;
        let span = of(dice, &SPANS_MS);
        let at = dice.below(span);
        let few = 1 + dice.below(60) as u32;
        match kind {
            0 => Self::Slow(node, of(dice, &[10, 100, 1000])),
            1 => Self::Errors(node, few * 5),
            2 => Self::LostAnswers(node, few * 3),
            3 => Self::Stalls(node, few),
            4 => Self::Flips(node, few * 2),
            5 => Self::Swaps(node, few),
            6 => Self::LateListing(node),
            7 => Self::Full(node),
            8 | 9 => Self::Down(node, at, 1 + dice.below(span)),
            10 | 11 => Self::Wipe(if dice.below(3) == 0 { 0 } else { at }),
            12 => Self::Rot(few * 5),
            13 => Self::Truncation(few * 5),
            14 => Self::Lies(few * 5),
            15 => Self::NodePower(node, at),
            16 | 17 => Self::Wall(at, of(dice, &[-3600, -60, -2, 2, 60, 3600])),
            18 | 19 => Self::Cuts(few),
            20 => Self::Lags(few * 5),
            21 => Self::Check(at),
            _ => Self::Move(at, node),
        }
    }
}
