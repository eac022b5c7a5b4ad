use crate::{PlanSetting, Setting};
use ripstop_model::NodeId;
use ripstop_placement::planning::{PlanSubject, PlannedNode};
use ripstop_policy::Policy;
use ripstop_rehearsal::StripePool;

/// The pool that is played.
pub(crate) fn stripe_pool<'a>(
    setting: &Setting,
    plan: &PlanSetting,
    policy: &'a dyn Fn() -> Box<dyn Policy>,
    places: &'a [Vec<Option<NodeId>>],
    seed: u64,
) -> StripePool<'a> {
    let sites = plan.sites.iter().zip(&plan.prices_per_byte);
    let nodes = setting.nodes.iter().zip(sites).zip(0..);
    let nodes = nodes.map(|((node, (&site, &price_per_byte)), id)| {
        let (id, lanes) = (NodeId(id), node.lanes);
        PlannedNode { id, lanes, site, price_per_byte }
    });
    let subject = PlanSubject { nodes: nodes.collect(), code: setting.code, auto: plan.auto };
    let bytes = setting.classes.iter().map(|class| setting.strip_bytes(class)).max();
    StripePool {
        subject,
        plans: plan.plans,
        settings: setting.machine,
        policy,
        selection: plan.selection,
        shaping: setting.tenants.shaping(),
        places,
        former: plan.former.clone(),
        move_rate_max: plan.move_rate_max,
        home_after: plan.home_after,
        fragment_bytes: bytes.unwrap_or(0),
        seed,
    }
}
