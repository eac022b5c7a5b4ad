//! How much a bucket may hold.

use crate::{Limit, Refusal, Usage};

/// How much a bucket may hold; `None`: as much as there is room for.
///
/// A quota refuses growth only: what makes a bucket smaller, or leaves it as large as it is, is
/// never refused because of it, however full the bucket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Quota {
    /// Most [`Usage::bytes`].
    pub bytes: Option<u64>,
    /// Most [`Usage::objects`].
    pub objects: Option<u64>,
}

impl Quota {
    /// No limit at all.
    pub const NONE: Self = Self { bytes: None, objects: None };

    /// Whether a bucket may go from one state to another; `QuotaExceeded` says which limit it may
    /// not grow beyond, that of bytes first.
    pub fn check(&self, before: Usage, after: Usage) -> Result<(), Refusal> {
        let grown = |before: u64, after: u64, most: Option<u64>| {
            most.filter(|most| after > before && after > *most)
        };
        let bytes = grown(before.bytes, after.bytes, self.bytes).map(Limit::Bytes);
        let limit = bytes
            .or_else(|| grown(before.objects, after.objects, self.objects).map(Limit::Objects));
        limit.map_or(Ok(()), |limit| Err(Refusal::QuotaExceeded { limit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn only_growth_beyond_a_limit_is_refused() {
        let quota = Quota { bytes: Some(100), objects: Some(3) };
        let told = |before: (u64, u64), after: (u64, u64)| {
            let usage = |(bytes, objects)| Usage { bytes, objects };
            let told = quota.check(usage(before), usage(after));
            told.map_or_else(|error| error.to_string(), |()| "ok".into())
        };
        let (bytes, objects) = (
            "the bucket's quota of 100 bytes is reached",
            "the bucket's quota of 3 objects is reached",
        );
        for (before, after, expected) in [
            ((0, 0), (100, 3), "ok"),
            ((0, 0), (101, 1), bytes),
            ((0, 3), (1, 4), objects),
            ((100, 3), (101, 4), bytes),
            // Over the limit already, since it was lowered: smaller and equal are no growth.
            ((900, 9), (900, 9), "ok"),
            ((900, 9), (899, 8), "ok"),
            ((900, 9), (899, 10), objects),
            ((900, 9), (901, 8), bytes),
        ] {
            assert_eq!(told(before, after), expected, "{before:?} to {after:?}");
        }
        let most = Usage { bytes: u64::MAX, objects: u64::MAX };
        assert!(Quota::NONE.check(Usage::default(), most).is_ok());
    }
}
