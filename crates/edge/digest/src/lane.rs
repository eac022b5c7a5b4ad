use crate::{
    kernel::{self, BLOCK_LEN, INITIAL, LANES, State},
    stream::Md5,
};
use bytes::{Buf as _, Bytes};
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// Most blocks that are compressed before others that came meanwhile may join: what is 16 KiB in
/// each lane.
const STRIDE: usize = 256;
/// What lanes read that nobody is in.
static NOTHING: [u8; STRIDE * BLOCK_LEN] = [0; STRIDE * BLOCK_LEN];

/// Bytes to be taken into a digest, and who waits for it.
#[derive(Debug)]
pub(crate) struct Job {
    md5: Md5,
    /// In order, none of them empty.
    pieces: VecDeque<Bytes>,
    done: oneshot::Sender<Md5>,
}

impl Job {
    pub(crate) fn new(md5: Md5, pieces: &[Bytes], done: oneshot::Sender<Md5>) -> Self {
        let pieces = pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect();
        let mut job = Self { md5, pieces, done };
        job.align();
        job
    }

    /// Takes in what stands before the next whole block, so that the first piece begins with one,
    /// if any is left.
    fn align(&mut self) {
        while let Some(piece) = self.pieces.front_mut() {
            let taken = self.md5.fill(piece);
            piece.advance(taken);
            if piece.is_empty() {
                self.pieces.pop_front();
            } else if taken == 0 {
                return;
            }
        }
    }

    /// Whole blocks that stand one behind the other.
    fn blocks(&self) -> usize {
        self.pieces.front().map_or(0, |piece| piece.len() / BLOCK_LEN)
    }

    fn advance(&mut self, blocks: usize) {
        let bytes = blocks * BLOCK_LEN;
        self.md5.take_whole(bytes);
        if let Some(piece) = self.pieces.front_mut() {
            piece.advance(bytes);
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
        self.align();
    }

    /// Whether everything is taken in.
    pub(crate) fn is_done(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn answer(self) {
        // One that no longer waits has dropped its request.
        let _ = self.done.send(self.md5);
    }
}

/// Compresses the next blocks of at most [`LANES`] jobs, none of which is done, side by side.
pub(crate) fn advance(jobs: &mut [Job]) {
    let blocks = jobs.iter().map(Job::blocks).min().unwrap_or(0).min(STRIDE);
    if let [job] = jobs {
        let bytes = job.pieces[0].slice(..blocks * BLOCK_LEN);
        kernel::one(&mut job.md5.state, &bytes);
    } else {
        let mut states: [State; LANES] =
            std::array::from_fn(|lane| jobs.get(lane).map_or(INITIAL, |job| job.md5.state));
        let data: [&[u8]; LANES] = std::array::from_fn(|lane| {
            jobs.get(lane).map_or(&NOTHING[..], |job| &job.pieces[0][..])
        });
        kernel::all(&mut states, &data, blocks);
        for (job, state) in jobs.iter_mut().zip(states) {
            job.md5.state = state;
        }
    }
    for job in jobs {
        job.advance(blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pieces of one body.
    fn pieces() -> impl Strategy<Value = Vec<Bytes>> {
        let piece = prop_oneof![0..200_usize, Just(2 * STRIDE * BLOCK_LEN + 1)];
        let piece = (piece, any::<u8>())
            .prop_map(|(len, first)| (0..len).map(|at| (at * 13) as u8 ^ first).collect());
        prop::collection::vec(piece, 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_number_of_jobs_have_the_digests_they_have_alone(
            bodies in prop::collection::vec(pieces(), 1..=LANES),
        ) {
            let (mut jobs, mut answers) = (Vec::new(), Vec::new());
            for pieces in &bodies {
                let (done, answer) = oneshot::channel();
                jobs.push(Job::new(Md5::default(), pieces, done));
                answers.push(answer);
            }
            loop {
                for job in jobs.extract_if(.., |job| job.is_done()) {
                    job.answer();
                }
                if jobs.is_empty() {
                    break;
                }
                advance(&mut jobs);
            }
            for (pieces, mut answer) in bodies.iter().zip(answers) {
                let mut alone = Md5::default();
                alone.update(&pieces.concat());
                prop_assert_eq!(answer.try_recv().unwrap().finish(), alone.finish());
            }
        }
    }
}
