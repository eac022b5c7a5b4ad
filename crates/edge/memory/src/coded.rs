use crate::{
    answer::{CodedMemoryError, Done, StoredValue},
    call::{Waiter, Wish},
    coder::Coder,
    copies::Copies,
    keepsake::Keepsake,
    link::{Link, Standing},
    name::{KeyDigest, Names},
    settings::LinkSettings,
    shell::Shell,
    status::{CodedMemoryStatus, MemoryServer, MemoryServerState},
};
use bytes::Bytes;
use ripstop_model::{Code, Timestamp};
use ripstop_seal::{Sealer, StoreKey};
use ripstop_tier::{MemoryTier, Presence, ServerId, TierAction, Version};
use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};
use thiserror::Error;
use tokio::sync::oneshot;

/// Bytes of a caller's key, at most.
pub const CALLER_KEY_MAX: usize = 250;
/// Servers of all rings, at most: what the tier can number.
const SERVERS_MAX: usize = u16::MAX as usize - 1;

/// Over which servers a memory is, and how.
#[derive(Clone, Debug)]
pub struct CodedMemorySettings {
    /// What the tier is called; two that share servers have two names.
    pub name: String,
    /// N rings, any K of which suffice. With K = N nothing is coded or copied.
    pub code: Code,
    /// The servers of each of the N rings.
    pub rings: Vec<Vec<SocketAddr>>,
    /// Others store items at these servers too: they are never emptied, so what is left there from
    /// an earlier run takes memory until they restart.
    pub is_shared: bool,
    /// How servers are spoken to. Its bounds are not used: the next one is.
    pub link: LinkSettings,
    /// Bytes of requests under way, at most; more are refused as busy.
    pub bytes_max: usize,
}

/// The settings are none.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CodedMemorySettingsError {
    /// Another number of rings than the code has.
    #[error("{rings} rings of memory servers for a code of {n}")]
    Rings {
        /// How many there are.
        rings: usize,
        /// How many there should be.
        n: usize,
    },
    /// A ring without servers.
    #[error("ring {0} has no memory servers")]
    Empty(usize),
    /// A server that is there twice.
    #[error("memory server {0} is in two places")]
    Twice(SocketAddr),
    /// More servers than can be numbered.
    #[error("{0} memory servers, at most {SERVERS_MAX}")]
    Many(usize),
}

/// A server cannot be added or removed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RingChangeError {
    /// There is no such ring.
    #[error("ring {0}: there is no such ring")]
    Ring(usize),
    /// The server is there already.
    #[error("memory server {0} is there already")]
    Known(SocketAddr),
    /// There is no such server, or it is leaving already.
    #[error("memory server {0} is not there, or leaves already")]
    Unknown(SocketAddr),
    /// A ring needs a server.
    #[error("memory server {0} is the last one of its ring")]
    Last(SocketAddr),
    /// As many were added as may be.
    #[error("as many memory servers were added as may be")]
    Many,
}

/// A server of a ring.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: u16,
    ring: usize,
    at: SocketAddr,
    is_leaving: bool,
}

/// Small values in the memory of memcached servers, coded across them: what is answered survives
/// the loss of any N - K of them.
///
/// Requests go on if their caller gives up. What is under way when the last clone is dropped is
/// not done.
#[derive(Clone, Debug)]
pub struct CodedMemory {
    shell: Arc<Shell>,
    rings: Arc<Rings>,
}

/// Which servers there are, and how others are linked.
#[derive(Debug)]
struct Rings {
    count: usize,
    link: LinkSettings,
    keepsake: Keepsake,
    places: Mutex<Vec<Place>>,
}

impl CodedMemory {
    /// A memory over servers, which need not be there yet, and are emptied. Hashes and seals are
    /// made with the key.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(
        settings: CodedMemorySettings,
        key: &StoreKey,
    ) -> Result<Self, CodedMemorySettingsError> {
        let rings = numbered(&settings)?;
        let names = Names::new(Sealer::new(key), &settings.name, ripstop_host::random_u64());
        let mut tier = MemoryTier::new(settings.code, &rings);
        let floor = Version(u64::try_from(ripstop_host::since_1970().as_nanos()).unwrap_or(0));
        tier.number_from(floor);
        let (key, token) = (names.keepsake(), names.token(floor));
        let is_alone = !settings.is_shared;
        let keepsake = Keepsake { key, token, is_alone, names: names.clone() };
        let standings = vec![Standing::New; settings.rings.iter().map(Vec::len).sum()];
        Ok(Self::begin(
            settings,
            tier,
            (names, keepsake),
            standings,
            (Vec::new(), Copies::default()),
        ))
    }

    /// Links a tier to its servers, and carries out what it said.
    pub(crate) fn begin(
        settings: CodedMemorySettings,
        tier: MemoryTier,
        (names, keepsake): (Names, Keepsake),
        standings: Vec<Standing>,
        (actions, copies): (Vec<TierAction>, Copies),
    ) -> Self {
        let CodedMemorySettings { code, rings: servers, link, bytes_max, .. } = settings;
        let shell = Arc::new(Shell::new(tier, Coder::new(code), names, bytes_max));
        // Requests are bounded where callers ask: what the tier itself asks for is never refused.
        let link = LinkSettings { requests_max: usize::MAX, bytes_max: usize::MAX, ..link };
        let of_ring = |(ring, servers): (usize, &Vec<SocketAddr>)| {
            servers.iter().map(|at| (ring, *at)).collect::<Vec<_>>()
        };
        let places = (0u16..).zip(servers.iter().enumerate().flat_map(of_ring));
        let places: Vec<Place> = places
            .map(|(number, (ring, at))| Place { number, ring, at, is_leaving: false })
            .collect();
        let start = |(place, standing): (&Place, Standing)| {
            let known = (Some(keepsake.clone()), standing);
            Link::start(place.number, place.at, link, known, Arc::downgrade(&shell))
        };
        shell.set_links(places.iter().zip(standings).map(start).collect());
        shell.begin(actions, copies);
        shell.keep_time();
        let places = Mutex::new(places);
        let rings = Arc::new(Rings { count: code.n(), link, keepsake, places });
        Self { shell, rings }
    }

    /// Whether something that can be made again has not been yet.
    pub(crate) fn is_mending(&self) -> bool {
        self.shell.is_mending()
    }

    /// The key's value, if it has one.
    pub async fn get(&self, key: &[u8]) -> Result<Option<StoredValue>, CodedMemoryError> {
        value(self.ask(key, Wish::Get).await?)
    }

    /// The values of keys, in their order; all are asked for at once.
    pub async fn get_many(
        &self,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<StoredValue>>, CodedMemoryError> {
        keys.iter().try_for_each(|key| check(key))?;
        self.get_each(keys).await.into_iter().collect()
    }

    /// The same, with an error for each that could not be had.
    pub async fn get_each(
        &self,
        keys: &[&[u8]],
    ) -> Vec<Result<Option<StoredValue>, CodedMemoryError>> {
        let mut answers = Vec::with_capacity(keys.len());
        let wish = |key: &&[u8]| {
            let checked = check(key);
            let (waiter, answer): (Waiter, _) = oneshot::channel();
            answers.push(checked.map(|()| answer));
            checked.is_ok().then(|| (self.shell.names().key(key), Wish::Get, waiter))
        };
        let wishes: Vec<_> = keys.iter().filter_map(wish).collect();
        self.shell.ask(wishes);
        let mut values = Vec::with_capacity(keys.len());
        for answer in answers {
            values.push(match answer {
                Ok(answer) => answer.await.unwrap_or(Err(CodedMemoryError::Ended)).and_then(value),
                Err(error) => Err(error),
            });
        }
        values
    }

    /// Gives the key a value if the condition holds; its version.
    pub async fn put(
        &self,
        key: &[u8],
        value: Bytes,
        presence: Presence,
    ) -> Result<Version, CodedMemoryError> {
        self.put_until(key, value, presence, None).await
    }

    /// Gives the key a value if the condition holds, until the wall clock says so; its version.
    pub async fn put_until(
        &self,
        key: &[u8],
        value: Bytes,
        presence: Presence,
        expires: Option<SystemTime>,
    ) -> Result<Version, CodedMemoryError> {
        let expires = expires.map(|at| {
            let after_1970 = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Timestamp::from_nanos(u64::try_from(after_1970.as_nanos()).unwrap_or(u64::MAX))
        });
        match self.ask(key, Wish::Put { value, presence, expires }).await? {
            Done::Written(version) => Ok(version),
            Done::Value(_) | Done::Nothing | Done::Deleted | Done::Flushed => {
                Err(CodedMemoryError::Ended)
            }
        }
    }

    /// Leaves the key without a value if the condition holds; whether it had one.
    pub async fn delete(&self, key: &[u8], presence: Presence) -> Result<bool, CodedMemoryError> {
        let done = self.ask(key, Wish::Delete(presence)).await?;
        Ok(done == Done::Deleted)
    }

    /// Limits the memory of all servers together, with what each item costs beside its value. What
    /// was read least goes when more is stored; without a limit nothing does.
    pub fn limit_memory(&self, bytes_max: u64) {
        self.shell.limit_memory(bytes_max);
    }

    /// Leaves every key without a value. Writes wait until that is over.
    pub async fn flush(&self) -> Result<(), CodedMemoryError> {
        let (waiter, answer) = oneshot::channel();
        self.shell.ask([(KeyDigest::NONE, Wish::Flush, waiter)]);
        answer.await.map_err(|_| CodedMemoryError::Ended)?.map(drop)
    }

    /// Adds a server to a ring, which is emptied and gets its share of what the ring has, little
    /// by little.
    pub fn add_server(&self, ring: usize, at: SocketAddr) -> Result<(), RingChangeError> {
        let Rings { count, link, keepsake, places } = &*self.rings;
        let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
        self.forget_dismissed(&mut places);
        if ring >= *count {
            return Err(RingChangeError::Ring(ring));
        }
        if places.iter().any(|place| place.at == at) {
            return Err(RingChangeError::Known(at));
        }
        let mut is_added = None;
        let start = |number| {
            is_added = Some(number);
            let known = (Some(keepsake.clone()), Standing::New);
            Link::start(number, at, *link, known, Arc::downgrade(&self.shell))
        };
        let is_done = self.shell.add_link(ring as u8, start);
        let number = is_added.filter(|_| is_done).ok_or(RingChangeError::Many)?;
        places.push(Place { number, ring, at, is_leaving: false });
        drop(places);
        Ok(())
    }

    /// Begins to move what a server has to others of its ring. It has left when it is not among
    /// [`servers`](Self::servers) any more.
    pub fn remove_server(&self, at: SocketAddr) -> Result<(), RingChangeError> {
        let mut places = self.rings.places.lock().unwrap_or_else(PoisonError::into_inner);
        self.forget_dismissed(&mut places);
        let here = |place: &Place| place.at == at && !place.is_leaving;
        let found = places.iter().position(here).ok_or(RingChangeError::Unknown(at))?;
        let ring = places[found].ring;
        let stays = |place: &&Place| place.ring == ring && place.at != at && !place.is_leaving;
        if !places.iter().any(|place| stays(&place)) {
            return Err(RingChangeError::Last(at));
        }
        places[found].is_leaving = true;
        self.shell.remove_link(places[found].number);
        drop(places);
        Ok(())
    }

    /// Puts the rings in force: adds servers that they name and removes those that they do not,
    /// each little by little. Nothing is done if [`check_rings`](Self::check_rings) finds fault.
    pub fn set_rings(&self, rings: &[Vec<SocketAddr>]) -> Result<(), RingChangeError> {
        for (ring, at) in self.check_rings(rings)? {
            self.add_server(ring, at)?;
        }
        for server in self.servers() {
            let stays = rings[server.ring].contains(&server.at);
            if !stays && server.state != MemoryServerState::Leaving {
                self.remove_server(server.at)?;
            }
        }
        Ok(())
    }

    /// The servers, with their rings, that these rings have more than there are; or why they cannot
    /// be put in force.
    pub fn check_rings(
        &self,
        rings: &[Vec<SocketAddr>],
    ) -> Result<Vec<(usize, SocketAddr)>, RingChangeError> {
        let servers = self.servers();
        let is_leaving = |at| {
            let left = |it: &&MemoryServer| it.at == at && it.state == MemoryServerState::Leaving;
            servers.iter().any(|it| left(&it))
        };
        if rings.len() != self.rings.count || rings.iter().any(Vec::is_empty) {
            return Err(RingChangeError::Ring(rings.len()));
        }
        let named =
            (0..).zip(rings).flat_map(|(ring, them)| them.iter().map(move |at| (ring, *at)));
        let mut added = Vec::new();
        for (ring, at) in named {
            match servers.iter().find(|it| it.at == at) {
                None => added.push((ring, at)),
                // One that leaves, or is of another ring, has to leave first.
                Some(it) if it.ring != ring || is_leaving(at) => {
                    return Err(RingChangeError::Known(at));
                }
                Some(_) => {}
            }
        }
        Ok(added)
    }

    /// Has what could not be mended tried again.
    pub fn repair(&self) {
        self.shell.repair();
    }

    /// The servers that there are, those that are leaving too.
    pub fn servers(&self) -> Vec<MemoryServer> {
        let places = {
            let mut places = self.rings.places.lock().unwrap_or_else(PoisonError::into_inner);
            self.forget_dismissed(&mut places);
            places.clone()
        };
        let lost = self.shell.are_lost(places.iter().map(|place| place.number));
        let server = |(place, is_lost): (&Place, bool)| {
            let state = match (place.is_leaving, is_lost) {
                (true, _) => MemoryServerState::Leaving,
                (false, true) => MemoryServerState::Lost,
                (false, false) => MemoryServerState::Up,
            };
            MemoryServer { ring: place.ring, at: place.at, state }
        };
        places.iter().zip(lost).map(server).collect()
    }

    fn forget_dismissed(&self, places: &mut Vec<Place>) {
        let dismissed = self.shell.dismissed();
        places.retain(|place| !dismissed.contains(&place.number));
    }

    /// What it did and has. Looks at all chunks: not for every request.
    pub fn status(&self) -> CodedMemoryStatus {
        self.shell.status()
    }

    async fn ask(&self, key: &[u8], wish: Wish) -> Result<Done, CodedMemoryError> {
        check(key)?;
        let (waiter, answer) = oneshot::channel();
        self.shell.ask([(self.shell.names().key(key), wish, waiter)]);
        answer.await.map_err(|_| CodedMemoryError::Ended)?
    }
}

fn check(key: &[u8]) -> Result<(), CodedMemoryError> {
    let is_key = (1..=CALLER_KEY_MAX).contains(&key.len());
    is_key.then_some(()).ok_or(CodedMemoryError::Key(key.len()))
}

fn value(done: Done) -> Result<Option<StoredValue>, CodedMemoryError> {
    match done {
        Done::Value(value) => Ok(value),
        Done::Nothing => Ok(None),
        Done::Written(_) | Done::Deleted | Done::Flushed => Err(CodedMemoryError::Ended),
    }
}

/// The numbers of each ring's servers: their order.
pub(crate) fn numbered(
    settings: &CodedMemorySettings,
) -> Result<Vec<Vec<ServerId>>, CodedMemorySettingsError> {
    let (rings, n) = (&settings.rings, settings.code.n());
    if rings.len() != n {
        return Err(CodedMemorySettingsError::Rings { rings: rings.len(), n });
    }
    if let Some(empty) = rings.iter().position(Vec::is_empty) {
        return Err(CodedMemorySettingsError::Empty(empty));
    }
    let count = rings.iter().map(Vec::len).sum();
    if count > SERVERS_MAX {
        return Err(CodedMemorySettingsError::Many(count));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = rings.iter().flatten().find(|&&server| !seen.insert(server)) {
        return Err(CodedMemorySettingsError::Twice(*twice));
    }
    let mut numbers = (0u16..).map(ServerId);
    Ok(rings.iter().map(|ring| numbers.by_ref().take(ring.len()).collect()).collect())
}
