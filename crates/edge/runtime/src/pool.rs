use crate::{
    Aftermaths, Cut, FailedStripe, HEADER_PROBE_LEN, Header, HeaderError, HotBlocks, Layout,
    Observer, Origin, Pins, Sealed, Sealing, Seals, Setback, Share, Spent, StripeDraft,
    StripePlace, Witness, Written,
    aftermath::Warden,
    driver::Shared,
    fragment::{Guard, body_len},
    job::{Job, WriteJob},
};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_gateway::{
    Cause, Event, Machine, MachineSettings, NodeSpec, Placement, RequestSpec, Shaping,
};
use ripstop_model::{Code, FragmentId, NodeId, PoolId, RequestId, StripeId, StripeShape, TenantId};
use ripstop_node::Node;
use ripstop_policy::Policy;
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::oneshot;

/// Bytes at the end of a fragment in which its second header is looked for.
const END_LEN: u64 = 64 << 10;

/// Nodes that share a storage code, a layout and a policy: writes, reads and mends stripes over
/// them.
#[derive(Clone, Debug)]
pub struct Pool {
    origin: Origin,
    code: Code,
    layout: Layout,
    pub(crate) seals: Seals,
    /// How its new stripes are sealed.
    sealing: Sealing,
    /// On whose behalf this handle asks.
    tenant: TenantId,
    pub(crate) shared: Arc<Shared>,
    pins: Pins,
    aftermath: Aftermaths,
    /// Where blocks are kept that are read often.
    pub(crate) hot: Option<Arc<dyn HotBlocks>>,
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
    /// A pool over these nodes whose stripes are spread over them; what it computes goes into
    /// `blocks`, and what becomes of its writes to `aftermath`.
    #[expect(clippy::too_many_arguments, reason = "made once, at start, from named parts")]
    pub fn new(
        origin: Origin,
        code: Code,
        settings: MachineSettings,
        policy: Box<dyn Policy>,
        nodes: Vec<PoolNode>,
        observer: Arc<dyn Observer>,
        spent: Arc<Spent>,
        blocks: Blocks,
        pins: Pins,
        aftermath: Aftermaths,
    ) -> Self {
        let specs = nodes.iter().map(|node| NodeSpec { id: node.id, lanes: node.lanes }).collect();
        let machine = Machine::new(settings, specs, policy);
        let nodes: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.id, node.node)).collect();
        let shared = Shared::new(machine, nodes, observer, spent, blocks);
        let layout = Layout::default();
        let tenant = TenantId::ANYBODY;
        let (seals, sealing) = (Seals::default(), Sealing::Checksum);
        Self { origin, code, layout, seals, sealing, tenant, shared, pins, aftermath, hot: None }
    }

    /// The same pool, its new stripes sealed with the first of these keys, or encrypted with it;
    /// without a key, by checksums.
    #[must_use]
    pub fn with_seals(self, seals: Seals, encrypt: bool) -> Self {
        let sealing = match seals.key() {
            Some(_) if encrypt => Sealing::Encrypted,
            Some(_) => Sealing::Keyed,
            None => Sealing::Checksum,
        };
        Self { seals, sealing, ..self }
    }

    /// The same pool, its stripes stored so from now on.
    #[must_use]
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// The same pool, its reads looking there first.
    #[must_use]
    pub fn with_hot(self, hot: Arc<dyn HotBlocks>) -> Self {
        Self { hot: Some(hot), ..self }
    }

    /// The same pool for reads that say nothing of what is wanted again, which are of nodes alone.
    #[must_use]
    pub fn at_nodes(&self) -> Self {
        Self { hot: None, ..self.clone() }
    }

    /// The same pool, asked on behalf of a tenant.
    #[must_use]
    pub fn on_behalf_of(&self, tenant: TenantId) -> Self {
        Self { tenant, ..self.clone() }
    }

    /// The same pool, its machine seen by `witness`.
    ///
    /// # Panics
    /// If the machine was told something already.
    #[must_use]
    pub fn with_witness(self, witness: Arc<dyn Witness>) -> Self {
        self.shared.attest(witness);
        self
    }

    /// Its number.
    pub fn id(&self) -> PoolId {
        self.origin.pool
    }

    /// What the headers of its stripes say of who wrote them.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// How its new stripes are sealed.
    pub fn sealing(&self) -> Sealing {
        self.sealing
    }

    /// An empty draft of a stripe of this shape, in memory that was asked for:
    /// [`Pool::draft_memory`] bytes.
    pub fn draft(&self, id: StripeId, shape: StripeShape, share: Share) -> StripeDraft {
        let guard = Guard::new(&self.seals, self.sealing, self.origin.store, id);
        let draft = StripeDraft::guarded(id, shape, share, self.seals.clone(), guard);
        draft.pinned(self.pins.pin(id))
    }

    /// Bytes that all fragments of a new stripe of this shape take.
    pub fn draft_memory(&self, shape: StripeShape) -> usize {
        StripeDraft::memory_of(shape, self.sealing)
    }

    /// What verifies the blocks of a stripe.
    pub(crate) fn guard(&self, place: &StripePlace) -> Guard {
        Guard::new(&self.seals, place.sealing, self.origin.store, place.id)
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

    /// How its stripes are stored.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Puts a request to the machine and waits for its answer.
    pub(crate) async fn ask<T>(
        &self,
        stripe: StripeId,
        operation: RequestSpec,
        strip_bytes: u32,
        job: Job,
        answer: oneshot::Receiver<Result<T, Setback>>,
    ) -> Result<T, FailedStripe> {
        let request = self.shared.arrive(self.tenant, operation, strip_bytes, job);
        let mut leave = Leave { shared: &self.shared, request: Some(request) };
        let answered = answer.await;
        leave.request = None;
        let result = answered.unwrap_or(Err(Setback::Failed(Cause::Abandoned)));
        result.map_err(|setback| FailedStripe { id: stripe, setback })
    }

    /// Stores a stripe; answers when as many fragments are durable as the settings ask for.
    pub async fn write(&self, mut stripe: Sealed) -> Result<Written, FailedStripe> {
        let (id, shape, header_len) = (stripe.id, stripe.shape, stripe.header_len());
        let sealing = stripe.sealing();
        let pin = stripe.pin.take().unwrap_or_else(|| self.pins.pin(id));
        let (answer, answered) = oneshot::channel();
        let (settle, settled) = oneshot::channel();
        let (layout, operation, strip_bytes) = self.writing(shape, header_len, sealing);
        let job = Job::Write(Box::new(WriteJob {
            layout,
            cut: None,
            codec: self.shared.codec(shape.code()),
            stripe: Some(stripe),
            nodes: Vec::new(),
            sent: Vec::new(),
            answer: Some(answer),
            settled: Some(settle),
        }));
        let (claim, claimed) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let (pool, to) = (self.id(), self.aftermath.clone());
        // Spawned before the first await: the stripe is followed even if the caller leaves now.
        ripstop_host::spawn(async move {
            let told = told.await.unwrap_or_default();
            let warden =
                Warden { pin, id, pool, shape, header_len, sealing, told, claimed, settled, to };
            warden.watch().await;
        });
        let (cut, nodes) = self.ask(id, operation, strip_bytes, job, answered).await?;
        // The warden waits for this or for the drop.
        let _ = tell.send(nodes.clone());
        Ok(Written { id, pool, shape, cut, header_len, sealing, nodes, claim: Some(claim) })
    }

    /// The layout of a stripe of this shape, and the request that stores it.
    fn writing(
        &self,
        shape: StripeShape,
        header_len: u32,
        sealing: Sealing,
    ) -> (Layout, RequestSpec, u32) {
        let code = shape.code();
        let (n, k) = (code.n() as u8, code.k() as u8);
        let strip = body_len(shape, sealing);
        match self.layout {
            Layout::Spread => (Layout::Spread, RequestSpec::Write { n, k }, strip + header_len),
            Layout::Unique if shape.payload_len() > 0 => {
                (Layout::Unique, RequestSpec::WriteUnique { n, k }, strip)
            }
            // Where there is no payload there are no chunks either.
            Layout::Shared | Layout::Unique => {
                let len = Cut::Shared.fragment_len(shape, header_len, sealing);
                let bytes = u32::try_from(len).unwrap_or(u32::MAX);
                (Layout::Shared, RequestSpec::Write { n: 1, k: 1 }, bytes)
            }
        }
    }

    /// From now on this is what tenants are promised; what waits keeps its place.
    pub fn shape(&self, shaping: Shaping) {
        self.shared.tell(Event::ShapingChanged(shaping));
    }

    /// From now on these nodes take this many tasks of this pool at once; what runs goes on.
    pub fn divide_lanes(&self, nodes: Vec<NodeSpec>) {
        self.shared.tell(Event::LanesChanged(nodes));
    }

    /// From now on new stripes go, and reads choose, as this says; what is stored stays where it
    /// is.
    pub fn place(&self, placement: Placement) {
        self.shared.tell(Event::PlacementChanged(placement));
    }

    /// Asks every node how it is, so that one that has just come back is used at once.
    pub async fn probe(&self) {
        let probes = self.shared.nodes().map(|(id, _)| self.shared.probe(id));
        futures::future::join_all(probes).await;
    }
}

/// A fragment's header, straight from a node.
impl Pool {
    /// What the headers of a stripe tell, in plain text, by the first that is whole.
    pub async fn told(&self, place: &StripePlace) -> Option<Bytes> {
        for (index, node) in (0..).zip(&place.nodes) {
            let Some(node) = node.and_then(|id| self.shared.node(id)) else { continue };
            let name = FragmentId { stripe: place.id, index };
            let found = self.header(&**node, name, place.fragment_len()).await;
            let header = found.map(|(header, _)| header).filter(|it| it.is_of(place, name));
            if let Some(told) = header.and_then(|header| header.told(&self.seals)) {
                return Some(told);
            }
        }
        None
    }

    /// Reads and verifies the header of a fragment of `len` bytes, or the one that it ends
    /// with; `None` if the node has no whole one.
    pub async fn header(
        &self,
        node: &dyn Node,
        name: FragmentId,
        len: u64,
    ) -> Option<(Header, u32)> {
        let bytes = node.get(name, 0..len.min(HEADER_PROBE_LEN)).await.ok()?;
        let found = match Header::parse(&bytes, &self.seals) {
            Ok(found) => Some(found),
            Err(HeaderError::Short { len: more, .. }) if more <= len => {
                Header::parse(&node.get(name, 0..more).await.ok()?, &self.seals).ok()
            }
            Err(_) => None,
        };
        if found.is_some() {
            return found;
        }
        let end = node.get(name, len.saturating_sub(END_LEN)..len).await.ok()?;
        Header::parse_end(&end, &self.seals)
    }
}
