use crate::PlanSetting;
use core::time::Duration;
use ripstop_delay::{
    Correlation, DelayModel, Luck, Preset, Recorded, ShiftedExponential, StorageOperation,
};
use ripstop_gateway::{
    AfterAnswer, MachineSettings, Recombination, Shaping, TenantTerms, TierTerms,
};
use ripstop_model::{Code, Layout, NodeId, Operation, TenantId};
use ripstop_world::{Change, NodeWorld, World};

/// The law of a node's delays, to be made as often as there are runs.
#[derive(Clone, Debug)]
pub enum Delay {
    /// One with a name.
    Preset(Preset),
    /// These parameters.
    ShiftedExponential(ShiftedExponential),
    /// A recorded log.
    Recorded(Recorded),
    /// Parameters for reads and for writes.
    ByOperation(ByOperation),
    /// A node's delays, and what a live pool adds to them.
    WithOverhead(Box<Delay>, Overhead),
}

/// What a task takes at a live pool beyond its node's delay: the way there and back, and checking
/// what came.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Overhead {
    /// For each task, seconds.
    pub s: f64,
    /// For each byte that it moves, seconds.
    pub s_per_byte: f64,
}

impl Overhead {
    fn of(&self, bytes: u64) -> f64 {
        self.s + self.s_per_byte * bytes as f64
    }
}

#[derive(Debug)]
struct WithOverhead {
    model: Box<dyn DelayModel>,
    overhead: Overhead,
}

impl DelayModel for WithOverhead {
    fn sample(&mut self, operation: StorageOperation, bytes: u64, luck: &mut dyn Luck) -> Duration {
        let overhead = Duration::from_secs_f64(self.overhead.of(bytes));
        self.model.sample(operation, bytes, luck) + overhead
    }

    fn mean_ms(&self, operation: StorageOperation, bytes: u64) -> f64 {
        self.model.mean_ms(operation, bytes) + self.overhead.of(bytes) * 1000.0
    }
}

/// Shifted exponentials, one for each direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ByOperation {
    /// Of everything but puts.
    pub read: ShiftedExponential,
    /// Of puts.
    pub write: ShiftedExponential,
}

impl ByOperation {
    fn of(&self, operation: StorageOperation) -> ShiftedExponential {
        match operation {
            StorageOperation::Put => self.write,
            StorageOperation::Get
            | StorageOperation::Delete
            | StorageOperation::List
            | StorageOperation::Health => self.read,
        }
    }
}

impl DelayModel for ByOperation {
    fn sample(&mut self, operation: StorageOperation, bytes: u64, luck: &mut dyn Luck) -> Duration {
        self.of(operation).sample(operation, bytes, luck)
    }

    fn mean_ms(&self, operation: StorageOperation, bytes: u64) -> f64 {
        self.of(operation).mean_ms(operation, bytes)
    }
}

impl Delay {
    /// A fresh model.
    pub fn model(&self) -> Box<dyn DelayModel> {
        match self {
            Self::Preset(preset) => preset.model(),
            Self::ShiftedExponential(model) => Box::new(*model),
            Self::Recorded(log) => Box::new(log.clone()),
            Self::ByOperation(models) => Box::new(*models),
            Self::WithOverhead(delay, overhead) => {
                Box::new(WithOverhead { model: delay.model(), overhead: *overhead })
            }
        }
    }

    /// Its parameters, if it is a shifted exponential.
    pub fn shifted_exponential(&self) -> Option<ShiftedExponential> {
        match self {
            Self::Preset(preset) => preset.shifted_exponential(),
            Self::ShiftedExponential(model) => Some(*model),
            Self::Recorded(_) | Self::WithOverhead(..) => None,
            Self::ByOperation(models) => (models.read == models.write).then_some(models.read),
        }
    }
}

/// A node and its lanes.
#[derive(Clone, Debug)]
pub struct NodeSetting {
    /// Tasks it serves at once.
    pub lanes: u16,
    /// How long they take.
    pub delay: Delay,
    /// Every delay is multiplied by this.
    pub scale: f64,
    /// When it is slow or lost.
    pub changes: Vec<Change>,
}

/// A kind of request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassSetting {
    /// Read or write.
    pub operation: Operation,
    /// J.
    pub bytes: u64,
    /// How often, beside the others' shares.
    pub share: f64,
    /// Who asks.
    pub tenant: TenantId,
}

impl ClassSetting {
    /// Requests of anybody's.
    pub fn new(operation: Operation, bytes: u64, share: f64) -> Self {
        Self { operation, bytes, share, tenant: TenantId::ANYBODY }
    }
}

/// Everything about a pool but its policy and its load.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The nodes; ids count from 0.
    pub nodes: Vec<NodeSetting>,
    /// The storage code (N,K).
    pub code: Code,
    /// Where strips are.
    pub layout: Layout,
    /// The kinds of request.
    pub classes: Vec<ClassSetting>,
    /// How much alike the delays of one request's tasks are.
    pub correlation: f64,
    /// How long a lane is busy after its task was told to stop.
    pub cancellation: Duration,
    /// Time to encode or decode, seconds per byte of payload.
    pub coding_s_per_byte: f64,
    /// Whether a request's chunks are as lucky whatever the policy does; else luck comes in the
    /// order in which tasks start, as at a live node ([`World::paired`]).
    pub paired: bool,
    /// The machine's limits.
    pub machine: MachineSettings,
    /// Who asks, and what they are promised.
    pub tenants: Tenants,
    /// Its stripes, one by one, if it may plan itself. Else reads are of stripes anywhere.
    pub plan: Option<PlanSetting>,
}

/// Who asks of a pool, and what they are promised.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tenants {
    /// How their tiers share the lanes; `None`: no promise is looked at, all wait in one queue.
    pub recombination: Option<Recombination>,
    /// Their ids count from 1.
    pub list: Vec<TenantSetting>,
}

/// A tenant of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TenantSetting {
    /// What it is called in tables.
    pub name: String,
    /// What it is promised, and the lanes kept free for that; empty for nothing.
    pub tiers: Vec<TierTerms>,
}

impl Tenants {
    /// The id of a tenant by its place in the list.
    pub fn id(index: usize) -> TenantId {
        TenantId(index as u16 + 1)
    }

    /// Its name in tables; that of `None` is `none`.
    pub const fn recombination_name(recombination: Option<Recombination>) -> &'static str {
        match recombination {
            None => "none",
            Some(Recombination::Fifo) => "fifo",
            Some(Recombination::Split) => "split",
            Some(Recombination::Fair) => "fair",
            Some(Recombination::PClock) => "pclock",
            Some(Recombination::Miser) => "miser",
        }
    }

    /// What the machine is told.
    pub fn shaping(&self) -> Option<Shaping> {
        let recombination = self.recombination.filter(|_| !self.list.is_empty())?;
        Some(Shaping { recombination, tenants: self.terms() })
    }

    /// Every tenant's terms.
    pub(crate) fn terms(&self) -> Vec<TenantTerms> {
        let terms = |(index, tenant): (usize, &TenantSetting)| TenantTerms {
            tenant: Self::id(index),
            tiers: tenant.tiers.clone(),
        };
        self.list.iter().enumerate().map(terms).collect()
    }
}

impl Setting {
    /// The pool of the paper on TOFEC: one node, reads of 3 MB, every k of 1..=6 possible. Nothing
    /// is given up: queues and times are as good as endless.
    pub fn of_tofec(delay: Delay, lanes: u16) -> Self {
        let node = NodeSetting { lanes, delay, scale: 1.0, changes: Vec::new() };
        let read = ClassSetting::new(Operation::Read, 3_000_000, 1.0);
        Self {
            nodes: vec![node],
            code: Code::new(120, 60).expect("60 of 120 is a code"),
            layout: Layout::Unique,
            classes: vec![read],
            correlation: 0.0,
            cancellation: Duration::ZERO,
            coding_s_per_byte: 0.0,
            paired: true,
            machine: patient(),
            tenants: Tenants::default(),
            plan: None,
        }
    }

    /// All lanes.
    pub fn lanes(&self) -> u32 {
        self.nodes.iter().map(|node| u32::from(node.lanes)).sum()
    }

    /// Bytes that a task moves for one strip of this class.
    pub(crate) fn strip_bytes(&self, class: &ClassSetting) -> u32 {
        class.bytes.div_ceil(self.code.k() as u64).min(u64::from(u32::MAX)) as u32
    }

    /// Mean lane time of a request served with one task for the whole payload (spread: K tasks for
    /// a strip each), seconds.
    pub fn lane_time_s(&self) -> f64 {
        let shares: f64 = self.classes.iter().map(|class| class.share).sum();
        let lanes = f64::from(self.lanes());
        let one = |class: &ClassSetting| {
            let operation = match class.operation {
                Operation::Read => StorageOperation::Get,
                Operation::Write => StorageOperation::Put,
            };
            let (tasks, bytes) = match (self.layout, class.operation) {
                (Layout::Unique, _) | (Layout::Shared, Operation::Read) => (1, class.bytes),
                (Layout::Shared, Operation::Write) => {
                    (1, u64::from(self.strip_bytes(class)) * self.code.n() as u64)
                }
                (Layout::Spread, Operation::Read) => {
                    (self.code.k(), u64::from(self.strip_bytes(class)))
                }
                (Layout::Spread, Operation::Write) => {
                    (self.code.n(), u64::from(self.strip_bytes(class)))
                }
            };
            let mean = |node: &NodeSetting| {
                let ms = node.delay.model().mean_ms(operation, bytes) * node.scale;
                ms * f64::from(node.lanes) / lanes
            };
            tasks as f64 * self.nodes.iter().map(mean).sum::<f64>() / 1000.0
        };
        self.classes.iter().map(|class| one(class) * class.share / shares).sum()
    }

    /// Full capacity: requests per second that keep all lanes busy without any redundancy.
    pub fn capacity_per_s(&self) -> f64 {
        f64::from(self.lanes()) / self.lane_time_s()
    }

    /// A world for one run.
    pub(crate) fn world(&self, seed: u64) -> World {
        let mut world = World::new(seed);
        world.correlation = Correlation::new(self.correlation);
        world.cancellation = self.cancellation;
        world.coding_s_per_byte = self.coding_s_per_byte;
        world.paired = self.paired;
        for (index, setting) in self.nodes.iter().enumerate() {
            let mut node = NodeWorld::new(NodeId(index as u16), setting.delay.model());
            node.scale = setting.scale;
            node.changes.clone_from(&setting.changes);
            world.add(node);
        }
        world
    }
}

/// A machine that gives nothing up: for questions about policies, not about limits.
pub fn patient() -> MachineSettings {
    let ages = Duration::from_hours(24 * 365);
    MachineSettings {
        requests_waiting_max: 1 << 20,
        tasks_waiting_max: 1 << 20,
        task_timeout: ages,
        request_timeout: ages,
        late_after: ages,
        degraded_after: ages,
        answer_extra: 0,
        after_answer: AfterAnswer::Cancel,
        ..MachineSettings::default()
    }
}
