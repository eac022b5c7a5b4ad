//! Uploads under way, and their parts.

use super::draft::Decision;
use super::object::New;
use super::stop::Decided;
use super::turnover::{Turnover, held_by, named};
use crate::{
    Absence, Applied, Change, Object, Place, Quota, Refusal, Rows, Stripe, Upload, UploadedPart,
};
use alloc::borrow::Cow;
use alloc::string::String;
use ripstop_model::StripeId;

impl<'a, R: Rows> Decision<'_, 'a, R> {
    pub(super) fn create_upload(&mut self, upload: &'a Upload) -> Decided<Applied, R> {
        self.must_have_bucket(&upload.bucket)?;
        if self.upload(&upload.id, Absence::Believed)?.is_some() {
            return Err(Refusal::ConditionFailed.into());
        }
        let id = Cow::Borrowed(upload.id.as_str());
        let at = Place::new(&upload.bucket, &upload.key);
        self.writes.upload_places.insert((at, id.clone()), true);
        self.writes.uploads.insert(id, Some(Cow::Borrowed(upload)));
        Ok(Applied::default())
    }

    fn must_have_upload(&self, id: &str) -> Decided<Upload, R> {
        let upload = self.upload(id, Absence::Certain)?;
        upload.ok_or_else(|| Refusal::NoSuchUpload.into())
    }

    pub(super) fn put_part(
        &mut self,
        now_ms: u64,
        upload: &'a str,
        part: &'a UploadedPart,
        stripes: &[(StripeId, Stripe)],
        quota: &Quota,
    ) -> Decided<Applied, R> {
        let bucket = self.must_have_upload(upload)?.bucket;
        let old = self.part(upload, part.number)?;
        let before = self.account(&bucket)?;
        let after = before.exchange_parts(&old, Some(part));
        quota.check(before.usage(), after.usage())?;
        let mut turnover = Turnover::new(self, stripes)?;
        turnover.gain(self, &named(&part.extents))?;
        self.lose_parts(&mut turnover, old.as_slice())?;
        turnover.settle(self, now_ms)?;
        let key = (Cow::Borrowed(upload), part.number);
        self.writes.parts.insert(key, Some(Cow::Borrowed(part)));
        self.set_account(Cow::Owned(bucket), after);
        Ok(Applied::default())
    }

    pub(super) fn complete_upload(
        &mut self,
        now_ms: u64,
        change: &'a Change,
    ) -> Decided<Applied, R> {
        let Change::CompleteUpload {
            upload: id,
            parts: used,
            object,
            version,
            stripes,
            condition,
            quota,
        } = change
        else {
            unreachable!("asked for this change alone")
        };
        let upload = self.must_have_upload(id)?;
        let parts = self.parts(id)?;
        must_be_as_they_were(&parts, used, object)?;
        let versioning = self.must_have_bucket(&upload.bucket)?;
        let new = New { object, stripes, condition, quota };
        let place = match version {
            Some((space, name)) => Place::new(space, name),
            None => Place::new(&upload.bucket, &upload.key).into_owned(),
        };
        let applied = self.put(now_ms, (place, versioning), &new, &parts)?;
        self.forget_upload(id, upload, &parts);
        Ok(applied)
    }

    pub(super) fn abort_upload(&mut self, now_ms: u64, id: &'a str) -> Decided<Applied, R> {
        let upload = self.must_have_upload(id)?;
        let parts = self.parts(id)?;
        let mut turnover = Turnover::default();
        self.lose_parts(&mut turnover, &parts)?;
        turnover.settle(self, now_ms)?;
        let account = self.account(&upload.bucket)?.exchange_parts(&parts, None);
        self.set_account(Cow::Owned(upload.bucket.clone()), account);
        self.forget_upload(id, upload, &parts);
        Ok(Applied::default())
    }

    fn forget_upload(&mut self, id: &'a str, upload: Upload, parts: &[UploadedPart]) {
        for part in parts {
            self.writes.parts.insert((Cow::Borrowed(id), part.number), None);
        }
        let Upload { bucket, key, .. } = upload;
        let at = Place { bucket: Cow::Owned(bucket), key: Cow::Owned(key) };
        self.writes.upload_places.insert((at, Cow::Borrowed(id)), false);
        self.writes.uploads.insert(Cow::Borrowed(id), None);
    }
}

/// That the parts that an object was made of are there, with stripes that it names.
fn must_be_as_they_were(
    parts: &[UploadedPart],
    used: &[(u16, String)],
    object: &Object,
) -> Result<(), Refusal> {
    let held = held_by(object);
    for (number, etag) in used {
        let found = parts.binary_search_by_key(number, |part| part.number).map(|at| &parts[at]);
        let is_as_it_was = found.is_ok_and(|part| {
            part.etag == *etag
                && part.extents.iter().all(|extent| held.contains_key(&extent.stripe))
        });
        if !is_as_it_was {
            return Err(Refusal::PartChanged { number: *number });
        }
    }
    Ok(())
}
