//! Gateways over a catalog in memory, each with a pool of its own over six slow nodes.

use async_trait::async_trait;
use ripstop_catalog::{
    Catalog, CatalogError, Change, GatewayId, Model, Outcome, Query, Reply, Session,
};
use ripstop_delay::Preset;
use ripstop_fleet::{Fleet, FleetSettings};
use ripstop_gateway::{
    LANE, MachineSettings, Recombination, Report, Shaping, TenantTerms, TierTerms,
};
use ripstop_model::{Code, NodeId, PoolId, StripeId, StripeShape, TenantId, Timestamp};
use ripstop_node::{Delay, MemoryNode, Node};
use ripstop_policy::PolicySettings;
use ripstop_runtime::{Memory, Observer, Origin, Pins, Pool, PoolNode, Purpose};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinHandle};

/// Of each node.
pub(crate) const LANES: u16 = 16;
/// What its tenant is promised: twelve lanes.
pub(crate) const PROMISED: u64 = 12 * LANE;
pub(crate) const TENANT: TenantId = TenantId(1);

#[derive(Debug)]
struct Nobody;

impl Observer for Nobody {
    fn report(&self, _at: Timestamp, _report: &Report) {}
}

/// A catalog that answers nothing while it stalls.
#[derive(Debug)]
struct Stalling {
    model: Arc<Model>,
    stalls: AtomicBool,
}

#[async_trait]
impl Catalog for Stalling {
    async fn commit(&self, now: u64, changes: Vec<Change>) -> Result<Vec<Outcome>, CatalogError> {
        while self.stalls.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.model.commit(now, changes).await
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        self.model.read(query).await
    }
}

/// A catalog, and all gateways that were ever over it.
pub(crate) struct World {
    pub(crate) catalog: Arc<Model>,
    members: Mutex<Vec<Arc<Member>>>,
}

pub(crate) struct Member {
    pub(crate) fleet: Fleet,
    pool: Pool,
    catalog: Arc<Stalling>,
    memory: Memory,
    running: Mutex<Option<AbortHandle>>,
    has_ended: AtomicBool,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { catalog: Arc::new(Model::default()), members: Mutex::default() }
    }

    /// A gateway that has begun.
    pub(crate) async fn join(&self, number: u64) -> Arc<Member> {
        let memory = Memory::new(64 << 20);
        let pool = pool(&memory);
        let catalog = Arc::new(Stalling { model: self.catalog.clone(), stalls: false.into() });
        let id = GatewayId(number);
        let address = format!("127.0.0.1:{number}");
        let settings = FleetSettings::new(id, address, "1.0.0".into(), true);
        let session = move || Session(number as u32);
        let fleet = Fleet::new(catalog.clone(), session, &[("p".into(), pool.clone())], settings);
        let names = [(TENANT, "photos".to_owned())].into();
        fleet.shape("p", promise(), &names);
        let (running, has_ended) = (Mutex::default(), false.into());
        let member = Arc::new(Member { fleet, pool, catalog, memory, running, has_ended });
        member.fleet.begin().await.unwrap();
        self.members.lock().unwrap().push(member.clone());
        member
    }

    /// All that live never take more than there is.
    pub(crate) fn must_hold(&self) {
        let members = self.members.lock().unwrap();
        let living: Vec<_> =
            members.iter().filter(|it| !it.has_ended.load(Ordering::Acquire)).collect();
        for node in 0..6 {
            let taken: Vec<u16> = living.iter().map(|it| it.lanes()[node]).collect();
            assert!(taken.iter().sum::<u16>() <= LANES, "{taken:?}");
        }
        let promised: Vec<u64> = living.iter().map(|it| it.promise()).collect();
        assert!(promised.iter().sum::<u64>() <= PROMISED, "{promised:?}");
    }
}

fn promise() -> Shaping {
    let tier = TierTerms {
        fraction: "1".parse().unwrap(),
        bound: Duration::from_secs(1),
        capacity: PROMISED,
    };
    Shaping {
        recombination: Recombination::PClock,
        tenants: vec![TenantTerms { tenant: TENANT, tiers: vec![tier] }],
    }
}

/// A node that takes its time.
fn slow(seed: u64) -> Arc<dyn Node> {
    Arc::new(Delay::new(Arc::new(MemoryNode::new(1 << 30)), Preset::S3In2025.model(), seed, 1.0))
}

fn pool(memory: &Memory) -> Pool {
    let nodes =
        (0..6).map(|id| PoolNode { id: NodeId(id), lanes: LANES, node: slow(u64::from(id)) });
    let (to, mut aftermath) = ripstop_runtime::aftermaths();
    tokio::spawn(async move { while aftermath.recv().await.is_some() {} });
    let policy = ripstop_policy::by_name("fixed", &PolicySettings::default()).unwrap();
    Pool::new(
        Origin { store: 1, pool: PoolId(0) },
        Code::new(6, 4).unwrap(),
        MachineSettings::default(),
        policy,
        nodes.collect(),
        Arc::new(Nobody),
        Arc::default(),
        memory.blocks().clone(),
        Pins::default(),
        to,
    )
}

impl Member {
    pub(crate) fn run(&self) {
        *self.running.lock().unwrap() = Some(self.fleet.spawn().abort_handle());
    }

    /// Ends without a word.
    pub(crate) fn die(&self) {
        self.has_ended.store(true, Ordering::Release);
        if let Some(running) = self.running.lock().unwrap().take() {
            running.abort();
        }
    }

    pub(crate) async fn leave(&self) {
        self.die();
        self.fleet.leave().await;
    }

    pub(crate) fn stall(&self, stalls: bool) {
        self.catalog.stalls.store(stalls, Ordering::Release);
    }

    /// Of each node.
    pub(crate) fn lanes(&self) -> [u16; 6] {
        let lanes = self.pool.inspect(|it| it.nodes().map(|node| node.lanes).collect::<Vec<_>>());
        lanes.try_into().unwrap()
    }

    /// Lane-nanoseconds a second that it keeps free for the tenant.
    pub(crate) fn promise(&self) -> u64 {
        self.fleet.promised("p", TENANT)
    }

    /// Has clients of the tenant ask for more than anybody has, from now on.
    pub(crate) fn ask(self: &Arc<Self>) -> JoinHandle<()> {
        let member = self.clone();
        tokio::spawn(async move {
            for number in 0_u64.. {
                for at in 0..8 {
                    tokio::spawn(write(member.clone(), (number << 8) | at));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
    }
}

/// Writes a stripe, whatever becomes of it.
async fn write(member: Arc<Member>, number: u64) {
    let code = Code::new(6, 4).unwrap();
    let shape = StripeShape::new(code, 100).unwrap();
    let share = member.memory.acquire(Purpose::Write, member.pool.draft_memory(shape)).await;
    let pool = member.pool.on_behalf_of(TENANT);
    let mut draft = pool.draft(StripeId::new(1, number.into()), shape, share);
    draft.fill(&mut vec![7; 100].into());
    let sealed = draft.seal(pool.origin(), "".into());
    drop(pool.write(sealed).await);
}
