use crate::{
    Cut, Layout, Setback, StripePlace,
    aftermath::Settlement,
    fragment::{Chunk, Guard, Sealed, body_len, body_range, piece_lens},
    span::columns,
};
use bytes::Bytes;
use ripstop_block::{Blocks, Buffer};
use ripstop_codec::Codec;
use ripstop_gateway::{Task, TaskOutcome};
use ripstop_model::{Code, FragmentId, NodeId, StripSet, StripeId, StripeShape};
use std::{ops::Range, sync::Arc};
use tokio::sync::oneshot;

/// The bytes of one request, and who waits for them.
#[derive(Debug)]
pub(crate) enum Job {
    Read(ReadJob),
    Write(Box<WriteJob>),
    Mend(MendJob),
}

/// What a fetch needs to know, apart from what is arriving.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    pub stripe: StripeId,
    pub shape: StripeShape,
    pub cut: Cut,
    pub header_len: u32,
    pub guard: Guard,
    pub part: Part,
}

/// The part of a stripe that a read fetches, and how its tasks share it.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// The same columns of strips: each task its own strips.
    Columns {
        columns: Range<u32>,
        /// Strips in what the machine takes for one.
        unit: usize,
    },
    /// Some bytes of the payload, in one fragment: each task the whole of it, any of them suffices.
    Bytes(Range<u32>),
}

/// What one task fetches: bytes of one fragment that stand one behind the other.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub name: FragmentId,
    /// Where it begins in the fragment, header included.
    pub start: u64,
    /// The pieces in which it is wanted: blocks and seals by turns.
    pub lens: Vec<u32>,
    /// By strip, in order.
    pub columns: Vec<(usize, Range<u32>)>,
}

impl Sought {
    pub(crate) fn new(place: &StripePlace, guard: Guard, part: Part) -> Self {
        let StripePlace { id, shape, cut, header_len, .. } = *place;
        Self { stripe: id, shape, cut, header_len, guard, part }
    }

    /// What a task fetches.
    pub(crate) fn fetch(&self, task: &Task) -> Fetch {
        let columns: Vec<_> = match &self.part {
            Part::Bytes(range) => columns(self.shape, range).collect(),
            Part::Columns { columns, unit } => {
                let (run, at) = (usize::from(task.strips) * unit, usize::from(task.fragment));
                (at * run..(at + 1) * run).map(|strip| (strip, columns.clone())).collect()
            }
        };
        let (code, shape) = (self.shape.code(), self.shape);
        let sealing = self.guard.sealing();
        let (first, at) = &columns[0];
        let (index, before) = self.cut.place_of(code, *first);
        let start = u64::from(self.header_len)
            + before as u64 * u64::from(body_len(shape, sealing))
            + u64::from(body_range(at, shape, sealing).start);
        let lens = |(_, columns): &(usize, Range<u32>)| piece_lens(columns, shape, sealing);
        let lens = columns.iter().flat_map(lens).collect();
        Fetch { name: FragmentId { stripe: self.stripe, index }, start, lens, columns }
    }
}

#[derive(Debug)]
pub(crate) struct ReadJob {
    pub sought: Arc<Sought>,
    pub wanted: StripSet,
    /// By strip.
    pub arrived: Vec<Option<Chunk>>,
    pub answer: Option<oneshot::Sender<Result<Vec<Chunk>, Setback>>>,
}

#[derive(Debug)]
pub(crate) struct WriteJob {
    pub layout: Layout,
    /// Known once the code is.
    pub cut: Option<Cut>,
    /// Absent while it is being encoded.
    pub stripe: Option<Sealed>,
    pub codec: Codec,
    /// Where each fragment is or is on its way to; not where it failed.
    pub nodes: Vec<Option<NodeId>>,
    /// Where each fragment was last sent, whatever came of it.
    pub sent: Vec<Option<NodeId>>,
    pub answer: Option<oneshot::Sender<Result<Stored, Setback>>>,
    pub settled: Option<oneshot::Sender<Settlement>>,
}

/// How the strips of an answered write lie in fragments, and where those are.
pub(crate) type Stored = (Cut, Vec<Option<NodeId>>);

#[derive(Debug)]
pub(crate) struct MendJob {
    pub name: FragmentId,
    pub fragment: Vec<Bytes>,
    pub answer: Option<oneshot::Sender<Result<(), Setback>>>,
    pub settled: Option<oneshot::Sender<Option<NodeId>>>,
}

/// What a task moves.
#[derive(Debug)]
pub(crate) enum Load {
    Fetch(Arc<Sought>),
    Store { name: FragmentId, fragment: Vec<Bytes> },
}

impl Job {
    /// What a task moves; notes where it goes.
    pub(crate) fn load(&mut self, task: &Task) -> Load {
        match self {
            Self::Read(job) => Load::Fetch(job.sought.clone()),
            Self::Write(job) => {
                let index = usize::from(task.fragment);
                job.nodes[index] = Some(task.node);
                job.sent[index] = Some(task.node);
                let stripe = job.stripe.as_ref().expect("tasks start after EncodeEnded");
                let name = FragmentId { stripe: stripe.id, index: task.fragment };
                Load::Store { name, fragment: stripe.fragment(task.fragment) }
            }
            Self::Mend(job) => Load::Store { name: job.name, fragment: job.fragment.clone() },
        }
    }

    /// Takes in what a task brought.
    pub(crate) fn task_ended(
        &mut self,
        fragment: u8,
        outcome: TaskOutcome,
        chunks: Vec<(usize, Chunk)>,
    ) {
        match self {
            Self::Read(job) => {
                for (strip, chunk) in chunks {
                    job.arrived[strip] = Some(chunk);
                }
            }
            Self::Write(job) => {
                if outcome != TaskOutcome::Done {
                    job.nodes[usize::from(fragment)] = None;
                } else if let Some(stripe) = &mut job.stripe {
                    stripe.release(fragment);
                }
            }
            Self::Mend(_) => {}
        }
    }

    /// Answers the caller that waits, if nobody has yet.
    pub(crate) fn answer(&mut self, result: Result<(), Setback>) {
        // An answer that nobody waits for any longer is dropped: the caller left.
        match self {
            Self::Read(job) => {
                let chunks = result.map(|()| job.take_wanted());
                let _ = job.answer.take().map(|answer| answer.send(chunks));
            }
            Self::Write(job) => {
                let cut = || job.cut.expect("no write is done before it is encoded");
                let stored = result.map(|()| (cut(), job.nodes.clone()));
                let _ = job.answer.take().map(|answer| answer.send(stored));
            }
            Self::Mend(job) => {
                let _ = job.answer.take().map(|answer| answer.send(result));
            }
        }
    }

    /// Passes on where things ended up.
    pub(crate) fn settle(self, stored: Vec<Option<NodeId>>) {
        match self {
            Self::Read(_) => {}
            Self::Write(mut job) => {
                let settlement = Settlement { cut: job.cut, stored, sent: job.sent };
                let _ = job.settled.take().map(|settled| settled.send(settlement));
            }
            Self::Mend(mut job) => {
                let node = stored.get(usize::from(job.name.index)).copied().flatten();
                let _ = job.settled.take().map(|settled| settled.send(node));
            }
        }
    }
}

impl ReadJob {
    fn take_wanted(&mut self) -> Vec<Chunk> {
        let wanted = self.wanted;
        wanted.iter().filter_map(|strip| self.arrived[strip].take()).collect()
    }

    /// What is missing of the wanted strips, and the chunks it is to be computed from.
    pub(crate) fn gap(&self, from: &StripSet) -> (Vec<usize>, Vec<(usize, Chunk)>) {
        let missing = self.wanted.iter().filter(|&strip| self.arrived[strip].is_none()).collect();
        let from: Vec<usize> = match &self.sought.part {
            // A copy of what is wanted has arrived.
            Part::Bytes(_) => Vec::new(),
            Part::Columns { unit, .. } => {
                from.iter().flat_map(|at| at * unit..(at + 1) * unit).collect()
            }
        };
        let sources =
            from.into_iter().filter_map(|strip| Some((strip, self.arrived[strip].clone()?)));
        (missing, sources.collect())
    }
}

impl WriteJob {
    /// Chooses how the strips lie in fragments, `tasks` being the code of the request, and hands
    /// the stripe out to be encoded.
    pub(crate) fn begin(&mut self, tasks: Code) -> Option<(Sealed, Cut)> {
        let stripe = self.stripe.take()?;
        let code = stripe.shape.code();
        let cut = Cut::chosen(self.layout, code, tasks).expect("the machine chooses among codes");
        self.cut = Some(cut);
        self.nodes = vec![None; cut.fragments(code)];
        self.sent = self.nodes.clone();
        Some((stripe, cut))
    }
}

/// Computes `missing` strips from chunks of K others that cover the same columns.
pub(crate) fn decode(
    codec: &Codec,
    missing: &[usize],
    sources: &[(usize, Chunk)],
    blocks: &Blocks,
) -> Option<Vec<(usize, Chunk)>> {
    if missing.is_empty() {
        return Some(Vec::new());
    }
    let present: StripSet = sources.iter().map(|&(strip, _)| strip).collect();
    let plan = codec.plan(present, missing).ok()?;
    let used: Vec<&Chunk> = plan
        .sources()
        .iter()
        .filter_map(|strip| sources.iter().find(|(at, _)| at == strip).map(|(_, chunk)| chunk))
        .collect();
    let columns = used.first()?.columns();
    if used.iter().any(|chunk| chunk.columns() != columns) {
        return None;
    }
    let count = used[0].blocks().len();
    let mut computed: Vec<Vec<Bytes>> = missing.iter().map(|_| Vec::with_capacity(count)).collect();
    for block in 0..count {
        let inputs: Vec<&[u8]> = used.iter().map(|chunk| &chunk.blocks()[block][..]).collect();
        let len = inputs[0].len();
        let mut outputs: Vec<Buffer> = missing.iter().map(|_| blocks.buffer(len)).collect();
        let mut into: Vec<&mut [u8]> = outputs.iter_mut().map(Buffer::whole).collect();
        plan.run(&inputs, &mut into).ok()?;
        for (mut output, strip) in outputs.into_iter().zip(&mut computed) {
            output.fill_to(len);
            strip.push(output.freeze());
        }
    }
    let chunks = computed.into_iter().map(|blocks| Chunk::computed(columns.start, blocks));
    Some(missing.iter().copied().zip(chunks).collect())
}
