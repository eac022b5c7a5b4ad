use crate::division;
use crate::pools::SharedPool;
use crate::seen::GatewaySight;
use crate::settings::FleetSettings;
use crate::state::State;
use crate::thing::Thing;
use ripstop_catalog::{Catalog, CatalogError, Change, GatewayId, GatewayRecord, Refusal, Session};
use ripstop_gateway::Shaping;
use ripstop_model::TenantId;
use ripstop_runtime::Pool;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Says in which session stripes are named now.
type AskSession = Box<dyn Fn() -> Session + Send + Sync>;

/// How long a gateway that stops tries to tell it.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);
/// Beats that are tried at once: one whose number another has taken is told with a new one.
const BEATS_TRIED: usize = 2;

/// A gateway among those over its catalog. Clones are the same gateway.
#[derive(Clone)]
pub struct Fleet {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: Arc<dyn Catalog>,
    session: AskSession,
    settings: FleetSettings,
    state: Mutex<State>,
    /// One beat after the other.
    beating: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

impl Fleet {
    /// A gateway that has told nothing yet, with its pools by name. Where others may be there too,
    /// each node takes one task at once of it until [`Fleet::begin`].
    pub fn new(
        catalog: Arc<dyn Catalog>,
        session: impl Fn() -> Session + Send + Sync + 'static,
        pools: &[(String, Pool)],
        settings: FleetSettings,
    ) -> Self {
        let pools = pools.iter().map(|(name, pool)| SharedPool::new(name.clone(), pool.clone()));
        let mut state = State::new(settings.id, pools.collect());
        if settings.is_shared {
            division::apply(&mut state);
        } else {
            state.things.values_mut().for_each(Thing::take_all);
        }
        let (state, session) = (Mutex::new(state), Box::new(session));
        let beating = tokio::sync::Mutex::default();
        Self { inner: Arc::new(Inner { catalog, session, settings, state, beating }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this is what tenants are promised in a pool, by all gateways together; the pool
    /// is told which part of it this one keeps. Tenants go by their names among gateways.
    pub fn shape(&self, pool: &str, shaping: Shaping, names: &BTreeMap<TenantId, String>) {
        let mut state = self.state();
        state.promise(pool, shaping, names);
        if !self.inner.settings.is_shared {
            state.things.values_mut().for_each(Thing::take_all);
        }
        division::apply(&mut state);
    }

    /// Begins: tells the others, and waits until they have made room.
    ///
    /// # Errors
    /// If the catalog fails.
    pub async fn begin(&self) -> Result<(), CatalogError> {
        let settings = &self.inner.settings;
        let rows = self.inner.catalog.gateways().await?;
        self.state().settle(ripstop_host::now(), settings, rows, false);
        let begun = ripstop_host::now();
        loop {
            self.beat().await?;
            if self.state().has_of_all() {
                return Ok(());
            }
            if ripstop_host::since(begun) > settings.begin_within {
                tracing::warn!("the other gateways have left no lane free: one of each is used");
                return Ok(());
            }
            tokio::time::sleep(settings.soon).await;
        }
    }

    /// Tells the others once, and takes what they leave; whether they wait for what it let go.
    ///
    /// # Errors
    /// If the catalog fails: what it takes stays as it is.
    pub async fn beat(&self) -> Result<bool, CatalogError> {
        let Inner { catalog, settings, beating, .. } = &*self.inner;
        let _one = beating.lock().await;
        let begun = ripstop_host::now();
        division::look(&mut self.state(), begun);
        self.tell().await?;
        let rows = catalog.gateways().await?;
        let mut state = self.state();
        (state.told_at, state.is_late) = (Some(begun), false);
        let others_wait = state.settle(ripstop_host::now(), settings, rows, true);
        division::apply(&mut state);
        Ok(others_wait)
    }

    async fn tell(&self) -> Result<(), CatalogError> {
        let mut tried = 0;
        loop {
            tried += 1;
            let (id, gateway) = {
                let mut state = self.state();
                let gateway = state.tell(&self.inner.settings, (self.inner.session)());
                (state.id, gateway)
            };
            match self.told(id, gateway).await {
                Ok(epoch) => {
                    self.state().epoch = epoch;
                    return Ok(());
                }
                Err(CatalogError::Refused(Refusal::Fenced { .. })) if tried < BEATS_TRIED => {
                    tracing::warn!(
                        gateway = format!("{:016x}", id.0),
                        "another program runs under this gateway's number: was its data folder \
                         copied? This one takes another number"
                    );
                    let mut state = self.state();
                    (state.id, state.epoch) = (GatewayId(ripstop_host::random_u64()), 0);
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn told(&self, id: GatewayId, gateway: GatewayRecord) -> Result<u64, CatalogError> {
        let epoch = gateway.epoch;
        let change = Change::Beat { id, gateway };
        let applied = self.inner.catalog.commit_one(ripstop_host::unix_ms(), change).await?;
        Ok(applied.epoch.unwrap_or(epoch))
    }

    /// Beats until the task is ended.
    pub fn spawn(&self) -> JoinHandle<()> {
        let fleet = self.clone();
        ripstop_host::spawn(async move {
            loop {
                let wait = fleet.beat_in_time().await;
                fleet.wait(wait).await;
            }
        })
    }

    /// Beats, and lets go if that does not come to its end in time; how long to wait for the next.
    async fn beat_in_time(&self) -> Duration {
        let settings = &self.inner.settings;
        let left = self.late_at().saturating_duration_since(ripstop_host::now());
        let within = if left.is_zero() { settings.late_after } else { left };
        match tokio::time::timeout(within, self.beat()).await {
            Ok(Ok(true)) => return settings.soon,
            Ok(Ok(false)) => return settings.beat_every,
            Ok(Err(error)) => tracing::debug!(%error, "a beat failed"),
            Err(_) => {}
        }
        self.let_go_if_late();
        settings.soon
    }

    /// Waits, looking now and then at what is wanted.
    async fn wait(&self, wait: Duration) {
        let begun = ripstop_host::now();
        let every = self.inner.settings.look_every();
        loop {
            let left = wait.saturating_sub(ripstop_host::since(begun));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(every)).await;
            division::look(&mut self.state(), ripstop_host::now());
        }
    }

    /// When its beats count as late.
    fn late_at(&self) -> Instant {
        let told_at = self.state().told_at;
        told_at.unwrap_or_else(ripstop_host::now) + self.inner.settings.late_after
    }

    fn let_go_if_late(&self) {
        let is_due = ripstop_host::now() >= self.late_at();
        let mut state = self.state();
        if !is_due || !self.inner.settings.is_shared {
            return;
        }
        if !state.is_late {
            tracing::warn!(
                "beats of this gateway fail: it leaves nodes and promises to the others"
            );
        }
        state.is_late = true;
        state.things.values_mut().for_each(Thing::let_go);
        division::apply(&mut state);
    }

    /// Whether it has let go because its beats failed.
    pub fn is_late(&self) -> bool {
        self.state().is_late
    }

    /// Tells the others that it stops, so that they need not wait for its death.
    pub async fn leave(&self) {
        let (id, gateway) = {
            let mut state = self.state();
            let told = state.tell(&self.inner.settings, (self.inner.session)());
            (state.id, GatewayRecord { has_left: true, claims: Vec::new(), ..told })
        };
        let told = tokio::time::timeout(LEAVE_WITHIN, self.told(id, gateway)).await;
        if !matches!(told, Ok(Ok(_))) {
            tracing::warn!("the other gateways were not told that this one stops");
        }
    }

    /// What it keeps free of a tenant's promise in a pool, lane-nanoseconds a second.
    pub fn promised(&self, pool: &str, tenant: TenantId) -> u64 {
        self.state().promised(pool, tenant)
    }

    /// All gateways over the catalog, as they were seen last.
    pub fn sights(&self) -> Vec<GatewaySight> {
        self.state().sights(ripstop_host::now(), &self.inner.settings).collect()
    }
}
