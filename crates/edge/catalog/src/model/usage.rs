//! What buckets hold, added up whenever it is asked for.

use super::State;
use crate::{Limit, Quota, Refusal, Usage};

impl State {
    /// What a bucket holds.
    pub fn usage(&self, bucket: &str) -> Usage {
        let objects = self.objects.iter().filter(|((of, _), _)| of == bucket);
        let parts = self.parts.iter().filter(|((upload, _), _)| {
            self.uploads.get(upload).is_some_and(|upload| upload.bucket == bucket)
        });
        Usage {
            bytes: objects.clone().map(|(_, object)| object.len).sum::<u64>()
                + parts.map(|(_, part)| part.len).sum::<u64>(),
            objects: objects.count() as u64,
        }
    }

    /// Refuses what makes the bucket larger than it may be, as it would be `after`.
    pub(super) fn must_fit(
        &self,
        bucket: &str,
        quota: &Quota,
        after: impl FnOnce(&mut Self),
    ) -> Result<(), Refusal> {
        let (is, mut then) = (self.usage(bucket), self.clone());
        after(&mut then);
        let then = then.usage(bucket);
        match quota {
            Quota { bytes: Some(most), .. } if then.bytes > is.bytes.max(*most) => {
                Err(Refusal::QuotaExceeded { limit: Limit::Bytes(*most) })
            }
            Quota { objects: Some(most), .. } if then.objects > is.objects.max(*most) => {
                Err(Refusal::QuotaExceeded { limit: Limit::Objects(*most) })
            }
            Quota { .. } => Ok(()),
        }
    }
}
