//! The model audits itself: what its rows say is counted again.

use super::Model;
use crate::audit::Recount;
use crate::{Audit, AuditFinding, Audited, CatalogError};
use async_trait::async_trait;
use std::collections::BTreeSet;

#[async_trait]
impl Audited for Model {
    async fn audit(&self) -> Result<Audit, CatalogError> {
        let state = self.state();
        let mut recount = Recount::default();
        state.stripes.iter().for_each(|(id, held)| recount.stripe(*id, held, true));
        state.garbage.keys().for_each(|id| recount.garbage(*id));
        state.buckets.values().for_each(|bucket| recount.bucket(bucket));
        for ((bucket, key), object) in &state.objects {
            recount.object(bucket, key, object);
        }
        for ((bucket, key), tombstone) in &state.tombstones {
            recount.tombstone(bucket, key, tombstone);
        }
        state.uploads.values().for_each(|upload| recount.upload(upload));
        for ((upload, _), part) in &state.parts {
            recount.part(upload, part);
        }
        for (bucket, account) in &state.accounts {
            recount.usage(bucket, account.usage());
        }
        let mut contradicted = BTreeSet::new();
        for place @ (bucket, key) in state.tombstones.keys() {
            if state.objects.contains_key(place)
                || key.is_empty() && state.buckets.contains_key(bucket)
            {
                contradicted.insert(format!("{bucket}/{key} is there and deleted"));
            }
        }
        for (id, bucket, key) in &state.outlived {
            if !state.stripes.contains_key(id) && !state.garbage.contains_key(id) {
                contradicted.insert(format!("stripe {id} is outlived and gone"));
            }
            let place = (bucket.clone(), key.clone());
            let tellers = [
                state.objects.get(&place).map(|object| object.told_by),
                state.tombstones.get(&place).map(|tombstone| tombstone.told_by),
                state.buckets.get(bucket).filter(|_| key.is_empty()).map(|bucket| bucket.told_by),
            ];
            if tellers.contains(&Some(*id)) {
                contradicted.insert(format!("stripe {id} is outlived by itself at {bucket}/{key}"));
            }
        }
        for reason in contradicted {
            recount.find(AuditFinding::Unreadable { reason });
        }
        Ok(recount.finish())
    }
}
