//! Reading a pack's directory again.

use super::PackDirectory;
use crate::{Keeping, Store, StoreError, record::Telling};
use ripstop_catalog::Stripe;
use ripstop_model::StripeId;

impl Store {
    /// What a pack in force tells, read from its nodes.
    pub(super) async fn directory(
        &self,
        id: StripeId,
        stripe: &Stripe,
    ) -> Result<PackDirectory, StoreError> {
        let lost = || StoreError::Lost { stripe: id };
        let (pool, place) = self.locate(id, stripe)?;
        let told = pool.told(&place).await.ok_or_else(lost)?;
        let Ok(Telling::Pack(mark)) = Telling::decode(&told) else { return Err(lost()) };
        let payload_len = place.shape.payload_len();
        if mark.told_by != id || mark.directory_len > payload_len {
            return Err(lost());
        }
        let bytes = pool.read(&place, 0..mark.directory_len).await?.concat();
        PackDirectory::decode(&mark, payload_len, &bytes).map_err(|error| {
            tracing::warn!(stripe = %id, %error, "a pack's directory cannot be read");
            lost()
        })
    }
}

impl Keeping<'_> {
    /// What a pack in force tells, read from its nodes.
    pub async fn directory(
        self,
        id: StripeId,
        stripe: &Stripe,
    ) -> Result<PackDirectory, StoreError> {
        self.store().directory(id, stripe).await
    }

    /// Sees to it that a rebuild believes nothing of a pack in force that is not so: a gateway that
    /// was killed may have committed it and not told again what it had been refused. Answers of how
    /// many keys it was to be told again.
    pub async fn reassert(self, id: StripeId, stripe: &Stripe) -> Result<usize, StoreError> {
        let store = self.store();
        let PackDirectory { entries, .. } = store.directory(id, stripe).await?;
        let mut contradicted = Vec::new();
        for entry in entries {
            if store.is_contradicted(id, &entry).await? {
                contradicted.push(((id, stripe.clone()), entry));
            }
        }
        let count = contradicted.len();
        store.disown(contradicted).await?;
        Ok(count)
    }
}
