//! Rebuilds a lost catalog from the headers of the fragments at the nodes, in three steps: a survey
//! of all nodes, a judgement on each stripe, and the bringing in of what is believed. Between the
//! steps everything is in a scratch folder, so memory is bounded whatever the number of objects.

mod bring;
mod judged;
mod roster;
mod scratch;
mod sighting;
mod sorting;
mod stripe_form;
mod survey;
mod telling;
mod verdict;
mod vote;

pub use roster::{SurveyedNode, SurveyedPool};
pub use scratch::ScratchError;

use crate::{clock::reach, identity::adopt};
use judged::Judged;
use ripstop_catalog::{Catalog, CatalogError, Session};
use ripstop_runtime::Seals;
use scratch::Scratch;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use survey::survey;
use telling::Standing;
use thiserror::Error;

/// Most things that a report names one by one of each kind; it counts the rest.
const NAMED_MAX: usize = 1000;

/// What a rebuild found and made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RebuildReport {
    /// Fragments with a whole header.
    pub fragments: u64,
    /// Fragments without one, and stripes that tell what no program writes.
    pub damaged: u64,
    /// Of the damaged, those whose header takes no key, of stripes that are sealed with one:
    /// forged.
    #[serde(default)]
    pub forged: u64,
    /// Of the damaged, those that are sealed or encrypted with a key that is not here, by key.
    #[serde(default)]
    pub locked: BTreeMap<String, u64>,
    /// Fragments that are believed though nothing verified them: their key is not here, and the
    /// caller asked to do without.
    #[serde(default)]
    pub unsealed: u64,
    /// Stripes whose telling cannot be read, each with the reason: a newer program wrote it.
    pub unreadable: Named,
    /// Fragments whose headers differ from what enough others of their stripe say: not used.
    pub differing: Named,
    /// Stripes of which nothing is believed, because their headers contradict one another or are
    /// not such as their pool writes.
    pub disputed: Named,
    /// Stripes that another store wrote: passed over.
    pub foreign: u64,
    /// Nodes whose listing broke off: what only they tell of is not in the new catalog.
    pub unlisted: u64,
    /// Buckets made.
    pub buckets: u64,
    /// Objects made.
    pub objects: u64,
    /// Names that were deleted, of which something older is still told at the nodes.
    #[serde(default)]
    pub deletions: u64,
    /// Versions that were told of but have too few fragments left, as `bucket/key`; an older whole
    /// version was taken where there was one.
    pub lost: Named,
    /// Versions that were told of but never had enough fragments, as `bucket/key`: writes that were
    /// not answered, or deletions that were under way.
    pub unfinished: Named,
}

/// How many there are, and the first of them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Named {
    /// How many.
    pub count: u64,
    /// At most a thousand.
    pub named: Vec<String>,
}

impl Named {
    fn note(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(name());
        }
    }
}

impl RebuildReport {
    /// Whether everything that was ever answered is there, as far as can be told.
    pub fn is_whole(&self) -> bool {
        let missing = [&self.lost, &self.disputed, &self.unreadable];
        missing.iter().all(|missing| missing.count == 0)
            && self.unlisted == 0
            && self.locked.is_empty()
    }

    /// Notes something that cannot be read, and why.
    fn note(&mut self, why: &Standing, name: impl FnOnce() -> String) {
        match why {
            Standing::Believed(_) => {}
            Standing::Unfinished => self.unfinished.note(name),
            // It is among the disputed stripes as well.
            Standing::Lost | Standing::Disputed => self.lost.note(name),
        }
    }
}

/// How far a rebuild has come. Clones show the same.
#[derive(Clone, Debug, Default)]
pub struct RebuildProgress(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    fragments: AtomicU64,
    objects: AtomicU64,
}

impl RebuildProgress {
    /// Fragments read.
    pub fn fragments(&self) -> u64 {
        self.0.fragments.load(Ordering::Relaxed)
    }

    /// Objects made.
    pub fn objects(&self) -> u64 {
        self.0.objects.load(Ordering::Relaxed)
    }
}

/// Why a catalog was not rebuilt.
#[derive(Debug, Error)]
pub enum RebuildError {
    /// The catalog refused a change.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// What was put aside could not be written or read.
    #[error(transparent)]
    PutAside(#[from] ScratchError),
    /// What was put aside is not what was written.
    #[error("the scratch folder does not hold what was written to it")]
    Scratch,
    /// Different stores have equally many of the nodes.
    #[error(
        "equally many nodes hold mostly fragments of store {one:016x} and of store {other:016x}: leave the \
         nodes of other stores out of the configuration"
    )]
    WhichStore {
        /// One store's number.
        one: u64,
        /// Another's.
        other: u64,
    },
}

/// Makes the records of an empty catalog from the fragments at the nodes of `pools`, which it has
/// named already. `scratch` is a folder for what is put aside, in one that exists: what is there is
/// removed at the beginning and at the end.
///
/// Headers that do not hold under `seals` are not believed, nor are those by checksum alone of
/// stripes that a key seals. Of what the nodes tell of one key, the readable record with the latest
/// stamp wins: a version, or a deletion. Uploads under way are not found.
///
/// # Errors
/// If the catalog or the scratch folder fails, and if the nodes do not say whose they are. The
/// catalog may then have some of the records.
pub async fn rebuild(
    catalog: &dyn Catalog,
    pools: Vec<SurveyedPool>,
    scratch: &Path,
    progress: &RebuildProgress,
    seals: &Seals,
) -> Result<RebuildReport, RebuildError> {
    let scratch = Arc::new(Scratch::create(scratch)?);
    let survey = survey(pools, &scratch, progress, seals).await?;
    let mut report = RebuildReport {
        fragments: survey.nodes.values().map(|node| node.fragments).sum(),
        damaged: survey.nodes.values().map(|node| node.damaged).sum(),
        forged: survey.nodes.values().map(|node| node.forged).sum(),
        unsealed: survey.nodes.values().map(|node| node.unsealed).sum(),
        unlisted: survey.nodes.values().filter(|node| !node.is_whole).count() as u64,
        ..RebuildReport::default()
    };
    for (key, count) in survey.nodes.values().flat_map(|node| &node.locked) {
        *report.locked.entry(key.to_string()).or_default() += count;
    }
    let Some(store) = vote::elect(&survey.nodes)? else { return Ok(report) };
    adopt(catalog, store).await?;
    let judging = ripstop_host::spawn_blocking(move || {
        let judged = Judged::new(survey, &scratch, store, &mut report)?;
        Ok::<_, RebuildError>((judged, scratch, report))
    });
    let (judged, scratch, report) = judging.await.expect("judging does not panic")?;
    if let Some(latest) = judged.latest {
        reach(catalog, Session::of(latest.stripe), latest.unix_ms() + 1).await?;
    }
    bring::bring_in(catalog, judged, scratch, report, progress).await
}
