use alloc::vec::Vec;

/// Fields of a record that a newer program wrote, in the form in which they are stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unknown(Vec<u8>);

impl Unknown {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, one behind the other.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Keeps one more.
    pub fn keep(&mut self, field: &[u8]) {
        self.0.extend_from_slice(field);
    }
}
