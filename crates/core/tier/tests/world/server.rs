//! What servers do with what they are asked, and what is decoded and encoded.

use super::{Encoded, Item, World};
use ripstop_model::StripSet;
use ripstop_tier::{
    ChunkId, FetchEnd, Fragment, ItemLabel, ItemName, ItemSource, ReadPlan, SealId, ServerId,
    TierAction, TierEvent, TierTask, TierTicket,
};

const CHUNK_LEN: usize = 4096;

impl World {
    pub(super) fn act(&mut self, action: TierAction) -> TierEvent {
        match action {
            TierAction::Store { task, server, name, source, label } => {
                if self.store(server, name, source, label) {
                    TierEvent::ItemStored(task)
                } else {
                    TierEvent::StoreFailed(task)
                }
            }
            TierAction::Copy { task, from, to, name } => self.copy(task, from, to, name),
            TierAction::Delete { task, server, name } => {
                if self.is_lost() || !self.is_heard(server) {
                    return TierEvent::DeleteFailed(task);
                }
                if let Some(items) = self.servers.get_mut(&server) {
                    items.remove(&name);
                }
                if self.is_lost() {
                    TierEvent::DeleteFailed(task)
                } else {
                    TierEvent::ItemDeleted(task)
                }
            }
            TierAction::Probe(server) => {
                if !self.is_lost() && self.is_heard(server) {
                    TierEvent::ServerAnswered(server)
                } else {
                    TierEvent::ServerSilent(server)
                }
            }
            TierAction::Fetch { task, ticket, plan } => {
                TierEvent::FetchEnded(task, self.fetch(ticket, &plan))
            }
            TierAction::Encode { task, stripe, chunks, fragments, labels } => {
                TierEvent::FetchEnded(task, self.encode(stripe, &fragments, (chunks, labels)))
            }
            TierAction::Answer(..)
            | TierAction::Forget(_)
            | TierAction::Release(_)
            | TierAction::Dismiss(_)
            | TierAction::Expel(_) => {
                unreachable!("these happen at once")
            }
        }
    }

    fn is_lost(&mut self) -> bool {
        self.dice(100) < self.losses
    }

    /// Whether the server is there to answer; then all that was sent to it before is done.
    fn is_heard(&mut self, server: ServerId) -> bool {
        let late = std::mem::take(&mut self.late);
        let (due, late): (Vec<_>, Vec<_>) = late.into_iter().partition(|late| late.0 == server);
        self.late = late;
        for (server, name, item) in due {
            self.put_item(server, name, item);
        }
        !self.dead.contains(&server) && self.servers.contains_key(&server)
    }

    fn store(
        &mut self,
        server: ServerId,
        name: ItemName,
        source: ItemSource,
        label: Option<ItemLabel>,
    ) -> bool {
        let Some(item) = self.item(name, source, label) else { return true };
        self.parities += u64::from(matches!(name, ItemName::Parity { .. }));
        self.deliver(server, name, item)
    }

    fn copy(&mut self, task: TierTask, from: ServerId, to: ServerId, name: ItemName) -> TierEvent {
        self.copies += 1;
        if self.is_lost() || !self.is_heard(from) {
            return TierEvent::FetchEnded(task, FetchEnd::Silent { server: from });
        }
        let Some(item) = self.servers[&from].get(&name).cloned() else {
            return TierEvent::FetchEnded(task, FetchEnd::Missing { server: from, name });
        };
        if item.is_damaged {
            return TierEvent::FetchEnded(task, FetchEnd::Damaged { server: from, name });
        }
        if self.deliver(to, name, item) {
            TierEvent::ItemStored(task)
        } else {
            TierEvent::StoreFailed(task)
        }
    }

    fn deliver(&mut self, server: ServerId, name: ItemName, item: Item) -> bool {
        if self.is_lost() {
            let is_late = self.dice(2) == 0 && !self.dead.contains(&server);
            self.late.extend(is_late.then_some((server, name, item)));
            return false;
        }
        if !self.is_heard(server) {
            return false;
        }
        self.put_item(server, name, item);
        !self.is_lost()
    }

    /// None if a put that was given up comes after its stripe was sealed.
    fn item(&self, name: ItemName, source: ItemSource, label: Option<ItemLabel>) -> Option<Item> {
        if let (ItemSource::Parity(stripe), ItemName::Parity { strip, .. }) = (source, name) {
            let Encoded { parity, chunks, labels } = self.encoded.get(&stripe)?.clone();
            let bytes = parity[usize::from(strip) - self.codec.code().k()].clone();
            return Some(Item { label, chunks, labels, bytes, is_damaged: false });
        }
        let bytes = match (source, name) {
            (ItemSource::Write(ticket), _) => {
                let fetched = || self.fetched[&ticket].clone();
                self.sent.get(&ticket).cloned().unwrap_or_else(fetched)
            }
            (ItemSource::Strip { ticket, strip }, _) => {
                self.strips(ticket).swap_remove(strip.into())
            }
            (ItemSource::Tombstone, _) => Vec::new(),
            (ItemSource::Parity(_), _) => unreachable!("it is no parity"),
        };
        let (chunks, labels) = (Vec::new(), Vec::new());
        Some(Item { label, chunks, labels, bytes, is_damaged: false })
    }

    fn put_item(&mut self, server: ServerId, name: ItemName, item: Item) {
        let Some(items) = self.servers.get_mut(&server) else { return };
        let before = items.insert(name, item);
        let is_same = |before: Item| before.bytes == items[&name].bytes;
        assert!(before.is_none_or(is_same), "an item was overwritten");
    }

    fn strips(&self, ticket: TierTicket) -> Vec<Vec<u8>> {
        let value = self.sent.get(&ticket).unwrap_or_else(|| &self.fetched[&ticket]);
        let k = self.codec.code().k();
        let len = value.len().div_ceil(k);
        let mut padded = value.clone();
        padded.resize(len * k, 0);
        let mut strips: Vec<Vec<u8>> = padded.chunks(len).map(<[u8]>::to_vec).collect();
        let parity = self.parity(&strips);
        strips.extend(parity);
        strips
    }

    fn parity(&self, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let data: Vec<&[u8]> = data.iter().map(|strip| &strip[..]).collect();
        let mut parity = vec![vec![0; data[0].len()]; self.codec.code().parity()];
        let mut out: Vec<&mut [u8]> = parity.iter_mut().map(|strip| &mut strip[..]).collect();
        self.codec.encode(&data, &mut out).expect("equal lengths");
        parity
    }

    fn fetch(&mut self, ticket: TierTicket, plan: &ReadPlan) -> FetchEnd {
        let (len, fragments) = match plan {
            ReadPlan::Whole(whole) => (whole.len, std::slice::from_ref(whole)),
            ReadPlan::Decode { len, fragments, .. } => (*len, &fragments[..]),
            ReadPlan::Join { strip_len, fragments, .. } => (*strip_len, &fragments[..]),
        };
        let strips = match self.gather(fragments, len as usize) {
            Ok(strips) => strips,
            Err(end) => return end,
        };
        let value = match plan {
            ReadPlan::Whole(whole) => strips[usize::from(whole.strip)].clone(),
            ReadPlan::Decode { wanted, sources, .. } => {
                self.decoded += 1;
                let is_source = |fragment: &Fragment| sources.contains(&fragment.strip);
                assert!(fragments.iter().all(is_source), "more is fetched than decoded");
                self.decode(&strips, sources, *wanted)
            }
            ReadPlan::Join { sources, len, .. } => {
                let k = self.codec.code().k() as u8;
                let mut value: Vec<u8> =
                    (0..k).flat_map(|strip| self.decode(&strips, sources, strip)).collect();
                value.truncate(*len as usize);
                value
            }
        };
        self.fetched.insert(ticket, value);
        FetchEnd::Done
    }

    fn decode(&self, strips: &[Vec<u8>], sources: &[u8], wanted: u8) -> Vec<u8> {
        if sources.contains(&wanted) {
            return strips[usize::from(wanted)].clone();
        }
        let present: StripSet = sources.iter().map(|&strip| usize::from(strip)).collect();
        let plan = self.codec.plan(present, &[wanted.into()]).expect("K sources");
        let bytes: Vec<&[u8]> = plan.sources().iter().map(|&strip| &strips[strip][..]).collect();
        let mut out = vec![0; strips[0].len()];
        plan.run(&bytes, &mut [&mut out]).expect("equal lengths");
        out
    }

    fn encode(
        &mut self,
        stripe: SealId,
        fragments: &[Fragment],
        (chunks, labels): (Vec<ChunkId>, Vec<ItemLabel>),
    ) -> FetchEnd {
        let strips = match self.gather(fragments, CHUNK_LEN) {
            Ok(strips) => strips,
            Err(end) => return end,
        };
        let parity = self.parity(&strips[..self.codec.code().k()]);
        self.encoded.insert(stripe, Encoded { parity, chunks, labels });
        FetchEnd::Done
    }

    fn gather(&mut self, fragments: &[Fragment], len: usize) -> Result<Vec<Vec<u8>>, FetchEnd> {
        let mut strips = vec![vec![0; len]; self.codec.code().n()];
        for fragment in fragments {
            let Fragment { strip, at, skip, len, server, name } = *fragment;
            if self.is_lost() || !self.is_heard(server) {
                return Err(FetchEnd::Silent { server });
            }
            let item = self.servers[&server].get(&name);
            let Item { bytes, is_damaged, .. } = item.ok_or(FetchEnd::Missing { server, name })?;
            if *is_damaged {
                return Err(FetchEnd::Damaged { server, name });
            }
            let (at, skip, len) = (at as usize, skip as usize, len as usize);
            strips[usize::from(strip)][at..at + len].copy_from_slice(&bytes[skip..skip + len]);
        }
        Ok(strips)
    }
}
