use ripstop_model::{StripSet, StripeShape};
use std::ops::Range;

/// The same columns of some neighbouring data strips: what one read fetches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Data strips.
    pub strips: Range<usize>,
    /// Bytes of each.
    pub columns: Range<u32>,
}

impl Span {
    /// The strips as a set.
    pub(crate) fn wanted(&self) -> StripSet {
        self.strips.clone().collect()
    }
}

/// The fewest spans that make up `range` of the payload, in order: at most three. One that ends
/// with the payload takes the padding of its strip along, so that a whole stripe is one span.
pub(crate) fn spans(shape: StripeShape, range: &Range<u32>) -> Vec<Span> {
    let len = shape.strip_len();
    let mut spans: Vec<Span> = Vec::with_capacity(3);
    let mut at = range.start;
    while at < range.end {
        let strip = (at / len) as usize;
        let start = at % len;
        let mut end = (start + (range.end - at)).min(len);
        at += end - start;
        if at == shape.payload_len() {
            end = len;
        }
        match spans.last_mut() {
            Some(last) if last.columns == (start..end) => last.strips.end = strip + 1,
            _ => spans.push(Span { strips: strip..strip + 1, columns: start..end }),
        }
    }
    spans
}

/// `range` of the payload strip by strip: the columns of each that it has, in order.
pub(crate) fn columns(
    shape: StripeShape,
    range: &Range<u32>,
) -> impl Iterator<Item = (usize, Range<u32>)> + use<> {
    let (len, range) = (shape.strip_len().max(1), range.clone());
    let strips = range.start / len..range.end.div_ceil(len);
    strips.map(move |strip| {
        let start = strip * len;
        let (from, to) = (range.start.max(start), range.end.min(start + len));
        (strip as usize, from - start..to - start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_model::Code;

    proptest! {
        #[test]
        fn columns_make_up_the_range(k in 1..12usize, len in 1..5000u32, a: u32, b: u32) {
            let shape = StripeShape::new(Code::new(k + 2, k)?, len).expect("small");
            let (a, b) = (a % len, b % len);
            let range = a.min(b)..a.max(b) + 1;
            let bytes: Vec<u32> = columns(shape, &range)
                .flat_map(|(strip, columns)| {
                    let start = strip as u32 * shape.strip_len();
                    columns.map(move |column| start + column)
                })
                .collect();
            prop_assert!(bytes.into_iter().eq(range));
        }

        #[test]
        fn spans_make_up_the_range(k in 1..12usize, len in 1..5000u32, a: u32, b: u32) {
            let shape = StripeShape::new(Code::new(k + 2, k)?, len).expect("small");
            let (a, b) = (a % len, b % len);
            let range = a.min(b)..a.max(b) + 1;
            let spans = spans(shape, &range);
            prop_assert!(spans.len() <= 3, "{spans:?}");
            let strip_len = shape.strip_len();
            let bytes: Vec<u32> = spans
                .iter()
                .flat_map(|span| {
                    let columns = span.columns.clone();
                    span.strips.clone().flat_map(move |strip| {
                        columns.clone().map(move |column| strip as u32 * strip_len + column)
                    })
                })
                .collect();
            let padding = if range.end == len { k as u32 * strip_len - len } else { 0 };
            prop_assert!(bytes.into_iter().take(range.len()).eq(range));
            prop_assert!(padding < k as u32);
        }
    }

    #[test]
    fn a_whole_stripe_is_one_span() {
        let code = Code::new(6, 4).unwrap();
        for len in [400, 398] {
            let shape = StripeShape::new(code, len).unwrap();
            assert_eq!(spans(shape, &(0..len)), [Span { strips: 0..4, columns: 0..100 }]);
        }
        let one = StripeShape::new(code, 1).unwrap();
        assert_eq!(spans(one, &(0..1)), [Span { strips: 0..1, columns: 0..1 }]);
    }
}
