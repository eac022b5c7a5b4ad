//! What fragments together are: strips, encoded or decoded.

use bytes::Bytes;
use ripstop_codec::{Codec, RebuildPlan};
use ripstop_model::{Code, StripSet};
use ripstop_tier::Fragment;
use std::{collections::BTreeMap, fmt, ops::Range};

/// Ways of decoding that are prepared, at most.
const PLANS_MAX: usize = 1024;

/// The same range of several strips; what nobody put there is zeros.
#[derive(Debug)]
pub(crate) struct Strips {
    bytes: Vec<u8>,
    len: usize,
}

impl Strips {
    pub(crate) fn new(count: usize, len: usize) -> Self {
        Self { bytes: vec![0; count * len], len }
    }

    /// Puts a fragment's bytes where they belong.
    pub(crate) fn put(&mut self, fragment: &Fragment, bytes: &[u8]) {
        let start = usize::from(fragment.strip) * self.len + usize::from(fragment.at);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn strip(&self, strip: usize) -> &[u8] {
        &self.bytes[strip * self.len..(strip + 1) * self.len]
    }

    fn strips(&self, strips: Range<usize>) -> Vec<&[u8]> {
        strips.map(|strip| self.strip(strip)).collect()
    }
}

/// Encodes and decodes strips of one code.
pub(crate) struct Coder {
    codec: Codec,
    plans: BTreeMap<([u64; 4], u8), RebuildPlan>,
}

impl Coder {
    pub(crate) fn new(code: Code) -> Self {
        Self { codec: Codec::new(code), plans: BTreeMap::new() }
    }

    pub(crate) const fn code(&self) -> Code {
        self.codec.code()
    }

    /// The parity of K data strips.
    pub(crate) fn encode(&self, data: &Strips) -> Vec<Bytes> {
        let code = self.codec.code();
        let mut parity = vec![vec![0; data.len]; code.parity()];
        let mut out: Vec<&mut [u8]> = parity.iter_mut().map(|strip| &mut strip[..]).collect();
        let encoded = self.codec.encode(&data.strips(0..code.k()), &mut out);
        encoded.expect("K strips of one length");
        parity.into_iter().map(Bytes::from).collect()
    }

    /// A strip, from K others.
    pub(crate) fn decode(&mut self, strips: &Strips, sources: &[u8], wanted: u8) -> Bytes {
        let present: StripSet = sources.iter().map(|&strip| usize::from(strip)).collect();
        if self.plans.len() >= PLANS_MAX {
            self.plans.clear();
        }
        let codec = &self.codec;
        let plan = self.plans.entry((present.words(), wanted)).or_insert_with(|| {
            codec.plan(present, &[wanted.into()]).expect("a plan to read names K strips")
        });
        let from: Vec<&[u8]> = plan.sources().iter().map(|&strip| strips.strip(strip)).collect();
        let mut out = vec![0; strips.len];
        plan.run(&from, &mut [&mut out]).expect("K strips of one length");
        Bytes::from(out)
    }
}

impl fmt::Debug for Coder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coder").field("codec", &self.codec).finish_non_exhaustive()
    }
}
