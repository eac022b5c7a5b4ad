//! ISA-L as its users call it: tables made once, then `ec_encode_data` on pointers.

use erasure_isa_l::{ec, gf};
use ripstop_model::Code;

/// What the crate `erasure-isa-l-sys` 1.1 bundles.
pub const VERSION: &str = "2.32.0";

/// Tables that make some strips from K others.
pub struct Tables {
    sources: usize,
    rows: usize,
    bytes: Vec<u8>,
}

impl Tables {
    /// Parity from data.
    pub fn encode(code: Code) -> Self {
        let generator = generator(code);
        Self::new(code.k(), &generator[code.k() * code.k()..])
    }

    /// The data strips `lost` from the K strips `sources`.
    pub fn decode(code: Code, sources: &[usize], lost: &[usize]) -> Self {
        let k = code.k();
        let generator = generator(code);
        let mut rows: Vec<u8> =
            sources.iter().flat_map(|&strip| &generator[strip * k..][..k]).copied().collect();
        let mut inverse = vec![0; k * k];
        assert!(gf::invert_matrix(&mut rows, &mut inverse, k as i32), "{sources:?}");
        let wanted: Vec<u8> =
            lost.iter().flat_map(|&strip| &inverse[strip * k..][..k]).copied().collect();
        Self::new(k, &wanted)
    }

    fn new(sources: usize, coefficients: &[u8]) -> Self {
        let rows = coefficients.len() / sources;
        let mut bytes = vec![0; 32 * coefficients.len()];
        ec::init_tables(sources as i32, rows as i32, coefficients, &mut bytes);
        Self { sources, rows, bytes }
    }

    /// All strips must have `len` bytes.
    pub fn run(&self, len: usize, sources: &[*const u8], outputs: &mut [*mut u8]) {
        assert_eq!((sources.len(), outputs.len()), (self.sources, self.rows));
        let (k, rows) = (self.sources as i32, self.rows as i32);
        ec::encode_data(len as i32, k, rows, &self.bytes, sources, outputs);
    }
}

fn generator(code: Code) -> Vec<u8> {
    let mut generator = vec![0; code.n() * code.k()];
    gf::gen_cauchy1_matrix(&mut generator, code.n() as i32, code.k() as i32);
    generator
}
