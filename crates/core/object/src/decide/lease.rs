//! Who alone may do something, and who may still be writing what.

use super::draft::Decision;
use super::stop::Decided;
use crate::{Applied, Lease, RETIRED_MAX, Refusal, Rows, Session, Watermark};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use ripstop_model::StripeId;

impl<'a, R: Rows> Decision<'_, 'a, R> {
    /// Refuses what a session does that was given up.
    pub(super) fn must_not_be_retired(&self, session: Session) -> Decided<(), R> {
        match self.watermark(session)? {
            Some(Watermark { is_retired: true, .. }) => Err(Refusal::Retired { session }.into()),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn watch(
        &mut self,
        session: Session,
        least: StripeId,
        alive_until_ms: u64,
    ) -> Decided<Applied, R> {
        self.must_not_be_retired(session)?;
        let known = self.watermark(session)?.unwrap_or_default();
        let watermark = Watermark {
            least: known.least.max(least),
            alive_until_ms: known.alive_until_ms.max(alive_until_ms),
            is_retired: false,
        };
        self.writes.watermarks.insert(session, Some(watermark));
        Ok(Applied::default())
    }

    /// Gives up all that are dead; of too many, those that died first are forgotten.
    pub(super) fn retire(&mut self, now_ms: u64) -> Decided<Applied, R> {
        let (mut least, mut retired) = (None, Vec::new());
        for (session, watermark) in self.watermarks()? {
            if watermark.is_retired {
                retired.push((watermark.alive_until_ms, session));
            } else if watermark.alive_until_ms < now_ms {
                retired.push((watermark.alive_until_ms, session));
                let watermark = Watermark { is_retired: true, ..watermark };
                self.writes.watermarks.insert(session, Some(watermark));
            } else {
                least = Some(least.unwrap_or(watermark.least).min(watermark.least));
            }
        }
        retired.sort_unstable();
        let forgotten = retired.len().saturating_sub(RETIRED_MAX);
        for (_, session) in &retired[..forgotten] {
            self.writes.watermarks.insert(*session, None);
        }
        Ok(Applied { least, ..Applied::default() })
    }

    pub(super) fn take_lease(
        &mut self,
        now_ms: u64,
        name: &'a str,
        holder: Session,
        until_ms: u64,
    ) -> Decided<Applied, R> {
        self.must_not_be_retired(holder)?;
        let known = self.lease(name)?.unwrap_or_default();
        let is_own = known.holder == holder && known.until_ms > 0;
        let is_left = self.watermarks()?.get(&known.holder).is_some_and(|it| it.is_retired);
        if !is_own && !is_left && now_ms < known.until_ms {
            let Lease { holder, until_ms, .. } = known;
            return Err(Refusal::Leased { holder, until_ms }.into());
        }
        let lease = if is_own {
            Lease { until_ms: known.until_ms.max(until_ms), ..known }
        } else {
            Lease { holder, until_ms, epoch: known.epoch + 1 }
        };
        self.writes.leases.insert(Cow::Borrowed(name), lease);
        Ok(Applied { epoch: Some(lease.epoch), ..Applied::default() })
    }

    /// Refuses what is done under a lease that has another epoch by now.
    pub(super) fn must_have_epoch(&self, name: &str, epoch: u64) -> Decided<(), R> {
        let known = self.lease(name)?.unwrap_or_default().epoch;
        if known == epoch { Ok(()) } else { Err(Refusal::Fenced { epoch: known }.into()) }
    }

    /// The row stays, so that no epoch comes twice.
    pub(super) fn release(&mut self, name: &'a str, holder: Session) -> Decided<Applied, R> {
        if let Some(lease) = self.lease(name)?.filter(|lease| lease.holder == holder) {
            self.writes.leases.insert(Cow::Borrowed(name), Lease { until_ms: 0, ..lease });
        }
        Ok(Applied::default())
    }
}
