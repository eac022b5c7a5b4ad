use ripstop_catalog::{Attributes, Extent, Located, Object};
use std::ops::Range;

/// Only what it takes to read bytes `range` of an object, and that range within it: a reader of a
/// little of an object of many pieces need not keep them all in memory.
pub fn narrowed(located: &Located, range: &Range<u64>) -> (Located, Range<u64>) {
    let Object { modified_ms, told_by, ref extents, .. } = located.object;
    let ends = extents.iter().scan(0, |end, extent| {
        *end += u64::from(extent.len);
        Some(*end)
    });
    let needed: Vec<(u64, Extent)> = ends
        .zip(extents)
        .map(|(end, extent)| (end - u64::from(extent.len), *extent))
        .skip_while(|(start, extent)| start + u64::from(extent.len) <= range.start)
        .take_while(|(start, _)| *start < range.end)
        .collect();
    let begin = needed.first().map_or(range.start, |(start, _)| *start);
    let extents: Vec<Extent> = needed.into_iter().map(|(_, extent)| extent).collect();
    let object = Object {
        len: extents.iter().map(|extent| u64::from(extent.len)).sum(),
        modified_ms,
        attributes: Attributes::default(),
        extents,
        told_by,
        ..Object::default()
    };
    let stripes = located.stripes.clone();
    (Located { object, stripes, version: None }, range.start - begin..range.end - begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::cut;
    use proptest::prelude::*;
    use ripstop_model::StripeId;

    proptest! {
        #[test]
        fn what_is_left_reads_the_same(
            lens in prop::collection::vec(1..9_u32, 1..20),
            a: prop::sample::Index,
            b: prop::sample::Index,
        ) {
            let extent = |(id, &len): (u128, &u32)| Extent { stripe: StripeId(id), offset: 3, len };
            let extents: Vec<Extent> = (1..).zip(&lens).map(extent).collect();
            let len: u64 = lens.iter().copied().map(u64::from).sum();
            let attributes = Attributes::default();
            let object = Object { len, modified_ms: 1, attributes, extents, told_by: StripeId(9), ..Object::default() };
            let located = Located { object, stripes: Vec::new(), version: None };
            let (a, b) = (a.index(len as usize + 1) as u64, b.index(len as usize + 1) as u64);
            let range = a.min(b)..a.max(b);
            let (narrow, within) = narrowed(&located, &range);
            let whole: Vec<_> = cut(&located.object.extents, &range).collect();
            let parts: Vec<_> = cut(&narrow.object.extents, &within).collect();
            prop_assert_eq!(&whole, &parts);
            prop_assert!(narrow.object.extents.len() <= whole.len().max(1));
        }
    }
}
