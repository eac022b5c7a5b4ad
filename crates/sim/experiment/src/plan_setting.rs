use crate::Setting;
use core::time::Duration;
use ripstop_gateway::Selection;
use ripstop_model::NodeId;
use ripstop_placement::{
    Group, Spread,
    planning::{AutoPlan, PlanSubject, PlannedNode},
};
use ripstop_policy::Policy;
use ripstop_rehearsal::StripePool;

/// A pool whose stripes are known one by one, each at nodes of its own: it may plan itself.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanSetting {
    /// Whether it does; else stripes stay where they are.
    pub plans: bool,
    /// What it is told about planning.
    pub auto: AutoPlan,
    /// How reads choose among the nodes that hold a stripe.
    pub selection: Selection,
    /// How many stripes there are.
    pub stripes: usize,
    /// The site of each node.
    pub sites: Vec<u16>,
    /// Of each node, dollars a month for a byte.
    pub prices_per_byte: Vec<f64>,
    /// Bytes that are moved each second at most; 0: nothing is.
    pub move_rate_max: u64,
    /// How long nothing must have changed before strays are brought home.
    pub home_after: Duration,
    /// The plan by which stripes were stored, and which is followed at first. Else they lie around
    /// the nodes by turns.
    pub former: Option<Vec<Group>>,
}

impl PlanSetting {
    /// Where stripes are at the beginning: each at n of the nodes.
    pub(crate) fn places(&self, n: usize, nodes: usize) -> Vec<Vec<Option<NodeId>>> {
        let groups = self.former.as_deref().unwrap_or_default();
        let spread = Spread::new(groups);
        let place = |stripe: usize| match &spread {
            Some(spread) => {
                let group = &groups[spread.group(stripe as u64)];
                group.nodes.iter().map(|&node| Some(NodeId(node))).collect()
            }
            None => (0..n).map(|at| Some(NodeId(((stripe + at) % nodes) as u16))).collect(),
        };
        (0..self.stripes).map(place).collect()
    }

    /// The pool that is played.
    pub(crate) fn pool<'a>(
        &self,
        setting: &Setting,
        policy: &'a dyn Fn() -> Box<dyn Policy>,
        places: &'a [Vec<Option<NodeId>>],
        seed: u64,
    ) -> StripePool<'a> {
        let sites = self.sites.iter().zip(&self.prices_per_byte);
        let nodes = setting.nodes.iter().zip(sites).zip(0..);
        let nodes = nodes.map(|((node, (&site, &price_per_byte)), id)| {
            let (id, lanes) = (NodeId(id), node.lanes);
            PlannedNode { id, lanes, site, price_per_byte }
        });
        let subject = PlanSubject { nodes: nodes.collect(), code: setting.code, auto: self.auto };
        let bytes = setting.classes.iter().map(|class| setting.strip_bytes(class)).max();
        StripePool {
            subject,
            plans: self.plans,
            settings: setting.machine,
            policy,
            selection: self.selection,
            shaping: setting.tenants.shaping(),
            places,
            former: self.former.clone(),
            move_rate_max: self.move_rate_max,
            home_after: self.home_after,
            fragment_bytes: bytes.unwrap_or(0),
            seed,
        }
    }
}
