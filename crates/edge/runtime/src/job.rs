use crate::{
    aftermath::Settlement,
    fragment::{Chunk, Sealed},
};
use bytes::Bytes;
use ripstop_codec::Codec;
use ripstop_gateway::{Cause, Outcome};
use ripstop_model::{FragmentId, NodeId, StripSet, StripeId, StripeShape};
use std::{ops::Range, sync::Arc};
use tokio::sync::oneshot;

/// The bytes of one request, and who waits for them.
#[derive(Debug)]
pub(crate) enum Job {
    Read(ReadJob),
    Write(WriteJob),
    Mend(MendJob),
}

/// What a fetch needs to know, apart from what is arriving.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    pub stripe: StripeId,
    pub shape: StripeShape,
    pub header_len: u32,
    pub columns: Range<u32>,
}

#[derive(Debug)]
pub(crate) struct ReadJob {
    pub sought: Arc<Sought>,
    pub wanted: StripSet,
    /// By strip.
    pub arrived: Vec<Option<Chunk>>,
    pub answer: Option<oneshot::Sender<Result<Vec<Chunk>, Cause>>>,
}

#[derive(Debug)]
pub(crate) struct WriteJob {
    /// Absent while it is being encoded.
    pub stripe: Option<Sealed>,
    pub codec: Codec,
    /// Where each fragment is or is on its way to; not where it failed.
    pub nodes: Vec<Option<NodeId>>,
    /// Where each fragment was last sent, whatever came of it.
    pub sent: Vec<Option<NodeId>>,
    pub answer: Option<oneshot::Sender<Result<Vec<Option<NodeId>>, Cause>>>,
    pub settled: Option<oneshot::Sender<Settlement>>,
}

#[derive(Debug)]
pub(crate) struct MendJob {
    pub name: FragmentId,
    pub fragment: Vec<Bytes>,
    pub answer: Option<oneshot::Sender<Result<(), Cause>>>,
    pub settled: Option<oneshot::Sender<Option<NodeId>>>,
}

/// What a task moves.
#[derive(Debug)]
pub(crate) enum Load {
    Fetch(Arc<Sought>),
    Store { name: FragmentId, fragment: Vec<Bytes> },
}

impl Job {
    /// What a task for `fragment` moves; notes where it goes.
    pub(crate) fn load(&mut self, fragment: u8, node: NodeId) -> Load {
        match self {
            Self::Read(job) => Load::Fetch(job.sought.clone()),
            Self::Write(job) => {
                let index = usize::from(fragment);
                job.nodes[index] = Some(node);
                job.sent[index] = Some(node);
                let stripe = job.stripe.as_ref().expect("tasks start after EncodeEnded");
                let name = FragmentId { stripe: stripe.id, index: fragment };
                Load::Store { name, fragment: stripe.fragment(fragment) }
            }
            Self::Mend(job) => Load::Store { name: job.name, fragment: job.fragment.clone() },
        }
    }

    /// Takes in what a task brought.
    pub(crate) fn task_ended(&mut self, fragment: u8, outcome: Outcome, chunk: Option<Chunk>) {
        let index = usize::from(fragment);
        match self {
            Self::Read(job) => {
                if chunk.is_some() {
                    job.arrived[index] = chunk;
                }
            }
            Self::Write(job) => {
                if outcome != Outcome::Done {
                    job.nodes[index] = None;
                } else if let Some(stripe) = &mut job.stripe {
                    stripe.release(fragment);
                }
            }
            Self::Mend(_) => {}
        }
    }

    /// Answers whoever waits, if nobody has yet.
    pub(crate) fn answer(&mut self, result: Result<(), Cause>) {
        // An answer that nobody waits for any longer is dropped: the caller left.
        match self {
            Self::Read(job) => {
                let chunks = result.map(|()| job.take_wanted());
                let _ = job.answer.take().map(|answer| answer.send(chunks));
            }
            Self::Write(job) => {
                let nodes = result.map(|()| job.nodes.clone());
                let _ = job.answer.take().map(|answer| answer.send(nodes));
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
                let settlement = Settlement { stored, sent: job.sent };
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
        let sources = from.iter().filter_map(|strip| Some((strip, self.arrived[strip].clone()?)));
        (missing, sources.collect())
    }
}

/// Computes `missing` strips from chunks of K others that cover the same columns.
pub(crate) fn decode(
    codec: &Codec,
    missing: &[usize],
    sources: &[(usize, Chunk)],
) -> Option<Vec<(usize, Chunk)>> {
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
    let len = (columns.end - columns.start) as usize;
    let mut out: Vec<Vec<u8>> = missing.iter().map(|_| vec![0; len]).collect();
    let mut at = 0;
    for block in 0..used[0].blocks().len() {
        let inputs: Vec<&[u8]> = used.iter().map(|chunk| &chunk.blocks()[block][..]).collect();
        let end = at + inputs[0].len();
        let mut outputs: Vec<&mut [u8]> = out.iter_mut().map(|strip| &mut strip[at..end]).collect();
        plan.run(&inputs, &mut outputs).ok()?;
        at = end;
    }
    let chunks = out.into_iter().map(|bytes| Chunk::computed(columns.start, bytes));
    Some(missing.iter().copied().zip(chunks).collect())
}
