//! Reads the headers of all fragments at all nodes and sorts them by stripe, in bounded memory.

use super::{
    error::RebuildError,
    progress::RebuildProgress,
    roster::{Roster, SurveyedPool},
    scratch::{Records, Scratch},
    sighting::{Said, Sighting},
    sorting::{Sorted, Sorter},
};
use bytes::Bytes;
use futures::StreamExt;
use ripstop_host::carried;
use ripstop_model::{FragmentId, NodeId, StripeId};
use ripstop_node::{Listed, Node};
use ripstop_runtime::{HEADER_PROBE_LEN, Header, HeaderError, Seals};
use ripstop_seal::KeyId;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

/// Headers that are read at once at each node.
const HEADERS_AT_ONCE: usize = 16;
/// Fragments that go to be sorted together.
const PAGE: usize = 256;
/// Pages that wait to be sorted.
const PAGES_WAITING: usize = 8;
/// Bytes of longer headers, of all nodes together, that are in memory before they are sorted.
const LONG_BYTES_MAX: usize = 64 << 20;
/// Bytes at the end of a fragment in which its second header is looked for.
const END_LEN: u64 = 64 << 10;
/// Stores of which a node's fragments are counted; those of more are passed over.
const STORES_MAX: usize = 64;
/// Keys that are not here of which fragments are counted by name.
const KEYS_MAX: usize = 64;

/// What the nodes have, sorted by stripe.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) roster: Arc<Roster>,
    pub(super) nodes: BTreeMap<NodeId, Testimony>,
    pub(super) sightings: Sorted,
    pub(super) records: Records,
}

/// What is known of a node once it has been listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Testimony {
    /// Whether its listing came to its end.
    pub(super) is_whole: bool,
    pub(super) fragments: u64,
    pub(super) damaged: u64,
    /// Of those, with headers that no key sealed, of stripes that the store's key did seal.
    pub(super) forged: u64,
    /// Of the damaged, sealed or encrypted with keys that are not here: how many, by key.
    pub(super) locked: BTreeMap<KeyId, u64>,
    /// Of the whole, with headers that nothing verified, their key not being here.
    pub(super) unsealed: u64,
    /// By store: fragments, and the oldest stripe they are of.
    pub(super) stores: BTreeMap<u64, (u64, StripeId)>,
}

impl Testimony {
    /// The store that most of its fragments are of.
    pub(super) fn vote(&self) -> Option<u64> {
        self.stores.iter().max_by_key(|(_, (count, _))| *count).map(|(store, _)| *store)
    }

    /// Whether a stripe's fragment may have been here and gone with the node's disk: it was not
    /// listed to its end, or has nothing as old.
    pub(super) fn may_have_lost(&self, store: u64, stripe: StripeId) -> bool {
        !self.is_whole || self.stores.get(&store).is_none_or(|(_, oldest)| *oldest > stripe)
    }

    fn note(&mut self, raw: &Raw, seals: &Seals) {
        let (name, heard) = (raw.name, &raw.heard);
        let Some((header, _)) = heard.headers.first() else {
            self.damaged += 1;
            self.forged += u64::from(heard.forged);
            if let Some(key) = heard.locked
                && (self.locked.len() < KEYS_MAX || self.locked.contains_key(&key))
            {
                *self.locked.entry(key).or_default() += 1;
            }
            return;
        };
        self.fragments += 1;
        self.unsealed += u64::from(header.key.is_some_and(|key| !seals.knows(key)));
        let (stripe, store) = (name.stripe, header.origin.store);
        if self.stores.len() < STORES_MAX || self.stores.contains_key(&store) {
            let (count, oldest) = self.stores.entry(store).or_insert((0, stripe));
            *count += 1;
            *oldest = stripe.min(*oldest);
        }
    }
}

/// One fragment on its way to be sorted.
struct Raw {
    name: FragmentId,
    node: NodeId,
    heard: Heard,
    /// What holds the memory of a long one.
    _long: Option<tokio::sync::OwnedSemaphorePermit>,
}

/// What the headers of a fragment say.
#[derive(Default)]
struct Heard {
    /// Those that are whole and believed, with what they tell in plain text: two where they differ.
    headers: Vec<(Header, Bytes)>,
    /// One is sealed or encrypted with this key, which is not here.
    locked: Option<KeyId>,
    /// One is sealed by a checksum, and should not be.
    forged: bool,
}

impl Heard {
    /// Takes in what the bytes of a header are.
    fn hear(&mut self, parsed: Result<(Header, u32), HeaderError>, seals: &Seals) {
        let header = match parsed {
            Ok((header, _)) => header,
            Err(HeaderError::Key(key)) => {
                self.locked = Some(key);
                return;
            }
            Err(_) => return,
        };
        if header.key.is_none() && !seals.may_be_unkeyed(header.name.stripe) {
            self.forged = true;
            return;
        }
        match header.told(seals) {
            Some(told) => self.headers.push((header, told)),
            None => self.locked = header.key,
        }
    }
}

/// Reads what all nodes have.
pub(super) async fn survey(
    pools: Vec<SurveyedPool>,
    scratch: &Arc<Scratch>,
    progress: &RebuildProgress,
    seals: &Seals,
) -> Result<Survey, RebuildError> {
    let roster = Arc::new(Roster::new(pools));
    let (to, raw) = mpsc::channel(PAGES_WAITING);
    let sorting = {
        let (scratch, progress, seals) = (Arc::clone(scratch), progress.clone(), seals.clone());
        ripstop_host::spawn_blocking(move || sort(&scratch, raw, &progress, &seals))
    };
    let long = Arc::new(Semaphore::new(LONG_BYTES_MAX));
    let mut reading = JoinSet::new();
    for node in roster.all() {
        let (id, node, to, long) = (node.id, node.node.clone(), to.clone(), long.clone());
        let seals = seals.clone();
        reading.spawn(carried(async move { (id, read(id, &*node, &to, &long, &seals).await) }));
    }
    drop(to);
    let mut nodes = BTreeMap::new();
    while let Some(read) = reading.join_next().await {
        let (id, testimony) = read.expect("reading headers does not panic");
        nodes.insert(id, testimony);
    }
    let sorted = sorting.await.expect("sorting does not panic")?;
    Ok(Survey { roster, nodes, sightings: sorted.0, records: sorted.1 })
}

/// Takes what was read to its runs.
fn sort(
    scratch: &Arc<Scratch>,
    mut raw: mpsc::Receiver<Vec<Raw>>,
    progress: &RebuildProgress,
    seals: &Seals,
) -> Result<(Sorted, Records), RebuildError> {
    let (mut sorter, mut records) = (Sorter::new(scratch, "seen"), Records::create(scratch)?);
    let mut bytes = Vec::new();
    while let Some(page) = raw.blocking_recv() {
        progress.have_read(page.len() as u64);
        for Raw { name, node, heard, .. } in page {
            if heard.headers.is_empty() {
                Sighting { name, node, said: None }.encode(&mut bytes);
                sorter.push(&bytes)?;
            }
            for (header, told) in &heard.headers {
                let said = Some(Said::by(header, told, seals, &mut records)?);
                Sighting { name, node, said }.encode(&mut bytes);
                sorter.push(&bytes)?;
            }
        }
    }
    Ok((sorter.finish()?, records))
}

/// Reads what one node has, as it is listed.
async fn read(
    id: NodeId,
    node: &dyn Node,
    to: &mpsc::Sender<Vec<Raw>>,
    long: &Arc<Semaphore>,
    seals: &Seals,
) -> Testimony {
    let is_whole = AtomicBool::new(true);
    let listed = node.list().filter_map(|listed| {
        if let Err(error) = &listed {
            tracing::warn!(%error, "node not listed completely");
            is_whole.store(false, Ordering::Relaxed);
        }
        std::future::ready(listed.ok())
    });
    let read = listed.map(|listed| async move {
        let (heard, long) = headers(node, &listed, long, seals).await;
        Raw { name: listed.name, node: id, heard, _long: long }
    });
    // At most a page more is in memory than is waiting.
    let mut pages = std::pin::pin!(read.buffer_unordered(HEADERS_AT_ONCE).ready_chunks(PAGE));
    let mut testimony = Testimony::default();
    while let Some(page) = pages.next().await {
        for raw in &page {
            testimony.note(raw, seals);
        }
        if to.send(page).await.is_err() {
            // Sorting failed: its error is the rebuild's.
            break;
        }
    }
    testimony.is_whole = is_whole.load(Ordering::Relaxed);
    testimony
}

/// The whole headers of a fragment: one, or, where it ends with another that differs, both.
async fn headers(
    node: &dyn Node,
    listed: &Listed,
    long: &Arc<Semaphore>,
    seals: &Seals,
) -> (Heard, Option<tokio::sync::OwnedSemaphorePermit>) {
    let Listed { name, len, .. } = *listed;
    let mut heard = Heard::default();
    let Ok(start) = node.get(name, 0..len.min(HEADER_PROBE_LEN)).await else {
        return (heard, None);
    };
    let (first, permit) = match Header::parse(&start, seals) {
        Err(HeaderError::Short { len: more, .. }) if more <= len => {
            let permit = claim(long, more).await;
            let whole = node.get(name, 0..more).await.ok();
            (whole.map(|bytes| Header::parse(&bytes, seals)), Some(permit))
        }
        parsed => (Some(parsed), None),
    };
    let is_all = |bytes: &Bytes| bytes.len() as u64 == len;
    let last = match &first {
        Some(Ok((header, _))) if !header.cut.is_together() => None,
        _ if is_all(&start) => Header::parse_end(&start, seals),
        Some(Ok((_, header_len))) => end(node, listed, u64::from(*header_len), seals).await,
        Some(Err(_)) | None => end(node, listed, END_LEN, seals).await,
    };
    first.into_iter().chain(last.map(Ok)).for_each(|parsed| heard.hear(parsed, seals));
    heard.headers.retain(|(header, _)| header.name == name);
    heard.headers.dedup();
    (heard, permit)
}

/// The header that a fragment ends with, if it is within its last `within` bytes.
async fn end(
    node: &dyn Node,
    listed: &Listed,
    within: u64,
    seals: &Seals,
) -> Option<(Header, u32)> {
    let range = listed.len.saturating_sub(within)..listed.len;
    Header::parse_end(&node.get(listed.name, range).await.ok()?, seals)
}

/// Waits for the memory of two headers of `len` bytes.
async fn claim(long: &Arc<Semaphore>, len: u64) -> tokio::sync::OwnedSemaphorePermit {
    let bytes = (2 * len).min(LONG_BYTES_MAX as u64) as u32;
    Arc::clone(long).acquire_many_owned(bytes).await.expect("the semaphore is never closed")
}
