use super::Hasher;
use crate::error::{Code, Outcome};
use bytes::Bytes;
use md5::{Digest as _, Md5};
use ripstop_catalog::{Checksum, ChecksumAlgorithm};
use sha2::Sha256;
use std::time::{Duration, Instant};
use tokio::{sync::mpsc, task::JoinHandle};

/// Pieces that wait for the hashing thread: they are at most this many times what one read of a
/// connection delivers.
const PIECES_WAITING_MAX: usize = 16;

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
/// hashing and coding overlap.
pub(crate) enum Pipeline {
    /// On the task that receives.
    Here(Box<Digests>),
    /// On a thread of its own.
    Aside { pieces: mpsc::Sender<Bytes>, verdict: JoinHandle<Verdict> },
}

impl Pipeline {
    /// Begins hashing.
    pub(crate) fn new(mut digests: Digests, aside: bool) -> Self {
        if !aside {
            return Self::Here(Box::new(digests));
        }
        let (pieces, mut waiting) = mpsc::channel::<Bytes>(PIECES_WAITING_MAX);
        let verdict = tokio::task::spawn_blocking(move || {
            while let Some(piece) = waiting.blocking_recv() {
                digests.update(&piece);
            }
            digests.finish()
        });
        Self::Aside { pieces, verdict }
    }

    /// Hashes a piece, or waits until it can be handed over.
    pub(crate) async fn update(&mut self, piece: &Bytes) -> Outcome<()> {
        match self {
            Self::Here(digests) => digests.update(piece),
            Self::Aside { pieces, .. } => {
                pieces.send(piece.clone()).await.map_err(|_| Code::InternalError)?;
            }
        }
        Ok(())
    }

    /// What came out.
    pub(crate) async fn finish(self) -> Outcome<Verdict> {
        match self {
            Self::Here(digests) => Ok(digests.finish()),
            Self::Aside { pieces, verdict } => {
                drop(pieces);
                verdict.await.map_err(|_| Code::InternalError.into())
            }
        }
    }
}
