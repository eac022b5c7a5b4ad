use bytes::Bytes;
use ripstop_client::noise;

/// Where in the noise an object may begin: as many objects as this, from the first on, all differ.
const BEGINNINGS: usize = 1 << 20;
/// An odd number, so that each object begins elsewhere.
const STRIDE: usize = 0x9_e375;

/// What is in the objects: windows of noise that nothing can compress, no two equal, which cost
/// neither memory nor time.
pub(super) struct Content {
    noise: Bytes,
    size: usize,
}

impl Content {
    pub(super) const OBJECTS_MAX: usize = BEGINNINGS;

    pub(super) fn new(size: usize) -> Self {
        Self { noise: Bytes::from(noise(BEGINNINGS + size)), size }
    }

    /// Bytes of an object.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// What is in an object.
    pub(super) fn of(&self, object: usize) -> Bytes {
        let begins = object.wrapping_mul(STRIDE) % BEGINNINGS;
        self.noise.slice(begins..begins + self.size)
    }

    /// Compares the pieces of an answer with an object, as they come.
    pub(super) fn compare(&self, object: usize) -> impl FnMut(&[u8]) -> bool {
        let (expected, mut at) = (self.of(object), 0);
        move |piece| {
            let same = expected.get(at..at + piece.len()) == Some(piece);
            at += piece.len();
            same
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_objects_are_equal() {
        let content = Content::new(64);
        let seen: BTreeSet<Bytes> = (0..10_000).map(|object| content.of(object)).collect();
        assert_eq!(seen.len(), 10_000);
        assert!(seen.iter().all(|body| body.len() == 64));
    }

    #[test]
    fn an_answer_that_is_another_objects_or_longer_is_told() {
        let content = Content::new(1000);
        let pieces = |object, expected| {
            let mut same = content.compare(expected);
            content.of(object).chunks(300).all(&mut same)
        };
        assert!(pieces(7, 7));
        assert!(!pieces(8, 7));
        let mut same = content.compare(7);
        assert!(same(&content.of(7)));
        assert!(!same(b"x"));
    }
}
