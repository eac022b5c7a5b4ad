//! Reads everything, and mends what it finds if it is told to.

mod report;

pub use report::{CatalogReport, CheckFinding, CheckOptions, CheckReport, Flaw};

use crate::{
    Keeper,
    listing::{AtNode, Stripes},
    misfit::{Misfit, Removal},
    round::{Halt, Round},
    unclaimed,
};
use futures::StreamExt as _;
use report::Findings;
use ripstop_catalog::{Change, Stripe};
use ripstop_host::unix_ms;
use ripstop_model::{BlockLen, FragmentId, StripeId};
use ripstop_runtime::{FragmentState, Look, Pool, Purpose, StripePlace};
use ripstop_store::{DIRECTORY_LEN_MAX, StoreError};
use std::time::Duration;

/// How soon a repair may be asked for again where another gateway sweeps and mends.
const UPKEEP_ASKED_AFTER: Duration = Duration::from_mins(1);
/// Stripes examined at once.
const EXAMINED: usize = 8;

impl Keeper {
    /// Reads every fragment of every stripe, and lists every node. Requests go on meanwhile.
    ///
    /// `progress` hears of stripes as they are done.
    pub async fn check(
        &self,
        options: CheckOptions,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<CheckReport, StoreError> {
        if self.keeping().lineage().is_shared() {
            self.keeping().lineage().give_up_others().await?;
            if options.repair && !self.has_upkeep().await? {
                return Err(StoreError::Busy { retry_after: UPKEEP_ASKED_AFTER });
            }
        }
        let names = self.catalog().nodes().await?;
        let names = names.into_iter().map(|(name, id)| (id, name)).collect();
        let mut findings = Findings { report: CheckReport::default(), names };
        futures::future::join_all(self.keeping().pools().iter().map(Pool::probe)).await;
        let round = &Round::by_hand(self);
        self.check_stripes(round, options, &mut findings, progress).await?;
        self.check_listings(round, options, &mut findings).await?;
        Ok(findings.report)
    }

    async fn check_stripes(
        &self,
        round: &Round,
        options: CheckOptions,
        findings: &mut Findings,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<(), Halt> {
        let mut stripes = Stripes::default();
        while let Some(page) = round.page(&mut stripes).await? {
            let is_known =
                |(_, stripe): &(StripeId, Stripe)| self.keeping().pool(stripe.pool()).is_some();
            let (page, strange): (Vec<_>, Vec<_>) = page.into_iter().partition(is_known);
            for (id, stripe) in &strange {
                findings.add_strange(*id, stripe);
            }
            let mut examined = futures::stream::iter(page)
                // Spawned, so that what they hold comes free while a stripe is being mended.
                .map(|(id, stripe)| ripstop_host::spawn(self.clone().examine(id, stripe)))
                .buffer_unordered(EXAMINED);
            while let Some(examined) = examined.next().await {
                let (pool, mut place, looks) = examined.expect("looking does not panic")?;
                self.judge(options, &pool, &mut place, &looks, findings).await?;
                if options.repair && place.shape.block_len() != BlockLen::LONGEST {
                    self.reassert(place.id).await?;
                }
                progress(findings.report.stripes);
            }
        }
        Ok(())
    }

    async fn examine(
        self,
        id: StripeId,
        stripe: Stripe,
    ) -> Result<(Pool, StripePlace, Vec<Look>), StoreError> {
        let (pool, place) = self.keeping().locate(id, &stripe)?;
        let pool = pool.clone();
        let _share = self.keeping().memory().acquire(Purpose::Background, place.memory()).await;
        let looks = (0..place.nodes.len()).map(|index| pool.examine(&place, index as u8));
        let looks = futures::future::join_all(looks).await;
        Ok((pool, place, looks))
    }

    /// Counts what is wrong with one stripe, and mends it if asked.
    async fn judge(
        &self,
        options: CheckOptions,
        pool: &Pool,
        place: &mut StripePlace,
        looks: &[Look],
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        findings.report.stripes += 1;
        findings.report.fragments += looks.len() as u64;
        let is_whole = |look: &Look| look.state == FragmentState::Whole;
        if looks.iter().all(is_whole) || self.is_gone(place).await? {
            return Ok(());
        }
        let whole: usize = looks.iter().map(|look| look.strips.len()).sum();
        let unknown = looks.iter().filter(|look| look.state == FragmentState::Unknown).count();
        let unknown = unknown * place.cut.run(place.shape.code());
        let needed = place.shape.needed();
        if whole + unknown < needed {
            findings.add(Flaw::Lost, place.id.to_string(), None, false);
        }
        for (index, look) in looks.iter().enumerate() {
            let flaw = match look.state {
                FragmentState::Whole => continue,
                FragmentState::Missing => Flaw::Missing,
                FragmentState::Damaged => Flaw::Damaged,
                FragmentState::Forged => Flaw::Forged,
                FragmentState::Unknown => Flaw::Unknown,
            };
            let node = place.nodes[index];
            let repaired = options.repair
                && whole >= needed
                && self.mend(pool, place, index as u8, flaw).await;
            let name = FragmentId { stripe: place.id, index: index as u8 };
            findings.add(flaw, name.to_string(), node, repaired);
        }
        Ok(())
    }

    /// Sees to it that nothing of a pack is believed later that is not so. One that cannot be read
    /// is a finding already.
    async fn reassert(&self, id: StripeId) -> Result<(), StoreError> {
        let found = self.catalog().stripes(&[id]).await?.pop().flatten();
        // A gateway that is writing it does so before it answers.
        let Some(stripe) = found.filter(|_| !self.pins().contains(id)) else { return Ok(()) };
        let memory = self.keeping().memory();
        let _share = memory.acquire(Purpose::Background, DIRECTORY_LEN_MAX).await;
        match self.keeping().reassert(id, &stripe).await {
            Ok(0) => {}
            Ok(keys) => {
                tracing::info!(stripe = %id, keys, "told again what a pack tells otherwise");
            }
            Err(StoreError::Catalog(error)) => return Err(error.into()),
            Err(error) => tracing::warn!(stripe = %id, %error, "not told again"),
        }
        Ok(())
    }

    /// Whether a stripe was let go of, moved or mended since the page was read, or still is: then
    /// what its fragments looked like says nothing.
    async fn is_gone(&self, place: &StripePlace) -> Result<bool, StoreError> {
        if self.pins().contains(place.id) {
            return Ok(true);
        }
        self.is_elsewhere(place).await
    }

    async fn is_elsewhere(&self, place: &StripePlace) -> Result<bool, StoreError> {
        let found = self.catalog().stripes(&[place.id]).await?.pop().flatten();
        let nodes = |stripe: Stripe| (0..place.nodes.len()).map(move |index| stripe.node(index));
        Ok(found.is_none_or(|stripe| !nodes(stripe).eq(place.nodes.iter().copied())))
    }

    /// Makes one fragment again; `place` says afterwards where.
    async fn mend(&self, pool: &Pool, place: &mut StripePlace, index: u8, flaw: Flaw) -> bool {
        if flaw == Flaw::Unknown {
            return false;
        }
        let Some(_pin) = self.pins().try_pin(place.id) else { return false };
        // It may have been moved since it was looked at.
        if !matches!(self.is_elsewhere(place).await, Ok(false)) {
            return false;
        }
        let node = place.nodes[usize::from(index)].filter(|&id| self.keeping().node(id).is_some());
        let _share = self.keeping().memory().acquire(Purpose::Background, place.memory()).await;
        let mended = match pool.mend(place, &[(index, node)]).await {
            Ok(mended) => mended,
            Err(failed) => {
                tracing::warn!(stripe = %place.id, index, why = ?failed.setback, "not mended");
                return false;
            }
        };
        for (index, at) in mended {
            if node != Some(at) {
                let change = Change::PlaceFragment { stripe: place.id, index, node: Some(at) };
                let change = self.under_lease(change);
                if let Err(error) = self.catalog().commit_one(unix_ms(), change).await {
                    tracing::warn!(stripe = %place.id, index, %error, "mended, but not noted");
                    return false;
                }
                place.nodes[usize::from(index)] = Some(at);
                self.note_placed(place.id).await;
            }
        }
        true
    }

    async fn check_listings(
        &self,
        round: &Round,
        options: CheckOptions,
        findings: &mut Findings,
    ) -> Result<(), Halt> {
        if options.repair {
            // Before anything is deleted.
            unclaimed::look_for_newer(round).await?;
        }
        for (id, node) in self.keeping().nodes() {
            // A node that cannot be asked is known from its fragments.
            if let Ok(left) = node.leftovers(self.settings().grace, options.repair).await {
                findings.report.leftovers += left.files;
                findings.report.leftover_bytes += left.bytes;
            }
            let mut fragments = AtNode::of(&**node);
            while let Some(listed) = round.page(&mut fragments).await? {
                let watched = self.watched().await?;
                for (found, misfit) in self.misfits(id, &listed).await? {
                    let (flaw, repaired) = match misfit {
                        Misfit::Newer if !self.is_newer(&**node, &found).await => continue,
                        Misfit::Newer => (Flaw::Newer, false),
                        Misfit::Unclaimed | Misfit::Misplaced => {
                            let is_placed = matches!(misfit, Misfit::Misplaced);
                            let flaw = if is_placed { Flaw::Misplaced } else { Flaw::Unclaimed };
                            let delete = self.delete_misfit(id, &**node, &found, &watched);
                            (flaw, options.repair && delete.await? == Removal::Gone)
                        }
                        Misfit::Grown(mut place, pool) => {
                            let index = found.name.index;
                            let mended = options.repair
                                && self.mend(&pool, &mut place, index, Flaw::Damaged).await;
                            (Flaw::Damaged, mended)
                        }
                    };
                    findings.add(flaw, found.name.to_string(), Some(id), repaired);
                }
            }
        }
        Ok(())
    }
}
