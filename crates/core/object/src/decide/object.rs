//! What keys stand for.

use super::draft::Decision;
use super::stop::Decided;
use super::telling::must_follow;
use super::turnover::{Turnover, held_by, named, told_by};
use crate::{
    Absence, Account, Applied, Change, Condition, Object, Place, Quota, Refusal, Release, Rows,
    Session, Stamp, Stripe, Tombstone, UploadedPart, VersionId, Versioning,
};
use alloc::borrow::Cow;
use ripstop_model::StripeId;

/// An object that is to be put, and what must hold for it.
pub(super) struct New<'a> {
    pub(super) object: &'a Object,
    pub(super) stripes: &'a [(StripeId, Stripe)],
    pub(super) condition: &'a Condition,
    pub(super) quota: &'a Quota,
}

/// What a key stands for, or that it was deleted.
struct Standing {
    present: Option<Object>,
    buried: Option<Tombstone>,
}

impl Standing {
    fn stamp(&self) -> Option<Stamp> {
        let present = self.present.as_ref().map(Object::stamp);
        present.or_else(|| self.buried.as_ref().map(|buried| buried.stamp))
    }

    fn told_by(&self) -> Option<StripeId> {
        let present = self.present.as_ref().map(|present| present.told_by);
        present.or_else(|| self.buried.as_ref().map(|buried| buried.told_by))
    }
}

/// Whether what is told was overtaken on its way by what is there. Of two writes of one session the
/// later stamp may be committed first: then the other is as if it had come before. Between
/// sessions, whose clocks may differ, and where a condition was answered, be it this one's or that
/// of what is there, which had not found it, it must be told again.
fn is_overtaken(stamp: Stamp, standing: &Standing, condition: &Condition) -> Result<bool, Refusal> {
    let Some(seen) = standing.stamp().filter(|seen| stamp < *seen) else { return Ok(false) };
    if may_come_before(stamp, seen, condition) {
        return Ok(true);
    }
    must_follow(stamp, Some(seen)).map(|()| false)
}

/// Whether nobody can tell that what is told with this stamp came after what is `seen`.
fn may_come_before(stamp: Stamp, seen: Stamp, condition: &Condition) -> bool {
    let is_asked = condition.is_asked() || seen.is_decided();
    !is_asked && Session::of(stamp.stripe) == Session::of(seen.stripe)
}

/// Refuses to let go of what something keeps.
fn must_not_be_kept(present: Option<&Object>, release: Release) -> Result<(), Refusal> {
    match present {
        Some(present) if present.attributes.lock.holds(release) => Err(Refusal::Locked),
        Some(_) | None => Ok(()),
    }
}

impl<'a, R: Rows> Decision<'_, 'a, R> {
    pub(super) fn put_object(&mut self, now_ms: u64, change: &'a Change) -> Decided<Applied, R> {
        let Change::PutObject { bucket, key, object, stripes, condition, quota } = change else {
            unreachable!("asked for this change alone")
        };
        let at = Place::new(bucket, key);
        let versioning = self.must_have_bucket(&at.bucket_name())?;
        let new = New { object, stripes, condition, quota };
        self.put(now_ms, (at, versioning), &new, &[])
    }

    /// What stands at a place, if the condition holds of it. A condition is an answer to the
    /// caller: that there is nothing must be certain then.
    fn standing(&self, at: &Place<'_>, condition: &Condition) -> Decided<Standing, R> {
        let absence = if condition.is_asked() { Absence::Certain } else { Absence::Believed };
        let present = self.object(at, absence)?;
        condition.check(present.as_ref())?;
        let buried = if present.is_none() { self.tombstone(at)? } else { None };
        Ok(Standing { present, buried })
    }

    /// The same where the bucket keeps versions, for an object that is to be put there: what its
    /// key stands for decides.
    fn standing_among(
        &self,
        at: &Place<'_>,
        object: &Object,
        condition: &Condition,
    ) -> Decided<Standing, R> {
        let of_place = if condition.is_of_key() { &Condition::None } else { condition };
        let standing = self.standing(at, of_place)?;
        if condition.is_again() {
            return Ok(standing);
        }
        let latest = self.latest(at)?;
        if condition.is_of_key() {
            condition.check(latest.as_ref().map(|(_, latest)| latest))?;
        }
        let own = at.version().map_or_else(|| object.null_order(), |(_, id)| id);
        if let Some((order, latest)) = latest
            && own < order
            && !may_come_before(object.stamp(), latest.stamp(), condition)
        {
            return Err(Refusal::Behind { seen: latest.stamp() }.into());
        }
        Ok(standing)
    }

    /// Refuses a place whose object is what its key stands for.
    fn must_be_superseded(&self, at: &Place<'_>, present: Option<&Object>) -> Decided<(), R> {
        let own = at.version().map(|(_, id)| id).or_else(|| present.map(Object::null_order));
        let latest = self.latest(at)?.map(|(order, _)| order);
        if own < latest { Ok(()) } else { Err(Refusal::ConditionFailed.into()) }
    }

    /// The latest version of the key that a place is of, and what orders it among them.
    fn latest(&self, at: &Place<'_>) -> Decided<Option<(VersionId, Object)>, R> {
        let bucket = at.bucket_name();
        let key = at.version().map_or_else(|| at.key.clone().into_owned(), |(key, _)| key);
        let null = self.object(&Place::new(&bucket, &key), Absence::Believed)?;
        let null = null.map(|object| (object.null_order(), object));
        let named = self.latest_named(&bucket, &key)?;
        Ok(null.into_iter().chain(named).max_by_key(|(order, _)| *order))
    }

    /// Puts the object if the condition holds of the present one, whose stripes it lets go of, and
    /// of those of the `ended` parts.
    pub(super) fn put(
        &mut self,
        now_ms: u64,
        (at, versioning): (Place<'a>, Versioning),
        new: &New<'a>,
        ended: &[UploadedPart],
    ) -> Decided<Applied, R> {
        let New { object, stripes, condition, quota } = *new;
        let standing = if versioning == Versioning::Never {
            self.standing(&at, condition)?
        } else {
            self.standing_among(&at, object, condition)?
        };
        if is_overtaken(object.stamp(), &standing, condition)? {
            return self.put_overtaken(now_ms, &at, new, ended, &standing);
        }
        let Standing { present, buried } = standing;
        let release = if condition.is_again() {
            Release::AsTold
        } else {
            Release::Judged { as_of_ms: now_ms, bypass: false }
        };
        must_not_be_kept(present.as_ref(), release)?;
        let before = self.account(&at.bucket_name())?;
        let after = before.exchange(present.as_ref(), Some(object)).exchange_parts(ended, None);
        quota.check(before.usage(), after.usage())?;
        let mut turnover = Turnover::new(self, stripes)?;
        turnover.gain(self, &held_by(object))?;
        if let Some(old) = &present {
            turnover.lose(self, &held_by(old))?;
        }
        if let Some(buried) = &buried {
            turnover.lose(self, &told_by(buried.told_by))?;
        }
        self.lose_parts(&mut turnover, ended)?;
        let again = self.is_believed_again(&turnover, &at, object.told_by)?;
        if let Some(old) = &present {
            self.outdate(&at, old.told_by, Some(object.told_by));
        }
        self.believe(&at, object.told_by, again);
        if buried.is_some() {
            self.writes.tombstones.insert(at.clone(), None);
        }
        turnover.settle(self, now_ms)?;
        self.set_account(at.bucket_name(), after);
        self.writes.objects.insert(at, Some(Cow::Borrowed(object)));
        Ok(Applied { replaced: present, ..Applied::default() })
    }

    /// An object that was overtaken is put, and replaced at once by what is there.
    fn put_overtaken(
        &mut self,
        now_ms: u64,
        at: &Place<'a>,
        new: &New<'a>,
        ended: &[UploadedPart],
        standing: &Standing,
    ) -> Decided<Applied, R> {
        let holding = held_by(new.object);
        let mut turnover = Turnover::new(self, new.stripes)?;
        turnover.gain(self, &holding)?;
        turnover.lose(self, &holding)?;
        self.lose_parts(&mut turnover, ended)?;
        let account = self.account(&at.bucket_name())?.exchange_parts(ended, None);
        self.outdate(at, new.object.told_by, standing.told_by());
        turnover.settle(self, now_ms)?;
        self.set_account(at.bucket_name(), account);
        Ok(Applied { superseded: true, ..Applied::default() })
    }

    pub(super) fn lose_parts(
        &self,
        turnover: &mut Turnover<'_>,
        parts: &[UploadedPart],
    ) -> Decided<(), R> {
        parts.iter().try_for_each(|part| turnover.lose(self, &named(&part.extents)))
    }

    pub(super) fn delete_object(&mut self, now_ms: u64, change: &'a Change) -> Decided<Applied, R> {
        let Change::DeleteObject { bucket, key, condition, release, tombstone, stripes } = change
        else {
            unreachable!("asked for this change alone")
        };
        let at = Place::new(bucket, key);
        self.must_have_bucket(&at.bucket_name())?;
        let standing = self.standing(&at, condition)?;
        if matches!(condition, Condition::Superseded(_)) {
            self.must_be_superseded(&at, standing.present.as_ref())?;
        }
        let is_overtaken = match tombstone {
            Some(tombstone) => is_overtaken(tombstone.stamp, &standing, condition)?,
            None => false,
        };
        let mut turnover = Turnover::new(self, stripes)?;
        if is_overtaken {
            turnover.settle(self, now_ms)?;
            return Ok(Applied { superseded: true, ..Applied::default() });
        }
        let replaced = standing.present;
        must_not_be_kept(replaced.as_ref(), *release)?;
        if let Some(old) = &replaced {
            let account: Account = self.account(&at.bucket_name())?.exchange(Some(old), None);
            turnover.lose(self, &held_by(old))?;
            self.entomb(&mut turnover, &at, old.told_by, tombstone.as_ref())?;
            self.set_account(at.bucket_name(), account);
            self.writes.objects.insert(at, None);
        } else if let (Some(earlier), Some(tombstone)) = (standing.buried, tombstone) {
            // Both are told: what is overtaken by the later one must be seen to be.
            turnover.gain(self, &told_by(tombstone.told_by))?;
            turnover.lose(self, &told_by(earlier.told_by))?;
            let again = self.is_believed_again(&turnover, &at, tombstone.told_by)?;
            self.believe(&at, tombstone.told_by, again);
            self.writes.tombstones.insert(at, Some(Cow::Borrowed(tombstone)));
        }
        turnover.settle(self, now_ms)?;
        Ok(Applied { replaced, ..Applied::default() })
    }
}
