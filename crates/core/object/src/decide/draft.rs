//! Rows as they are after the changes that were decided on so far.

use super::stop::{Decided, Stop};
use crate::{
    Absence, Account, Applied, Bucket, Change, GatewayId, GatewayRecord, Held, Inconsistent, Lease,
    Object, Place, Rows, Session, Tombstone, Upload, UploadedPart, VersionId, Watermark, Writes,
    split_version_name, versions_begin, versions_end, versions_of,
};
use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ripstop_model::{NodeId, StripeId};

/// What the changes of one commit come to.
#[derive(Debug)]
pub(super) struct Decision<'r, 'a, R> {
    rows: &'r R,
    pub(super) writes: Writes<'a>,
    /// Stripes that came with changes of this commit and that nothing held: a later change of it
    /// may bring them again, as the objects of a pack do.
    pub(super) unheld: BTreeSet<StripeId>,
    /// Of which keys a stripe was found to tell what is no longer so, by stripe.
    outlived: BTreeMap<StripeId, BTreeSet<Place<'a>>>,
}

impl<'r, 'a, R: Rows> Decision<'r, 'a, R> {
    /// That nothing changes.
    pub(super) fn new(rows: &'r R) -> Self {
        let (writes, unheld, outlived) = Default::default();
        Self { rows, writes, unheld, outlived }
    }

    pub(super) fn apply(&mut self, now_ms: u64, change: &'a Change) -> Decided<Applied, R> {
        match change {
            Change::CreateBucket { bucket, stripes } => self.create_bucket(now_ms, bucket, stripes),
            Change::SetBucket { bucket, was, stripes } => {
                self.set_bucket(now_ms, bucket, *was, stripes)
            }
            Change::DeleteBucket { name, tombstone, stripes } => {
                self.delete_bucket(now_ms, name, tombstone.as_ref(), stripes)
            }
            Change::PutObject { .. } => self.put_object(now_ms, change),
            Change::DeleteObject { .. } => self.delete_object(now_ms, change),
            Change::Outlive { bucket, key, stripe } => {
                self.outlive(now_ms, Place::new(bucket, key), stripe)
            }
            Change::Bury { bucket, key, tombstone, stripes } => {
                self.bury(now_ms, Place::new(bucket, key), tombstone, stripes)
            }
            Change::CreateUpload(upload) => self.create_upload(upload),
            Change::PutPart { upload, part, stripes, quota } => {
                self.put_part(now_ms, upload, part, stripes, quota)
            }
            Change::CompleteUpload { .. } => self.complete_upload(now_ms, change),
            Change::AbortUpload { upload } => self.abort_upload(now_ms, upload),
            Change::Discard { stripes } => self.discard(now_ms, stripes),
            Change::PlaceFragment { stripe, index, node } => {
                self.place_fragment(*stripe, *index, *node)
            }
            Change::MoveFragment { stripe, nodes, index, to } => {
                self.move_fragment(now_ms, *stripe, nodes, *index, *to)
            }
            Change::ForgetLeftovers { leftovers } => Ok(self.forget_leftovers(leftovers)),
            Change::ForgetGarbage { stripes } => self.forget_garbage(now_ms, stripes),
            Change::Reserve { session, until_ms } => self.reserve(*session, *until_ms),
            Change::Watch { session, least, alive_until_ms } => {
                self.watch(*session, *least, *alive_until_ms)
            }
            Change::Retire => self.retire(now_ms),
            Change::Lease { name, holder, until_ms } => {
                self.take_lease(now_ms, name, *holder, *until_ms)
            }
            Change::Fenced { lease, epoch, change } => {
                self.must_have_epoch(lease, *epoch)?;
                self.apply(now_ms, change)
            }
            Change::Beat { id, gateway } => self.beat(now_ms, *id, gateway),
            Change::Release { name, holder } => self.release(name, *holder),
            Change::Vouch { before_ms } => self.vouch(*before_ms),
            Change::NameNode { name } => self.name_node(name),
        }
    }

    pub(super) fn bucket(&self, name: &str) -> Decided<Option<Cow<'_, Bucket>>, R> {
        match self.writes.buckets.get(name) {
            Some(row) => Ok(row.as_deref().map(Cow::Borrowed)),
            None => Ok(self.rows.bucket(name).map_err(Stop::Failed)?.map(Cow::Owned)),
        }
    }

    pub(super) fn object(&self, at: &Place<'_>, absence: Absence) -> Decided<Option<Object>, R> {
        match self.writes.objects.get(at) {
            Some(row) => Ok(row.as_deref().cloned()),
            None => self.rows.object(at, absence).map_err(Stop::Failed),
        }
    }

    /// The latest version with an id of a key, and its id.
    pub(super) fn latest_named(
        &self,
        bucket: &str,
        key: &str,
    ) -> Decided<Option<(VersionId, Object)>, R> {
        let space = versions_of(bucket);
        let (begin, end) = (versions_begin(key), versions_end(key));
        let range = Place::new(&space, &begin)..Place::new(&space, &end);
        let (mut removed, mut written) = (BTreeSet::new(), None);
        for (at, row) in self.writes.objects.range(range) {
            if row.is_some() {
                written = Some(&*at.key);
                break;
            }
            removed.insert(&*at.key);
        }
        let known = self.rows.versions(bucket, key, removed.len() + 1).map_err(Stop::Failed)?;
        let known = known.iter().map(String::as_str).find(|name| !removed.contains(name));
        let Some(name) = known.into_iter().chain(written).min() else { return Ok(None) };
        let Some((_, id)) = split_version_name(name) else {
            return Err(inconsistent(format!("{name:?} is no name of a version")));
        };
        let object = self.object(&Place::new(&space, name), Absence::Believed)?;
        Ok(object.map(|object| (id, object)))
    }

    pub(super) fn tombstone(&self, at: &Place<'_>) -> Decided<Option<Tombstone>, R> {
        match self.writes.tombstones.get(at) {
            Some(row) => Ok(row.as_deref().cloned()),
            None => self.rows.tombstone(at).map_err(Stop::Failed),
        }
    }

    pub(super) fn stripe(&self, id: StripeId, absence: Absence) -> Decided<Option<Held>, R> {
        match self.writes.stripes.get(&id) {
            Some(row) => Ok(row.clone()),
            None => self.rows.stripe(id, absence).map_err(Stop::Failed),
        }
    }

    pub(super) fn is_garbage(&self, id: StripeId) -> Decided<bool, R> {
        match self.writes.garbage.get(&id) {
            Some(row) => Ok(row.is_some()),
            None => self.rows.is_garbage(id).map_err(Stop::Failed),
        }
    }

    pub(super) fn upload(&self, id: &str, absence: Absence) -> Decided<Option<Upload>, R> {
        match self.writes.uploads.get(id) {
            Some(row) => Ok(row.as_deref().cloned()),
            None => self.rows.upload(id, absence).map_err(Stop::Failed),
        }
    }

    pub(super) fn part(&self, upload: &str, number: u16) -> Decided<Option<UploadedPart>, R> {
        match self.writes.parts.get(&(Cow::Borrowed(upload), number)) {
            Some(row) => Ok(row.as_deref().cloned()),
            None => self.rows.part(upload, number).map_err(Stop::Failed),
        }
    }

    /// The parts of an upload, by number.
    pub(super) fn parts(&self, upload: &str) -> Decided<Vec<UploadedPart>, R> {
        let parts = self.rows.parts(upload).map_err(Stop::Failed)?;
        let of = |number| (Cow::Borrowed(upload), number);
        let mut written = self.writes.parts.range(of(0)..=of(u16::MAX)).peekable();
        if written.peek().is_none() {
            return Ok(parts);
        }
        let mut parts: BTreeMap<u16, UploadedPart> =
            parts.into_iter().map(|part| (part.number, part)).collect();
        for ((_, number), row) in written {
            match row {
                Some(part) => _ = parts.insert(*number, part.clone().into_owned()),
                None => _ = parts.remove(number),
            }
        }
        Ok(parts.into_values().collect())
    }

    pub(super) fn account(&self, bucket: &str) -> Decided<Account, R> {
        match self.writes.accounts.get(bucket) {
            Some(row) => Ok(row.unwrap_or_default()),
            None => self.rows.account(bucket).map_err(Stop::Failed),
        }
    }

    pub(super) fn set_account(&mut self, bucket: Cow<'a, str>, account: Account) {
        let row = Some(account).filter(|account| *account != Account::default());
        self.writes.accounts.insert(bucket, row);
    }

    /// Whether no key of a bucket stands for an object.
    pub(super) fn has_no_objects(&self, bucket: &str) -> Decided<bool, R> {
        let mut removed = BTreeSet::new();
        let from = Place::of_bucket(bucket);
        let written = self.writes.objects.range(from..);
        for (at, row) in written.take_while(|(at, _)| at.bucket == bucket) {
            if row.is_some() {
                return Ok(false);
            }
            removed.insert(&*at.key);
        }
        let keys = self.rows.keys(bucket, removed.len() + 1).map_err(Stop::Failed)?;
        Ok(keys.iter().all(|key| removed.contains(key.as_str())))
    }

    /// Whether no upload will write to a bucket.
    pub(super) fn has_no_uploads(&self, bucket: &str) -> Decided<bool, R> {
        let mut ended = BTreeSet::new();
        let from = (Place::of_bucket(bucket), Cow::Borrowed(""));
        let written = self.writes.upload_places.range(from..);
        for ((at, id), is_there) in written.take_while(|((at, _), _)| at.bucket == bucket) {
            if *is_there {
                return Ok(false);
            }
            ended.insert((&*at.key, &**id));
        }
        let uploads = self.rows.uploads(bucket, ended.len() + 1).map_err(Stop::Failed)?;
        Ok(uploads.iter().all(|(key, id)| ended.contains(&(key.as_str(), id.as_str()))))
    }

    pub(super) fn is_outlived(&self, stripe: StripeId, at: &Place<'_>) -> Decided<bool, R> {
        match self.writes.outlived.get(&(at.clone(), stripe)) {
            Some(is_so) => Ok(*is_so),
            None => self.rows.is_outlived(stripe, at).map_err(Stop::Failed),
        }
    }

    pub(super) fn set_outlived(&mut self, stripe: StripeId, at: Place<'a>, is_so: bool) {
        if is_so {
            self.outlived.entry(stripe).or_default().insert(at.clone());
        }
        self.writes.outlived.insert((at, stripe), is_so);
    }

    /// Of which keys a stripe tells what is no longer so.
    pub(super) fn outlived_by(&self, stripe: StripeId) -> Decided<BTreeSet<Place<'a>>, R> {
        let known = self.rows.outlived_by(stripe).map_err(Stop::Failed)?;
        let mut places: BTreeSet<Place<'a>> = known.into_iter().collect();
        places.extend(self.outlived.get(&stripe).into_iter().flatten().cloned());
        places.retain(|at| self.writes.outlived.get(&(at.clone(), stripe)) != Some(&false));
        Ok(places)
    }

    /// Whether no stripe tells of a key what is no longer so.
    pub(super) fn is_told_by_nobody(&self, at: &Place<'_>) -> Decided<bool, R> {
        let range = (at.clone(), StripeId(0))..=(at.clone(), StripeId(u128::MAX));
        let mut removed = BTreeSet::new();
        for ((_, stripe), is_so) in self.writes.outlived.range(range) {
            if *is_so {
                return Ok(false);
            }
            removed.insert(*stripe);
        }
        let found = self.rows.outlived_at(at, removed.len() + 1).map_err(Stop::Failed)?;
        Ok(found.iter().all(|stripe| removed.contains(stripe)))
    }

    pub(super) fn node(&self, name: &str) -> Decided<Option<NodeId>, R> {
        match self.writes.nodes.get(name) {
            Some(number) => Ok(Some(*number)),
            None => self.rows.node(name).map_err(Stop::Failed),
        }
    }

    /// How many nodes have a number. Names are never removed.
    pub(super) fn node_count(&self) -> Decided<u64, R> {
        let known = self.rows.node_count().map_err(Stop::Failed)?;
        Ok(known + self.writes.nodes.len() as u64)
    }

    pub(super) fn session(&self, session: Session) -> Decided<Option<u64>, R> {
        match self.writes.sessions.get(&session) {
            Some(row) => Ok(*row),
            None => self.rows.session(session).map_err(Stop::Failed),
        }
    }

    pub(super) fn sessions(&self) -> Decided<BTreeMap<Session, u64>, R> {
        let known = self.rows.sessions().map_err(Stop::Failed)?;
        Ok(written_over(known, &self.writes.sessions))
    }

    pub(super) fn watermark(&self, session: Session) -> Decided<Option<Watermark>, R> {
        match self.writes.watermarks.get(&session) {
            Some(row) => Ok(*row),
            None => self.rows.watermark(session).map_err(Stop::Failed),
        }
    }

    pub(super) fn watermarks(&self) -> Decided<BTreeMap<Session, Watermark>, R> {
        let known = self.rows.watermarks().map_err(Stop::Failed)?;
        Ok(written_over(known, &self.writes.watermarks))
    }

    pub(super) fn lease(&self, name: &str) -> Decided<Option<Lease>, R> {
        match self.writes.leases.get(name) {
            Some(lease) => Ok(Some(*lease)),
            None => self.rows.lease(name).map_err(Stop::Failed),
        }
    }

    pub(super) fn gateways(&self) -> Decided<BTreeMap<GatewayId, GatewayRecord>, R> {
        let known = self.rows.gateways().map_err(Stop::Failed)?;
        let mut rows: BTreeMap<GatewayId, GatewayRecord> = known.into_iter().collect();
        for (id, row) in &self.writes.gateways {
            match row {
                Some(row) => _ = rows.insert(*id, row.clone().into_owned()),
                None => _ = rows.remove(id),
            }
        }
        Ok(rows)
    }

    pub(super) fn vouched_before(&self) -> Decided<u64, R> {
        match self.writes.vouched_before {
            Some(before) => Ok(before),
            None => self.rows.vouched_before().map_err(Stop::Failed),
        }
    }
}

/// That rows contradict one another.
pub(super) fn inconsistent<E: From<Inconsistent>>(reason: String) -> Stop<E> {
    Stop::Failed(Inconsistent { reason }.into())
}

/// Rows of sessions, with what was written to them since.
fn written_over<T: Copy>(
    known: impl IntoIterator<Item = (Session, T)>,
    writes: &BTreeMap<Session, Option<T>>,
) -> BTreeMap<Session, T> {
    let mut rows: BTreeMap<Session, T> = known.into_iter().collect();
    for (session, row) in writes {
        match row {
            Some(row) => _ = rows.insert(*session, *row),
            None => _ = rows.remove(session),
        }
    }
    rows
}
