use crate::{Refusal, Rows};

/// Why a change is not applied.
pub(super) enum Stop<E> {
    /// It may not be.
    Refused(Refusal),
    /// What it depends on cannot be read.
    Failed(E),
}

impl<E> From<Refusal> for Stop<E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

pub(super) type Decided<T, R> = Result<T, Stop<<R as Rows>::Error>>;
