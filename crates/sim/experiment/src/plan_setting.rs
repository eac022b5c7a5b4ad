use core::time::Duration;
use ripstop_gateway::ReadSelection;
use ripstop_model::NodeId;
use ripstop_placement::{Group, Spread, planning::AutoPlan};

/// A pool whose stripes are known one by one, each at nodes of its own: it may plan itself.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanSetting {
    /// Whether it does; else stripes stay where they are.
    pub plans: bool,
    /// What it is told about planning.
    pub auto: AutoPlan,
    /// How reads choose among the nodes that hold a stripe.
    pub selection: ReadSelection,
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
}
