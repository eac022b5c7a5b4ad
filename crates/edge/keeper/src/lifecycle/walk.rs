//! Goes through what buckets have, page by page.

use super::{counts::Aged, deed::Deeds, moves::Candidate, reader::LifecycleReader};
use crate::{
    listing::{Buckets, Uploads, Versions},
    round::{Halt, Round},
};
use ripstop_catalog::{Bucket, ListedVersion};
use ripstop_lifecycle::{Day, Rules, Shown, Standing, Succession, View};
use ripstop_model::StripeId;
use std::collections::VecDeque;

/// Moves that fail in a row, after which the others of a page are left for the next walk: their
/// pool may be down.
const FAILURES_MAX: u32 = 8;

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

impl Inside {
    /// The versions of the next page whose standing is known then.
    async fn next_versions(&mut self, round: &Round) -> Result<Vec<Candidate>, Halt> {
        let Some(versions) = &mut self.versions else { return Ok(Vec::new()) };
        Ok(if let Some(page) = round.page(versions).await? {
            standing(&mut self.succession, page)
        } else {
            self.versions = None;
            self.succession.end().into_iter().collect()
        })
    }

    fn deeds<'a>(&'a self, round: &'a Round, (day, now_ms): (Day, u64)) -> Deeds<'a> {
        Deeds { round, bucket: &self.bucket, rules: &self.rules, day, now_ms }
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
        if inside.versions.is_some() {
            let found = inside.next_versions(round).await?;
            let deeds = inside.deeds(round, (day, now_ms));
            let (due, rest): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|(version, standing)| {
                    let removal = inside.rules.removal(&view_of(version, *standing), day);
                    removal.is_some_and(|removal| removal.at_ms <= now_ms)
                });
            deeds.remove(due, aged).await?;
            return self.move_on(round, rest, (day, now_ms), aged).await;
        }
        let deeds = Deeds { round, bucket: &inside.bucket, rules: &inside.rules, day, now_ms };
        let Some(uploads) = &mut inside.uploads else { return Ok(false) };
        let Some(page) = round.page(uploads).await? else {
            inside.uploads = None;
            return Ok(false);
        };
        deeds.end(page, aged).await?;
        Ok(true)
    }

    /// Moves those of these versions that are due; whether the walk through the bucket goes on.
    async fn move_on(
        &self,
        round: &Round,
        found: Vec<Candidate>,
        when: (Day, u64),
        aged: &mut Aged,
    ) -> Result<bool, Halt> {
        let keeper = round.keeper()?;
        if keeper.settings().move_rate_max == 0 {
            return Ok(true);
        }
        let classes: Vec<String> = keeper.store().storage_classes().map(str::to_owned).collect();
        drop(keeper);
        let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
        let mut in_a_row = 0;
        for candidate in found {
            let Some(inside) = &self.inside else { return Ok(false) };
            let deeds = inside.deeds(round, when);
            let to = deeds.relocation_of(&candidate.0, candidate.1, &classes);
            let Some(to) = to else { continue };
            let failed = aged.failed;
            deeds.move_on(&candidate, to.class, aged).await?;
            in_a_row = if aged.failed > failed { in_a_row + 1 } else { 0 };
            if in_a_row >= FAILURES_MAX {
                break;
            }
            // That may have taken long.
            if !self.has_same_rules(round).await? {
                return Ok(false);
            }
        }
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
