use super::Hasher;
use crate::error::{Code, Outcome};
use bytes::Bytes;
use ripstop_catalog::{Checksum, ChecksumAlgorithm};
use ripstop_digest::{Hall, Md5, Seat};
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Fewest bytes that are worth another thread's while.
const BURST_LEN_MIN: usize = 128 << 10;
/// Most bytes that wait while a burst is under way.
const WAITING_LEN_MAX: usize = 512 << 10;

/// Everything that one body is hashed into.
pub(crate) struct Digests {
    md5: Md5,
    others: Others,
    spent: Duration,
}

/// Everything but MD5.
struct Others {
    sha256: Option<Sha256>,
    checksums: Vec<Hasher>,
}

impl Others {
    fn update(&mut self, bytes: &[u8]) {
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
        for hasher in &mut self.checksums {
            hasher.update(bytes);
        }
    }

    fn is_slow(&self) -> bool {
        self.sha256.is_some() || self.checksums.iter().any(Hasher::is_slow)
    }

    /// Takes the pieces in: CRCs at memory speed here, what takes longer on a thread that may
    /// block.
    async fn take(mut self, pieces: Vec<Bytes>) -> Outcome<Self> {
        let slow = self.is_slow();
        let hash = move || {
            for piece in &pieces {
                self.update(piece);
            }
            self
        };
        if slow {
            ripstop_host::spawn_blocking(hash).await.map_err(|_| Code::InternalError.into())
        } else {
            Ok(hash())
        }
    }
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
        let checksums = checksums.iter().map(|&algorithm| Hasher::new(algorithm)).collect();
        let others = Others { sha256: sha256.then(Sha256::new), checksums };
        Self { md5: Md5::default(), others, spent: Duration::ZERO }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let begun = ripstop_host::now();
        self.md5.update(bytes);
        self.others.update(bytes);
        self.spent += ripstop_host::since(begun);
    }

    /// Takes the pieces in beside whatever else is hashed now.
    async fn take(self, pieces: Vec<Bytes>) -> Outcome<Box<Self>> {
        let begun = ripstop_host::now();
        let Self { md5, others, spent } = self;
        let (md5, others) =
            tokio::join!(Hall::shared().update(md5, pieces.clone()), others.take(pieces));
        Ok(Box::new(Self { md5, others: others?, spent: spent + ripstop_host::since(begun) }))
    }

    pub(crate) fn finish(self) -> Verdict {
        let Others { sha256, checksums } = self.others;
        Verdict {
            md5: self.md5.finish(),
            sha256: sha256.map(|sha256| sha256.finalize().into()),
            checksums: checksums.into_iter().map(Hasher::finish).collect(),
            spent: self.spent,
        }
    }
}

/// Where a body is hashed: short ones where they arrive, long ones beside, so that receiving,
/// hashing and coding overlap and the MD5s of several bodies are computed at once. Beside means in
/// bursts: no thread is held while nothing has come, or slow senders could take them all.
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
        /// Says to others that more may come.
        _seat: Seat,
    },
}

/// The holder of the digests.
pub(crate) enum Burst {
    None(Box<Digests>),
    Running(JoinHandle<Outcome<Box<Digests>>>),
    /// A burst did not come back.
    Lost,
}

impl Burst {
    /// The digests, once the burst is done.
    async fn end(&mut self) -> Outcome<Box<Digests>> {
        match std::mem::replace(self, Self::Lost) {
            Self::None(digests) => Ok(digests),
            Self::Running(burst) => burst.await.map_err(|_| Code::InternalError)?,
            Self::Lost => Err(Code::InternalError.into()),
        }
    }

    /// Hashes the pieces beside.
    fn start(digests: Box<Digests>, pieces: Vec<Bytes>) -> Self {
        Self::Running(ripstop_host::spawn(digests.take(pieces)))
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
        Self::Aside {
            burst: Burst::None(digests),
            waiting: Vec::new(),
            waiting_len: 0,
            _seat: Hall::shared().sit(),
        }
    }

    /// Hashes a piece, or has it wait for its turn; waits itself where too much does.
    pub(crate) async fn update(&mut self, piece: &Bytes) -> Outcome<()> {
        match self {
            Self::Here(digests) => digests.update(piece),
            Self::Aside { burst, waiting, waiting_len, .. } => {
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
                Ok(digests.take(waiting).await?.finish())
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
        let md5: [u8; 16] = md5::Md5::digest(&bytes).into();
        assert_eq!(verdicts[0].0, md5);
    }
}
