//! Goes through what buckets have, page by page.

use super::{counts::Aged, deed::Deeds, reader::LifecycleReader};
use crate::{
    listing::{Buckets, Uploads, Versions},
    round::{Halt, Round},
};
use ripstop_catalog::{Bucket, ListedVersion};
use ripstop_lifecycle::{Day, Rules, Shown, Standing, Succession, View};
use ripstop_model::StripeId;
use std::collections::VecDeque;

/// A walk through all buckets, and where it is. One that broke off goes on there.
pub(super) struct Walk {
    reader: LifecycleReader,
    buckets: Buckets,
    /// Those of the last page that it was not in yet.
    ahead: VecDeque<Bucket>,
    inside: Option<Inside>,
    /// Whether it has begun and not ended.
    is_under_way: bool,
}

/// Where it is within a bucket.
struct Inside {
    bucket: String,
    /// What told of the bucket as these rules were read.
    told_by: StripeId,
    rules: Rules,
    versions: Option<Versions>,
    succession: Succession<ListedVersion>,
    uploads: Option<Uploads>,
}

impl Inside {
    fn of(bucket: &Bucket, rules: Rules) -> Self {
        let name = || bucket.name.clone();
        let versions = rules.prefix_of_objects().map(|it| Versions::below(name(), it.to_owned()));
        let uploads = rules.prefix_of_uploads().map(|it| Uploads::below(name(), it.to_owned()));
        let (told_by, succession) = (bucket.told_by, Succession::default());
        Self { bucket: name(), told_by, rules, versions, succession, uploads }
    }
}

impl Walk {
    pub(super) fn new(reader: LifecycleReader) -> Self {
        let (buckets, ahead) = (Buckets::default(), VecDeque::new());
        Self { reader, buckets, ahead, inside: None, is_under_way: false }
    }

    /// Whether it has begun and not ended.
    pub(super) const fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Goes to its end, or to where something fails.
    pub(super) async fn go_on(
        &mut self,
        round: &Round,
        (day, now_ms): (Day, u64),
        aged: &mut Aged,
    ) -> Result<(), Halt> {
        self.is_under_way = true;
        loop {
            while self.next_bucket() {
                while self.page(round, (day, now_ms), aged).await? {}
                self.inside = None;
            }
            match round.page(&mut self.buckets).await? {
                Some(page) => self.ahead.extend(page),
                None => break,
            }
        }
        (self.buckets, self.is_under_way) = (Buckets::default(), false);
        Ok(())
    }

    /// Whether it is in a bucket that has rules; goes into the next if it was in none.
    fn next_bucket(&mut self) -> bool {
        while self.inside.is_none() {
            let Some(bucket) = self.ahead.pop_front() else { return false };
            self.inside = self.rules_of(&bucket).map(|rules| Inside::of(&bucket, rules));
        }
        true
    }

    fn rules_of(&self, bucket: &Bucket) -> Option<Rules> {
        let rules = (self.reader.read)(bucket.documents.get(self.reader.document)?);
        if rules.is_none() {
            tracing::error!(bucket = bucket.name, "a bucket's rules cannot be read");
        }
        rules
    }

    /// Goes through the next page of the bucket; whether there was one.
    async fn page(
        &mut self,
        round: &Round,
        (day, now_ms): (Day, u64),
        aged: &mut Aged,
    ) -> Result<bool, Halt> {
        if !self.has_same_rules(round).await? {
            return Ok(false);
        }
        let Some(inside) = &mut self.inside else { return Ok(false) };
        let deeds = Deeds { round, bucket: &inside.bucket, rules: &inside.rules, day, now_ms };
        if let Some(versions) = &mut inside.versions {
            let found = if let Some(page) = round.page(versions).await? {
                standing(&mut inside.succession, page)
            } else {
                inside.versions = None;
                inside.succession.end().into_iter().collect()
            };
            let due = found.into_iter().filter(|(version, standing)| {
                let view = view_of(version, *standing);
                inside.rules.removal(&view, day).is_some_and(|removal| removal.at_ms <= now_ms)
            });
            deeds.remove(due.collect(), aged).await?;
            return Ok(true);
        }
        let Some(uploads) = &mut inside.uploads else { return Ok(false) };
        let Some(page) = round.page(uploads).await? else {
            inside.uploads = None;
            return Ok(false);
        };
        deeds.end(page, aged).await?;
        Ok(true)
    }

    /// Whether the bucket is still there and has the rules that it is walked by: who changes them
    /// wants the walk by the old ones to end.
    async fn has_same_rules(&self, round: &Round) -> Result<bool, Halt> {
        let Some(inside) = &self.inside else { return Ok(false) };
        let found = round.keeper()?.catalog().bucket(&inside.bucket).await?;
        let Some(bucket) = found else { return Ok(false) };
        if bucket.told_by == inside.told_by {
            return Ok(true);
        }
        // Something else of it may have been configured.
        Ok(self.rules_of(&bucket).is_some_and(|rules| rules == inside.rules))
    }
}

fn standing(
    succession: &mut Succession<ListedVersion>,
    page: Vec<ListedVersion>,
) -> Vec<(ListedVersion, Standing)> {
    let mut found = Vec::with_capacity(page.len());
    for version in page {
        let key = version.key.clone();
        let shown = Shown {
            key: &key,
            modified_ms: version.object.modified_ms,
            is_latest: version.is_latest,
            is_marker: version.is_marker,
        };
        found.extend(succession.next(shown, version).into_iter().flatten());
    }
    found
}

/// What a listing tells of a version: all but its tags.
fn view_of(version: &ListedVersion, standing: Standing) -> View<'_> {
    View {
        key: &version.key,
        len: version.object.len,
        tags: None,
        modified_ms: version.object.modified_ms,
        standing,
    }
}
