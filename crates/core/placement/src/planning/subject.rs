use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;
use ripstop_model::{Code, NodeId};

/// What a pool that plans itself is told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AutoPlan {
    /// How often it plans again.
    pub every: Duration,
    /// A new plan is followed if its bound on the mean latency is lower by this part.
    pub gain: f64,
    /// What a dollar a month is worth, seconds of mean latency.
    pub seconds_per_dollar: f64,
    /// Whole sites that stripes survive.
    pub survive_sites: u32,
}

impl Default for AutoPlan {
    fn default() -> Self {
        let (gain, seconds_per_dollar, survive_sites) = (0.1, 0.0, 0);
        Self { every: Duration::from_mins(1), gain, seconds_per_dollar, survive_sites }
    }
}

/// A node that is planned for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlannedNode {
    /// Its number in the pool and in its task log.
    pub id: NodeId,
    /// Tasks that it serves at once.
    pub lanes: u16,
    /// Nodes of a site fail together.
    pub site: u16,
    /// Dollars a month.
    pub price_per_byte: f64,
}

/// The pool that is planned for.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanSubject {
    /// The planner numbers nodes by their place here.
    pub nodes: Vec<PlannedNode>,
    /// Of its stripes.
    pub code: Code,
    /// What it is told.
    pub auto: AutoPlan,
}

/// Sites as numbers, by their names; a node without one is a site of its own.
pub fn site_numbers<'a>(names: impl IntoIterator<Item = Option<&'a str>>) -> Vec<u16> {
    let (mut numbers, mut next) = (BTreeMap::new(), 0);
    let mut number = || {
        next += 1;
        next - 1
    };
    let site = |name: Option<&'a str>| match name {
        Some(name) => *numbers.entry(name).or_insert_with(&mut number),
        None => number(),
    };
    names.into_iter().map(site).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_one_name_are_one_site_and_those_without_are_alone() {
        let names = [Some("east"), None, Some("west"), None, Some("east")];
        assert_eq!(site_numbers(names), [0, 1, 2, 3, 0]);
    }
}
