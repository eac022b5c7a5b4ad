//! One pool's batcher.

#[cfg(test)]
mod tests;

use crate::{
    BatchAction, BatchCourse, BatchEnd, BatchEvent, BatchId, BatchMember, BatchSettings,
    Controller, Departure, Fate, Rhythm,
    line::Line,
    outstanding::{Outgoing, Outstanding},
};
use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;
use ripstop_model::Timestamp;

/// Gathers members in batches. Equal events give equal actions.
#[derive(Debug)]
pub struct Batcher {
    settings: BatchSettings,
    controller: Box<dyn Controller>,
    line: Line,
    outstanding: Outstanding,
    /// Of the next batch.
    next: u64,
    ended: Option<Timestamp>,
    departed: Option<Timestamp>,
}

impl Batcher {
    /// One in which nothing waits.
    pub fn new(settings: BatchSettings, controller: Box<dyn Controller>) -> Self {
        let (line, outstanding) = (Line::new(), Outstanding::default());
        let (next, ended, departed) = (0, None, None);
        Self { settings, controller, line, outstanding, next, ended, departed }
    }

    /// Takes note of what happened and says what is to be done, in this order.
    pub fn handle(&mut self, now: Timestamp, event: BatchEvent, actions: &mut Vec<BatchAction>) {
        match event {
            BatchEvent::MemberCame(member) => self.enter(member, actions),
            BatchEvent::BatchStored(batch) => self.outstanding.store(batch),
            BatchEvent::BatchEnded(batch, end) => self.end(now, batch, end, actions),
            BatchEvent::WritersCounted(writers) => self.controller.count_writers(writers),
            BatchEvent::TimerFired => {}
        }
        if let Some(batch) = self.outstanding.commit() {
            actions.push(BatchAction::Commit(batch));
        }
        self.depart(now, actions);
    }

    /// When [`BatchEvent::TimerFired`] is due; none while only other events can change anything.
    pub fn deadline(&self) -> Option<Timestamp> {
        (self.line.ready_members() > 0 && self.has_room()).then(|| self.due())
    }

    /// What the controller waits for now.
    pub fn rhythm(&self) -> Rhythm {
        self.controller.rhythm()
    }

    /// Batches that have departed and not ended.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    fn enter(&mut self, member: BatchMember, actions: &mut Vec<BatchAction>) {
        match self.line.enter(member, &self.settings) {
            Ok(None) => {}
            Ok(Some(dropped)) => actions.push(BatchAction::Drop(dropped)),
            Err(why) => actions.push(BatchAction::Refuse { ticket: member.ticket, why }),
        }
    }

    fn end(
        &mut self,
        now: Timestamp,
        batch: BatchId,
        end: BatchEnd,
        actions: &mut Vec<BatchAction>,
    ) {
        let is_committed = end == BatchEnd::Committed;
        let Some(outgoing) = self.outstanding.end(batch, is_committed) else { return };
        self.ended = Some(now);
        let Outgoing { answers, left, bytes, departed, held, since_departure, .. } = outgoing;
        if is_committed {
            let (came, latency) = (answers.len(), now.since(departed));
            let course = BatchCourse { came, left, bytes, held, latency, since_departure };
            self.controller.learn(now, &course);
        }
        actions.extend(answers.into_iter().map(|(ticket, fate)| {
            let fate = if is_committed { fate } else { Fate::Failed };
            BatchAction::Answer { ticket, fate }
        }));
    }

    fn depart(&mut self, now: Timestamp, actions: &mut Vec<BatchAction>) {
        // At most as many times as batches may be outstanding.
        while self.line.ready_members() > 0 && self.has_room() && (self.due() <= now) {
            let limits = &self.settings.limits;
            let members_max = match self.controller.rhythm() {
                Rhythm::Alone => 1,
                Rhythm::AfterEnd(_) | Rhythm::Every(_) => limits.batch_members_max,
            };
            let leaving = self.line.leave(members_max, limits.batch_bytes_max);
            let held = self.ended.map(|ended| now.since(ended));
            let since_departure = self.departed.map(|departed| now.since(departed));
            let mut outgoing = Outgoing::new(BatchId(self.next), now, held, since_departure);
            let mut tickets = Vec::with_capacity(leaving.len());
            for held in leaving {
                let collapsed = held.collapsed.into_iter();
                outgoing.answers.extend(collapsed.map(|ticket| (ticket, Fate::Collapsed)));
                outgoing.answers.push((held.member.ticket, Fate::Committed));
                outgoing.bytes += u64::from(held.member.bytes);
                tickets.push(held.member.ticket);
            }
            outgoing.left = tickets.len();
            let (batch, bytes) = (outgoing.id, outgoing.bytes);
            self.outstanding.push(outgoing);
            self.next += 1;
            self.departed = Some(now);
            actions.push(BatchAction::Depart(Departure { batch, tickets, bytes }));
        }
    }

    /// Whether another batch may be outstanding.
    fn has_room(&self) -> bool {
        let limits = &self.settings.limits;
        let most = match self.controller.rhythm() {
            Rhythm::AfterEnd(_) => limits.outstanding_max,
            Rhythm::Every(_) | Rhythm::Alone => limits.outstanding_free_max,
        };
        self.outstanding.len() < most.max(1)
    }

    fn is_full(&self) -> bool {
        let limits = &self.settings.limits;
        self.line.ready_members() >= limits.batch_members_max.max(1)
            || self.line.ready_bytes() >= limits.batch_bytes_max
    }

    /// When the next batch may depart, given that another may be outstanding.
    fn due(&self) -> Timestamp {
        let early = self.settings.timer_step / 2;
        let after = |since: Option<Timestamp>, span: Duration| {
            since.map(|since| since + span.saturating_sub(early))
        };
        let rhythm = match self.controller.rhythm() {
            _ if self.is_full() => None,
            Rhythm::AfterEnd(interval) => after(self.ended, interval),
            Rhythm::Every(interval) => after(self.departed, interval),
            Rhythm::Alone => None,
        };
        rhythm.max(self.paid()).unwrap_or(Timestamp::ZERO)
    }

    /// When the budget allows another put, also of a full batch.
    fn paid(&self) -> Option<Timestamp> {
        let most = self.settings.puts_per_second_max.filter(|most| *most > 0.0)?;
        let between = Duration::try_from_secs_f64(1.0 / most).unwrap_or(Duration::MAX);
        self.departed.map(|departed| departed + between)
    }
}
