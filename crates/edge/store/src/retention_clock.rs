use ripstop_host::unix_ms;
use std::time::Instant;

/// By what time retentions are judged. The wall clock may jump, and must not end one: by this clock
/// no more time passes than by the steady one since the store was opened. Where the wall clock was
/// wrong then, so is this.
#[derive(Debug)]
pub(crate) struct RetentionClock {
    begun: Instant,
    begun_ms: u64,
}

impl RetentionClock {
    pub(crate) fn start() -> Self {
        Self { begun: ripstop_host::now(), begun_ms: unix_ms() }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        let passed = ripstop_host::since(self.begun).as_millis();
        let steady_ms = self.begun_ms.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX));
        unix_ms().min(steady_ms)
    }
}
