//! Reads the headers of all fragments at all nodes and sorts them by stripe, in bounded memory.

use super::{
    RebuildError, RebuildProgress,
    roster::{Roster, SurveyedPool},
    scratch::{Records, Scratch},
    sighting::{Said, Sighting},
    sorting::{Sorted, Sorter},
};
use bytes::Bytes;
use futures::StreamExt;
use ripstop_model::{FragmentId, NodeId, StripeId};
use ripstop_node::{Listed, Node};
use ripstop_runtime::{HEADER_PROBE_LEN, Header, HeaderError};
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
    /// By store: fragments, and the oldest stripe they are of.
    pub(super) stores: BTreeMap<u64, (u64, StripeId)>,
}

impl Testimony {
    /// The store that most of its fragments are of.
    pub(super) fn vote(&self) -> Option<u64> {
        self.stores.iter().max_by_key(|(_, (count, _))| *count).map(|(store, _)| *store)
    }

    /// Whether a stripe's fragment may have been here and gone with the node's disk: it was not listed
    /// to its end, or has nothing as old.
    pub(super) fn may_have_lost(&self, store: u64, stripe: StripeId) -> bool {
        !self.is_whole || self.stores.get(&store).is_none_or(|(_, oldest)| *oldest > stripe)
    }

    fn note(&mut self, name: FragmentId, headers: &[Header]) {
        let Some(header) = headers.first() else {
            self.damaged += 1;
            return;
        };
        self.fragments += 1;
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
    /// What of its headers is whole: two where they differ.
    headers: Vec<Header>,
    /// What holds the memory of a long one.
    _long: Option<tokio::sync::OwnedSemaphorePermit>,
}

/// Reads what all nodes have.
pub(super) async fn survey(
    pools: Vec<SurveyedPool>,
    scratch: &Arc<Scratch>,
    progress: &RebuildProgress,
) -> Result<Survey, RebuildError> {
    let roster = Arc::new(Roster::new(pools));
    let (to, raw) = mpsc::channel(PAGES_WAITING);
    let sorting = {
        let (scratch, progress) = (Arc::clone(scratch), progress.clone());
        tokio::task::spawn_blocking(move || sort(&scratch, raw, &progress))
    };
    let long = Arc::new(Semaphore::new(LONG_BYTES_MAX));
    let mut reading = JoinSet::new();
    for node in roster.all() {
        let (id, node, to, long) = (node.id, node.node.clone(), to.clone(), long.clone());
        reading.spawn(async move { (id, read(id, &*node, &to, &long).await) });
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
) -> Result<(Sorted, Records), RebuildError> {
    let (mut sorter, mut records) = (Sorter::new(scratch, "seen"), Records::create(scratch)?);
    let mut bytes = Vec::new();
    while let Some(page) = raw.blocking_recv() {
        progress.0.fragments.fetch_add(page.len() as u64, Ordering::Relaxed);
        for Raw { name, node, headers, .. } in page {
            if headers.is_empty() {
                Sighting { name, node, said: None }.encode(&mut bytes);
                sorter.push(&bytes)?;
            }
            for header in &headers {
                let said = Some(Said::by(header, &mut records)?);
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
) -> Testimony {
    let is_whole = AtomicBool::new(true);
    let listed = node.list().filter_map(|listed| {
        if let Err(error) = &listed {
            tracing::warn!(%error, "node not listed to its end");
            is_whole.store(false, Ordering::Relaxed);
        }
        std::future::ready(listed.ok())
    });
    let read = listed.map(|listed| async move {
        let (headers, long) = headers(node, &listed, long).await;
        Raw { name: listed.name, node: id, headers, _long: long }
    });
    // At most a page more is in memory than is waiting.
    let mut pages = std::pin::pin!(read.buffer_unordered(HEADERS_AT_ONCE).ready_chunks(PAGE));
    let mut testimony = Testimony::default();
    while let Some(page) = pages.next().await {
        for raw in &page {
            testimony.note(raw.name, &raw.headers);
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
) -> (Vec<Header>, Option<tokio::sync::OwnedSemaphorePermit>) {
    let Listed { name, len, .. } = *listed;
    let Ok(start) = node.get(name, 0..len.min(HEADER_PROBE_LEN)).await else {
        return (Vec::new(), None);
    };
    let (first, permit) = match Header::parse(&start) {
        Err(HeaderError::Short { len: more, .. }) if more <= len => {
            let permit = claim(long, more).await;
            let whole = node.get(name, 0..more).await.ok();
            (whole.and_then(|bytes| Header::parse(&bytes).ok()), Some(permit))
        }
        parsed => (parsed.ok(), None),
    };
    let is_all = |bytes: &Bytes| bytes.len() as u64 == len;
    let last = match &first {
        Some((header, _)) if !header.cut.is_together() => None,
        _ if is_all(&start) => Header::parse_end(&start),
        Some((_, header_len)) => end(node, listed, u64::from(*header_len)).await,
        None => end(node, listed, END_LEN).await,
    };
    let mut headers: Vec<Header> =
        [first, last].into_iter().flatten().map(|(header, _)| header).collect();
    headers.retain(|header| header.name == name);
    headers.dedup();
    (headers, permit)
}

/// The header that a fragment ends with, if it is within its last `within` bytes.
async fn end(node: &dyn Node, listed: &Listed, within: u64) -> Option<(Header, u32)> {
    let range = listed.len.saturating_sub(within)..listed.len;
    Header::parse_end(&node.get(listed.name, range).await.ok()?)
}

/// Waits for the memory of two headers of `len` bytes.
async fn claim(long: &Arc<Semaphore>, len: u64) -> tokio::sync::OwnedSemaphorePermit {
    let bytes = (2 * len).min(LONG_BYTES_MAX as u64) as u32;
    Arc::clone(long).acquire_many_owned(bytes).await.expect("the semaphore is never closed")
}
