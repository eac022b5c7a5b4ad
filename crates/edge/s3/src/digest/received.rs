use super::{DEFAULT_ALGORITHM, Digests, Expectation, Pipeline, Verdict};
use crate::{
    body::Payload,
    encryption::Plain,
    error::{Code, Outcome},
};
use bytes::Bytes;
use ripstop_catalog::{Checksum, ChecksumAlgorithm};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A body on its way to the store, hashed as it passes. Its verdict is there after its end, and
/// only if everything that was said of the bytes holds.
pub(crate) struct Received {
    payload: Payload,
    expectation: Expectation,
    pipeline: Option<Pipeline>,
    verdict: Option<Verdict>,
    /// Nanoseconds spent hashing, for the observer.
    hashing_ns: Arc<AtomicU64>,
}

impl Received {
    /// Hashes `payload` into whatever its sender gave a value for, and `wanted` besides.
    pub(crate) fn new(
        payload: Payload,
        expectation: Expectation,
        wanted: Option<ChecksumAlgorithm>,
        aside_above: u64,
        hashing_ns: Arc<AtomicU64>,
    ) -> Self {
        let mut algorithms = vec![wanted.or(expectation.algorithm()).unwrap_or(DEFAULT_ALGORITHM)];
        algorithms.extend(expectation.algorithm().filter(|given| *given != algorithms[0]));
        let digests = Digests::new(payload.sha256.is_some(), &algorithms);
        let aside = payload.len_max().is_none_or(|len| len > aside_above);
        let pipeline = Some(Pipeline::new(digests, aside));
        Self { payload, expectation, pipeline, verdict: None, hashing_ns }
    }

    async fn conclude(&mut self) -> Outcome<()> {
        let Some(pipeline) = self.pipeline.take() else { return Ok(()) };
        let verdict = pipeline.finish().await?;
        let spent_ns = u64::try_from(verdict.spent.as_nanos()).unwrap_or(u64::MAX);
        self.hashing_ns.fetch_add(spent_ns, Ordering::Relaxed);
        self.expectation.check(&self.payload, verdict.md5, verdict.sha256, &verdict.checksums)?;
        self.verdict = Some(verdict);
        Ok(())
    }

    /// MD5 and the checksum to keep.
    pub(crate) fn verdict(&mut self) -> Outcome<([u8; 16], Option<Checksum>)> {
        let verdict = self.verdict.take().ok_or(Code::IncompleteBody)?;
        Ok((verdict.md5, verdict.checksums.into_iter().next()))
    }
}

impl Plain for Received {
    async fn next(&mut self) -> Option<Outcome<Bytes>> {
        let piece = match self.payload.next().await {
            Some(Ok(piece)) => piece,
            Some(Err(failure)) => return Some(Err(failure)),
            None => return self.conclude().await.err().map(Err),
        };
        let pipeline = self.pipeline.as_mut()?;
        Some(pipeline.update(&piece).await.map(|()| piece))
    }
}
