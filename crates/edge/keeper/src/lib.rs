//! What a store needs beside requests.
//!
//! It makes a lost catalog again from what the nodes hold ([`rebuild`]), and brings into one what
//! it lacks ([`complete`]). It deliberately knows nothing of who asks a store for what.

mod complete;
mod reach;
mod rebuild;

pub use complete::{CompleteReport, complete};
pub use rebuild::{
    RebuildError, RebuildProgress, RebuildReport, Roll, ScratchError, SurveyedNode, SurveyedPool,
    rebuild,
};
