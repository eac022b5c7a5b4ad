//! Which gateways there are.

use super::draft::Decision;
use super::stop::Decided;
use crate::{Applied, GATEWAY_FORGOTTEN_MS, GATEWAYS_MAX, GatewayId, GatewayRecord, Refusal, Rows};
use alloc::borrow::Cow;
use alloc::vec::Vec;

impl<'a, R: Rows> Decision<'_, 'a, R> {
    /// A gateway tells of itself.
    pub(super) fn beat(
        &mut self,
        now_ms: u64,
        id: GatewayId,
        gateway: &'a GatewayRecord,
    ) -> Decided<Applied, R> {
        let mut others = self.gateways()?;
        let known = others.remove(&id).map_or(0, |row| row.epoch);
        let epoch = if gateway.epoch == 0 { known + 1 } else { gateway.epoch };
        if epoch < known {
            return Err(Refusal::Fenced { epoch: known }.into());
        }
        let is_old =
            |row: &GatewayRecord| row.beat_ms.saturating_add(GATEWAY_FORGOTTEN_MS) < now_ms;
        let old = others.extract_if(.., |_, row| is_old(row)).map(|(id, _)| id);
        let mut forgotten: Vec<GatewayId> = old.collect();
        if others.len() >= GATEWAYS_MAX {
            let oldest = others.iter().min_by_key(|(id, row)| (row.beat_ms, **id));
            forgotten.extend(oldest.map(|(id, _)| *id));
        }
        for id in forgotten {
            self.writes.gateways.insert(id, None);
        }
        let row = if gateway.epoch == epoch {
            Cow::Borrowed(gateway)
        } else {
            Cow::Owned(GatewayRecord { epoch, ..gateway.clone() })
        };
        self.writes.gateways.insert(id, Some(row));
        Ok(Applied { epoch: Some(epoch), ..Applied::default() })
    }
}
