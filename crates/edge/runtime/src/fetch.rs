//! What a read wants of one stripe, from where it comes soonest: out of memory, where the pool has
//! some and it is there, or from nodes.

use crate::{
    FailedStripe, HotBlocks, HotOutcome, HotReport, Pool, StripePlace,
    fragment::Chunk,
    job::{Job, Part, ReadJob, Sought},
    lookup::{Lookup, Sifted},
};
use ripstop_gateway::RequestSpec;
use ripstop_model::{NodeId, StripSet};
use std::{future::Future, pin::pin, sync::Arc, time::Instant};
use tokio::{sync::oneshot, time::timeout};

/// Some strips of a stripe, and the request that fetches them.
#[derive(Clone, Debug)]
pub(crate) struct Fetching<'a> {
    pub(crate) place: &'a StripePlace,
    pub(crate) operation: RequestSpec,
    pub(crate) strip_bytes: u32,
    pub(crate) part: Part,
    pub(crate) wanted: StripSet,
}

impl Fetching<'_> {
    /// The same of these strips alone, if strips are fetched one by one.
    fn narrowed(&self, strips: StripSet) -> Option<Self> {
        let mut narrowed = self.clone();
        match (&mut narrowed.operation, &self.part) {
            (RequestSpec::Read { wanted, .. }, Part::Columns { unit: 1, .. }) => *wanted = strips,
            _ => return None,
        }
        narrowed.wanted = strips;
        Some(narrowed)
    }
}

/// A read that looks into memory first.
struct Glance<'a> {
    pool: &'a Pool,
    hot: &'a Arc<dyn HotBlocks>,
    lookup: Arc<Lookup>,
    fetching: Fetching<'a>,
    begun: Instant,
}

impl Pool {
    /// The chunk of each strip that is wanted, in order.
    pub(crate) async fn fetch(&self, fetching: Fetching<'_>) -> Result<Vec<Chunk>, FailedStripe> {
        let Some(hot) = &self.hot else { return self.fetch_from_nodes(fetching).await };
        let guard = self.guard(fetching.place);
        match Lookup::new(fetching.place, guard, &fetching.part, &fetching.wanted) {
            Some(lookup) => {
                let (lookup, begun) = (Arc::new(lookup), ripstop_host::now());
                Glance { pool: self, hot, lookup, fetching, begun }.fetch().await
            }
            None => self.fetch_from_nodes(fetching).await,
        }
    }

    async fn fetch_from_nodes(&self, fetching: Fetching<'_>) -> Result<Vec<Chunk>, FailedStripe> {
        let Fetching { place, operation, strip_bytes, part, wanted } = fetching;
        let (answer, answered) = oneshot::channel();
        let job = Job::Read(ReadJob {
            sought: Arc::new(Sought::new(place, self.guard(place), part)),
            wanted,
            arrived: vec![None; place.shape.code().n()],
            answer: Some(answer),
        });
        self.ask(place.id, operation, strip_bytes, job, answered).await
    }
}

impl Glance<'_> {
    async fn fetch(&self) -> Result<Vec<Chunk>, FailedStripe> {
        let mut looking = pin!(self.look());
        let patience = self.hot.patience();
        if !patience.is_zero()
            && let Ok(sifted) = timeout(patience, &mut looking).await
        {
            return self.complete(sifted).await;
        }
        self.race(looking).await
    }

    async fn look(&self) -> Sifted {
        let found = self.hot.find(&self.lookup.keys).await;
        self.lookup.sift(found, &**self.hot, &self.pool.shared.blocks)
    }

    /// Nodes are asked for what is missing.
    async fn complete(&self, sifted: Sifted) -> Result<Vec<Chunk>, FailedStripe> {
        if sifted.is_whole() {
            return Ok(self.hit(sifted));
        }
        let strips = self.lookup.strips().zip(&sifted.chunks);
        let missing = strips.filter(|(_, chunk)| chunk.is_none());
        let missing: StripSet = missing.map(|(strip, _)| usize::from(strip)).collect();
        let is_of_use = sifted.bytes() > 0;
        let narrowed = self.fetching.narrowed(missing).filter(|_| is_of_use);
        let Some(narrowed) = narrowed else {
            let chunks = self.pool.fetch_from_nodes(self.fetching.clone()).await?;
            self.report(HotOutcome::Miss, 0, &[]);
            self.offer(sifted, self.lookup.strips().zip(chunks.iter().cloned()).collect());
            return Ok(chunks);
        };
        let fetched = self.pool.fetch_from_nodes(narrowed).await?;
        self.report(HotOutcome::Partial, sifted.bytes(), &self.spared(&sifted));
        let missing = missing.iter().map(|strip| strip as u8);
        let mut came = fetched.iter().cloned();
        let chunks = sifted.chunks.iter().cloned();
        let chunks = chunks.filter_map(|chunk| chunk.or_else(|| came.next())).collect();
        self.offer(sifted, missing.zip(fetched).collect());
        Ok(chunks)
    }

    /// Nodes are asked beside what is being looked for: the first that has everything answers.
    async fn race(
        &self,
        mut looking: std::pin::Pin<&mut impl Future<Output = Sifted>>,
    ) -> Result<Vec<Chunk>, FailedStripe> {
        let mut coming = pin!(self.pool.fetch_from_nodes(self.fetching.clone()));
        let sifted = tokio::select! {
            biased;
            sifted = &mut looking => sifted,
            chunks = &mut coming => {
                self.report(HotOutcome::Late, 0, &[]);
                return chunks;
            }
        };
        if sifted.is_whole() {
            return Ok(self.hit(sifted));
        }
        let chunks = coming.await?;
        self.report(HotOutcome::Miss, 0, &[]);
        self.offer(sifted, self.lookup.strips().zip(chunks.iter().cloned()).collect());
        Ok(chunks)
    }

    fn hit(&self, sifted: Sifted) -> Vec<Chunk> {
        self.report(HotOutcome::Hit, sifted.bytes(), &self.spared(&sifted));
        sifted.chunks.into_iter().flatten().collect()
    }

    /// Seals what is worth keeping and gives it away, beside everything else.
    fn offer(&self, sifted: Sifted, chunks: Vec<(u8, Chunk)>) {
        if sifted.wants_some() {
            let (lookup, hot) = (self.lookup.clone(), self.hot.clone());
            ripstop_host::spawn(async move { lookup.offer(&sifted, &chunks, &*hot) });
        }
    }

    /// The node of each fragment that need not be asked, since its strips were found.
    fn spared(&self, sifted: &Sifted) -> Vec<NodeId> {
        let place = self.fetching.place;
        let code = place.shape.code();
        let found = self.lookup.strips().zip(&sifted.chunks);
        let found = found.filter(|(_, chunk)| chunk.is_some());
        let fragments = found.map(|(strip, _)| place.cut.place_of(code, strip.into()).0);
        let mut fragments: Vec<u8> = fragments.collect();
        fragments.dedup();
        let node = |fragment: &u8| place.nodes.get(usize::from(*fragment)).copied().flatten();
        fragments.iter().filter_map(node).collect()
    }

    fn report(&self, outcome: HotOutcome, bytes: u64, spared: &[NodeId]) {
        let took = ripstop_host::since(self.begun);
        self.hot.report(&HotReport { outcome, bytes, spared, took });
    }
}
