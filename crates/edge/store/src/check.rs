use crate::{Store, StoreError, clock::unix_ms, sweep::Misfit};
use futures::StreamExt;
use ripstop_catalog::{Change, Stripe};
use ripstop_model::{FragmentId, NodeId, StripeId};
use ripstop_node::Listed;
use ripstop_runtime::{FragmentState, Look, Pool, Purpose, StripePlace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How soon a repair may be asked for again where another gateway sweeps and mends.
const UPKEEP_ASKED_AFTER: std::time::Duration = std::time::Duration::from_mins(1);
/// Stripes looked at together.
const PAGE: usize = 256;
/// Stripes examined at once.
const EXAMINED: usize = 8;
/// Most findings that are named one by one; the counts are always whole.
const FINDINGS_MAX: usize = 1000;

/// What a check does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CheckOptions {
    /// Whether it mends what it finds, and deletes what nothing claims.
    pub repair: bool,
}

/// What a check found. A fragment counts once.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CheckReport {
    /// Stripes in force.
    pub stripes: u64,
    /// Fragments that they should have.
    pub fragments: u64,
    /// Not there.
    pub missing: u64,
    /// There, and not what was written.
    pub damaged: u64,
    /// The same, and made by somebody without the store's key: a checksum holds where that key
    /// should have sealed.
    #[serde(default)]
    pub forged: u64,
    /// On nodes that could not be asked.
    pub unknown: u64,
    /// At a node, claimed by no stripe, older than the grace.
    pub unclaimed: u64,
    /// At a node where their stripe does not have them.
    pub misplaced: u64,
    /// At a node, claimed by no stripe, written under a newer catalog than this.
    #[serde(default)]
    pub newer: u64,
    /// Stripes that cannot be read: fewer than K whole strips.
    pub lost: u64,
    /// Fragments mended, adopted or deleted.
    pub repaired: u64,
    /// Files that writes left at nodes which never ended; a repair removes them.
    #[serde(default)]
    pub leftovers: u64,
    /// Their bytes.
    #[serde(default)]
    pub leftover_bytes: u64,
    /// The first of the flaws, one by one.
    pub findings: Vec<Finding>,
    /// The catalog itself, where it was looked at.
    #[serde(default)]
    pub catalog: CatalogReport,
}

/// What a check found of the catalog itself: pages that are not what was written, records that
/// cannot be read or do not agree.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CatalogReport {
    /// Bytes of its file.
    pub bytes: u64,
    /// Objects that it holds.
    pub objects: u64,
    /// The first findings, one by one.
    pub findings: Vec<String>,
    /// How many there were beyond those.
    pub findings_left_off: u64,
}

impl CatalogReport {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.findings_left_off == 0
    }
}

/// One fragment, or stripe, that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What is wrong.
    pub flaw: Flaw,
    /// The fragment's name, or the stripe's.
    pub name: String,
    /// The node's name, if it is, or should be, at one.
    pub node: Option<String>,
    /// Whether it was put right.
    pub repaired: bool,
}

/// What is wrong with a fragment or stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flaw {
    /// Not there.
    Missing,
    /// Not what was written.
    Damaged,
    /// Not what was written either, and no accident: made by somebody without the store's key.
    Forged,
    /// Its node could not be asked.
    Unknown,
    /// Claimed by no stripe.
    Unclaimed,
    /// Not where its stripe has it.
    Misplaced,
    /// Written under a newer catalog than this.
    Newer,
    /// A stripe with fewer than K whole strips.
    Lost,
}

impl CheckReport {
    /// Whether everything is as it should be, or was put right.
    pub fn is_clean(&self) -> bool {
        let flaws = self.missing + self.damaged + self.forged + self.unclaimed + self.misplaced;
        self.catalog.is_clean()
            && self.lost == 0
            && self.unknown == 0
            && self.newer == 0
            && flaws == self.repaired
    }
}

/// A report being written.
struct Findings {
    report: CheckReport,
    /// What nodes are called.
    names: BTreeMap<NodeId, String>,
}

impl Findings {
    fn add(&mut self, flaw: Flaw, name: String, node: Option<NodeId>, repaired: bool) {
        let report = &mut self.report;
        let count = match flaw {
            Flaw::Missing => &mut report.missing,
            Flaw::Damaged => &mut report.damaged,
            Flaw::Forged => &mut report.forged,
            Flaw::Unknown => &mut report.unknown,
            Flaw::Unclaimed => &mut report.unclaimed,
            Flaw::Misplaced => &mut report.misplaced,
            Flaw::Newer => &mut report.newer,
            Flaw::Lost => &mut report.lost,
        };
        *count += 1;
        report.repaired += u64::from(repaired);
        if report.findings.len() < FINDINGS_MAX {
            let node = node.and_then(|id| self.names.get(&id).cloned());
            report.findings.push(Finding { flaw, name, node, repaired });
        }
    }
}

impl Findings {
    /// Notes a stripe whose pool is not configured: there is nobody to ask for it.
    fn add_strange(&mut self, id: StripeId, stripe: &Stripe) {
        self.report.stripes += 1;
        self.report.fragments += stripe.nodes.len() as u64;
        for index in 0..stripe.nodes.len() {
            let name = FragmentId { stripe: id, index: index as u8 };
            self.add(Flaw::Unknown, name.to_string(), stripe.node(index), false);
        }
    }
}

impl Store {
    /// Reads every fragment of every stripe, and lists every node. Requests go on meanwhile.
    ///
    /// `progress` hears of stripes as they are done.
    pub async fn check(
        &self,
        options: CheckOptions,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<CheckReport, StoreError> {
        if self.inner.settings.is_shared {
            self.inner.give_up_others().await?;
            if options.repair && !self.has_upkeep().await? {
                return Err(StoreError::Busy { retry_after: UPKEEP_ASKED_AFTER });
            }
        }
        let names = self.inner.catalog.nodes().await?;
        let names = names.into_iter().map(|(name, id)| (id, name)).collect();
        let mut findings = Findings { report: CheckReport::default(), names };
        let mut after = StripeId(0);
        futures::future::join_all(self.inner.pools.iter().map(Pool::probe)).await;
        loop {
            let page = self.inner.catalog.stripes_after(after, PAGE).await?;
            let Some(&(last, _)) = page.last() else { break };
            after = last;
            let is_known = |(_, stripe): &(StripeId, Stripe)| self.pool(stripe.pool()).is_some();
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
                self.judge(options, &pool, &mut place, &looks, &mut findings).await?;
                progress(findings.report.stripes);
            }
        }
        self.check_listings(options, &mut findings).await?;
        Ok(findings.report)
    }

    async fn examine(
        self,
        id: StripeId,
        stripe: Stripe,
    ) -> Result<(Pool, StripePlace, Vec<Look>), StoreError> {
        let (pool, place) = self.locate(id, &stripe)?;
        let pool = pool.clone();
        let _share = self.inner.memory.acquire(Purpose::Background, place.memory()).await;
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

    /// Whether a stripe was let go of, moved or mended since the page was read, or still is: then
    /// what its fragments looked like says nothing.
    async fn is_gone(&self, place: &StripePlace) -> Result<bool, StoreError> {
        if self.inner.pins.contains(place.id) {
            return Ok(true);
        }
        self.is_elsewhere(place).await
    }

    async fn is_elsewhere(&self, place: &StripePlace) -> Result<bool, StoreError> {
        let found = self.inner.catalog.stripes(&[place.id]).await?.pop().flatten();
        let nodes = |stripe: Stripe| (0..place.nodes.len()).map(move |index| stripe.node(index));
        Ok(found.is_none_or(|stripe| !nodes(stripe).eq(place.nodes.iter().copied())))
    }

    /// Makes one fragment again; `place` says afterwards where.
    async fn mend(&self, pool: &Pool, place: &mut StripePlace, index: u8, flaw: Flaw) -> bool {
        if flaw == Flaw::Unknown {
            return false;
        }
        let Some(_pin) = self.inner.pins.try_pin(place.id) else { return false };
        // It may have been moved since it was looked at.
        if !matches!(self.is_elsewhere(place).await, Ok(false)) {
            return false;
        }
        let node = place.nodes[usize::from(index)].filter(|&id| self.node(id).is_some());
        let _share = self.inner.memory.acquire(Purpose::Background, place.memory()).await;
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
                let change = self.inner.under_lease(change);
                if let Err(error) = self.inner.catalog.commit_one(unix_ms(), change).await {
                    tracing::warn!(stripe = %place.id, index, %error, "mended, but not noted");
                    return false;
                }
                place.nodes[usize::from(index)] = Some(at);
                self.inner.note_placed(place.id).await;
            }
        }
        true
    }

    async fn check_listings(
        &self,
        options: CheckOptions,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        if options.repair {
            // Before anything is deleted.
            self.look_for_newer().await?;
        }
        for (id, node) in self.inner.pools.iter().flat_map(Pool::nodes) {
            // A node that cannot be asked is known from its fragments.
            if let Ok(left) = node.leftovers(self.inner.settings.grace, options.repair).await {
                findings.report.leftovers += left.files;
                findings.report.leftover_bytes += left.bytes;
            }
            let mut pages = node.list().ready_chunks(PAGE);
            while let Some(page) = pages.next().await {
                let listed: Vec<Listed> = page.into_iter().filter_map(Result::ok).collect();
                let watched = self.inner.watched().await?;
                for (found, misfit) in self.misfits(id, &listed).await? {
                    let (flaw, repaired) = match misfit {
                        Misfit::Newer if !self.is_newer(&**node, &found).await => continue,
                        Misfit::Newer => (Flaw::Newer, false),
                        Misfit::Unclaimed => (
                            Flaw::Unclaimed,
                            options.repair
                                && self.delete_misfit(id, &**node, &found, &watched).await?,
                        ),
                        Misfit::Misplaced => (
                            Flaw::Misplaced,
                            options.repair
                                && self.delete_misfit(id, &**node, &found, &watched).await?,
                        ),
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
