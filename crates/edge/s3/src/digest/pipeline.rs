use super::Hasher;
use crate::error::{Code, Outcome};
use bytes::Bytes;
use md5::{Digest as _, Md5};
use ripstop_catalog::{Checksum, ChecksumAlgorithm};
use sha2::Sha256;
use std::time::{Duration, Instant};
use tokio::{sync::Semaphore, task::JoinHandle};

/// Fewest bytes that are worth another thread's while.
const BURST_LEN_MIN: usize = 256 << 10;
/// Most bytes that wait while a burst is under way.
const WAITING_LEN_MAX: usize = 1 << 20;
/// Most bursts under way at once, over all bodies. Beyond that bodies are hashed where they arrive:
/// with so many under way nothing is gained by waiting, and what waits is memory.
static BURSTS: Semaphore = Semaphore::const_new(4);

/// Everything that one body is hashed into.
pub(crate) struct Digests {
    md5: Md5,
    sha256: Option<Sha256>,
    checksums: Vec<Hasher>,
    spent: Duration,
}

/// What came out.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) md5: [u8; 16],
    /// If it was wanted.
    pub(crate) sha256: Option<[u8; 32]>,
    /// In the order in which they were wanted.
    pub(crate) checksums: Vec<Checksum>,
    /// Time spent hashing.
    pub(crate) spent: Duration,
}

impl Digests {
    /// MD5 always; SHA-256 and checksums as wanted.
    pub(crate) fn new(sha256: bool, checksums: &[ChecksumAlgorithm]) -> Self {
        Self {
            md5: Md5::new(),
            sha256: sha256.then(Sha256::new),
            checksums: checksums.iter().map(|&algorithm| Hasher::new(algorithm)).collect(),
            spent: Duration::ZERO,
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let begun = Instant::now();
        self.md5.update(bytes);
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
        for hasher in &mut self.checksums {
            hasher.update(bytes);
        }
        self.spent += begun.elapsed();
    }

    pub(crate) fn finish(self) -> Verdict {
        Verdict {
            md5: self.md5.finalize().into(),
            sha256: self.sha256.map(|sha256| sha256.finalize().into()),
            checksums: self.checksums.into_iter().map(Hasher::finish).collect(),
            spent: self.spent,
        }
    }
}

/// Where a body is hashed: short ones where they arrive, long ones beside, so that receiving,
/// hashing and coding overlap. Beside means in bursts on the pool of blocking threads: none is held
/// while nothing has come, or slow senders could take them all.
pub(crate) enum Pipeline {
    /// On the task that receives.
    Here(Box<Digests>),
    /// In bursts.
    Aside {
        /// The burst under way, if any; what it works on comes back when it is done.
        burst: Burst,
        /// Came since that began.
        waiting: Vec<Bytes>,
        waiting_len: usize,
    },
}

/// Whoever has the digests.
pub(crate) enum Burst {
    None(Box<Digests>),
    Running(JoinHandle<Box<Digests>>),
    /// A burst did not come back.
    Lost,
}

impl Burst {
    /// The digests, once the burst is done.
    async fn end(&mut self) -> Outcome<Box<Digests>> {
        match std::mem::replace(self, Self::Lost) {
            Self::None(digests) => Ok(digests),
            Self::Running(burst) => burst.await.map_err(|_| Code::InternalError.into()),
            Self::Lost => Err(Code::InternalError.into()),
        }
    }

    /// Hashes the pieces beside, if that is still worth while, or here.
    fn start(mut digests: Box<Digests>, pieces: Vec<Bytes>) -> Self {
        let hash = move || {
            for piece in pieces {
                digests.update(&piece);
            }
            digests
        };
        let Ok(permit) = BURSTS.try_acquire() else { return Self::None(hash()) };
        Self::Running(tokio::task::spawn_blocking(move || {
            let digests = hash();
            drop(permit);
            digests
        }))
    }

    fn is_running(&self) -> bool {
        matches!(self, Self::Running(burst) if !burst.is_finished())
    }
}

impl Pipeline {
    /// Begins hashing.
    pub(crate) fn new(digests: Digests, aside: bool) -> Self {
        let digests = Box::new(digests);
        if !aside {
            return Self::Here(digests);
        }
        Self::Aside { burst: Burst::None(digests), waiting: Vec::new(), waiting_len: 0 }
    }

    /// Hashes a piece, or has it wait for its turn; waits itself where too much does.
    pub(crate) async fn update(&mut self, piece: &Bytes) -> Outcome<()> {
        match self {
            Self::Here(digests) => digests.update(piece),
            Self::Aside { burst, waiting, waiting_len } => {
                waiting.push(piece.clone());
                *waiting_len += piece.len();
                let due = *waiting_len >= BURST_LEN_MIN && !burst.is_running();
                if due || *waiting_len >= WAITING_LEN_MAX {
                    let digests = burst.end().await?;
                    *burst = Burst::start(digests, std::mem::take(waiting));
                    *waiting_len = 0;
                }
            }
        }
        Ok(())
    }

    /// What came out.
    pub(crate) async fn finish(self) -> Outcome<Verdict> {
        match self {
            Self::Here(digests) => Ok(digests.finish()),
            Self::Aside { mut burst, waiting, .. } => {
                let digests = burst.end().await?;
                Ok(Burst::start(digests, waiting).end().await?.finish())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hashing_beside_gives_what_hashing_here_gives() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at * 7 % 253) as u8).collect();
        let mut verdicts = Vec::new();
        for aside in [false, true] {
            let digests = Digests::new(true, &[ChecksumAlgorithm::Crc32c]);
            let mut pipeline = Pipeline::new(digests, aside);
            for piece in bytes.chunks(70_001) {
                pipeline.update(&Bytes::copy_from_slice(piece)).await.unwrap();
            }
            let verdict = pipeline.finish().await.unwrap();
            verdicts.push((verdict.md5, verdict.sha256, verdict.checksums));
        }
        assert_eq!(verdicts[0], verdicts[1]);
        let md5: [u8; 16] = Md5::digest(&bytes).into();
        assert_eq!(verdicts[0].0, md5);
    }
}
