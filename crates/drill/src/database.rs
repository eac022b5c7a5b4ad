//! A database that keeps one catalog for several gateways: the model of a catalog, committed to in
//! turn. It outlives gateways, and what was sent to it goes on without who sent it.

use crate::{life::Life, trouble::Fate, world::World};
use ripstop_catalog::{CatalogError, Change, MayPass, Model, Outcome};
use ripstop_host::Host;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot},
    time::{sleep, timeout},
};

/// How long one waits for the turn before the statement is ended.
const STATEMENT_MAX: Duration = Duration::from_secs(10);
/// How often one who waits for the turn looks whether who has it is still there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a statement failed by, that may pass.
#[derive(Debug)]
pub(crate) enum Missed {
    Passing(&'static str),
    Lasting(CatalogError),
}

impl MayPass for Missed {
    fn is_passing(&self) -> bool {
        matches!(self, Self::Passing(_))
    }

    fn told(self) -> CatalogError {
        match self {
            Self::Passing(why) => CatalogError::Unavailable(why.into()),
            Self::Lasting(error) => error,
        }
    }
}

/// Who has the turn: a transaction by its number, and whose it is.
#[derive(Debug)]
struct Holder {
    number: u64,
    life: Arc<Life>,
    /// Whether it was sent to commit, which goes on whatever becomes of who sent it.
    is_sent: bool,
}

#[derive(Debug, Default)]
struct State {
    holder: Option<Holder>,
    transactions: u64,
    /// By writer: its last commit that is in force.
    done: BTreeMap<u64, i64>,
}

/// The database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) model: Model,
    pub(crate) world: Arc<World>,
    host: Host,
    state: Mutex<State>,
    ended: Notify,
}

impl Database {
    /// An empty one. To be made in a rehearsal.
    pub(crate) fn new(world: Arc<World>, seed: u64) -> Arc<Self> {
        let host = Host::new(seed, world.wall());
        let (model, state, ended) = Default::default();
        Arc::new(Self { model, world, host, state, ended })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn if nobody has it who is there.
    fn try_take(self: &Arc<Self>, life: &Arc<Life>) -> Option<Held> {
        let mut state = self.state();
        if state.holder.as_ref().is_some_and(|holder| holder.is_sent || !holder.life.is_over()) {
            return None;
        }
        state.transactions += 1;
        let number = state.transactions;
        state.holder = Some(Holder { number, life: life.clone(), is_sent: false });
        Some(Held { database: self.clone(), number, decided: None })
    }

    /// Waits for the turn.
    pub(crate) async fn take(self: &Arc<Self>, life: &Arc<Life>) -> Result<Held, Missed> {
        let waits = async {
            loop {
                if let Some(held) = self.try_take(life) {
                    return held;
                }
                // Who was told may be gone.
                drop(timeout(LOOK_EVERY, self.ended.notified()).await);
            }
        };
        let late = |_| Missed::Passing("it waited for its turn for too long");
        timeout(STATEMENT_MAX, waits).await.map_err(late)
    }

    /// The last commit of a writer's that is in force.
    pub(crate) fn last(&self, writer: u64) -> Option<i64> {
        self.state().done.get(&writer).copied()
    }
}

/// The turn, with what was decided in it.
#[derive(Debug)]
pub(crate) struct Held {
    database: Arc<Database>,
    number: u64,
    decided: Option<Model>,
}

impl Held {
    /// What changes come to.
    pub(crate) fn decide(
        &mut self,
        now_ms: u64,
        changes: &[Change],
    ) -> Result<Vec<Outcome>, Missed> {
        let next = Model::of(self.database.model.state().clone());
        let outcomes = next.apply_all(now_ms, changes).map_err(Missed::Lasting)?;
        self.decided = Some(next);
        Ok(outcomes)
    }

    /// Sends what was decided to be committed, as this writer's commit of this number; waits for
    /// the answer.
    pub(crate) async fn commit(self, writer: (u64, i64), fate: Fate) -> Result<(), Missed> {
        let database = self.database.clone();
        if let Some(holder) = &mut database.state().holder {
            holder.is_sent = true;
        }
        let (tell, told) = oneshot::channel();
        // Who is not answered learns of it before it is done.
        let tell = fate.is_answered.then_some(tell);
        let sent = async move {
            ripstop_host::spawn(async move {
                sleep(fate.before).await;
                let done = self.end(fate.is_done.then_some(writer));
                sleep(fate.after).await;
                let _ = tell.map(|tell| tell.send(done));
            });
        };
        database.host.run(sent).await;
        match told.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Missed::Passing("40001")),
            Err(_) => Err(Missed::Passing("the answer is lost")),
        }
    }

    /// Ends it, with effect or without; says which.
    fn end(mut self, commits: Option<(u64, i64)>) -> bool {
        let Some((writer, batch)) = commits else { return false };
        if let Some(next) = self.decided.take() {
            *self.database.model.state() = next.state().clone();
        }
        self.database.state().done.insert(writer, batch);
        let world = &self.database.world;
        world.trace.note(format_args!("the database has commit {batch} of {writer:x}"));
        true
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.database.state();
        if state.holder.as_ref().is_some_and(|holder| holder.number == self.number) {
            state.holder = None;
            drop(state);
            self.database.ended.notify_waiters();
        }
    }
}
