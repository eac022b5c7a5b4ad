//! A gateway's connections to the database that keeps its catalog: what it sends is tried again,
//! and looked up, as every catalog in a database does.

use crate::{
    database::{Database, Held, Missed},
    life::Life,
    trouble::{Fate, Troubles, a_while},
};
use async_trait::async_trait;
use ripstop_catalog::{
    Audit, Audited, Catalog, CatalogError, Change, InTurn, Outcome, Query, Reply, Retries,
    Transaction, commit_in_turn,
};
use ripstop_delay::Dice;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::sleep;

/// What a gateway has of the database.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) database: Arc<Database>,
    pub(crate) life: Arc<Life>,
    /// Whether the gateway's seat has trouble with the database.
    pub(crate) troubles: Arc<Troubles>,
    pub(crate) seat: usize,
    /// Which writer it is.
    writer: u64,
    patience: Duration,
    dice: Mutex<Dice>,
    /// The number of the last commit; held while one is under way.
    batches: tokio::sync::Mutex<i64>,
}

impl Link {
    /// A gateway's, with dice of its own.
    pub(crate) fn new(
        (database, troubles): (&Arc<Database>, &Arc<Troubles>),
        life: &Arc<Life>,
        seat: usize,
        patience: Duration,
        mut dice: Dice,
    ) -> Arc<Self> {
        let (database, life, troubles) = (database.clone(), life.clone(), troubles.clone());
        let (writer, batches) = (dice.next_u64(), tokio::sync::Mutex::default());
        let dice = Mutex::new(dice);
        Arc::new(Self { database, life, troubles, seat, writer, patience, dice, batches })
    }

    fn throw<T>(&self, throw: impl FnOnce(&mut Dice) -> T) -> T {
        throw(&mut self.dice.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A statement's way to the database or back; fails where there is none.
    async fn way(&self) -> Result<(), Missed> {
        self.life.go_on().await;
        let (wait, luck) = self.throw(|dice| (a_while(dice), self.troubles.way(dice)));
        sleep(wait + luck.stalls).await;
        self.life.go_on().await;
        if luck.is_lost || self.troubles.is_away(self.seat) {
            return Err(Missed::Passing("the connection is lost"));
        }
        Ok(())
    }

    async fn answer(&self, query: Query<'_>) -> Result<Reply, Missed> {
        self.way().await?;
        let reply = self.database.model.read(query).await.map_err(Missed::Lasting);
        self.way().await?;
        reply
    }
}

/// A transaction that has the turn.
#[derive(Debug)]
pub(crate) struct Begun {
    link: Arc<Link>,
    held: Held,
}

/// One that commits over a link.
struct Committing(Arc<Link>);

#[async_trait]
impl InTurn for Committing {
    type Transaction = Begun;
    type Failure = Missed;

    async fn begin(&self, _: &[Change], asks_last: bool) -> Result<(Begun, Option<i64>), Missed> {
        let link = &self.0;
        link.way().await?;
        let held = link.database.take(&link.life).await?;
        let last = if asks_last { link.database.last(link.writer) } else { None };
        link.way().await?;
        Ok((Begun { link: link.clone(), held }, last))
    }
}

#[async_trait]
impl Transaction for Begun {
    type Failure = Missed;

    fn decide(&mut self, now_ms: u64, changes: &[Change]) -> Result<(Vec<Outcome>, bool), Missed> {
        let outcomes = self.held.decide(now_ms, changes)?;
        let writes = outcomes.iter().any(Result::is_ok);
        Ok((outcomes, writes))
    }

    async fn commit(self, batch: i64, _: u64) -> Result<(), Missed> {
        let Self { link, held } = self;
        link.life.go_on().await;
        let mut fate: Fate = link.throw(|dice| link.troubles.fate(dice));
        if link.troubles.is_away(link.seat) {
            // It was sent, or not.
            fate.is_answered = false;
        }
        let done = held.commit((link.writer, batch), fate).await;
        link.life.go_on().await;
        done
    }

    async fn roll_back(self) -> Result<(), Missed> {
        Ok(())
    }
}

/// What a gateway's catalog is made of.
#[derive(Clone, Debug)]
pub(crate) struct LinkedCatalog(pub(crate) Arc<Link>);

#[async_trait]
impl Catalog for LinkedCatalog {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        let link = &self.0;
        let mut batches = link.batches.lock().await;
        *batches += 1;
        let number = (*batches, now_ms);
        commit_in_turn(&Committing(link.clone()), number, &changes, link.patience).await
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        let mut retries = Retries::within(self.0.patience);
        loop {
            match self.0.answer(query).await {
                Ok(reply) => return Ok(reply),
                Err(missed) => retries.wait(missed).await?,
            }
        }
    }
}

#[async_trait]
impl Audited for LinkedCatalog {
    async fn audit(&self) -> Result<Audit, CatalogError> {
        self.0.life.go_on().await;
        self.0.database.model.audit().await
    }
}
