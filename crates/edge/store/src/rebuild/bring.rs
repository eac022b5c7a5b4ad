//! Brings what was judged into a catalog, many changes in each of its transactions.

use super::{
    RebuildError, RebuildProgress, RebuildReport,
    judged::Judged,
    telling::{Standing, Told},
};
use crate::{clock::unix_ms, record::Telling};
use futures::{StreamExt, future::try_join_all, stream::FuturesUnordered};
use ripstop_catalog::{Bucket, Catalog, CatalogError, Change, Condition, Object, Quota, Stripe};
use ripstop_model::StripeId;
use std::{collections::BTreeSet, sync::atomic::Ordering};
use tokio::sync::mpsc;

/// Bytes of changes, about, that go to the catalog together.
const BATCH_BYTES: usize = 8 << 20;
/// Such batches that are under way at once, one more being made and one waiting.
const BATCHES: usize = 2;
/// What a change takes besides what is told of its object.
const CHANGE_BYTES: usize = 512;
/// What an object takes in memory for each byte of its record.
const BYTES_PER_BYTE: usize = 4;

/// What goes to the catalog.
enum Batch {
    /// A bucket: those that follow may be in it.
    Bucket(Box<Change>),
    /// Objects of buckets that are there.
    Objects(Vec<Change>),
}

/// Brings into `catalog` what was judged; adds to `report`, which it hands back.
pub(super) async fn bring_in(
    catalog: &dyn Catalog,
    judged: Judged,
    report: RebuildReport,
    progress: &RebuildProgress,
) -> Result<RebuildReport, RebuildError> {
    let (to, mut batches) = mpsc::channel(1);
    let bringing = tokio::task::spawn_blocking(move || {
        Bringing { judged, report, to, batch: Vec::new(), batch_bytes: 0 }.bring()
    });
    let (mut buckets, mut objects) = (0, 0);
    let mut under_way = FuturesUnordered::new();
    let commit = |change| catalog.commit_one(unix_ms(), change);
    while let Some(batch) = batches.recv().await {
        let room = match &batch {
            Batch::Bucket(_) => 0,
            Batch::Objects(_) => BATCHES - 1,
        };
        while under_way.len() > room {
            let done: Result<Vec<_>, CatalogError> = under_way.next().await.expect("not empty");
            let done = done?.len() as u64;
            objects += done;
            progress.0.objects.fetch_add(done, Ordering::Relaxed);
        }
        match batch {
            Batch::Bucket(change) => {
                commit(*change).await?;
                buckets += 1;
            }
            Batch::Objects(changes) => {
                under_way.push(try_join_all(changes.into_iter().map(commit)));
            }
        }
    }
    while let Some(done) = under_way.next().await {
        let done = done?.len() as u64;
        objects += done;
        progress.0.objects.fetch_add(done, Ordering::Relaxed);
    }
    let report = bringing.await.expect("bringing in does not panic")?;
    Ok(RebuildReport { buckets, objects, ..report })
}

/// Goes through what was told, name by name.
struct Bringing {
    judged: Judged,
    report: RebuildReport,
    to: mpsc::Sender<Batch>,
    batch: Vec<Change>,
    batch_bytes: usize,
}

impl Bringing {
    fn bring(mut self) -> Result<RebuildReport, RebuildError> {
        // The bucket that was made last, and the name of which a version was taken.
        let (mut made, mut taken) = (None, None);
        while let Some(item) = self.judged.tellings.next()? {
            let (name, id, told) = Told::decode(item)?;
            if taken.as_ref() == Some(&name) {
                continue;
            }
            let weight = CHANGE_BYTES + told.record.len() * BYTES_PER_BYTE;
            let Standing::Believed(stripe) = told.standing else {
                self.report.note(&told.standing, || name.to_string());
                continue;
            };
            match self.judged.telling(told.record)? {
                Telling::Bucket(bucket) => {
                    made = Some(bucket.name.clone());
                    self.make(bucket, vec![(id, stripe)]);
                }
                Telling::Object { bucket, key, object } => {
                    let stripes = match self.stripes(id, stripe, &object)? {
                        Ok(stripes) => stripes,
                        Err(standing) => {
                            self.report.note(&standing, || name.to_string());
                            continue;
                        }
                    };
                    if made.as_ref() != Some(&bucket) {
                        // Its own telling is gone, so it is told of by its objects.
                        let created_ms = object.modified_ms;
                        let untold = Bucket {
                            name: bucket.clone(),
                            created_ms,
                            told_by: id,
                            ..Bucket::default()
                        };
                        let own = stripes.iter().find(|(stripe, _)| *stripe == id).cloned();
                        self.make(untold, own.into_iter().collect());
                        made = Some(bucket.clone());
                    }
                    // What the nodes hold was let in once.
                    let (condition, quota) = (Condition::None, Quota::NONE);
                    let put = Change::PutObject { bucket, key, object, stripes, condition, quota };
                    self.put(put, weight);
                }
            }
            taken = Some(name);
            if self.to.is_closed() {
                // The catalog refused a change: its error is the rebuild's.
                break;
            }
        }
        self.flush();
        Ok(self.report)
    }

    /// The stripes that an object holds, or why it cannot be read.
    fn stripes(
        &self,
        told_by: StripeId,
        own: Stripe,
        object: &Object,
    ) -> Result<Result<Vec<(StripeId, Stripe)>, Standing>, RebuildError> {
        let named: BTreeSet<StripeId> = object.extents.iter().map(|it| it.stripe).collect();
        let mut stripes = Vec::with_capacity(named.len() + 1);
        let mut why = None;
        for id in named.into_iter().filter(|id| *id != told_by) {
            match self.judged.standing(id)? {
                Standing::Believed(stripe) => stripes.push((id, stripe)),
                // One that may have been answered decides.
                Standing::Unfinished => _ = why.get_or_insert(Standing::Unfinished),
                Standing::Lost | Standing::Disputed => why = Some(Standing::Lost),
            }
        }
        stripes.push((told_by, own));
        Ok(why.map_or(Ok(stripes), Err))
    }

    fn make(&mut self, bucket: Bucket, stripes: Vec<(StripeId, Stripe)>) {
        self.send(Batch::Bucket(Box::new(Change::CreateBucket { bucket, stripes })));
    }

    fn put(&mut self, change: Change, weight: usize) {
        self.batch.push(change);
        self.batch_bytes += weight;
        if self.batch_bytes >= BATCH_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.send(Batch::Objects(batch));
    }

    fn send(&mut self, batch: Batch) {
        // Whoever takes them has ended only with an error of the catalog, which is the rebuild's.
        drop(self.to.blocking_send(batch));
    }
}
