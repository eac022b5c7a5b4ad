use ripstop_model::StripeId;
use std::{
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Names stripes, each later than the one before: of two objects with one key, a rebuild takes the
/// one told by the later stripe.
#[derive(Debug, Default)]
pub(crate) struct StripeNames {
    last: Mutex<u128>,
}

impl StripeNames {
    /// A new name.
    pub(crate) fn next(&self) -> StripeId {
        let mut random = [0; 16];
        getrandom::fill(&mut random).expect("the system has randomness");
        let fresh = StripeId::new(unix_ms(), u128::from_le_bytes(random)).0;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = fresh.max(*last + 1);
        StripeId(*last)
    }
}

/// A random name of an upload: 32 hexadecimal digits.
pub(crate) fn upload_id() -> String {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the system has randomness");
    hex::encode(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_only_grow() {
        let names = StripeNames::default();
        let all: Vec<_> = (0..1000).map(|_| names.next()).collect();
        assert!(all.is_sorted_by(|a, b| a < b));
    }
}
