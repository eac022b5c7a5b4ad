//! Versions that are kept for a while, or until they are freed.

use crate::{
    actor::{Actor, KEYS, LOCKS, Said, encoded},
    ask::{Ask, md5},
    history::When,
    lock::Lock,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::time::UNIX_EPOCH;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// How long versions are kept, milliseconds.
const KEPT_MS: [u64; 3] = [5_000, 120_000, 8_000_000];

/// By which one asks to pass by what can be passed by.
pub(crate) const BYPASS: &str = "x-amz-bypass-governance-retention";

fn written(unix_ms: u64) -> String {
    let at = OffsetDateTime::from_unix_timestamp((unix_ms / 1000).cast_signed());
    let at = at.expect("a clock within ten thousand years").format(&Rfc3339);
    at.expect("the format has no part that a time lacks")
}

impl Actor {
    /// Puts an object that nobody may remove for a while.
    pub(crate) async fn put_locked(&mut self) {
        let key = self.one_of(&KEYS);
        let content = self.content(u64::MAX);
        let is_strict = self.below(2) == 0;
        let wall = ripstop_host::wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = self.world.steady_ms().max(wall.as_millis() as u64);
        let until_ms = (now_ms + self.one_of(&KEPT_MS)) / 1000 * 1000;
        let mode = if is_strict { "COMPLIANCE" } else { "GOVERNANCE" };
        let headers = vec![
            ("content-md5", STANDARD.encode(md5(&content))),
            ("x-amz-object-lock-mode", mode.to_owned()),
            ("x-amz-object-lock-retain-until-date", written(until_ms)),
        ];
        let put = self.put_with((LOCKS, key), content, When::Always, headers).await;
        let lock = if is_strict {
            Lock { complied_until_ms: until_ms, ..Lock::default() }
        } else {
            Lock { governed_until_ms: until_ms, ..Lock::default() }
        };
        if let Some(version) = put {
            self.history.locks().note((key.to_owned(), version), lock);
        }
    }

    /// Has a version held, or held no more.
    pub(crate) async fn hold(&mut self) {
        let pick = self.dice().next_u64();
        let Some((key, version)) = self.history.version(LOCKS, pick) else { return };
        let is_on = self.below(3) > 0;
        let name = (key.clone(), version.clone());
        if !is_on {
            self.history.locks().may_be_freed(name.clone());
        }
        let status = if is_on { "ON" } else { "OFF" };
        let document = format!("<LegalHold><Status>{status}</Status></LegalHold>");
        let query = format!("legal-hold=&versionId={}", encoded(&version));
        let ask = Ask::new("PUT", LOCKS, &key).query(query).document(document);
        match self.ask(ask).await {
            Said::Yes(_) if is_on => self.history.locks().hold(name),
            // A delete marker is not held.
            Said::Yes(_) | Said::No(404 | 405, _) | Said::Nothing | Said::Unknown => {}
            Said::No(status, code) => self.complain(format!("a hold was answered {status} {code}")),
        }
    }

    /// What is locked is there, and is not removed, whatever clocks say.
    pub(crate) async fn locks_hold(&mut self) {
        let all = self.history.locks().all();
        for ((key, version), lock) in all {
            if !lock.holds(self.world.steady_ms() + 60_000, true) {
                continue;
            }
            let query = format!("versionId={}", encoded(&version));
            let ask = Ask::new("DELETE", LOCKS, &key).query(query.clone()).header(BYPASS, "true");
            match self.ask(ask).await {
                Said::No(403, _) | Said::Unknown | Said::Nothing => {}
                Said::Yes(_) | Said::No(..) => {
                    self.complain(format!("{key} {version} was removed, which {lock:?} keeps"));
                }
            }
            if let Said::No(status, code) =
                self.ask(Ask::new("GET", LOCKS, &key).query(query)).await
            {
                self.complain(format!("{key} {version} is gone ({status} {code}): {lock:?}"));
            }
        }
    }
}
