//! Which parts of which stripes the bytes of an object are.

use ripstop_catalog::Extent;
use std::ops::Range;

/// The extents that bytes `range` of an object lie in, with the part of each one's stripe.
pub(crate) fn cut<'a>(
    extents: &'a [Extent],
    range: &Range<u64>,
) -> impl Iterator<Item = (Extent, Range<u32>)> + use<'a> {
    let range = range.clone();
    let starts = extents.iter().scan(0, |at, extent| {
        let start = *at;
        *at += u64::from(extent.len);
        Some((start, extent))
    });
    starts.filter_map(move |(start, extent)| Some((*extent, part(extent, start, &range)?)))
}

/// What of a stripe is in `range` of an object in which its extent begins at `start`.
fn part(extent: &Extent, start: u64, range: &Range<u64>) -> Option<Range<u32>> {
    let (from, to) = (range.start.max(start), range.end.min(start + u64::from(extent.len)));
    let offset = |byte: u64| extent.offset + (byte - start) as u32;
    (from < to).then(|| offset(from)..offset(to))
}

/// The same, piece by piece as a reader has room for it. It is always told of the same extents, and
/// goes through them once.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// The extent that the first byte left is in, if there is one.
    at: usize,
    /// Where that begins in the object.
    start: u64,
    left: Range<u64>,
}

impl Cursor {
    /// Before the first byte of `range`.
    pub(crate) fn new(extents: &[Extent], range: Range<u64>) -> Self {
        let mut cursor = Self { at: 0, start: 0, left: range };
        cursor.find(extents);
        cursor
    }

    /// What comes next, as far as it is in one extent.
    pub(crate) fn part(&self, extents: &[Extent]) -> Option<(Extent, Range<u32>)> {
        let extent = extents.get(self.at)?;
        Some((*extent, part(extent, self.start, &self.left)?))
    }

    /// Goes on by this many bytes.
    pub(crate) fn advance(&mut self, extents: &[Extent], len: u64) {
        self.left.start += len;
        self.find(extents);
    }

    fn find(&mut self, extents: &[Extent]) {
        for extent in &extents[self.at..] {
            let end = self.start + u64::from(extent.len);
            if self.left.start < end {
                break;
            }
            (self.at, self.start) = (self.at + 1, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_model::StripeId;

    #[test]
    fn a_range_is_cut_at_extents() {
        let extent = |id, offset, len| Extent { stripe: StripeId(id), offset, len };
        let extents = [extent(1, 0, 10), extent(2, 5, 10), extent(3, 0, 1)];
        let parts =
            |range| -> Vec<_> { cut(&extents, &range).map(|(e, r)| (e.stripe.0, r)).collect() };
        assert_eq!(parts(0..21), [(1, 0..10), (2, 5..15), (3, 0..1)]);
        assert_eq!(parts(9..11), [(1, 9..10), (2, 5..6)]);
        assert_eq!(parts(20..21), [(3, 0..1)]);
        assert_eq!(parts(4..4), []);
        assert_eq!(parts(12..12), []);
    }

    proptest! {
        /// Also extents without bytes, ranges without bytes, and ranges that end after the object.
        #[test]
        fn a_cursor_goes_through_what_is_cut(
            extents in prop::collection::vec((1..5_u128, 0..9_u32, 0..9_u32), 0..20),
            range in (0..90_u64, 0..90_u64).prop_map(|(from, to)| from..to),
            slices in prop::collection::vec(1..12_u32, 1..9),
        ) {
            let extent = |(id, offset, len)| Extent { stripe: StripeId(id), offset, len };
            let extents: Vec<Extent> = extents.into_iter().map(extent).collect();
            let mut cursor = Cursor::new(&extents, range.clone());
            let mut left = range;
            for slice in slices.into_iter().cycle() {
                let next = cursor.part(&extents);
                prop_assert_eq!(&next, &cut(&extents, &left).next());
                let Some((_, part)) = next else { break };
                let len = u64::from(slice.min(part.end - part.start));
                cursor.advance(&extents, len);
                left.start += len;
            }
        }

        #[test]
        fn a_cursor_looks_at_every_extent_once(lens in prop::collection::vec(1..9_u32, 1..40)) {
            let extent = |(id, len)| Extent { stripe: StripeId(id), offset: 0, len };
            let extents: Vec<Extent> = (0..).zip(lens).map(extent).collect();
            let len = extents.iter().map(|extent| u64::from(extent.len)).sum();
            let mut cursor = Cursor::new(&extents, 0..len);
            for (at, extent) in extents.iter().enumerate() {
                prop_assert_eq!((cursor.at, cursor.part(&extents)), (at, Some((*extent, 0..extent.len))));
                cursor.advance(&extents, extent.len.into());
            }
            prop_assert_eq!((cursor.at, cursor.part(&extents)), (extents.len(), None));
        }
    }
}
