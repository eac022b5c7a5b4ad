//! What fragments together are: strips, encoded or decoded.

use bytes::Bytes;
use ripstop_codec::{Codec, RebuildPlan};
use ripstop_model::{Code, StripSet};
use ripstop_tier::Fragment;
use std::{collections::BTreeMap, fmt, ops::Range};

/// Bytes of a chunk.
pub(crate) const CHUNK_LEN: usize = 4096;
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
        let start = usize::from(fragment.strip) * self.len + fragment.at as usize;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Bytes of K strips, one after another, and zeros behind them.
    fn cut(count: usize, pieces: [&[u8]; 2]) -> Self {
        let whole: usize = pieces.iter().map(|piece| piece.len()).sum();
        let len = whole.div_ceil(count);
        let mut bytes = Vec::with_capacity(count * len);
        for piece in pieces {
            bytes.extend_from_slice(piece);
        }
        bytes.resize(count * len, 0);
        Self { bytes, len }
    }

    /// Each by itself. They share memory.
    fn into_strips(self) -> Vec<Bytes> {
        let (len, mut rest) = (self.len, Bytes::from(self.bytes));
        let count = rest.len().checked_div(len).unwrap_or(0);
        (0..count).map(|_| rest.split_to(len)).collect()
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

    /// Bytes in K strips of one length, and their parity.
    pub(crate) fn strips(&self, pieces: [&[u8]; 2]) -> Vec<Bytes> {
        let cut = Strips::cut(self.code().k(), pieces);
        let parity = self.encode(&cut);
        cut.into_strips().into_iter().chain(parity).collect()
    }

    /// The first `len` bytes of K data strips, one after another, from any K strips.
    pub(crate) fn join(&mut self, mut strips: Strips, sources: &[u8], len: usize) -> Bytes {
        let strip_len = strips.len;
        for wanted in 0..self.code().k() {
            if !sources.contains(&(wanted as u8)) {
                let strip = self.decode(&strips, sources, wanted as u8);
                strips.bytes[wanted * strip_len..(wanted + 1) * strip_len].copy_from_slice(&strip);
            }
        }
        let mut bytes = Bytes::from(strips.bytes);
        bytes.truncate(len);
        bytes
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_strips_is_had_from_any_k_of_them() {
        let code = Code::new(5, 3).unwrap();
        let mut coder = Coder::new(code);
        for len in [1, 3, 5000, 10_001] {
            let value: Vec<u8> = (0..len).map(|at| (at * 7 + at / 256) as u8).collect();
            let all = coder.strips([&value[..len / 2], &value[len / 2..]]);
            let strip_len = all[0].len();
            for lost in [[0, 1], [0, 4], [2, 3], [3, 4]] {
                let sources: Vec<u8> = (0..5).filter(|strip| !lost.contains(strip)).collect();
                let mut strips = Strips::new(5, strip_len);
                for &strip in &sources {
                    let at = usize::from(strip) * strip_len;
                    strips.bytes[at..at + strip_len].copy_from_slice(&all[usize::from(strip)]);
                }
                assert_eq!(coder.join(strips, &sources, len), value);
            }
        }
    }
}
