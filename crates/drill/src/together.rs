//! Several gateways over one catalog: each has nodes, keeper, leases, wall clock and an end of its
//! own, and clients go to whichever they draw.

use crate::{
    actor::Actor,
    again,
    database::Database,
    door::{Door, Doors},
    fleet::Fleet,
    life::Life,
    link::{Link, LinkedCatalog},
    plan::{Fault, Plan, Session},
    quiet,
    session::{CLOSING, Gateway, HOSTS, SESSION_MAX, Stage, open_port},
    taste::Kind,
    tempo::Tempo,
    trouble::{Trouble, Troubles},
    watch::Watcher,
};
use ripstop_assembly::{Assembly, assemble_over};
use ripstop_catalog::Audited;
use ripstop_delay::Dice;
use ripstop_host::{Host, carried, rehearse};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Streams of dice: of what a fleet is, of hosts beside the first, of links.
const FLEET: u64 = 50;
const HOSTS_OF_SEATS: u64 = 2000;
const LINKS: u64 = 4000;
/// How many lives a seat has, at most.
const LIVES_MAX: u64 = 100;
/// How long a gateway that cannot begin waits before it tries again, and how often it does.
const BEGINS_AGAIN_AFTER: Duration = Duration::from_secs(1);
const BEGINS_MAX: usize = 60;
/// How long it takes at most until all gateways are there again, and until one of them has the
/// lease of what only one does.
const BACK_WITHIN: Duration = Duration::from_mins(5);
/// Longer than leases last, and sessions that nobody hears of.
const LEASES_OVER: Duration = Duration::from_mins(2);
/// More clients than a session has otherwise, at most.
const MORE_CLIENTS: u64 = 3;
const MORE_OPERATIONS: u64 = 20;

impl Plan {
    /// A drill of several gateways over one catalog.
    pub fn fleet(seed: u64) -> Self {
        let mut plan = Self::draw(seed);
        let mut dice = Dice::numbered(seed, FLEET);
        let fleet = Fleet::draw(&mut dice);
        // Gateways that come and go are what meets here.
        plan.tempo = Tempo::USUAL;
        plan.sessions.truncate(1);
        let session = &mut plan.sessions[0];
        session.end.kill = None;
        session.faults.retain(|(_, fault)| !matches!(fault, Fault::Wall(..)));
        let more = 1 + dice.below(MORE_CLIENTS);
        session.clients.extend((0..more).map(|_| 4 + dice.below(MORE_OPERATIONS)));
        if fleet.has_odd_clocks() {
            // How long something is kept, or lives, goes by clocks that agree.
            plan.taste.day_ms = 0;
            let goes_by_clocks = [Kind::PutLocked, Kind::Hold];
            let often = plan.taste.often.iter_mut();
            often.filter(|(kind, _)| goes_by_clocks.contains(kind)).for_each(|(_, it)| *it = 0);
        }
        plan.store.push("catalog = \"postgres://drill@localhost/drill\"".into());
        plan.fleet = Some(fleet);
        plan
    }
}

/// Plays a drill of several gateways.
pub(crate) fn play(stage: &Stage, fleet: &Fleet) -> Result<(), String> {
    let (plan, world) = (&stage.plan, &stage.world);
    let mut dice = Dice::numbered(plan.seed, HOSTS);
    let (of_clients, of_database) = (dice.next_u64(), dice.next_u64());
    let (came, database) = rehearse(async {
        world.trace.begin();
        let host = Host::new(of_clients, world.wall());
        let database = Database::new(world.clone(), of_database);
        let together = Arc::new(Together {
            stage: stage.clone(),
            fleet: fleet.clone(),
            database: database.clone(),
            troubles: Arc::new(Troubles::none(fleet.seats)),
            doors: Doors::closed(fleet.seats),
            living: Mutex::new(vec![None; fleet.seats]),
            ends: CancellationToken::new(),
        });
        let came = tokio::select! {
            biased;
            came = host.run(together.live()) => came,
            () = sleep(SESSION_MAX) => Err("the gateways do not come to an end".into()),
        };
        (came, database)
    });
    came?;
    again::compare_with(stage, &database.model).map_err(|error| format!("{error:#}"))
}

/// A gateway that is there.
#[derive(Clone, Debug)]
struct Living {
    host: Host,
    assembly: Arc<Assembly>,
    shutdown: CancellationToken,
}

/// How a life ends.
#[derive(Clone, Copy, Debug)]
struct Death {
    steps: Option<u64>,
    operation: Option<u64>,
    back_after: Duration,
    is_heard: bool,
}

#[derive(Debug)]
struct Together {
    stage: Stage,
    fleet: Fleet,
    database: Arc<Database>,
    troubles: Arc<Troubles>,
    doors: Doors,
    living: Mutex<Vec<Option<Living>>>,
    /// Cancelled when nobody is killed any more.
    ends: CancellationToken,
}

impl Together {
    fn living(&self) -> MutexGuard<'_, Vec<Option<Living>>> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> &Session {
        &self.stage.plan.sessions[0]
    }

    /// From the first gateway's beginning until all are at rest.
    async fn live(self: Arc<Self>) -> Result<(), String> {
        let world = &self.stage.world;
        world.begin_steady(ripstop_host::wall());
        let mut seats = JoinSet::new();
        for seat in 0..self.fleet.seats {
            seats.spawn(carried(self.clone().sit(seat)));
        }
        let clients = Gateway {
            stage: self.stage.clone(),
            session: self.session().clone(),
            life: Arc::new(Life::new(None)),
            taste: Arc::new(self.stage.plan.taste.clone()),
        };
        clients.make_buckets(&self.doors).await?;
        world.harm(self.session().victim, &self.session().faults);
        self.troubles.begin(&self.fleet.troubles);
        let mut happening = self.happening(&clients);
        let mut asking = JoinSet::new();
        for (number, operations) in (0..).zip(&self.session().clients) {
            let actor = clients.actor(&self.doors, 0, number);
            let is_strict = actor.is_strict && self.fleet.is_calm();
            asking.spawn(carried(Actor { is_strict, ..actor }.run(*operations)));
        }
        while let Some(ended) = asking.join_next().await {
            ended.map_err(|error| format!("a client: {error}"))?;
        }
        happening.shutdown().await;
        self.ends.cancel();
        world.heal();
        self.troubles.end();
        let back = async {
            while let Some(back) = seats.join_next().await {
                back.map_err(|error| format!("a gateway: {error}"))??;
            }
            Ok::<_, String>(())
        };
        timeout(BACK_WITHIN, back).await.map_err(|_| "a gateway does not come back")??;
        let actor = Actor { is_strict: true, ..clients.actor(&self.doors, 0, u8::MAX) };
        self.rest(actor).await
    }

    /// All that is kept comes to rest.
    async fn rest(&self, actor: Actor) -> Result<(), String> {
        let all: Vec<Living> = self.living().iter().flatten().cloned().collect();
        let latest = all.iter().map(|living| living.host.wall()).max();
        let latest = latest.ok_or("no gateway is left")? + self.stage.plan.grace + LEASES_OVER;
        for living in &all {
            living.host.set_wall(latest);
        }
        for Living { host, assembly, .. } in &all {
            host.run(assembly.settle(BACK_WITHIN)).await;
            if !assembly.memory.is_free() {
                return Err(format!("memory is held: {} bytes are free", assembly.memory.free()));
            }
        }
        let sweeps = timeout(BACK_WITHIN, sweeping(&all)).await;
        let Living { host, assembly, .. } = sweeps.map_err(|_| "nobody takes the lease")??;
        let plan = &*self.stage.plan;
        host.run(quiet::comes_to_rest(&self.stage.world, (plan, 0), &assembly, actor)).await?;
        for Living { host, assembly, .. } in &all {
            host.run(assembly.settle(BACK_WITHIN)).await;
            if !assembly.memory.is_free() {
                let free = assembly.memory.free();
                return Err(format!("reads hold memory: {free} bytes are free"));
            }
        }
        for living in &all {
            living.shutdown.cancel();
        }
        drop(assembly);
        self.living().clear();
        drop(all);
        sleep(CLOSING).await;
        Ok(())
    }

    /// The gateways of a seat, one after the other, until all are to rest.
    async fn sit(self: Arc<Self>, seat: usize) -> Result<(), String> {
        let mut deaths = self.deaths(seat).into_iter();
        for turn in 0..LIVES_MAX {
            let death = deaths.next();
            let life = Arc::new(Life::new(death.and_then(|death| death.operation)));
            let stream = HOSTS_OF_SEATS + seat as u64 * LIVES_MAX + turn;
            let seed = Dice::numbered(self.stage.plan.seed, stream).next_u64();
            let host = Host::new(seed, shifted(ripstop_host::wall(), self.fleet.off_s(seat)));
            if let Some(steps) = death.and_then(|death| death.steps) {
                host.end_after(steps);
            }
            let gone = CancellationToken::new();
            let begins = self.begin((seat, turn), life.clone(), host.clone(), gone.clone());
            tokio::select! {
                biased;
                () = life.is_ended() => {}
                () = host.has_ended() => {}
                begun = host.run(begins) => {
                    begun?;
                    tokio::select! {
                        biased;
                        () = life.is_ended() => {}
                        () = host.has_ended() => {}
                        () = self.ends.cancelled() => {
                            host.end_after(u64::MAX);
                            life.spare();
                            return Ok(());
                        }
                    }
                }
            }
            life.end();
            self.living()[seat] = None;
            self.doors.set(seat, None);
            let Death { back_after, is_heard, .. } = death.ok_or("nothing has killed it")?;
            self.stage.world.trace.note(format_args!("gateway {seat} is killed"));
            if is_heard {
                gone.cancel();
            }
            let _ = timeout(back_after, self.ends.cancelled()).await;
        }
        Err(format!("gateway {seat} does not stay"))
    }

    /// Has a gateway begin, and opens its door.
    async fn begin(
        &self,
        (seat, turn): (usize, u64),
        life: Arc<Life>,
        host: Host,
        gone: CancellationToken,
    ) -> Result<(), String> {
        let stream = LINKS + seat as u64 * LIVES_MAX + turn;
        let dice = Dice::numbered(self.stage.plan.seed, stream);
        let database = (&self.database, &self.troubles);
        let link = Link::new(database, &life, seat, self.fleet.patience, dice);
        let catalog: Arc<dyn Audited> = Arc::new(LinkedCatalog(link));
        let watcher = Watcher { world: self.stage.world.clone(), life: life.clone() };
        let mut begins = 0;
        let assembly = loop {
            let config = &self.stage.config;
            match assemble_over(config, catalog.clone(), &watcher, Vec::new()).await {
                Ok(assembly) => break Arc::new(assembly),
                Err(error) if begins == BEGINS_MAX => return Err(format!("it begins: {error:#}")),
                Err(_) => {
                    begins += 1;
                    sleep(BEGINS_AGAIN_AFTER).await;
                }
            }
        };
        life.go_on().await;
        self.stage.world.trace.note(format_args!("gateway {seat} serves"));
        let (port, shutdown) = open_port(&assembly, watcher);
        self.doors.set(seat, Some(Door { port, gone }));
        self.living()[seat] = Some(Living { host, assembly, shutdown });
        Ok(())
    }

    fn deaths(&self, of: usize) -> Vec<Death> {
        let death = |trouble: &Trouble| {
            let (seat, steps, operation, back_ms, is_heard) = match *trouble {
                Trouble::Killed(seat, steps, ms, heard) => (seat, Some(steps), None, ms, heard),
                Trouble::KilledAtNode(seat, at, ms, heard) => (seat, None, Some(at), ms, heard),
                Trouble::Refuses(_)
                | Trouble::LosesCommits(_)
                | Trouble::LateCommits(_)
                | Trouble::LosesWays(_)
                | Trouble::StallsWays(_)
                | Trouble::Cut(..)
                | Trouble::Away(..)
                | Trouble::Off(..)
                | Trouble::Jumps(..) => return None,
            };
            let back_after = Duration::from_millis(back_ms);
            (seat == of).then_some(Death { steps, operation, back_after, is_heard })
        };
        self.fleet.troubles.iter().filter_map(|(_, trouble)| death(trouble)).collect()
    }

    /// Has happen what happens once.
    fn happening(self: &Arc<Self>, clients: &Gateway) -> JoinSet<()> {
        let mut happening = JoinSet::new();
        for (_, trouble) in &self.fleet.troubles {
            happening.spawn(carried(self.clone().trouble(*trouble)));
        }
        for (number, fault) in &self.session().faults {
            // One that is away does nothing of the kind.
            let seat = *number as usize % self.fleet.seats;
            let living = self.living();
            let one = living[seat].as_ref().or(living.iter().flatten().next());
            let Some(Living { host, assembly, .. }) = one else { continue };
            let happens = clients.happen(*fault, host, assembly);
            if matches!(fault, Fault::Check(_) | Fault::Move(..)) {
                happening.spawn(host.run(happens));
            } else {
                happening.spawn(carried(happens));
            }
        }
        happening
    }

    async fn trouble(self: Arc<Self>, trouble: Trouble) {
        let after = |ms: u64| sleep(Duration::from_millis(ms));
        let trace = &self.stage.world.trace;
        match trouble {
            Trouble::Cut(seat, at, ms) => {
                after(at).await;
                trace.note(format_args!("gateway {seat} does not reach the database"));
                self.troubles.cut(seat, true);
                after(ms).await;
                self.troubles.cut(seat, false);
            }
            Trouble::Away(at, ms) => {
                after(at).await;
                trace.note(format_args!("the database is away"));
                self.troubles.away(true);
                after(ms).await;
                self.troubles.away(false);
            }
            Trouble::Jumps(seat, at, by_s) => {
                after(at).await;
                if let Some(Living { host, .. }) = &self.living()[seat] {
                    trace.note(format_args!("the clock of gateway {seat} jumps by {by_s} s"));
                    host.set_wall(shifted(host.wall(), by_s));
                }
            }
            Trouble::Refuses(_)
            | Trouble::LosesCommits(_)
            | Trouble::LateCommits(_)
            | Trouble::LosesWays(_)
            | Trouble::StallsWays(_)
            | Trouble::Killed(..)
            | Trouble::KilledAtNode(..)
            | Trouble::Off(..) => {}
        }
    }
}

/// A time this many seconds later, or earlier.
fn shifted(time: std::time::SystemTime, by_s: i64) -> std::time::SystemTime {
    let by = Duration::from_secs(by_s.unsigned_abs());
    if by_s < 0 { time - by } else { time + by }
}

/// The gateway that does what only one does at a time.
async fn sweeping(all: &[Living]) -> Result<Living, String> {
    loop {
        for living in all {
            let asked = living.host.run(living.assembly.keeper.has_upkeep()).await;
            if asked.map_err(|error| format!("the lease is not known: {error}"))? {
                return Ok(living.clone());
            }
        }
        sleep(Duration::from_secs(1)).await;
    }
}
