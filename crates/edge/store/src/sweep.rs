use crate::{
    Store, StoreError,
    clock::unix_ms,
    duty::Watched,
    store::{Inner, stripe_record},
};
use futures::{StreamExt, TryStreamExt};
use ripstop_catalog::{CatalogError, Change, Leftover, Stripe};
use ripstop_model::{FragmentId, NodeId, StripeId, TenantId};
use ripstop_node::{Listed, Node, NodeError};
use ripstop_runtime::{Aftermath, Pin, Pool, StripePlace};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::{sync::mpsc, time::timeout};

/// Garbage stripes, and listed fragments, that are looked at together.
const PAGE: usize = 500;
/// Deletions under way at once.
const DELETES: usize = 16;
/// Most fragments that one listing of the nodes deletes; the next one goes on.
const DOOMED_MAX: usize = 100_000;
/// Aftermaths noted at once: they share the catalog's transactions.
const NOTED: usize = 64;
/// Longest that the fragments of a stripe that nobody saw are waited for to be gone; then a sweep
/// does it.
const UNSEEN_WAIT_MAX: Duration = Duration::from_secs(5);

/// Starts what runs beside the requests, until the store is gone.
pub(crate) fn spawn(store: &Store, aftermath: mpsc::Receiver<Aftermath>) {
    ripstop_host::spawn(clear_up(Arc::downgrade(&store.inner), aftermath));
    ripstop_host::spawn(sweep(Arc::downgrade(&store.inner)));
}

/// Notes what became of written stripes.
async fn clear_up(store: Weak<Inner>, aftermath: mpsc::Receiver<Aftermath>) {
    let aftermath = futures::stream::unfold(aftermath, |mut aftermath| async {
        aftermath.recv().await.map(|after| (after, aftermath))
    });
    let store = &store;
    let noted = aftermath.for_each_concurrent(NOTED, |after| async move {
        if let Some(inner) = store.upgrade() {
            Store { inner, tenant: TenantId::ANYBODY }.note(after).await;
        }
    });
    noted.await;
}

async fn sweep(store: Weak<Inner>) {
    let Some(settings) = store.upgrade().map(|inner| inner.settings.clone()) else { return };
    let mut list_at = ripstop_host::now() + settings.grace;
    loop {
        tokio::time::sleep(settings.sweep_every.min(settings.grace.max(Duration::from_secs(1))))
            .await;
        let Some(inner) = store.upgrade() else { return };
        let store = Store { inner, tenant: TenantId::ANYBODY };
        match store.has_upkeep().await {
            Ok(true) => {}
            Ok(false) => continue,
            Err(error) => {
                tracing::warn!(%error, "nothing swept");
                continue;
            }
        }
        match store.sweep_garbage().await {
            Ok(0) => {}
            Ok(stripes) => tracing::info!(stripes, "swept garbage"),
            Err(error) => tracing::warn!(%error, "garbage not swept"),
        }
        store.free_leftovers().await;
        if ripstop_host::now() >= list_at {
            list_at = ripstop_host::now() + settings.list_every;
            match store.sweep_unclaimed().await {
                Ok(fragments) => tracing::info!(fragments, "swept what no stripe claims"),
                Err(error) => tracing::warn!(%error, "nodes not swept"),
            }
        }
    }
}

/// Nodes that did not answer in one pass: garbage at the others does not wait for them again.
#[derive(Default)]
struct Away(Mutex<BTreeSet<NodeId>>);

impl Away {
    fn nodes(&self) -> MutexGuard<'_, BTreeSet<NodeId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a fragment is gone from its node.
    async fn delete(&self, id: NodeId, node: &dyn Node, name: FragmentId) -> bool {
        if self.nodes().contains(&id) {
            return false;
        }
        let Err(error) = node.delete(name).await else { return true };
        tracing::debug!(fragment = %name, %error, "not deleted for now");
        if matches!(error, NodeError::Unavailable { .. }) {
            self.nodes().insert(id);
        }
        false
    }
}

impl Store {
    async fn note(&self, after: Aftermath) {
        let (pin, noted) = match after {
            Aftermath::Unclaimed { pin, id, pool, shape, cut, header_len, sealing, nodes } => {
                let stripe = stripe_record(pool, shape, cut, header_len, sealing, &nodes);
                (pin, self.note_unclaimed(id, stripe).await)
            }
            Aftermath::Incomplete { pin, id, places, lacking } => {
                if lacking {
                    self.inner.mends.add(id);
                }
                (pin, self.note_places(id, places).await)
            }
        };
        drop(pin);
        if let Err(error) = noted {
            tracing::warn!(%error, "aftermath of a write not noted; check finds it");
        }
    }

    /// Nobody ever saw a stripe that was not claimed, so nobody reads it. It goes at once: it may
    /// tell of an object that was refused, which a rebuild would take for the latest.
    async fn note_unclaimed(&self, id: StripeId, stripe: Stripe) -> Result<(), StoreError> {
        let catalog = &self.inner.catalog;
        let stripes = vec![(id, stripe.clone())];
        catalog.commit_one(unix_ms(), Change::Discard { stripes }).await?;
        // It is in force if the change that was to claim it took effect, and only its answer was
        // lost.
        if !catalog.is_garbage(id).await? {
            return Ok(());
        }
        let away = Away::default();
        let deleted = timeout(UNSEEN_WAIT_MAX, self.delete_fragments(id, &stripe, &away)).await;
        if deleted.is_ok_and(|gone| gone) {
            let stripes = vec![id];
            catalog.commit_one(unix_ms(), Change::ForgetGarbage { stripes }).await?;
        }
        Ok(())
    }

    async fn note_places(
        &self,
        id: StripeId,
        places: Vec<(u8, Option<NodeId>)>,
    ) -> Result<(), StoreError> {
        let is_placed = places.iter().any(|(_, node)| node.is_some());
        let change = |(index, node)| Change::PlaceFragment { stripe: id, index, node };
        let changes: Vec<Change> = places.into_iter().map(change).collect();
        if !changes.is_empty() {
            for outcome in self.inner.catalog.commit(unix_ms(), changes).await? {
                outcome.map_err(CatalogError::from)?;
            }
        }
        if is_placed {
            self.inner.note_placed(id).await;
        }
        Ok(())
    }

    /// Deletes the fragments of garbage older than the grace, and what is as old of fragments that
    /// moved; answers how many stripes are gone.
    pub async fn sweep_garbage(&self) -> Result<usize, StoreError> {
        let due = unix_ms().saturating_sub(self.grace_ms());
        let away = &Away::default();
        self.sweep_leftovers(due, away).await?;
        let (mut after, mut swept) = (StripeId(0), 0);
        loop {
            let page = self.inner.catalog.garbage(due, after, PAGE).await?;
            let Some(&(last, _)) = page.last() else { return Ok(swept) };
            after = last;
            let deleted: Vec<Option<StripeId>> = futures::stream::iter(page)
                .map(|(id, stripe)| async move {
                    self.delete_fragments(id, &stripe, away).await.then_some(id)
                })
                .buffer_unordered(DELETES)
                .collect()
                .await;
            let stripes: Vec<StripeId> = deleted.into_iter().flatten().collect();
            swept += stripes.len();
            let tombstones = self.tombstones_of(&stripes).await?;
            let change = self.inner.under_lease(Change::ForgetGarbage { stripes });
            self.inner.catalog.commit_one(unix_ms(), change).await?;
            self.sweep_tombstones(tombstones, away).await?;
        }
    }

    /// The stripes that tell of deletions because of what these tell.
    async fn tombstones_of(&self, stripes: &[StripeId]) -> Result<BTreeSet<StripeId>, StoreError> {
        let (catalog, mut tombstones) = (&self.inner.catalog, BTreeSet::new());
        for &id in stripes {
            for (bucket, key) in catalog.outlived_by(id, ("", ""), PAGE).await? {
                let tombstone = catalog.tombstone(&bucket, &key).await?;
                tombstones.extend(tombstone.map(|tombstone| tombstone.told_by));
            }
        }
        Ok(tombstones)
    }

    /// Deletes stripes that told of deletions and need not any more: nobody reads them, so they
    /// need no grace.
    async fn sweep_tombstones(
        &self,
        stripes: BTreeSet<StripeId>,
        away: &Away,
    ) -> Result<(), StoreError> {
        let (catalog, mut gone) = (&self.inner.catalog, Vec::new());
        for id in stripes {
            let before = StripeId(id.0.saturating_sub(1));
            let found = catalog.garbage(u64::MAX, before, 1).await?.pop();
            if let Some((_, stripe)) =
                found.filter(|(found, it)| *found == id && it.payload_len == 0)
                && self.delete_fragments(id, &stripe, away).await
            {
                gone.push(id);
            }
        }
        if !gone.is_empty() {
            let change = self.inner.under_lease(Change::ForgetGarbage { stripes: gone });
            catalog.commit_one(unix_ms(), change).await?;
        }
        Ok(())
    }

    /// Deletes what moved fragments left behind before `due` ms, each at the node that it left.
    async fn sweep_leftovers(&self, due: u64, away: &Away) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.inner.catalog.leftovers(due, after, PAGE).await?;
            let Some(&last) = page.last() else { return Ok(()) };
            after = Some(last);
            let stripes: Vec<Vec<Leftover>> =
                page.chunk_by(|one, next| one.stripe == next.stripe).map(<[_]>::to_vec).collect();
            let deleted = futures::stream::iter(stripes)
                .map(|copies| self.delete_leftovers(copies, away))
                .buffer_unordered(DELETES)
                .try_collect::<Vec<_>>()
                .await?;
            let (_pins, leftovers): (Vec<_>, Vec<_>) = deleted.into_iter().unzip();
            let leftovers = leftovers.concat();
            if !leftovers.is_empty() {
                let change = self.inner.under_lease(Change::ForgetLeftovers { leftovers });
                self.inner.catalog.commit_one(unix_ms(), change).await?;
            }
        }
    }

    /// Deletes leftovers of one stripe; answers those that are gone, and what keeps others from
    /// moving a fragment back, and away again, before they are forgotten. At a node that is no
    /// longer configured they count as gone.
    async fn delete_leftovers(
        &self,
        copies: Vec<Leftover>,
        away: &Away,
    ) -> Result<(Option<Pin>, Vec<Leftover>), StoreError> {
        let mut gone = Vec::with_capacity(copies.len());
        let pin = copies.first().and_then(|copy| self.inner.pins.try_pin(copy.stripe));
        let Some(pin) = pin else { return Ok((None, gone)) };
        for copy in copies {
            if !self.inner.catalog.is_leftover(copy).await? {
                continue;
            }
            let name = FragmentId { stripe: copy.stripe, index: copy.index };
            match self.node(copy.node) {
                None => gone.push(copy),
                Some(node) if away.delete(copy.node, &**node, name).await => gone.push(copy),
                Some(_) => {}
            }
        }
        Ok((Some(pin), gone))
    }

    /// Whether every fragment of a garbage stripe is gone. Those on nodes that are no longer
    /// configured count as gone.
    async fn delete_fragments(&self, id: StripeId, stripe: &Stripe, away: &Away) -> bool {
        let mut gone = true;
        for index in 0..stripe.nodes.len() {
            let Some(at) = stripe.node(index) else { continue };
            let Some(node) = self.node(at) else { continue };
            let name = FragmentId { stripe: id, index: index as u8 };
            gone &= away.delete(at, &**node, name).await;
        }
        gone
    }

    fn grace_ms(&self) -> u64 {
        self.inner.settings.grace.as_millis() as u64
    }

    /// Removes what writes left at nodes that never ended, once it is as old as the grace.
    async fn free_leftovers(&self) {
        let grace = self.inner.settings.grace;
        let free = |(id, node): (NodeId, Arc<dyn Node>)| async move {
            match node.leftovers(grace, true).await {
                Ok(left) if left.freed > 0 => {
                    tracing::info!(node = id.0, files = left.freed, "freed what writes left");
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(node = id.0, %error, "leftovers not freed"),
            }
        };
        let nodes = self.inner.pools.iter().flat_map(Pool::nodes);
        let nodes = nodes.map(|(id, node)| (id, node.clone()));
        futures::future::join_all(nodes.map(free)).await;
    }

    /// Deletes fragments older than the grace that the catalog does not place where they are; none
    /// if the nodes hold what was written under a newer catalog. Answers how many.
    pub async fn sweep_unclaimed(&self) -> Result<u64, StoreError> {
        if self.inner.settings.is_shared {
            self.inner.give_up_others().await?;
        }
        let mut doomed = Vec::new();
        for (id, node) in self.inner.pools.iter().flat_map(Pool::nodes) {
            let mut pages = node.list().ready_chunks(PAGE);
            while let Some(page) = pages.next().await {
                let listed: Vec<Listed> = page.into_iter().filter_map(Result::ok).collect();
                for (found, misfit) in self.misfits(id, &listed).await? {
                    match misfit {
                        Misfit::Newer => _ = self.is_newer(&**node, &found).await,
                        Misfit::Unclaimed | Misfit::Misplaced if doomed.len() < DOOMED_MAX => {
                            doomed.push((id, node, found));
                        }
                        // The next sweep's business, or a check's.
                        Misfit::Unclaimed | Misfit::Misplaced | Misfit::Grown(..) => {}
                    }
                }
            }
        }
        if doomed.is_empty() {
            return Ok(0);
        }
        // A catalog that hides a stripe would have its fragments deleted.
        self.inner.catalog.verify().await?;
        // Only now is it known what the other nodes hold.
        let watched = self.inner.watched().await?;
        let mut swept = 0;
        for (id, node, found) in doomed {
            swept += u64::from(self.delete_misfit(id, &**node, &found, &watched).await?);
        }
        Ok(swept)
    }

    /// Whether this store wrote a fragment whose name the catalog does not know: then it is noted.
    pub(crate) async fn is_newer(&self, node: &dyn Node, found: &Listed) -> bool {
        let is_own = self.is_own(node, found).await;
        if is_own {
            self.inner.note_newer(found.name);
        }
        is_own
    }

    /// Lists the nodes for what was written under a newer catalog.
    pub(crate) async fn look_for_newer(&self) -> Result<(), StoreError> {
        for (id, node) in self.inner.pools.iter().flat_map(Pool::nodes) {
            let mut pages = node.list().ready_chunks(PAGE);
            while let Some(page) = pages.next().await {
                let listed: Vec<Listed> = page.into_iter().filter_map(Result::ok).collect();
                for (found, misfit) in self.misfits(id, &listed).await? {
                    if matches!(misfit, Misfit::Newer) && self.is_newer(&**node, &found).await {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Deletes a fragment that the catalog does not place at a node, if that is still so and this
    /// store wrote it; answers whether it is gone.
    pub(crate) async fn delete_misfit(
        &self,
        id: NodeId,
        node: &dyn Node,
        found: &Listed,
        watched: &Watched,
    ) -> Result<bool, StoreError> {
        if self.newer().is_some() {
            return Ok(false);
        }
        // A move may have brought it there since it was listed.
        let Some(_pin) = self.inner.pins.try_pin(found.name.stripe) else { return Ok(false) };
        let stripe = self.inner.catalog.stripes(&[found.name.stripe]).await?.pop().flatten();
        match self.judge_listed(id, found, stripe, watched).await? {
            Some(Misfit::Unclaimed | Misfit::Misplaced) => Ok(self.delete_own(node, found).await),
            Some(Misfit::Newer | Misfit::Grown(..)) | None => Ok(false),
        }
    }

    /// Deletes an unclaimed fragment if its header says that this store wrote it; answers whether
    /// it is gone. What another store wrote, or nobody can tell who, stays.
    async fn delete_own(&self, node: &dyn Node, found: &Listed) -> bool {
        if !self.is_own(node, found).await {
            return false;
        }
        match node.delete(found.name).await {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(fragment = %found.name, %error, "not deleted");
                false
            }
        }
    }

    /// Whether a fragment's header says that this store wrote it.
    async fn is_own(&self, node: &dyn Node, found: &Listed) -> bool {
        let pool = &self.inner.pools[0];
        let own = pool.origin().store;
        let header = pool.header(node, found.name, found.len).await;
        header.is_some_and(|(header, _)| header.origin.store == own)
    }

    /// Which of the fragments listed at a node are not as the catalog has them, and why. Left out
    /// are those that are being written or moved, are garbage or leftovers that are due anyway, or
    /// that nothing has there and that are younger than the grace.
    pub(crate) async fn misfits(
        &self,
        node: NodeId,
        listed: &[Listed],
    ) -> Result<Vec<(Listed, Misfit)>, StoreError> {
        let unpinned = |listed: &&Listed| !self.inner.pins.contains(listed.name.stripe);
        let listed: Vec<&Listed> = listed.iter().filter(unpinned).collect();
        let ids: Vec<StripeId> = listed.iter().map(|listed| listed.name.stripe).collect();
        let watched = &self.inner.watched().await?;
        let stripes = self.inner.catalog.stripes(&ids).await?;
        let mut misfits = Vec::new();
        for (listed, stripe) in listed.into_iter().zip(stripes) {
            let mut misfit = self.judge_listed(node, listed, stripe, watched).await?;
            if matches!(misfit, Some(Misfit::Misplaced)) {
                // It may have moved here since the stripes of the page were read.
                let stripe = self.inner.catalog.stripes(&[listed.name.stripe]).await?.pop();
                misfit = self.judge_listed(node, listed, stripe.flatten(), watched).await?;
            }
            misfits.extend(misfit.map(|misfit| (listed.clone(), misfit)));
        }
        Ok(misfits)
    }

    /// Whether a fragment is not as the catalog has it, `stripe` being what that says of its
    /// stripe.
    async fn judge_listed(
        &self,
        node: NodeId,
        listed: &Listed,
        stripe: Option<Stripe>,
        watched: &Watched,
    ) -> Result<Option<Misfit>, StoreError> {
        let id = listed.name.stripe;
        let is_old = id.unix_ms() <= unix_ms().saturating_sub(self.grace_ms());
        let misfit = match stripe {
            Some(stripe) => self.misfit(node, listed, &stripe),
            None if self.inner.catalog.is_garbage(id).await? => None,
            None if watched.may_be_written(id) => None,
            None if !self.inner.knows(id).await? => Some(Misfit::Newer),
            None if !is_old => None,
            None => Some(Misfit::Unclaimed),
        };
        match misfit {
            Some(Misfit::Newer | Misfit::Grown(..)) | None => Ok(misfit),
            Some(Misfit::Unclaimed | Misfit::Misplaced) if !is_old => Ok(None),
            Some(Misfit::Unclaimed | Misfit::Misplaced) => {
                let copy = Leftover { stripe: id, index: listed.name.index, node };
                let is_leftover = self.inner.catalog.is_leftover(copy).await?;
                Ok(misfit.filter(|_| !is_leftover))
            }
        }
    }

    fn misfit(&self, node: NodeId, listed: &Listed, stripe: &Stripe) -> Option<Misfit> {
        let index = usize::from(listed.name.index);
        match stripe.node(index) {
            Some(place) if place == node => {
                let (pool, place) = self.locate(listed.name.stripe, stripe).ok()?;
                let grown = listed.len > place.fragment_len();
                grown.then(|| Misfit::Grown(place, pool.clone()))
            }
            // Not known to be anywhere: a repair may still use it.
            None if index < stripe.nodes.len() => None,
            Some(_) | None => Some(Misfit::Misplaced),
        }
    }
}

/// Why a fragment at a node is not as the catalog has it.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// No stripe claims it, and the catalog does not know its name.
    Newer,
    /// No stripe claims it.
    Unclaimed,
    /// Its stripe has it elsewhere.
    Misplaced,
    /// It is longer than it was written.
    Grown(StripePlace, Pool),
}
