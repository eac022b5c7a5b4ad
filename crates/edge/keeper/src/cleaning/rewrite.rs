//! Stripes become fewer ones.

use super::{counts::Cleaned, others::Others};
use crate::{
    Keeper,
    round::{Halt, Round},
};
use futures::future::join_all;
use ripstop_batching::CleaningRule;
use ripstop_catalog::CatalogError;
use ripstop_model::{PoolId, StripeId};
use ripstop_store::{Batch, Member, StoreError};
use std::collections::HashSet;

/// Bytes of objects and what is told of them that one pack is made of.
pub(super) const PACK_LEN: usize = 2 << 20;
/// Stripes that are read, and in memory, at once: none is longer than a pack may be.
const READ_AT_ONCE: usize = 8;

/// Writes again what is of use of these stripes of a pool, and counts it. `left`: what would make a
/// short pack by that rule, beside others that are none, is left where it is until more is with it;
/// so nothing is merged twice.
pub(super) async fn rewrite(
    round: &Round,
    pool: PoolId,
    (stripes, left): (&[StripeId], Option<CleaningRule>),
    others: &mut Others,
    cleaned: &mut Cleaned,
) -> Result<(), Halt> {
    let batch = round.keeper()?.keeping().batch_within(PACK_LEN);
    let mut rewriting = Rewriting { round, pool, batch, names: HashSet::new(), stripes: 0 };
    for some in stripes.chunks(READ_AT_ONCE) {
        rewriting.forget_written();
        let found = read(&round.under_lease().await?, some).await;
        for (id, found) in some.iter().zip(found) {
            match found {
                Ok(Some(members)) => rewriting.take(members, cleaned).await?,
                Ok(None) => others.add(*id),
                Err(error) => tracing::debug!(stripe = %id, %error, "left as it is"),
            }
        }
    }
    if cleaned.packs > 0 && left.is_some_and(|rule| rewriting.is_short(&rule)) {
        return Ok(());
    }
    rewriting.write(cleaned).await
}

/// What of stripes is of use.
async fn read(
    keeper: &Keeper,
    stripes: &[StripeId],
) -> Vec<Result<Option<Vec<Member>>, StoreError>> {
    let keeping = keeper.keeping();
    join_all(stripes.iter().copied().map(|id| keeping.survivors(id))).await
}

struct Rewriting<'a> {
    round: &'a Round,
    pool: PoolId,
    batch: Batch,
    /// Bucket and key of what is in it, and of what was written since the stripes were read.
    names: HashSet<(String, String)>,
    /// How many stripes it was made of.
    stripes: u64,
}

impl Rewriting<'_> {
    /// What is read from now on is read after what was written.
    fn forget_written(&mut self) {
        self.names.retain(|(bucket, key)| self.batch.has(bucket, key));
    }

    /// Whether what is gathered would be a short pack.
    fn is_short(&self, rule: &CleaningRule) -> bool {
        let of = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        rule.is_short(of(self.batch.bytes()), of(self.batch.len()))
    }

    async fn take(&mut self, members: Vec<Member>, cleaned: &mut Cleaned) -> Result<(), Halt> {
        for member in members {
            // A key's object may have been told by one of them and have its bytes in another.
            let name = (member.target.bucket.clone(), member.target.key.clone());
            if !self.names.insert(name) {
                continue;
            }
            if let Err(member) = self.batch.add(member) {
                self.write(cleaned).await?;
                self.batch.add(*member).expect("an empty batch takes any member");
            }
        }
        self.stripes += 1;
        Ok(())
    }

    async fn write(&mut self, cleaned: &mut Cleaned) -> Result<(), Halt> {
        let empty = self.round.keeper()?.keeping().batch_within(PACK_LEN);
        let batch = std::mem::replace(&mut self.batch, empty);
        let stripes = std::mem::take(&mut self.stripes);
        if batch.is_empty() {
            return Ok(());
        }
        let found = self.round.keeper()?.keeping().pool(self.pool).cloned();
        let Some(pool) = found else { return Ok(()) };
        self.round.give_way(&pool, |_| Ok(())).await?;
        let store = self.round.under_lease().await?.store().clone();
        let (bytes, done) = store.write_measured(self.pool, batch).await;
        self.round.pay(bytes.into());
        cleaned.bytes += u64::from(bytes);
        cleaned.packs += 1;
        cleaned.stripes += stripes;
        for done in done {
            match done {
                Ok(_) => cleaned.objects += 1,
                Err(StoreError::Catalog(CatalogError::Refused(_))) => cleaned.overtaken += 1,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
