use ripstop_gateway::{Placement, ReadSelection};
use ripstop_model::NodeId;
use ripstop_placement::Plan;

/// A plan, and how reads are led.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub name: &'static str,
    pub placement: Placement,
    /// JLCM's bound on the mean latency, where it is about this way to choose.
    pub bound_s: Option<f64>,
}

/// A plan of one class in the machine's terms.
pub(super) fn placement(plan: &Plan, selection: ReadSelection) -> Placement {
    Placement::of(&plan.classes[0], selection, NodeId)
}
