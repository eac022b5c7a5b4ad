//! One gateway's life: what serves is the gateway's own assembly, over the world of the drill.

use crate::{
    actor::{Actor, BUCKETS, COLD, KEEPS, LOCKS, OPEN, PACK_BELOW, PART, STRIPE, Said},
    age,
    ask::{ACCESS_KEY, Ask, SECRET},
    client::{DrillClient, Weather},
    customer,
    disk::WatchedDisk,
    door::Doors,
    history::History,
    life::Life,
    plan::{Fault, Kill, Plan, Session},
    public::WELCOME,
    quiet,
    taste::Taste,
    tempo::Meets,
    watch::{NODE_PREFIX, Watcher},
    world::World,
};
use ripstop_assembly::{Assembly, assemble_over, config::Config};
use ripstop_catalog::{CatalogSettings, Embedded, PowerCutDisk};
use ripstop_delay::Dice;
use ripstop_gateway::{Placement, PlacementGroup, ReadSelection};
use ripstop_host::{Host, carried, rehearse};
use ripstop_keeper::{CheckOptions, Keeper};
use ripstop_listen::{Handed, Listener, Pressure};
use ripstop_s3::{Credentials, EncryptionSettings, FrontSettings, serve};
use std::{
    path::Path,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};
use tokio::{sync::mpsc, task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

/// How long a session may take, by its own clock.
pub(crate) const SESSION_MAX: Duration = Duration::from_hours(2);
/// Connections that wait to be accepted.
const CONNECTIONS_WAITING: usize = 8;
/// How often one tries to make the buckets.
const TRIES_MAX: usize = 20;
/// How long a gateway that stops is given to close its catalog.
pub(crate) const CLOSING: Duration = Duration::from_secs(3);
/// Of a thousand pieces on a connection at most this many are late, whatever there is of faults:
/// where nearly all are, one body takes longer than its client waits.
const LAGS_MAX: u32 = 600;
/// The pool that is another class of storage, and its code.
const COLD_POOL: &str = "cold";
const COLD_CODE: (usize, usize) = (4, 2);
/// Streams of dice: of hosts, of clients.
pub(crate) const HOSTS: u64 = 100;
const CLIENTS: u64 = 10_000;

/// What all sessions of a drill share.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) plan: Arc<Plan>,
    pub(crate) world: Arc<World>,
    pub(crate) history: Arc<History>,
    pub(crate) config: Arc<Config>,
}

/// The configuration of a drill's gateways.
pub(crate) fn config(plan: &Plan, folder: &Path) -> anyhow::Result<Config> {
    let grace = plan.grace.as_millis();
    let mut text = format!(
        "[gateway]\ndata = \"{}\"\nmetrics = false\n\
         [store]\n{}stripe_max = \"{} KiB\"\nmemory_max = \"8 MiB\"\ncatalog_cache = \"1 MiB\"\n\
         memory_wait = \"2s\"\ngrace = \"{grace}ms\"\nsweep_every = \"400ms\"\n\
         list_every = \"1300ms\"\nclean_every = \"700ms\"\nuploads_expire_after = \"0s\"\n",
        folder.display(),
        lines(&plan.store),
        STRIPE >> 10,
    );
    if plan.taste.day_ms > 0 {
        let day_ms = plan.taste.day_ms;
        let rules = format!("lifecycle_every = \"250ms\"\nlifecycle_day = \"{day_ms}ms\"\n");
        text = text.replacen("[store]\n", &format!("[store]\n{rules}"), 1);
    }
    text += &pool_lines("main", plan.code, &plan.pool);
    if plan.cold_nodes > 0 {
        text += &pool_lines(COLD_POOL, COLD_CODE, &[format!("storage_class = \"{COLD}\"")]);
    }
    for node in 0..plan.all_nodes() {
        let pool = if node < plan.nodes { "main" } else { COLD_POOL };
        text += &node_lines(node, pool);
    }
    ripstop_assembly::config::parse(&text, [])
}

fn lines(all: &[String]) -> String {
    all.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

fn pool_lines(name: &str, (n, k): (usize, usize), more: &[String]) -> String {
    format!(
        "[[pool]]\nname = \"{name}\"\ncode = [{n}, {k}]\npack_below = \"{} KiB\"\n\
         answer_extra = 1\nanswer_extra_min = 1\ntask_timeout = \"4s\"\n\
         request_timeout = \"9s\"\nlate_after = \"200ms\"\nprobe_every = \"200ms\"\n{}",
        PACK_BELOW >> 10,
        lines(more)
    )
}

fn node_lines(node: usize, pool: &str) -> String {
    format!(
        "[[node]]\nname = \"{NODE_PREFIX}{node}\"\npool = \"{pool}\"\nkind = \"memory\"\n\
         bytes_max = \"1 GiB\"\nlanes = 4\n"
    )
}

/// What is left of a session.
#[derive(Debug)]
pub(crate) struct Left {
    /// What went wrong; nothing if it came to its end, be it a kill.
    pub(crate) came: Result<(), String>,
    /// Steps of tasks, operations of the catalog's disk and of nodes: at each of them it could
    /// have been killed.
    pub(crate) points: [u64; 3],
}

/// Plays one session. What comes after finds the world as it leaves it.
pub(crate) fn play(stage: &Stage, at: usize, session: &Session) -> Left {
    let world = &stage.world;
    let kill = session.end.kill;
    let life = Arc::new(Life::new(match kill {
        Some(Kill::Node(operation)) => Some(operation),
        Some(Kill::Step(_) | Kill::Disk(_)) | None => None,
    }));
    let cut_at = match kill {
        Some(Kill::Disk(operation)) => operation as usize,
        Some(Kill::Step(_) | Kill::Node(_)) | None => usize::MAX,
    };
    let disk = PowerCutDisk::new(world.take_disk(), cut_at);
    let mut dice = Dice::numbered(stage.plan.seed, HOSTS + at as u64);
    let seed = dice.next_u64();
    let taste = Arc::new(stage.plan.taste.clone());
    let (stage_of, session_of) = (stage.clone(), session.clone());
    let gateway = Gateway { stage: stage_of, session: session_of, life: life.clone(), taste };
    // Whoever was away is back, and behaves.
    world.heal();
    if session.faults.iter().any(|(_, fault)| *fault == Fault::Wipe(0)) {
        world.held(session.victim).wipe();
    }
    let (came, steps) = rehearse(async {
        world.trace.begin();
        world.trace.note(format_args!("session {at}"));
        let host = Host::new(seed, world.wall());
        if let Some(Kill::Step(steps)) = kill {
            host.end_after(steps);
        }
        let came = tokio::select! {
            biased;
            () = life.is_ended() => Ok(()),
            () = host.has_ended() => Ok(()),
            came = host.run(gateway.live(at, host.clone(), disk.clone())) => came,
            () = sleep(SESSION_MAX) => Err(format!("session {at} does not come to an end")),
        };
        // Nothing that is dropped after this has an effect.
        life.end();
        disk.cut();
        world.set_wall(host.wall());
        (came, host.taken())
    });
    let operations = disk.operations() as u64;
    let is_cut = kill.is_some() && session.end.is_power;
    let survive_of_8 = dice.below(9);
    let content =
        if is_cut { disk.after_the_cut(|| dice.below(8) < survive_of_8) } else { disk.seen() };
    world.set_disk(content);
    Left { came, points: [steps, operations, life.node_operations()] }
}

/// Makes the file of a new catalog: what a gateway shows only when it is whole. It is the same for
/// all drills.
pub(crate) fn make_catalog(world: &World) -> Result<(), String> {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(made) = MADE.get() {
        world.set_disk(made.clone());
        return Ok(());
    }
    let disk = PowerCutDisk::new(Vec::new(), usize::MAX);
    let made = rehearse(async {
        let making = async { Embedded::open_on(disk.clone(), settings()).map(drop) };
        Host::new(0, world.wall()).run(making).await
    });
    made.map_err(|error| error.to_string())?;
    world.set_disk(MADE.get_or_init(|| disk.seen()).clone());
    Ok(())
}

fn settings() -> CatalogSettings {
    CatalogSettings { cache_bytes: 1 << 20, check_pages: true, ..CatalogSettings::default() }
}

/// A gateway and those who ask it.
pub(crate) struct Gateway {
    pub(crate) stage: Stage,
    pub(crate) session: Session,
    pub(crate) life: Arc<Life>,
    pub(crate) taste: Arc<Taste>,
}

impl Gateway {
    /// From the opening of the catalog to its closing.
    async fn live(self, at: usize, host: Host, disk: PowerCutDisk) -> Result<(), String> {
        let Stage { world, config, .. } = &self.stage;
        let watcher = Watcher { world: world.clone(), life: self.life.clone() };
        let watched = WatchedDisk { disk, world: world.clone(), life: self.life.clone() };
        world.begin_steady(host.wall());
        let opened = Embedded::open_on(watched, settings());
        self.life.go_on().await;
        let catalog = opened.map_err(|error| format!("the catalog does not open: {error}"))?;
        let assembled = assemble_over(config, Arc::new(catalog), &watcher, Vec::new()).await;
        self.life.go_on().await;
        let assembly = assembled.map_err(|error| format!("nothing serves: {error:#}"))?;
        let (port, shutdown) = open_port(&assembly, watcher);
        let doors = Doors::only(port);
        self.make_buckets(&doors).await?;
        world.harm(self.session.victim, &self.session.faults);
        let mut happening = JoinSet::new();
        for (_, fault) in &self.session.faults {
            happening.spawn(carried(self.happen(*fault, &host, &assembly)));
        }
        if let Some(every) = self.stage.plan.tempo.mends() {
            happening.spawn(carried(mend_often(assembly.keeper.clone(), every)));
        }
        let mut clients = JoinSet::new();
        for (number, operations) in (0..).zip(&self.session.clients) {
            let actor = self.actor(&doors, at, number);
            clients.spawn(carried(actor.run(*operations)));
        }
        while let Some(ended) = clients.join_next().await {
            ended.map_err(|error| format!("a client: {error}"))?;
        }
        if self.session.end.kill.is_some() {
            // It did not come to the moment that was drawn: that is now.
            self.life.end();
            self.life.go_on().await;
        }
        happening.shutdown().await;
        world.heal();
        host.set_wall(self.latest_wall(&host));
        let actor = Actor { is_strict: true, ..self.actor(&doors, at, u8::MAX) };
        quiet::comes_to_rest(world, (&self.stage.plan, at), &assembly, actor).await?;
        shutdown.cancel();
        drop((assembly, doors));
        sleep(CLOSING).await;
        Ok(())
    }

    /// A wall clock that is past all that it showed, and all that is due.
    fn latest_wall(&self, host: &Host) -> SystemTime {
        let jump =
            |fault: Fault| if let Fault::Wall(_, by) = fault { by.unsigned_abs() } else { 0 };
        let jumps = self.stage.plan.faults().map(|(_, fault)| jump(fault));
        host.wall() + Duration::from_secs(jumps.sum()) + self.stage.plan.grace
    }

    pub(crate) fn actor(&self, doors: &Doors, at: usize, number: u8) -> Actor {
        let Stage { plan, world, history, .. } = &self.stage;
        let stream = CLIENTS + ((at as u64) << 8) + u64::from(number);
        let dice = Dice::numbered(plan.seed, stream);
        let mut weather = Weather::default();
        if number != u8::MAX {
            weather.lags += plan.tempo.lags;
            for (_, fault) in &self.session.faults {
                if let Fault::Cuts(often) = fault {
                    weather.cuts += often * 5;
                } else if let Fault::Lags(often) = fault {
                    weather.lags += often;
                }
            }
            weather.lags = weather.lags.min(LAGS_MAX);
        }
        Actor {
            client: DrillClient::new(doors.clone(), dice, weather, number),
            history: history.clone(),
            life: self.life.clone(),
            world: world.clone(),
            number,
            taste: self.taste.clone(),
            customers: customer::often(plan.seed),
            meets: Meets {
                seed: plan.seed,
                session: at as u64,
                often: plan.tempo.meets,
                name: None,
            },
            is_strict: number != u8::MAX && self.session.is_calm(plan.grace),
        }
    }

    pub(crate) async fn make_buckets(&self, doors: &Doors) -> Result<(), String> {
        let mut maker = self.actor(doors, 0, u8::MAX);
        let versioning =
            "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        let keeps = Ask::new("PUT", KEEPS, "").query("versioning=").document(versioning.into());
        let make = |bucket| {
            let ask = Ask::new("PUT", bucket, "");
            let locks = "x-amz-bucket-object-lock-enabled";
            if bucket == LOCKS { ask.header(locks, "true") } else { ask }
        };
        let welcome = Ask::new("PUT", OPEN, WELCOME).body(WELCOME);
        let asks = BUCKETS.into_iter().chain([OPEN]).map(make).chain([keeps, welcome]);
        let rules =
            if self.taste.day_ms > 0 { age::rules(self.taste.cold > 0) } else { Vec::new() };
        let rules = rules
            .into_iter()
            .map(|(bucket, rules)| Ask::new("PUT", bucket, "").query("lifecycle=").document(rules));
        let asks = asks.chain(rules);
        for ask in asks {
            let mut tries = 0;
            loop {
                // A bucket that is there already is as good.
                match maker.ask(ask.clone()).await {
                    Said::Yes(_) | Said::No(409, _) => break,
                    Said::No(status, code) => {
                        return Err(format!("{} was answered {status} {code}", ask.path));
                    }
                    Said::Unknown | Said::Nothing if tries == TRIES_MAX => {
                        return Err(format!("{} is not made", ask.path));
                    }
                    Said::Unknown | Said::Nothing => {
                        tries += 1;
                        sleep(Duration::from_millis(500)).await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Has happen what happens once.
    pub(crate) fn happen(
        &self,
        fault: Fault,
        host: &Host,
        assembly: &Assembly,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (world, host, victim) = (self.stage.world.clone(), host.clone(), self.session.victim);
        let (keeper, pool) = (assembly.keeper.clone(), assembly.pools[0].1.clone());
        let n = self.stage.plan.code.0;
        async move {
            let after = |ms: u64| sleep(Duration::from_millis(ms));
            match fault {
                Fault::Down(node, from, ms) => {
                    after(from).await;
                    world.set_down(node, true);
                    after(ms).await;
                    world.set_down(node, false);
                }
                Fault::Wipe(at) => {
                    after(at).await;
                    world.trace.note(format_args!("node {victim} is wiped"));
                    world.held(victim).wipe();
                }
                Fault::NodePower(node, at) => {
                    after(at).await;
                    world.trace.note(format_args!("node {node} loses power"));
                    world.held(node).lose_power();
                }
                Fault::Wall(at, by) => {
                    after(at).await;
                    let by_s = Duration::from_secs(by.unsigned_abs());
                    let wall = host.wall();
                    host.set_wall(if by < 0 { wall - by_s } else { wall + by_s });
                    world.trace.note(format_args!("the clock jumps by {by} s"));
                }
                Fault::Check(at) => {
                    after(at).await;
                    let checked = keeper.check(CheckOptions { repair: true }, |_| {}).await;
                    world.trace.note(format_args!("checked: {}", checked.is_ok()));
                }
                Fault::Move(at, first) => {
                    after(at).await;
                    let ids: Vec<_> = pool.nodes().map(|(id, _)| id).collect();
                    let nodes = (0..n).map(|at| ids[(first + at) % ids.len()]).collect();
                    let dispatch = vec![500_000; n];
                    let groups = vec![PlacementGroup { weight: 1, nodes, dispatch }];
                    let placement = Placement { selection: ReadSelection::default(), groups };
                    pool.place(placement.clone());
                    keeper.follow(pool.id(), &placement);
                }
                Fault::Slow(..)
                | Fault::Errors(..)
                | Fault::LostAnswers(..)
                | Fault::Stalls(..)
                | Fault::Flips(..)
                | Fault::Swaps(..)
                | Fault::LateListing(_)
                | Fault::Full(_)
                | Fault::Rot(_)
                | Fault::Truncation(_)
                | Fault::Lies(_)
                | Fault::Cuts(_)
                | Fault::Lags(_) => {}
            }
        }
    }
}

/// Has what waits mended so often, as sweeps come more often than where they ship.
async fn mend_often(keeper: Keeper, every: Duration) {
    loop {
        sleep(every).await;
        keeper.mend_waiting().await;
    }
}

/// What clients come in by.
pub(crate) fn open_port(
    assembly: &Assembly,
    watcher: Watcher,
) -> (mpsc::Sender<Handed>, CancellationToken) {
    let (port, handed) = mpsc::channel(CONNECTIONS_WAITING);
    let credentials: Credentials = [(ACCESS_KEY, SECRET)].into_iter().collect();
    let (writes, reads) = (assembly.memory.clone(), assembly.memory.clone());
    let settings = FrontSettings {
        part_len_min: PART,
        write_pressure: Pressure::new(move || writes.write_pressure()),
        read_pressure: Pressure::new(move || reads.read_pressure()),
        hash_aside_above: 8 << 10,
        drain_timeout: Duration::from_secs(1),
        encryption: EncryptionSettings {
            keys: assembly.object_keys.clone(),
            ..EncryptionSettings::default()
        },
        storage_classes: assembly.store.storage_classes().map(str::to_owned).collect(),
        ..FrontSettings::default()
    };
    let shutdown = CancellationToken::new();
    let (listener, store) = (Listener::from(handed), assembly.store.clone());
    let served = serve(listener, store, credentials, settings, Arc::new(watcher), shutdown.clone());
    ripstop_host::spawn(served);
    (port, shutdown)
}
