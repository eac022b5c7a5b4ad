use super::inventory::Named;
use ripstop_placement::{Plan, PlanError, exactly, solve};

/// The plan; where every class says `n`, with as many chunks of every file, as far as sites admit.
pub(super) fn plan(named: &Named, previous: Option<&Plan>) -> Result<Plan, PlanError> {
    if named.exact { exactly(&named.problem, previous) } else { solve(&named.problem, previous) }
}
