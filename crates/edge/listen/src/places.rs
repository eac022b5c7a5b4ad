use crate::{ListenSettings, Network};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// How often somebody who waits for a place looks again, whatever has been told.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The connections that there may be at once, and who has them.
#[derive(Debug)]
pub(crate) struct Places {
    max: usize,
    per_address_max: usize,
    /// This machine may have all.
    spares_loopback: bool,
    trusted: Vec<Network>,
    taken: Mutex<Taken>,
    /// Somebody has left, or has become quiet while somebody waits.
    changed: Notify,
    waiting: AtomicBool,
}

#[derive(Debug, Default)]
struct Taken {
    all: Count,
    by_address: HashMap<IpAddr, Count>,
    /// Connections on which no request runs: strangers first, then in the order in which they fell
    /// silent.
    quiet: BTreeMap<Silence, Arc<Seat>>,
    silences: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    open: usize,
    /// Of these: told to go, and not gone yet.
    leaving: usize,
}

/// When a connection fell silent, and whether its peer is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Silence {
    known: bool,
    number: u64,
}

/// No place for this address: it has its part, and requests run on all of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused;

impl Places {
    pub(crate) fn new(settings: &ListenSettings) -> Arc<Self> {
        let max = settings.connections_max.max(1);
        let part = settings.connections_per_address_max;
        Arc::new(Self {
            max,
            per_address_max: part.unwrap_or(max.div_ceil(2)).max(1),
            spares_loopback: part.is_none(),
            trusted: settings.trusted_proxies.clone(),
            taken: Mutex::default(),
            changed: Notify::new(),
            waiting: AtomicBool::new(false),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address. Where there is none, quiet connections are cut;
    /// while there are none of these either, it waits.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        address: Option<IpAddr>,
    ) -> Result<Arc<Seat>, Refused> {
        let entered = loop {
            match self.try_enter(address) {
                Ok(Some(seat)) => break Ok(seat),
                Ok(None) => {}
                Err(refused) => break Err(refused),
            }
            self.waiting.store(true, SeqCst);
            // Only a bound: in time for what has changed it is woken.
            let _ = tokio::time::timeout(LOOK_EVERY, self.changed.notified()).await;
        };
        self.waiting.store(false, SeqCst);
        entered
    }

    /// A place; `None` if one was asked to leave for it, or none can be.
    fn try_enter(self: &Arc<Self>, address: Option<IpAddr>) -> Result<Option<Arc<Seat>>, Refused> {
        let mut taken = self.taken();
        let may_have_all = address.is_none_or(|address| self.may_have_all(address.to_canonical()));
        let address = address.map(counted_as);
        if let Some(address) = address {
            let has = taken.by_address.get(&address).copied().unwrap_or_default();
            if !may_have_all && has.open >= self.per_address_max {
                let its = |seat: &Seat| seat.address == Some(address);
                let one_goes = has.leaving > 0 || taken.cut(its);
                return if one_goes { Ok(None) } else { Err(Refused) };
            }
        }
        if taken.all.open >= self.max {
            if taken.all.leaving == 0 {
                taken.cut(|_| true);
            }
            return Ok(None);
        }
        taken.count(address, |count| count.open += 1);
        let seat = Arc::new(Seat::new(self.clone(), address, taken.all.open));
        drop(taken);
        seat.fall_silent();
        Ok(Some(seat))
    }

    fn may_have_all(&self, address: IpAddr) -> bool {
        self.spares_loopback && address.is_loopback()
            || self.trusted.iter().any(|network| network.contains(address))
    }

    /// Cuts the connection that has been quiet the longest: descriptors are short, whatever was
    /// configured.
    pub(crate) fn cut_one(&self) {
        self.taken().cut(|_| true);
    }

    /// Whether somebody waits for a place.
    pub(crate) fn are_short(&self) -> bool {
        self.waiting.load(SeqCst)
    }
}

impl Taken {
    /// Tells the first quiet connection of that kind to go; whether there is one.
    fn cut(&mut self, kind: impl Fn(&Seat) -> bool) -> bool {
        let found = self.quiet.iter().find(|(_, seat)| kind(seat)).map(|(silence, _)| *silence);
        let Some(seat) = found.and_then(|silence| self.quiet.remove(&silence)) else {
            return false;
        };
        *seat.standing() = Standing::Leaving;
        self.count(seat.address, |count| count.leaving += 1);
        seat.cut.notify_one();
        true
    }

    /// The seat is neither quiet nor leaving any more.
    fn call_back(&mut self, seat: &Seat) {
        match std::mem::replace(&mut *seat.standing(), Standing::Busy) {
            Standing::Busy => {}
            Standing::Quiet(silence) => drop(self.quiet.remove(&silence)),
            Standing::Leaving => self.count(seat.address, |count| count.leaving -= 1),
        }
    }

    /// Changes what is counted of all, and of an address.
    fn count(&mut self, address: Option<IpAddr>, change: impl Fn(&mut Count)) {
        change(&mut self.all);
        if let Some(address) = address {
            let count = self.by_address.entry(address).or_default();
            change(count);
            if count.open == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

/// An IPv6 host has a network of 64 bits to choose addresses from.
fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

/// A connection's place.
pub(crate) struct Seat {
    places: Arc<Places>,
    address: Option<IpAddr>,
    crowd: usize,
    /// Requests that run, to the end of their answers.
    requests: AtomicUsize,
    /// The last answer may still have bytes that the connection has not taken.
    unsent: AtomicBool,
    known: AtomicBool,
    /// Locked after [`Places::taken`].
    standing: Mutex<Standing>,
    cut: Notify,
}

/// What a connection does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// A request runs, or its answer is not sent.
    Busy,
    /// It waits for a request.
    Quiet(Silence),
    /// It was told to go.
    Leaving,
}

impl Seat {
    const fn new(places: Arc<Places>, address: Option<IpAddr>, crowd: usize) -> Self {
        Self {
            places,
            address,
            crowd,
            requests: AtomicUsize::new(0),
            unsent: AtomicBool::new(false),
            known: AtomicBool::new(false),
            standing: Mutex::new(Standing::Busy),
            cut: Notify::const_new(),
        }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many connections there were when this one came, itself included.
    pub(crate) const fn crowd(&self) -> usize {
        self.crowd
    }

    /// A request begins; its answer has ended when what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        if self.requests.fetch_add(1, SeqCst) == 0 {
            self.places.taken().call_back(self);
        }
        Busy(self.clone())
    }

    /// All bytes that the connection was given are on their way.
    pub(crate) fn sent(self: &Arc<Self>) {
        if self.unsent.load(SeqCst) && self.requests.load(SeqCst) == 0 {
            self.unsent.store(false, SeqCst);
            self.fall_silent();
        }
    }

    fn fall_silent(self: &Arc<Self>) {
        let mut taken = self.places.taken();
        taken.silences += 1;
        let silence = Silence { known: self.known.load(SeqCst), number: taken.silences };
        taken.quiet.insert(silence, self.clone());
        *self.standing() = Standing::Quiet(silence);
        drop(taken);
        if self.places.are_short() {
            self.places.changed.notify_one();
        }
    }

    /// The peer is known from now on.
    pub(crate) fn vouch(&self) {
        self.known.store(true, SeqCst);
    }

    /// Whether somebody waits for a place, so that this one should be given up as soon as may be.
    pub(crate) fn is_wanted(&self) -> bool {
        self.places.are_short()
    }

    /// Waits until the connection is to be cut, for somebody else's sake.
    pub(crate) async fn is_cut(&self) {
        loop {
            self.cut.notified().await;
            // A request that came at that moment is not torn off.
            if *self.standing() == Standing::Leaving {
                return;
            }
        }
    }

    /// Gives the place to somebody else.
    pub(crate) fn leave(&self) {
        let mut taken = self.places.taken();
        taken.call_back(self);
        taken.count(self.address, |count| count.open -= 1);
        drop(taken);
        self.places.changed.notify_one();
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("address", &self.address)
            .field("requests", &self.requests)
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

/// A request that runs on a connection.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Seat>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.unsent.store(true, SeqCst);
        self.0.requests.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(200);

    fn places(max: usize, per_address_max: usize) -> Arc<Places> {
        Places::new(&ListenSettings {
            connections_max: max,
            connections_per_address_max: Some(per_address_max),
            trusted_proxies: vec!["10.0.0.9".parse().unwrap()],
            ..ListenSettings::default()
        })
    }

    fn from(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Leaves as a connection does, as soon as it is told to.
    fn obey(seat: Arc<Seat>) -> tokio::task::JoinHandle<()> {
        tokio::spawn(async move {
            seat.is_cut().await;
            seat.leave();
        })
    }

    fn answer(seat: &Arc<Seat>) {
        drop(seat.begin());
        seat.sent();
    }

    #[tokio::test]
    async fn the_one_that_has_been_quiet_longest_gives_way_and_strangers_before_the_known() {
        let places = places(3, 9);
        let mut seats = Vec::new();
        for _ in 0..3 {
            seats.push(places.enter(Some(from("192.0.2.1"))).await.unwrap());
        }
        seats[0].vouch();
        answer(&seats[0]);
        answer(&seats[1]);
        let obedient: Vec<_> = seats.iter().cloned().map(obey).collect();
        let mut gone = Vec::new();
        for _ in 0..3 {
            let _entered = timeout(SOON, places.enter(None)).await.unwrap().unwrap().begin();
            tokio::time::sleep(Duration::from_millis(5)).await;
            gone.push(obedient.iter().map(|seat| u8::from(seat.is_finished())).collect::<Vec<_>>());
        }
        assert_eq!(gone, [[0, 0, 1], [0, 1, 1], [1, 1, 1]]);
    }

    #[tokio::test]
    async fn running_requests_are_not_cut_and_the_first_to_end_gives_way() {
        let places = places(1, 9);
        let seat = places.enter(None).await.unwrap();
        let running = seat.begin();
        let left = obey(seat.clone());
        assert!(timeout(SOON, places.enter(None)).await.is_err());
        drop(running);
        assert!(timeout(SOON, places.enter(None)).await.is_err(), "its answer is not sent");
        let (entered, ()) = tokio::join!(timeout(SOON, places.enter(None)), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(seat.is_wanted());
            seat.sent();
        });
        assert!(entered.unwrap().is_ok() && left.is_finished());
        assert!(!seat.is_wanted());
    }

    #[tokio::test]
    async fn an_address_has_its_part_and_a_proxy_all() {
        let places = places(9, 2);
        let mut running = Vec::new();
        for _ in 0..2 {
            running.push(places.enter(Some(from("192.0.2.1"))).await.unwrap().begin());
        }
        assert_eq!(places.enter(Some(from("192.0.2.1"))).await.unwrap_err(), Refused);
        assert_eq!(places.enter(Some(from("::ffff:192.0.2.1"))).await.unwrap_err(), Refused);
        running.pop().unwrap().0.leave();
        let seat = places.enter(Some(from("192.0.2.1"))).await.unwrap();
        // Its own quiet one gives way, and nobody else's.
        let (other, mine) = (places.enter(Some(from("192.0.2.2"))).await.unwrap(), obey(seat));
        assert!(timeout(SOON, places.enter(Some(from("192.0.2.1")))).await.unwrap().is_ok());
        assert!(mine.is_finished() && timeout(SOON, other.is_cut()).await.is_err());
        for _ in 0..3 {
            assert!(places.enter(Some(from("10.0.0.9"))).await.is_ok());
        }
    }

    #[tokio::test]
    async fn unless_told_otherwise_an_address_has_half_and_this_machine_all() {
        let settings = ListenSettings { connections_max: 4, ..ListenSettings::default() };
        let places = Places::new(&settings);
        let mut running = Vec::new();
        for _ in 0..2 {
            running.push(places.enter(Some(from("192.0.2.1"))).await.unwrap().begin());
        }
        assert_eq!(places.enter(Some(from("192.0.2.1"))).await.unwrap_err(), Refused);
        running.clear();
        let places = Places::new(&settings);
        for _ in 0..4 {
            running.push(places.enter(Some(from("::1"))).await.unwrap().begin());
        }
    }

    #[tokio::test]
    async fn a_network_of_64_bits_counts_as_one_address() {
        let places = places(9, 1);
        let _running = places.enter(Some(from("2001:db8::1"))).await.unwrap().begin();
        assert_eq!(places.enter(Some(from("2001:db8::2"))).await.unwrap_err(), Refused);
        assert!(places.enter(Some(from("2001:db8:0:1::1"))).await.is_ok());
    }
}
