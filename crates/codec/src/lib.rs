//! Reed–Solomon over GF(2^8), from naive to the fastest the processor has.
//!
//! A [`Codec`] for a code (N,K), any 1 ≤ K ≤ N ≤ 255, makes N−K parity strips from K data strips,
//! rebuilds any strips from any K, and updates parity when one data strip changes. It is systematic
//! (data strips are the data) and every choice of K strips suffices, for every code: the parity
//! rows of its generator are the Cauchy matrix 1/(i + j) in the field with polynomial 0x11d, row
//! `i` in K..N, column `j` in 0..K. Every square submatrix of a Cauchy matrix is invertible, which
//! is exactly what "any K strips" asks of it. Intel's ISA-L makes the same bytes with its
//! `gf_gen_cauchy1_matrix`.
//!
//! The arithmetic is done by an [`Engine`], chosen at run time from what the processor has, or
//! forced by the environment variable `RIPSTOP_CODEC_ENGINE`.
//!
//! What it deliberately does not: find errors (a wrong strip gives wrong results; checksums are the
//! caller's), pad or cut payloads, hold buffers, use threads.
//!
//! ```
//! use ripstop_codec::Codec;
//! use ripstop_model::{Code, StripSet};
//!
//! let codec = Codec::new(Code::new(5, 3)?);
//! let data: [&[u8]; 3] = [b"any", b" k ", b"do."];
//! let (mut p, mut q) = ([0; 3], [0; 3]);
//! codec.encode(&data, &mut [&mut p, &mut q])?;
//!
//! // Strips 0 and 2 are lost.
//! let plan = codec.plan(StripSet::from_iter([1, 3, 4]), &[0, 2])?;
//! assert_eq!(plan.sources(), [1, 3, 4]);
//! let (mut first, mut third) = ([0; 3], [0; 3]);
//! plan.run(&[data[1], &p, &q], &mut [&mut first, &mut third])?;
//! assert_eq!((&first[..], &third[..]), (data[0], data[2]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod codec;
mod engine;
mod error;
mod field;
mod kernel;
mod matrix;
mod plan;

pub use codec::{Codec, Stores};
pub use engine::{Engine, EngineError};
pub use error::CodecError;
pub use plan::RebuildPlan;
