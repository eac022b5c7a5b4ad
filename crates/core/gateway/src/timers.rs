use crate::Machine;
use ripstop_model::Timestamp;

impl Machine {
    /// When to send `TimerFired`, and which timer asked for it; `None` while none runs.
    pub fn deadline(&self) -> Option<(Timestamp, &'static str)> {
        [
            (self.tasks.timeouts.earliest(), "task_timeout"),
            (self.requests.timeouts.earliest(), "request_timeout"),
            (self.requests.late.earliest(), "late_after"),
            (self.requests.degraded.earliest(), "degraded_after"),
            (self.requests.hedges.first().map(|&(due, _)| due), "hedge"),
            (self.probes.earliest(), "probe_every"),
            (self.patience_ends, "patience"),
        ]
        .into_iter()
        .filter_map(|(due, reason)| Some((due?, reason)))
        .min_by_key(|&(due, _)| due)
    }

    pub(crate) fn timer_fired(&mut self) {
        while let Some(task) = self.tasks.timeouts.expire(self.now) {
            self.task_timed_out(task);
        }
        self.start_hedged();
        while let Some(slot) = self.requests.late.expire(self.now) {
            self.read_is_late(slot);
        }
        while let Some(slot) = self.requests.degraded.expire(self.now) {
            self.write_waited(slot);
        }
        while let Some(slot) = self.requests.timeouts.expire(self.now) {
            self.answer(slot, Err(crate::Cause::TimedOut));
        }
        while let Some(node) = self.probes.expire(self.now) {
            self.probe(node as u16);
        }
    }
}
