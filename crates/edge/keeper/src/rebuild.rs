//! Rebuilds a lost catalog from the headers of the fragments at the nodes, in three steps: a survey
//! of all nodes, a judgement on each stripe, and the bringing in of what is believed. Between the
//! steps everything is in a scratch folder, so memory is bounded whatever the number of objects.

mod bring;
mod error;
mod judged;
mod packs;
mod progress;
mod report;
mod roster;
mod scratch;
mod sighting;
mod sorting;
mod stripe_form;
mod survey;
mod telling;
mod verdict;
mod vote;

pub use error::RebuildError;
pub use progress::RebuildProgress;
pub use report::{RebuildReport, Roll};
pub use roster::{SurveyedNode, SurveyedPool};
pub use scratch::ScratchError;

use crate::reach::reach;
use judged::Judged;
use ripstop_catalog::{Catalog, Session};
use ripstop_runtime::Seals;
use ripstop_store::adopt;
use scratch::Scratch;
use std::{path::Path, sync::Arc};
use survey::survey;
use tokio::sync::mpsc;

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
    let roster = survey.roster.clone();
    let (ask, asked) = mpsc::channel(packs::PACKS_AT_ONCE);
    let judging = ripstop_host::spawn_blocking(move || {
        let judged = Judged::new(survey, &scratch, store, &mut report, ask)?;
        Ok::<_, RebuildError>((judged, scratch, report))
    });
    // Until the judge has nothing more to ask.
    packs::answer(asked, &roster, store, seals).await;
    let (judged, scratch, report) = judging.await.expect("judging does not panic")?;
    if let Some(latest) = judged.latest {
        reach(catalog, Session::of(latest.stripe), latest.unix_ms() + 1).await?;
    }
    bring::bring_in(catalog, judged, scratch, report, progress).await
}
