//! How the one budget of memory is divided among purposes, and those parts among tenants.

use alloc::vec::Vec;

/// A part of the memory for strips: one for each purpose, so that none holds up the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryPart {
    /// The first bytes of bodies, counted as they come, until it is known how fast a body is.
    Arriving,
    /// Stripes that are complete as they ask, being short or without payload.
    Complete,
    /// Stripes of bodies that come slowly.
    Slow,
    /// Stripes of the others.
    Fast,
    /// Slices of objects on their way to clients.
    Slices,
    /// Short ones of them: however slowly large objects are read, small ones pass.
    Small,
    /// Stripes that are checked or mended, whosever they are.
    Background,
}

/// The whole, in parts.
const WHOLE: usize = 16;
/// Parts that are not for strips: of documents, of pages of listings, and of lists of objects'
/// pieces.
const BESIDE_STRIPS: usize = 3;
/// What those who claim nothing keep at least.
const UNCLAIMED_MIN: f64 = 0.125;

impl MemoryPart {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Arriving,
        Self::Complete,
        Self::Slow,
        Self::Fast,
        Self::Slices,
        Self::Small,
        Self::Background,
    ];

    /// Of the memory for strips.
    pub const fn sixteenths(self) -> usize {
        match self {
            Self::Fast => 7,
            Self::Slices => 4,
            Self::Arriving | Self::Complete | Self::Slow | Self::Small | Self::Background => 1,
        }
    }

    /// Units of this part that who has such a share of the memory has, of that many for strips.
    pub fn units(self, units: usize, share: f64) -> usize {
        (units as f64 * share * self.sixteenths() as f64 / WHOLE as f64) as usize
    }
}

/// Bytes for each of documents, pages of listings, and lists of objects' pieces, of that many for
/// all.
pub const fn memory_beside_strips(bytes_max: usize) -> usize {
    bytes_max / WHOLE
}

/// Bytes for strips, of that many for all.
pub const fn memory_of_strips(bytes_max: usize) -> usize {
    bytes_max - BESIDE_STRIPS * memory_beside_strips(bytes_max)
}

/// What claims to shares of the memory come to, one by one, and what is left for everybody else: at
/// least an eighth, for which all claims are made smaller alike.
pub fn memory_shares(claims: &[f64]) -> (Vec<f64>, f64) {
    let wanted: f64 = claims.iter().sum();
    let most = 1.0 - UNCLAIMED_MIN;
    let scale = if wanted > most { most / wanted } else { 1.0 };
    (claims.iter().map(|claim| claim * scale).collect(), 1.0 - wanted * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_divided_into_these_parts() {
        const MAX: usize = 256 << 20;
        let strips = memory_of_strips(MAX);
        assert_eq!((memory_beside_strips(MAX) >> 20, strips >> 20), (16, 208));
        let mib = MemoryPart::ALL.map(|part| part.units(strips >> 20, 1.0));
        assert_eq!(mib, [13, 13, 13, 91, 52, 13, 13]);
        assert_eq!(mib.iter().sum::<usize>(), strips >> 20);
    }

    #[test]
    fn parts_and_what_is_beside_them_are_the_whole_whatever_its_size() {
        let all: usize = MemoryPart::ALL.iter().map(|part| part.sixteenths()).sum();
        assert_eq!(all, WHOLE);
        for bytes in [0, 1, 15, 16, 17, 1 << 20, (1 << 40) + 5] {
            assert_eq!(memory_of_strips(bytes) + 3 * memory_beside_strips(bytes), bytes);
        }
    }

    #[test]
    fn tenants_have_what_they_claim_and_everybody_else_an_eighth_at_least() {
        let table: [(&[f64], &[f64], f64); 5] = [
            (&[], &[], 1.0),
            (&[0.5, 0.25], &[0.5, 0.25], 0.25),
            (&[0.5, 0.375], &[0.5, 0.375], 0.125),
            (&[1.0, 0.75], &[0.5, 0.375], 0.125),
            (&[7.0], &[0.875], 0.125),
        ];
        for (claims, shares, rest) in table {
            assert_eq!(memory_shares(claims), (shares.to_vec(), rest), "{claims:?}");
        }
    }
}
