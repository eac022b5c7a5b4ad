use crate::{
    Aftermath, Chunk, HEADER_PROBE_LEN, Header, HeaderError, Observer, Origin, Pins, Sealed, Spent,
    Written,
    aftermath::Warden,
    driver::Shared,
    fragment::{body_len, body_range},
    job::{self, Job, MendJob, ReadJob, Sought, WriteJob},
    span::{Span, spans},
};
use bytes::Bytes;
use ripstop_gateway::{Cause, Event, Machine, NodeSpec, Operation, Settings};
use ripstop_model::{Code, FragmentId, NodeId, PoolId, RequestId, StripeId, StripeShape};
use ripstop_node::{Node, NodeError};
use ripstop_policy::Policy;
use std::{collections::BTreeMap, ops::Range, sync::Arc};
use tokio::sync::{mpsc, oneshot};

/// Nodes that share a storage code and a policy: writes, reads and mends stripes over them.
#[derive(Clone, Debug)]
pub struct Pool {
    origin: Origin,
    code: Code,
    shared: Arc<Shared>,
    pins: Pins,
    aftermath: mpsc::UnboundedSender<Aftermath>,
}

/// A node in a pool.
#[derive(Clone, Debug)]
pub struct PoolNode {
    /// Its number in the catalog.
    pub id: NodeId,
    /// How many tasks it serves at once.
    pub lanes: u16,
    /// The place itself.
    pub node: Arc<dyn Node>,
}

/// Where a stripe is, as the catalog knows it.
#[derive(Clone, Debug)]
pub struct StripePlace {
    /// Its name.
    pub id: StripeId,
    /// How it is coded.
    pub shape: StripeShape,
    /// Bytes of header at the start of each fragment.
    pub header_len: u32,
    /// Where each fragment is, by index.
    pub nodes: Vec<Option<NodeId>>,
}

impl StripePlace {
    /// Bytes of each of its fragments, header included.
    pub fn fragment_len(&self) -> u64 {
        u64::from(self.header_len) + u64::from(body_len(self.shape.strip_len()))
    }
}

/// A request on a stripe that was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailedStripe {
    /// The stripe.
    pub id: StripeId,
    /// Why; `None` where the queue was full.
    pub cause: Option<Cause>,
}

/// What a look at one fragment found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FragmentState {
    /// Header and every block are as they were written.
    Whole,
    /// The node does not have it.
    Missing,
    /// It is not what was written.
    Damaged,
    /// The node could not be asked.
    Unknown,
}

/// Tells the machine that its caller has gone, unless told that it was answered.
struct Leave<'a> {
    shared: &'a Arc<Shared>,
    request: Option<RequestId>,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            self.shared.tell(Event::RequestAbandoned(request));
        }
    }
}

impl Pool {
    /// A pool over these nodes; what becomes of its writes goes to `aftermath`.
    #[expect(clippy::too_many_arguments, reason = "made once, at start, from named parts")]
    pub fn new(
        origin: Origin,
        code: Code,
        settings: Settings,
        policy: Box<dyn Policy>,
        nodes: Vec<PoolNode>,
        observer: Arc<dyn Observer>,
        spent: Arc<Spent>,
        pins: Pins,
        aftermath: mpsc::UnboundedSender<Aftermath>,
    ) -> Self {
        let specs = nodes.iter().map(|node| NodeSpec { id: node.id, lanes: node.lanes }).collect();
        let machine = Machine::new(settings, specs, policy);
        let nodes: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.id, node.node)).collect();
        let shared = Shared::new(machine, nodes, observer, spent);
        Self { origin, code, shared, pins, aftermath }
    }

    /// Its number.
    pub fn id(&self) -> PoolId {
        self.origin.pool
    }

    /// What the headers of its stripes say of who wrote them.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Its storage code (N,K).
    pub fn code(&self) -> Code {
        self.code
    }

    /// Its nodes.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Arc<dyn Node>)> {
        self.shared.nodes()
    }

    /// Looks at its machine, for metrics.
    pub fn inspect<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        self.shared.inspect(look)
    }

    async fn ask<T>(
        &self,
        stripe: StripeId,
        operation: Operation,
        strip_bytes: u32,
        job: Job,
        answer: oneshot::Receiver<Result<T, Cause>>,
    ) -> Result<T, FailedStripe> {
        let request = self.shared.arrive(operation, strip_bytes, job);
        let mut leave = Leave { shared: &self.shared, request: Some(request) };
        let answered = answer.await;
        leave.request = None;
        match answered {
            Ok(result) => result.map_err(|cause| FailedStripe { id: stripe, cause: Some(cause) }),
            Err(_) => Err(FailedStripe { id: stripe, cause: None }),
        }
    }

    /// Stores a stripe; answers when as many fragments are durable as the settings ask for.
    pub async fn write(&self, stripe: Sealed) -> Result<Written, FailedStripe> {
        let (id, shape, header_len) = (stripe.id, stripe.shape, stripe.header_len());
        let code = shape.code();
        let pin = self.pins.pin(id);
        let (answer, answered) = oneshot::channel();
        let (settle, settled) = oneshot::channel();
        let job = Job::Write(WriteJob {
            codec: self.shared.codec(code),
            stripe: Some(stripe),
            nodes: vec![None; code.n()],
            sent: vec![None; code.n()],
            answer: Some(answer),
            settled: Some(settle),
        });
        let (claim, claimed) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let (pool, to) = (self.id(), self.aftermath.clone());
        // Spawned before the first await: the stripe is followed even if the caller leaves now.
        tokio::spawn(async move {
            let told = told.await.unwrap_or_default();
            Warden { pin, id, pool, shape, header_len, told, claimed, settled, to }.watch().await;
        });
        let operation = Operation::Write { n: code.n() as u8, k: code.k() as u8 };
        let strip_bytes = body_len(shape.strip_len()) + header_len;
        let nodes = self.ask(id, operation, strip_bytes, job, answered).await?;
        // The warden waits for this or for the drop.
        let _ = tell.send(nodes.clone());
        Ok(Written { id, pool, shape, header_len, nodes, claim: Some(claim) })
    }

    /// The bytes `range` of a stripe's payload, in order, without copying where no decoding is needed.
    pub async fn read(
        &self,
        place: &StripePlace,
        range: Range<u32>,
    ) -> Result<Vec<Bytes>, FailedStripe> {
        let wanted = spans(place.shape, &range);
        let chunks =
            futures::future::try_join_all(wanted.iter().map(|span| self.read_span(place, span)))
                .await?;
        let mut pieces = Vec::new();
        for (span, chunks) in wanted.iter().zip(chunks) {
            for chunk in chunks {
                chunk.slice_into(&span.columns, &mut pieces);
            }
        }
        trim(&mut pieces, range.len());
        Ok(pieces)
    }

    async fn read_span(
        &self,
        place: &StripePlace,
        span: &Span,
    ) -> Result<Vec<Chunk>, FailedStripe> {
        let code = place.shape.code();
        let known = |node: &Option<NodeId>| node.filter(|id| self.shared.node(*id).is_some());
        let operation = Operation::Read {
            k: code.k() as u8,
            wanted: span.wanted(),
            places: place.nodes.iter().map(known).collect(),
        };
        let sought = Sought {
            stripe: place.id,
            shape: place.shape,
            header_len: place.header_len,
            columns: span.columns.clone(),
        };
        let (answer, answered) = oneshot::channel();
        let moved = body_range(&span.columns, place.shape.strip_len());
        let job = Job::Read(ReadJob {
            sought: Arc::new(sought),
            wanted: span.wanted(),
            arrived: vec![None; code.n()],
            answer: Some(answer),
        });
        self.ask(place.id, operation, moved.end - moved.start, job, answered).await
    }

    /// Asks every node how it is, so that one that has just come back is used at once.
    pub async fn probe(&self) {
        let probes = self.shared.nodes().map(|(id, _)| self.shared.probe(id));
        futures::future::join_all(probes).await;
    }

    /// Looks at one fragment where it should be, header and every block.
    pub async fn examine(&self, place: &StripePlace, index: u8) -> FragmentState {
        self.fetch_strip(place, index).await.map_or_else(|state| state, |_| FragmentState::Whole)
    }

    /// One fragment's header and verified strip, straight from its node.
    async fn fetch_strip(
        &self,
        place: &StripePlace,
        index: u8,
    ) -> Result<(Header, Chunk), FragmentState> {
        let node = place.nodes.get(usize::from(index)).copied().flatten();
        let Some(node) = node.and_then(|id| self.shared.node(id)) else {
            return Err(FragmentState::Missing);
        };
        let name = FragmentId { stripe: place.id, index };
        let strip_len = place.shape.strip_len();
        let len = place.fragment_len();
        let bytes = node.get(name, 0..len).await.map_err(|error| match error {
            NodeError::Missing => FragmentState::Missing,
            NodeError::Short { .. } => FragmentState::Damaged,
            NodeError::Refused { .. } | NodeError::Unavailable { .. } => FragmentState::Unknown,
        })?;
        if bytes.len() as u64 != len {
            return Err(FragmentState::Damaged);
        }
        let (header, found_len) = Header::parse(&bytes).map_err(|_| FragmentState::Damaged)?;
        let expected = header.name == name && header.shape == place.shape;
        if !expected || found_len != place.header_len {
            return Err(FragmentState::Damaged);
        }
        let body = bytes.slice(place.header_len as usize..);
        Chunk::verify(place.id, index, strip_len, &(0..strip_len), &body)
            .map(|chunk| (header, chunk))
            .ok_or(FragmentState::Damaged)
    }

    /// Computes fragments anew from K whole ones and stores them: each at the node given with it, or
    /// where the pool has room. Answers where each is now.
    pub async fn mend(
        &self,
        place: &StripePlace,
        wanted: &[(u8, Option<NodeId>)],
    ) -> Result<Vec<(u8, NodeId)>, FailedStripe> {
        let lost = |cause| FailedStripe { id: place.id, cause: Some(cause) };
        let missing: Vec<usize> = wanted.iter().map(|&(index, _)| index.into()).collect();
        let needed = place.shape.needed();
        let mut sources = Vec::with_capacity(needed);
        let mut told = None;
        for index in (0..place.shape.code().n()).filter(|index| !missing.contains(index)) {
            if let Ok((header, chunk)) = self.fetch_strip(place, index as u8).await {
                told = Some(header);
                sources.push((index, chunk));
            }
            if sources.len() == needed {
                break;
            }
        }
        let told = told.filter(|_| sources.len() == needed).ok_or(lost(Cause::Lost))?;
        let codec = self.shared.codec(place.shape.code());
        let computed = if place.shape.strip_len() == 0 {
            missing.iter().map(|&strip| (strip, Chunk::computed(0, Vec::new()))).collect()
        } else {
            job::decode(&codec, &missing, &sources).ok_or(lost(Cause::Lost))?
        };
        let mut taken: Vec<NodeId> = place
            .nodes
            .iter()
            .enumerate()
            .filter(|(index, _)| !missing.contains(index))
            .filter_map(|(_, node)| *node)
            .collect();
        let mut mended = Vec::with_capacity(wanted.len());
        for ((_, chunk), &(index, node)) in computed.iter().zip(wanted) {
            let name = FragmentId { stripe: place.id, index };
            let header = Header { name, ..told.clone() };
            let fragment = vec![header.encode(), chunk.sealed(place.id, index)];
            let node = self.store_fragment(name, fragment, node, &taken).await?;
            taken.push(node);
            mended.push((index, node));
        }
        Ok(mended)
    }

    async fn store_fragment(
        &self,
        name: FragmentId,
        fragment: Vec<Bytes>,
        node: Option<NodeId>,
        taken: &[NodeId],
    ) -> Result<NodeId, FailedStripe> {
        let (answer, answered) = oneshot::channel();
        let (settle, settled) = oneshot::channel();
        let strip_bytes = fragment.iter().map(Bytes::len).sum::<usize>() as u32;
        let operation = Operation::Mend { fragment: name.index, node, taken: taken.to_vec() };
        let job = MendJob { name, fragment, answer: Some(answer), settled: Some(settle) };
        self.ask(name.stripe, operation, strip_bytes, Job::Mend(job), answered).await?;
        let failed = FailedStripe { id: name.stripe, cause: Some(Cause::Unavailable) };
        settled.await.ok().flatten().ok_or(failed)
    }
}

/// Cuts `pieces` to `len` bytes in all.
fn trim(pieces: &mut Vec<Bytes>, len: usize) {
    let mut left = len;
    pieces.retain_mut(|piece| {
        piece.truncate(left);
        left -= piece.len();
        !piece.is_empty()
    });
}

/// A fragment's header, straight from a node: what a rebuild reads.
impl Pool {
    /// Reads and checks the header of a fragment; `None` if the node has no whole one.
    pub async fn header(node: &dyn Node, name: FragmentId, len: u64) -> Option<(Header, u32)> {
        let bytes = node.get(name, 0..len.min(HEADER_PROBE_LEN)).await.ok()?;
        match Header::parse(&bytes) {
            Ok(found) => Some(found),
            Err(HeaderError::Short { len: more, .. }) if more <= len => {
                Header::parse(&node.get(name, 0..more).await.ok()?).ok()
            }
            Err(_) => None,
        }
    }
}
