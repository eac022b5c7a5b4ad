use crate::{Choice, Redundancy};
use ripstop_model::Code;

/// All n tasks at once.
pub(crate) fn eager(code: Code) -> Choice {
    Choice { code, redundancy: Redundancy::Eager }
}
