use crate::{
    engine::Engine,
    error::{CodecError, check},
    kernel::{Prepared, Write},
    matrix::Matrix,
    plan::RebuildPlan,
};
use ripstop_model::{Code, StripSet};
use std::{fmt, sync::Arc};

/// How results are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Stores {
    /// Through the cache: right whenever the results are used soon, or lie in the cache already.
    #[default]
    Cached,
    /// Past the cache, which saves reading memory that is about to be overwritten. It can pay only
    /// when sources and results all lie in DRAM, on some processors, and is much slower otherwise:
    /// measure before choosing it. Takes effect if the results of a call have one alignment modulo
    /// 64 and the engine has such stores, and never for [`Codec::update`].
    Streaming,
}

/// Encodes, rebuilds and updates strips of one code (N,K) with one engine.
///
/// Strips are numbered 0..N: K data strips, then N−K parity strips. Coding works byte by byte: byte
/// `b` of every parity strip depends on bytes `b` of the data strips only, so any column range of a
/// stripe is coded by the same calls on sub-slices of that range. Slices may have any length, the
/// same for all in a call, and any alignment.
///
/// Cloning is cheap and shares the prepared tables.
#[derive(Clone)]
pub struct Codec {
    code: Code,
    engine: Engine,
    stores: Stores,
    parity: Arc<Prepared>,
}

impl Codec {
    /// A codec with the engine of [`Engine::chosen`].
    ///
    /// # Panics
    /// If `RIPSTOP_CODEC_ENGINE` names an engine that does not exist or that this processor cannot
    /// run: going on with another one would make the force a pretence. A program that wants to
    /// refuse politely asks [`Engine::chosen`] first.
    pub fn new(code: Code) -> Self {
        match Engine::chosen() {
            Ok(engine) => Self::with_engine(code, engine),
            Err(error) => panic!("{}: {error}", crate::engine::ENGINE_VARIABLE),
        }
    }

    /// A codec with this engine.
    pub fn with_engine(code: Code, engine: Engine) -> Self {
        let parity = Arc::new(Prepared::new(engine, Matrix::parity(code)));
        Self { code, engine, stores: Stores::default(), parity }
    }

    /// The same codec with results stored in this way.
    #[must_use]
    pub fn with_stores(self, stores: Stores) -> Self {
        Self { stores, ..self }
    }

    /// The code (N,K).
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The engine that does the arithmetic.
    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// Computes all N−K parity strips from all K data strips, or the same byte range of each.
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) -> Result<(), CodecError> {
        check(data, self.code.k(), parity, self.code.parity())?;
        self.parity.multiply(0..self.code.k(), data, parity, self.stores.into());
        Ok(())
    }

    /// Brings all N−K parity strips up to date after data strip `strip` changed by `delta`, the
    /// exclusive or of its old and its new bytes.
    ///
    /// The parity strips are modified in place, as much as `delta` is long.
    pub fn update(
        &self,
        strip: usize,
        delta: &[u8],
        parity: &mut [&mut [u8]],
    ) -> Result<(), CodecError> {
        let count = self.code.k();
        if strip >= count {
            return Err(CodecError::NoSuchStrip { strip, count });
        }
        check(&[delta], 1, parity, self.code.parity())?;
        self.parity.multiply(strip..strip + 1, &[delta], parity, Write::Add);
        Ok(())
    }

    /// Plans how to compute the strips `wanted`, in their order, from K of the strips `present`.
    ///
    /// Any strips may be wanted, data and parity, present or not. Sources are present data strips
    /// as far as they go, since more of them mean fewer multiplications, then parity strips.
    ///
    /// Planning costs about K·(K + wanted) table lookups: plan once, run for every block.
    pub fn plan(&self, present: StripSet, wanted: &[usize]) -> Result<RebuildPlan, CodecError> {
        let (needed, count) = (self.code.k(), self.code.n());
        if let Some(strip) = present.iter().chain(wanted.iter().copied()).find(|&s| s >= count) {
            return Err(CodecError::NoSuchStrip { strip, count });
        }
        if present.len() < needed {
            return Err(CodecError::TooFewPresent { needed, present: present.len() });
        }
        let sources: Vec<usize> = present.iter().take(needed).collect();
        let matrix = Matrix::rebuild(self.code, &sources, wanted);
        let prepared = Prepared::new(self.engine, matrix);
        Ok(RebuildPlan::new(sources, wanted.to_vec(), prepared, self.stores.into()))
    }
}

impl From<Stores> for Write {
    fn from(stores: Stores) -> Self {
        match stores {
            Stores::Cached => Self::Replace,
            Stores::Streaming => Self::Stream,
        }
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec")
            .field("code", &self.code)
            .field("engine", &self.engine)
            .field("stores", &self.stores)
            .finish_non_exhaustive()
    }
}
