//! The bytes of a stripe's payload, fetched as its layout allows.

use crate::{
    Chunk, FailedStripe, Pool, Setback, StripePlace,
    fetch::Fetching,
    fragment::{body_len, body_range},
    job::Part,
    span::{Span, columns, spans},
};
use bytes::Bytes;
use futures::future::try_join_all;
use ripstop_gateway::{Cause, NodeState, RequestSpec};
use ripstop_model::{NodeId, StripSet};
use std::ops::Range;

/// This many equal fetches of a range of one fragment can be under way: the first that arrives
/// counts.
const COPIES: u8 = 2;

impl Pool {
    /// The bytes `range` of a stripe's payload, in order, without copying where no decoding is
    /// needed.
    pub async fn read(
        &self,
        place: &StripePlace,
        range: Range<u32>,
    ) -> Result<Vec<Bytes>, FailedStripe> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        if !place.cut.is_together() {
            return self.read_strips(place, &range).await;
        }
        let read = if range.len() == place.shape.payload_len() as usize {
            self.read_chunks(place, &range).await
        } else {
            self.read_copies(place, &range).await
        };
        match read {
            // Damage in one strip spoils no more than that strip if each is fetched for itself.
            Err(FailedStripe { setback: Setback::Failed(Cause::Lost), .. }) => {
                self.read_strips(place, &range).await
            }
            Ok(_) | Err(_) => read,
        }
    }

    /// Bytes of memory that a byte of `range` takes as things stand: more than one where strips
    /// that it touches are at no node that serves, so that others must be fetched and these be
    /// computed.
    pub fn read_cost(&self, place: &StripePlace, range: &Range<u32>) -> f64 {
        if place.cut.is_together() || range.is_empty() {
            return 1.0;
        }
        let down: Vec<NodeId> = self.inspect(|machine| {
            machine
                .nodes()
                .filter(|node| node.state == NodeState::Down)
                .map(|node| node.id)
                .collect()
        });
        let is_there = |strip| self.known(place, strip as u8).is_some_and(|at| !down.contains(&at));
        let taken = spans(place.shape, range).into_iter().map(|span| {
            let (wanted, columns) =
                (span.strips.len(), u64::from(span.columns.end - span.columns.start));
            let missing = span.strips.filter(|&strip| !is_there(strip)).count();
            let fetched = if missing > 0 { place.shape.needed() } else { wanted };
            columns * (fetched + missing) as u64
        });
        taken.sum::<u64>() as f64 / range.len() as f64
    }

    /// Strip by strip: as few as the range touches, any K if some of those cannot be had.
    async fn read_strips(
        &self,
        place: &StripePlace,
        range: &Range<u32>,
    ) -> Result<Vec<Bytes>, FailedStripe> {
        let wanted = spans(place.shape, range);
        let chunks = try_join_all(wanted.iter().map(|span| self.read_span(place, span))).await?;
        let mut pieces = Vec::new();
        for (span, chunks) in wanted.iter().zip(chunks) {
            for chunk in chunks {
                chunk.slice_into(&span.columns, &mut pieces);
            }
        }
        trim(&mut pieces, range.len());
        Ok(pieces)
    }

    async fn read_span(
        &self,
        place: &StripePlace,
        span: &Span,
    ) -> Result<Vec<Chunk>, FailedStripe> {
        let code = place.shape.code();
        let node_of = |strip| self.known(place, place.cut.place_of(code, strip).0);
        let operation = RequestSpec::Read {
            k: code.k() as u8,
            wanted: span.wanted(),
            places: (0..code.n()).map(node_of).collect(),
        };
        let moved = body_range(&span.columns, place.shape, place.sealing);
        let part = Part::Columns { columns: span.columns.clone(), unit: 1 };
        let (strip_bytes, wanted) = (moved.end - moved.start, span.wanted());
        self.fetch(Fetching { place, operation, strip_bytes, part, wanted }).await
    }

    /// The node of a fragment, if it has one that we were told of.
    fn known(&self, place: &StripePlace, fragment: u8) -> Option<NodeId> {
        let node = place.nodes.get(usize::from(fragment)).copied().flatten();
        node.filter(|id| self.shared.node(*id).is_some())
    }

    /// The whole payload, in the chunks that the policy chooses now (one fragment) or chose when
    /// the stripe was written (several).
    async fn read_chunks(
        &self,
        place: &StripePlace,
        range: &Range<u32>,
    ) -> Result<Vec<Bytes>, FailedStripe> {
        let (code, strip_len) = (place.shape.code(), place.shape.strip_len());
        let (run, fragments) = (place.cut.run(code), place.cut.fragments(code));
        let strip = body_len(place.shape, place.sealing);
        let (operation, strip_bytes, unit) = if fragments == 1 && run == code.n() {
            let (n, k) = (code.n() as u8, code.k() as u8);
            (RequestSpec::ReadShared { n, k, node: self.known(place, 0) }, strip, 1)
        } else {
            let k = code.k() / run;
            let places = (0..fragments).map(|index| self.known(place, index as u8)).collect();
            let wanted = StripSet::first(k);
            (RequestSpec::Read { k: k as u8, wanted, places }, strip * run as u32, run)
        };
        let part = Part::Columns { columns: 0..strip_len, unit };
        let wanted = StripSet::first(code.k());
        let fetching = Fetching { place, operation, strip_bytes, part, wanted };
        let chunks = self.fetch(fetching).await?;
        let mut pieces = Vec::new();
        for chunk in chunks {
            chunk.slice_into(&(0..strip_len), &mut pieces);
        }
        trim(&mut pieces, range.len());
        Ok(pieces)
    }

    /// Bytes of the payload by one range of each fragment that has some of them.
    async fn read_copies(
        &self,
        place: &StripePlace,
        range: &Range<u32>,
    ) -> Result<Vec<Bytes>, FailedStripe> {
        let code = place.shape.code();
        let fragment_payload = place.shape.strip_len() * place.cut.run(code).min(code.k()) as u32;
        let (first, last) = (range.start / fragment_payload, (range.end - 1) / fragment_payload);
        let parts = (first..=last).map(|fragment| {
            let start = fragment * fragment_payload;
            range.start.max(start)..range.end.min(start.saturating_add(fragment_payload))
        });
        let read = try_join_all(parts.map(|part| self.read_copy(place, part))).await?;
        Ok(read.concat())
    }

    async fn read_copy(
        &self,
        place: &StripePlace,
        range: Range<u32>,
    ) -> Result<Vec<Bytes>, FailedStripe> {
        let touched: Vec<_> = columns(place.shape, &range).collect();
        let moved = |(_, columns): &(usize, Range<u32>)| {
            body_range(columns, place.shape, place.sealing).len()
        };
        let bytes = touched.iter().map(moved).sum::<usize>();
        let wanted: StripSet = touched.iter().map(|&(strip, _)| strip).collect();
        let (fragment, _) = place.cut.place_of(place.shape.code(), touched[0].0);
        let node = self.known(place, fragment);
        let operation = RequestSpec::ReadShared { n: COPIES, k: 1, node };
        let part = Part::Bytes(range);
        let strip_bytes = bytes as u32;
        let chunks = self.fetch(Fetching { place, operation, strip_bytes, part, wanted }).await?;
        let mut pieces = Vec::new();
        for ((_, columns), chunk) in touched.iter().zip(chunks) {
            chunk.slice_into(columns, &mut pieces);
        }
        Ok(pieces)
    }
}

/// Cuts `pieces` to `len` bytes in all.
fn trim(pieces: &mut Vec<Bytes>, len: usize) {
    let mut left = len;
    pieces.retain_mut(|piece| {
        piece.truncate(left);
        left -= piece.len();
        !piece.is_empty()
    });
}
