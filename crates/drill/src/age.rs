//! Rules of buckets by which objects and versions go after a day, which is short.

use crate::{
    actor::{Actor, KEEPS, KEYS, LOCKS, Said},
    ask::Ask,
    history::{Call, Came, Deed},
};
use std::time::Duration;
use tokio::time::sleep;

/// Keys of the bucket without versions that grow old begin so.
const AGES: &str = "b";
/// Days after which whatever is due is gone: it is due with the day after the next.
const GONE_AFTER_DAYS: u64 = 3;
/// … and what it takes to have gone through all buckets.
const ROUND: Duration = Duration::from_secs(2);

const EXPIRY: &str = "<Filter><Prefix>b</Prefix></Filter><Expiration><Days>1</Days></Expiration>";
const NONCURRENT: &str = "<Filter></Filter><NoncurrentVersionExpiration>\
                          <NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>";
/// What the bucket without versions has besides where there is another class of storage: objects
/// however small are moved to it.
const MOVES: &str = "<Filter><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></Filter><Transition>\
                     <Days>1</Days><StorageClass>COLD</StorageClass></Transition>";

/// Which buckets have rules, and which.
pub(crate) fn rules(is_cold: bool) -> Vec<(&'static str, String)> {
    let plain: &[&str] = if is_cold { &[EXPIRY, MOVES] } else { &[EXPIRY] };
    let all: [(_, &[&str]); 3] = [("plain", plain), (KEEPS, &[NONCURRENT]), (LOCKS, &[NONCURRENT])];
    all.map(|(bucket, rules)| (bucket, document(rules))).into()
}

fn document(rules: &[&str]) -> String {
    let rule = |(at, rule): (usize, &&str)| {
        format!("<Rule><ID>rule{at}</ID><Status>Enabled</Status>{rule}</Rule>")
    };
    let rules: String = rules.iter().enumerate().map(rule).collect();
    format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>")
}

/// The calls of a key, and what its bucket's rules may do: to each version once, at any time.
pub(crate) fn with_expiry(bucket: &str, key: &str, mut calls: Vec<Call>) -> Vec<Call> {
    let is_versioned = bucket == KEEPS || bucket == LOCKS;
    if !(is_versioned || bucket == "plain" && key.starts_with(AGES)) {
        return calls;
    }
    let expiry = |call: &Call| {
        let etag = if let Deed::Put { etag, .. } = &call.deed {
            Some(etag.clone())
        } else if is_versioned && call.deed == Deed::Delete {
            None
        } else {
            return None;
        };
        let version = if let Came::Done { version } = &call.came {
            version.clone()
        } else if call.came == Came::Unknown {
            None
        } else {
            return None;
        };
        let deed = Deed::Expire { etag, version };
        Some(Call { deed, came: Came::Unknown, ended: None, ..call.clone() })
    };
    // Last, since they are tried last.
    let expiries: Vec<Call> = calls.iter().filter_map(expiry).collect();
    calls.extend(expiries);
    calls
}

impl Actor {
    /// What is due by the rules is gone, once there was time.
    pub(crate) async fn aged_are_gone(&mut self) {
        if self.taste.day_ms == 0 {
            return;
        }
        sleep(Duration::from_millis(self.taste.day_ms * GONE_AFTER_DAYS) + ROUND).await;
        for key in KEYS.into_iter().filter(|key| key.starts_with(AGES)) {
            if let Said::Yes(_) = self.ask(Ask::new("HEAD", "plain", key)).await {
                self.complain(format!("{key} is there though its time is over"));
            }
        }
    }
}
