//! Tells webhooks what operations did.

use super::Desk;
use crate::{
    date,
    notification::{Happened, Setting, record},
};
use std::sync::atomic::{AtomicU64, Ordering};

impl Desk {
    /// Has those told who want to know what happened to a key of a bucket. `happened` is made only
    /// where there is somebody.
    pub(super) async fn tell(&self, bucket: &str, happened: impl FnOnce() -> Happened) {
        let known = self.known.of(&self.store, bucket).await;
        let Some(known) = known.filter(|known| !known.subscriptions.is_empty()) else { return };
        let happened = happened();
        let about = known.subscriptions.iter();
        for one in about.filter(|it| it.is_about(happened.kind, &happened.key)) {
            let record = record(&self.setting(bucket), &happened, &one.id);
            self.settings.webhooks.tell(&one.webhook, record);
        }
    }

    fn setting(&self, bucket: &str) -> Setting {
        Setting {
            region: self.settings.region.clone(),
            owner: self.settings.owner.clone(),
            bucket: bucket.to_owned(),
            access_key: self.gate.principal.access_key().map(str::to_owned),
            client: self.client,
            request_id: self.request_id.clone(),
            at_ms: date::now_ms(),
            sequencer: sequencer(),
        }
    }
}

/// Later events of a gateway have a larger one.
fn sequencer() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = date::now_ms() << 16;
    let last =
        LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)));
    last.map_or(now, |last| now.max(last + 1))
}
