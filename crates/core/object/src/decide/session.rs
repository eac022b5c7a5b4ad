//! Who may name stripes, and numbers of nodes.

use super::draft::Decision;
use super::stop::Decided;
use crate::{Applied, Refusal, Rows, SESSIONS_MAX, Session};
use alloc::borrow::Cow;
use ripstop_model::NodeId;

impl<'a, R: Rows> Decision<'_, 'a, R> {
    /// A session reserves names; of too many sessions the oldest is forgotten.
    pub(super) fn reserve(&mut self, session: Session, until_ms: u64) -> Decided<Applied, R> {
        let known = self.session(session)?;
        if known.is_none() {
            let sessions = self.sessions()?;
            let oldest = sessions.iter().min_by_key(|(_, until)| **until);
            if let Some((&oldest, &until)) = oldest.filter(|_| sessions.len() >= SESSIONS_MAX) {
                let before = self.vouched_before()?.max(until + 1);
                self.writes.sessions.insert(oldest, None);
                self.writes.vouched_before = Some(before);
            }
        }
        let until_ms = known.unwrap_or(0).max(until_ms);
        self.writes.sessions.insert(session, Some(until_ms));
        Ok(Applied::default())
    }

    pub(super) fn vouch(&mut self, before_ms: u64) -> Decided<Applied, R> {
        for session in self.sessions()?.into_keys() {
            self.writes.sessions.insert(session, None);
        }
        self.writes.vouched_before = Some(before_ms);
        Ok(Applied::default())
    }

    pub(super) fn name_node(&mut self, name: &'a str) -> Decided<Applied, R> {
        let named = |number| Applied { node: Some(number), ..Applied::default() };
        if let Some(number) = self.node(name)? {
            return Ok(named(number));
        }
        // Names are never removed, so their count is the lowest number that is free.
        let number = u16::try_from(self.node_count()?).map_err(|_| Refusal::NodesExhausted)?;
        self.writes.nodes.insert(Cow::Borrowed(name), NodeId(number));
        Ok(named(NodeId(number)))
    }
}
