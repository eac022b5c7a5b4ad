//! Brings what was judged into a catalog, many changes in each of its transactions.

use super::{
    error::RebuildError,
    judged::Judged,
    progress::RebuildProgress,
    report::RebuildReport,
    scratch::Scratch,
    sorting::Sorter,
    telling::{Name, Standing, Told, ToldRecord},
};
use futures::{StreamExt, stream::FuturesUnordered};
use ripstop_catalog::{
    Bucket, Catalog, CatalogError, Change, Condition, Object, Quota, Stamp, Stripe, Tombstone,
    Versioning, bucket_of,
};
use ripstop_host::unix_ms;
use ripstop_model::StripeId;
use ripstop_store::Telling;
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::mpsc;

/// Bytes of changes, about, that go to the catalog together.
const BATCH_BYTES: usize = 8 << 20;
/// Such batches that are under way at once, one more being made and one waiting.
const BATCHES: usize = 2;
/// What a change takes besides what is told of its object.
const CHANGE_BYTES: usize = 512;
/// What an object takes in memory for each byte of its record.
const BYTES_PER_BYTE: usize = 4;

/// What goes to the catalog in one transaction.
#[derive(Default)]
struct Batch {
    changes: Vec<Change>,
    buckets: u64,
    objects: u64,
    /// Whether it waits for all before it, and all behind it wait for it: objects need their
    /// bucket, and what is outlived is known once all that is so is there.
    is_barrier: bool,
}

/// Brings into `catalog` what was judged; adds to `report`, which it hands back.
pub(super) async fn bring_in(
    catalog: &dyn Catalog,
    judged: Judged,
    scratch: Arc<Scratch>,
    report: RebuildReport,
    progress: &RebuildProgress,
) -> Result<RebuildReport, RebuildError> {
    let (to, mut batches) = mpsc::channel(1);
    let bringing = ripstop_host::spawn_blocking(move || {
        let outlived = Sorter::new(&scratch, "outlived");
        let (batch, batch_bytes) = (Batch::default(), 0);
        Bringing { judged, report, to, batch, batch_bytes, outlived }.bring()
    });
    let (mut buckets, mut objects) = (0, 0);
    let mut under_way = FuturesUnordered::new();
    let commit = |batch: Batch| async move {
        let applied = catalog.commit(unix_ms(), batch.changes).await?;
        applied.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok::<_, CatalogError>((batch.buckets, batch.objects))
    };
    let mut ended = |(some_buckets, some_objects)| {
        buckets += some_buckets;
        objects += some_objects;
        progress.have_made(some_objects);
    };
    while let Some(batch) = batches.recv().await {
        let room = if batch.is_barrier { 0 } else { BATCHES - 1 };
        while under_way.len() > room {
            ended(under_way.next().await.expect("not empty")?);
        }
        if batch.is_barrier {
            ended(commit(batch).await?);
        } else {
            under_way.push(commit(batch));
        }
    }
    while let Some(done) = under_way.next().await {
        ended(done?);
    }
    let report = bringing.await.expect("bringing in does not panic")?;
    Ok(RebuildReport { buckets, objects, ..report })
}

/// Goes through what was told, name by name.
struct Bringing {
    judged: Judged,
    report: RebuildReport,
    to: mpsc::Sender<Batch>,
    batch: Batch,
    batch_bytes: usize,
    /// Stripes that tell of a name what is no longer so.
    outlived: Sorter,
}

/// What was taken to be so of a name.
enum Taken {
    /// It stands for something.
    Present,
    /// It was deleted; whether something older is told of it is not known yet.
    Deleted(StripeId, Stripe),
}

/// The name that is being gone through.
struct Open {
    name: Name,
    taken: Option<(Stamp, Taken)>,
    /// Whether something older than what was taken is told of it.
    is_older_told: bool,
}

/// The bucket that was come to last.
struct Place {
    name: String,
    /// Whether it was made.
    is_made: bool,
    /// Since when it is deleted.
    deleted: Option<Stamp>,
    /// As it was made, if nothing but its objects tells of it.
    untold: Option<Bucket>,
}

impl Bringing {
    fn bring(mut self) -> Result<RebuildReport, RebuildError> {
        let (mut open, mut place): (Option<Open>, Option<Place>) = (None, None);
        while let Some(item) = self.judged.tellings.next()? {
            let (name, stamp, told_by, told) = Told::decode(item)?;
            let bucket = bucket_of(&name.bucket);
            if place.as_ref().is_none_or(|place| place.name != bucket) {
                let (name, is_made) = (bucket.to_owned(), false);
                place = Some(Place { name, is_made, deleted: None, untold: None });
            }
            let place = place.as_mut().expect("it was made just now, if it was not there");
            let same = open.take_if(|open| open.name == name);
            self.close(open.take());
            let mut now = same.unwrap_or(Open { name, taken: None, is_older_told: false });
            if now.taken.is_some() {
                now.is_older_told = true;
                self.outlive(&now.name, told_by, &told)?;
            } else {
                let taken = self.take(&now.name, stamp, told_by, told, place)?;
                now.taken = taken.map(|taken| (stamp, taken));
            }
            open = Some(now);
            if self.to.is_closed() {
                // The catalog refused a change: its error is the rebuild's.
                break;
            }
        }
        self.close(open);
        self.flush();
        self.outlived()?;
        Ok(self.report)
    }

    /// Takes what is told of a name to be so, if it can be read.
    fn take(
        &mut self,
        name: &Name,
        stamp: Stamp,
        told_by: StripeId,
        told: Told,
        place: &mut Place,
    ) -> Result<Option<Taken>, RebuildError> {
        let weight = CHANGE_BYTES + told.record.len() * BYTES_PER_BYTE;
        let Standing::Believed(stripe) = told.standing else {
            self.report.note(&told.standing, || name.to_string());
            return Ok(None);
        };
        if told.record == ToldRecord::Deletion {
            if name.key.is_none() {
                place.deleted = Some(stamp);
            }
            return Ok(Some(Taken::Deleted(told_by, stripe)));
        }
        match self.judged.telling(told.record)? {
            Telling::Bucket(bucket) => {
                self.make(bucket, vec![(told_by, stripe)]);
                place.is_made = true;
            }
            Telling::Object { bucket, key, object } => {
                let stripes = match self.stripes(told_by, stripe, &object)? {
                    Ok(stripes) => stripes,
                    Err(standing) => {
                        self.report.note(&standing, || name.to_string());
                        return Ok(None);
                    }
                };
                let own = stripes.iter().find(|(stripe, _)| *stripe == told_by).cloned();
                self.make_untold(place, &bucket, (told_by, stamp, object.modified_ms), own);
                // What the nodes hold was let in once.
                let (condition, quota) = (Condition::AsTold, Quota::NONE);
                let put = Change::PutObject { bucket, key, object, stripes, condition, quota };
                self.batch.objects += 1;
                self.put(put, weight);
            }
            // Those were put where they belong, one for each name.
            Telling::Deletions { .. } | Telling::Pack(_) => return Err(RebuildError::Scratch),
        }
        Ok(Some(Taken::Present))
    }

    /// Notes that a stripe tells of a name what is no longer so.
    fn outlive(&mut self, name: &Name, told_by: StripeId, told: &Told) -> Result<(), RebuildError> {
        let is_believed = matches!(told.standing, Standing::Believed(_));
        if is_believed && told.record != ToldRecord::Deletion {
            let item = (&name.bucket, name.key(), told_by.0, &told.standing);
            let item = postcard::to_allocvec(&item).expect("plain records always have a form");
            self.outlived.push(&item)?;
        }
        Ok(())
    }

    /// Nothing more is told of a name. A deletion is kept if something older may come up again.
    fn close(&mut self, name: Option<Open>) {
        let Some(Open { name, taken, is_older_told: true }) = name else { return };
        if let Some((stamp, Taken::Deleted(told_by, stripe))) = taken {
            let key = name.key().to_owned();
            let tombstone = Tombstone { stamp, told_by, ..Tombstone::default() };
            let stripes = vec![(told_by, stripe)];
            self.report.deletions += 1;
            self.put(Change::Bury { bucket: name.bucket, key, tombstone, stripes }, CHANGE_BYTES);
        }
    }

    /// Tells the catalog of what is outlived, now that it knows all that is so.
    fn outlived(&mut self) -> Result<(), RebuildError> {
        let scratch = Arc::clone(self.outlived.scratch());
        let outlived = std::mem::replace(&mut self.outlived, Sorter::new(&scratch, "outlived"));
        let mut outlived = outlived.finish()?;
        while let Some(item) = outlived.next()? {
            let item: (String, String, u128, Standing) =
                postcard::from_bytes(item).map_err(|_| RebuildError::Scratch)?;
            let (bucket, key, id, Standing::Believed(stripe)) = item else {
                return Err(RebuildError::Scratch);
            };
            self.batch.is_barrier = true;
            let stripe = (StripeId(id), stripe);
            self.put(Change::Outlive { bucket, key, stripe }, CHANGE_BYTES);
        }
        self.flush();
        Ok(())
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

    /// Makes the bucket of an object, if its own telling is gone: then its objects tell of it, and
    /// whether it keeps versions. If its deletion is told, that was refused, or it was made again
    /// since.
    fn make_untold(
        &mut self,
        place: &mut Place,
        space: &str,
        (told_by, stamp, created_ms): (StripeId, Stamp, u64),
        own: Option<(StripeId, Stripe)>,
    ) {
        let is_version = bucket_of(space) != space;
        let versioning = if is_version { Versioning::Enabled } else { Versioning::Never };
        let keeps_none = |bucket: &Bucket| bucket.versioning == Versioning::Never;
        let was = place.untold.as_ref().filter(|bucket| is_version && keeps_none(bucket)).cloned();
        if place.is_made && was.is_none() {
            return;
        }
        let after = was.as_ref().map(Bucket::stamp).or(place.deleted);
        let when = after.map_or(0, |after| after.when + 1).max(stamp.when);
        let created_ms = was.as_ref().map_or(created_ms, |was| was.created_ms);
        let untold = Bucket {
            name: place.name.clone(),
            created_ms,
            told_by,
            stamp: Some(Stamp { when, stripe: told_by }),
            versioning,
            ..Bucket::default()
        };
        (place.is_made, place.untold) = (true, Some(untold.clone()));
        let stripes = own.into_iter().collect();
        match was {
            None => self.make(untold, stripes),
            Some(was) => {
                self.flush();
                let change = Change::SetBucket { bucket: untold, was: was.told_by, stripes };
                self.send(Batch { changes: vec![change], is_barrier: true, ..Batch::default() });
            }
        }
    }

    fn make(&mut self, bucket: Bucket, stripes: Vec<(StripeId, Stripe)>) {
        self.flush();
        let changes = vec![Change::CreateBucket { bucket, stripes }];
        self.send(Batch { changes, buckets: 1, objects: 0, is_barrier: true });
    }

    fn put(&mut self, change: Change, weight: usize) {
        self.batch.changes.push(change);
        self.batch_bytes += weight;
        if self.batch_bytes >= BATCH_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        if !batch.changes.is_empty() {
            self.send(batch);
        }
    }

    fn send(&mut self, batch: Batch) {
        // The receiver ends early only with an error of the catalog, which is the rebuild's.
        drop(self.to.blocking_send(batch));
    }
}
