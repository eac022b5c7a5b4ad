//! How an index is made again from what servers have: each item says what it is, and parity says
//! what its stripe consists of.

use crate::{
    ChunkId, ItemLabel, ItemName, KeyHash, MemoryTier, SealId, ServerId, TierAction, Version,
    chunk::{BULK, Bulk, HOLE, LOST, Member},
    index::Location,
    ring::ring_of,
    state::Stripe,
    task::Wound,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use ripstop_model::{Code, Timestamp};

/// What an item at a server says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundItem {
    /// An object, a copy of one, or a strip.
    Value(ItemLabel),
    /// Parity: what `Encode` said of its stripe.
    Parity {
        /// What it is called.
        name: ItemName,
        /// The stripe's chunks, by strip.
        chunks: Vec<ChunkId>,
        /// All objects of these.
        labels: Vec<ItemLabel>,
    },
}

/// A stripe's chunks, and who has which strip of its parity.
type FoundStripe = (Vec<ChunkId>, Vec<(u8, ServerId)>);

/// What was found so far.
#[derive(Default)]
struct Findings {
    /// What is said of objects, and who has them.
    objects: BTreeMap<(ChunkId, u16), (ItemLabel, Vec<ServerId>)>,
    strips: BTreeMap<ChunkId, (ItemLabel, Vec<(u8, ServerId)>)>,
    stripes: BTreeMap<SealId, FoundStripe>,
    /// Objects that a stripe's parity covers.
    covered: BTreeMap<SealId, BTreeSet<(ChunkId, u16)>>,
}

impl MemoryTier {
    /// A tier over servers that have what an earlier one stored there, if all of them that are
    /// there were asked. Those that are not, or could not say all they have, are to be told as
    /// lost. What no key needs is deleted.
    ///
    /// Each key has the value of its last write that was answered, or of a later one that was
    /// not: that may be at fewer servers than it should be until [`wounds`](Self::wounds) is 0, so
    /// nothing should be read before. Versions go on from the greatest that was found, or that was
    /// given as one that none given before is above: the last ones may have left nothing.
    pub fn rebuild(
        code: Code,
        rings: &[Vec<ServerId>],
        (now, versions): (Timestamp, Version),
        items: impl IntoIterator<Item = (ServerId, FoundItem)>,
        actions: &mut Vec<TierAction>,
    ) -> Self {
        let mut tier = Self::new(code, rings);
        tier.now = now;
        tier.number_from(versions);
        let mut found = Findings::default();
        for (server, item) in items {
            tier.count(&item);
            found.add(server, item);
        }
        let sealed = tier.rebuild_stripes(&mut found, actions);
        tier.delete_uncovered(&mut found, &sealed, actions);
        tier.rebuild_chunks(&found, &sealed);
        tier.rebuild_values(&found, actions);
        tier.rebuild_index(&found, actions);
        for stripe in sealed.values().map(|sealed| sealed.0).collect::<BTreeSet<_>>() {
            tier.consider_cleaning(stripe);
            tier.wounds.insert(Wound::Stripe(stripe));
        }
        let chunks: Vec<ChunkId> = tier.chunks.keys().collect();
        tier.wounds.extend(chunks.into_iter().map(Wound::Chunk));
        let values: Vec<ChunkId> = tier.bulks.keys().copied().collect();
        tier.wounds.extend(values.into_iter().map(Wound::Value));
        tier.delete_orphan_copies(actions);
        tier.settle(actions);
        tier
    }

    /// Numbers that were used are not used again.
    fn count(&mut self, item: &FoundItem) {
        let of_chunk = |name: &ItemName| match name {
            ItemName::Object { chunk, .. } => chunk.0,
            ItemName::Strip { value, .. } => value.0,
            ItemName::Parity { .. } => 0,
        };
        let labels = match item {
            FoundItem::Value(label) => core::slice::from_ref(label),
            FoundItem::Parity { name, chunks, labels } => {
                if let ItemName::Parity { stripe, .. } = name {
                    self.next_stripe = self.next_stripe.max(stripe.0 + 1);
                }
                let chunk = chunks.iter().map(|chunk| chunk.0).max().unwrap_or(0);
                self.next_chunk = self.next_chunk.max(chunk);
                labels
            }
        };
        for label in labels {
            self.next_version = self.next_version.max(label.version.0);
            self.next_chunk = self.next_chunk.max(of_chunk(&label.name));
        }
    }

    /// Which stripe each chunk is of. A stripe whose parity is not all there may have been about
    /// to be sealed: if it is not needed it goes, and the chunks are sealed once more.
    fn rebuild_stripes(
        &mut self,
        found: &mut Findings,
        actions: &mut Vec<TierAction>,
    ) -> BTreeMap<ChunkId, (SealId, u8)> {
        let mut sealed = BTreeMap::new();
        let stripes = core::mem::take(&mut found.stripes);
        // Of two that have a chunk the later one is right.
        for (id, (chunks, parity)) in stripes.into_iter().rev() {
            let is_whole = parity.len() == self.code.parity();
            let is_over = chunks.iter().any(|chunk| sealed.contains_key(chunk));
            if is_over || !is_whole && chunks.iter().all(|chunk| Self::is_all_there(found, *chunk))
            {
                let ring = |chunk: &ChunkId| Some((self.ring_of_chunk(found, *chunk)?, *chunk));
                let chunks = chunks.iter().filter_map(ring).collect();
                self.part(id, chunks, parity.len());
                for (strip, server) in parity {
                    let name = ItemName::Parity { stripe: id, strip };
                    self.discard(server, name, 0, actions);
                }
                continue;
            }
            let mut servers = alloc::vec![LOST; self.code.parity()];
            for (strip, server) in parity {
                servers[usize::from(strip) - self.code.k()] = server;
            }
            for (strip, chunk) in (0u8..).zip(&chunks) {
                sealed.insert(*chunk, (id, strip));
            }
            let weight = crate::task::Weight::default();
            self.stripes.insert(id, Stripe { chunks, parity: servers, weight });
        }
        sealed
    }

    /// What died before its chunk was encoded was to be deleted: zeros were encoded instead.
    fn delete_uncovered(
        &mut self,
        found: &mut Findings,
        sealed: &BTreeMap<ChunkId, (SealId, u8)>,
        actions: &mut Vec<TierAction>,
    ) {
        let Findings { objects, covered, .. } = found;
        let is_uncovered = |of: &(ChunkId, u16)| {
            let stripe = sealed.get(&of.0).map(|sealed| &sealed.0);
            stripe.is_some_and(|it| !covered.get(it).is_some_and(|covered| covered.contains(of)))
        };
        for ((chunk, slot), (label, servers)) in objects.extract_if(.., |of, _| is_uncovered(of)) {
            for server in servers {
                self.keep_of((ring_of(label.key, self.rings.len()), chunk));
                self.discard(server, ItemName::Object { chunk, slot }, 0, actions);
            }
        }
    }

    fn ring_of_chunk(&self, found: &Findings, chunk: ChunkId) -> Option<usize> {
        let mut objects = found.objects.range((chunk, 0)..=(chunk, u16::MAX));
        objects.next().map(|(_, (label, _))| ring_of(label.key, self.rings.len()))
    }

    /// Whether nothing of the chunk needs parity.
    fn is_all_there(found: &Findings, chunk: ChunkId) -> bool {
        let mut objects = found.objects.range((chunk, 0)..=(chunk, u16::MAX));
        objects.all(|(_, (_, servers))| !servers.is_empty())
    }

    fn rebuild_chunks(&mut self, found: &Findings, sealed: &BTreeMap<ChunkId, (SealId, u8)>) {
        let gap = Member {
            halves: [0; 2],
            version: Version(0),
            offset: 0,
            len: 0,
            server: HOLE,
            is_tombstone: false,
            is_wanted: false,
        };
        for (&(id, slot), (label, servers)) in &found.objects {
            let ring = ring_of(label.key, self.rings.len());
            if !self.chunks.contains_key(&id) {
                let chunk = crate::chunk::Chunk { ring, ..crate::chunk::Chunk::default() };
                self.chunks.insert(id, chunk);
            }
            let chunk = self.chunks.get_mut(&id).expect("it was just put there");
            chunk.sealed = sealed.get(&id).copied();
            let is_own = |server: &&ServerId| self.homes.get(server) == Some(&ring);
            let own = servers.iter().find(is_own).copied();
            chunk.members.resize(usize::from(slot), gap);
            let len = label.len as u16;
            chunk.members.push(Member {
                halves: Member::halves(label.key),
                version: label.version,
                offset: label.offset,
                len,
                server: own.unwrap_or(LOST),
                is_tombstone: label.is_tombstone,
                is_wanted: false,
            });
            chunk.used = chunk.used.max(label.offset + len);
            let copies = servers.iter().filter(|server| Some(**server) != own);
            chunk.copies.extend(copies.map(|server| (slot, *server)));
        }
        // Chunks of stripes that no object is left of are there too, as zeros.
        for (&id, &place) in sealed {
            if !self.chunks.contains_key(&id) {
                let ring = self.free_ring(place.0);
                let sealed = Some(place);
                let chunk = crate::chunk::Chunk { ring, sealed, ..Default::default() };
                self.chunks.insert(id, chunk);
            }
        }
        for (id, chunk) in self.chunks.iter_mut() {
            let of_own = |member: &&Member| member.server != LOST && member.server != HOLE;
            let own = chunk.members.iter().filter(of_own).map(|it| (it.server, it.len.into()));
            let lens = chunk.copies.iter().map(|it| (it.1, chunk.members[usize::from(it.0)].len));
            let all: Vec<(ServerId, u64)> =
                own.chain(lens.map(|(server, len)| (server, len.into()))).collect();
            for (server, len) in all {
                *self.ledger.entry(server).or_default() += crate::clean::ITEM_OVERHEAD + len;
                self.stored += crate::clean::ITEM_OVERHEAD + len;
            }
            if chunk.sealed.is_none() {
                self.fillings[chunk.ring].full.push_back(id);
            }
        }
        let of_parity = |(id, stripe): (SealId, &Stripe)| {
            let strips = (self.code.k() as u8..).zip(stripe.parity.clone());
            strips
                .map(move |(strip, server)| (ItemName::Parity { stripe: id, strip }, server))
                .collect::<Vec<_>>()
        };
        let parities: Vec<_> = self.stripes.iter().flat_map(of_parity).collect();
        for (name, server) in parities.into_iter().filter(|parity| parity.1 != LOST) {
            self.book(server, name);
        }
    }

    /// A ring that no chunk of the stripe is known to be of.
    fn free_ring(&self, stripe: SealId) -> usize {
        let stripe = &self.stripes[&stripe];
        let of_data = stripe.chunks.iter().filter_map(|id| Some(self.chunks.get(id)?.ring));
        let of_parity = stripe.parity.iter().filter_map(|server| self.homes.get(server).copied());
        let taken: BTreeSet<usize> = of_data.chain(of_parity).collect();
        let mut rings = 0..self.rings.len();
        rings.find(|ring| !taken.contains(ring)).expect("a stripe has a strip on each ring")
    }

    fn book(&mut self, server: ServerId, name: ItemName) {
        let bytes = self.item_bytes(name);
        self.stored += bytes;
        *self.ledger.entry(server).or_default() += bytes;
    }

    /// Long values of which enough is there; of others what there is goes.
    fn rebuild_values(&mut self, found: &Findings, actions: &mut Vec<TierAction>) {
        for (&id, (label, strips)) in &found.strips {
            if strips.len() < self.code.k() {
                for &(strip, server) in strips {
                    self.keep_of((ring_of(label.key, self.rings.len()), id));
                    self.discard(server, ItemName::Strip { value: id, strip }, 0, actions);
                }
                continue;
            }
            let mut servers = alloc::vec![LOST; self.rings.len()];
            for &(strip, server) in strips {
                servers[usize::from(strip)] = server;
            }
            let (key, version, len, is_wanted) = (label.key, label.version, label.len, false);
            self.bulks.insert(id, Bulk { key, version, len, servers, is_wanted });
            for &(strip, server) in strips {
                self.book(server, ItemName::Strip { value: id, strip });
            }
        }
    }

    /// Of each key the last item counts; all others are dead.
    fn rebuild_index(&mut self, found: &Findings, actions: &mut Vec<TierAction>) {
        let mut last: BTreeMap<KeyHash, (Location, ItemLabel)> = BTreeMap::new();
        let mut dead = Vec::new();
        let objects = found.objects.iter().map(|(&(chunk, slot), it)| (chunk, slot, it.0));
        let strips = found.strips.iter().map(|(&id, it)| (id, BULK, it.0));
        let strips = strips.filter(|(id, ..)| self.bulks.contains_key(id));
        for (chunk, slot, label) in objects.chain(strips) {
            let here = Location { version: label.version, chunk, slot };
            // What was written again has its old version in a later chunk.
            let is_last = |before: &(Location, ItemLabel)| {
                (before.0.version, before.0.chunk) < (here.version, here.chunk)
            };
            match last.get(&label.key) {
                Some(before) if !is_last(before) => dead.push(here),
                _ => dead.extend(last.insert(label.key, (here, label)).map(|before| before.0)),
            }
        }
        for (key, (here, label)) in last {
            if label.is_tombstone {
                self.graves.insert(key, here);
                if !self.is_tombstone_item(here) {
                    self.mark_dead(here);
                }
                continue;
            }
            self.index.insert(key, here);
            if let Some(expires) = label.expires {
                self.expiries.insert(key, expires);
                self.due.insert((expires, key));
            }
        }
        for here in dead {
            self.kill(here, actions);
        }
        self.expire(actions);
    }

    fn is_tombstone_item(&self, here: Location) -> bool {
        let chunk = self.chunks.get(&here.chunk);
        chunk.is_some_and(|chunk| chunk.members[usize::from(here.slot)].len == 0)
    }

    /// Copies of what is sealed were to be deleted; those that are all there is stay.
    fn delete_orphan_copies(&mut self, actions: &mut Vec<TierAction>) {
        let mut leaving = Vec::new();
        for (id, chunk) in self.chunks.iter_mut().filter(|(_, chunk)| chunk.sealed.is_some()) {
            for (slot, server) in chunk.spare_copies() {
                leaving.push(((chunk.ring, id), server, ItemName::Object { chunk: id, slot }));
            }
        }
        for (of, server, name) in leaving {
            self.delete_of(of, server, name, actions);
        }
    }
}

impl Findings {
    fn add(&mut self, server: ServerId, item: FoundItem) {
        match item {
            FoundItem::Value(label) => self.add_value(label, Some(server)),
            FoundItem::Parity { name: ItemName::Parity { stripe, strip }, chunks, labels } => {
                let of_stripe = self.stripes.entry(stripe).or_insert((chunks, Vec::new()));
                of_stripe.1.push((strip, server));
                for label in labels {
                    if let ItemName::Object { chunk, slot } = label.name {
                        self.covered.entry(stripe).or_default().insert((chunk, slot));
                    }
                    self.add_value(label, None);
                }
            }
            FoundItem::Parity { .. } => {}
        }
    }

    fn add_value(&mut self, label: ItemLabel, server: Option<ServerId>) {
        match label.name {
            ItemName::Object { chunk, slot } => {
                let (known, servers) =
                    self.objects.entry((chunk, slot)).or_insert((label, Vec::new()));
                known.is_tombstone |= label.is_tombstone;
                servers.extend(server);
            }
            ItemName::Strip { value, strip } => {
                let (_, strips) = self.strips.entry(value).or_insert((label, Vec::new()));
                strips.extend(server.map(|server| (strip, server)));
            }
            ItemName::Parity { .. } => {}
        }
    }
}
