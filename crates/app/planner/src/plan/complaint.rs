//! Why there is no plan, with the names that the inventory gives.

use super::inventory::Named;
use ripstop_placement::PlanError;

/// Which constraint cannot be met, and how far off it is.
pub(super) fn complaint(named: &Named, error: &PlanError) -> String {
    let class = |at: usize| format!("class {}", named.classes[at]);
    match error {
        PlanError::Invalid { kind, at, what, value } => {
            let of = match *kind {
                "node" => format!("node {}", named.nodes[*at]),
                "class" => class(*at),
                _ => "the inventory".into(),
            };
            format!("{what} of {of} is {value}")
        }
        PlanError::CrossingDomains { site } => format!(
            "site {} is shared by vendors, one of which has other sites: give each vendor's part a site of \
             its own",
            named.sites[usize::from(*site)]
        ),
        PlanError::MissingNodes { class: at, needed, usable } => format!(
            "{} needs {needed} nodes for k and the nodes to survive, and {usable} take chunks: {} missing",
            class(*at),
            needed - usable
        ),
        PlanError::MissingSites { class: at, needed, reached, survive_sites, spread } => {
            let why = match (survive_sites, spread) {
                (0, _) => "no site or vendor may hold k of them".to_owned(),
                (sites, true) => {
                    format!("{sites} sites may be lost, and no site or vendor may hold k of them")
                }
                (sites, false) => format!("{sites} sites may be lost"),
            };
            format!(
                "{} needs {needed} chunks of each file, where {why}: sites and vendors admit {reached}, {} \
                 missing",
                class(*at),
                needed - reached
            )
        }
        PlanError::TooManyWays { class: at, limit, survive_sites } => format!(
            "{}: more than {limit} ways to survive the loss of {survive_sites} sites",
            class(*at)
        ),
        PlanError::MissingBytes { node, over_bytes, bytes_missing } => format!(
            "the nodes cannot hold the chunks: {bytes_missing} bytes of capacity are missing in all, and {} \
             would be {over_bytes} bytes too full",
            named.nodes[*node]
        ),
        PlanError::Overload { node, utilisation, chunks_per_second_missing } => format!(
            "the nodes cannot serve the requests: {chunks_per_second_missing:.4} chunks per second more would \
             have to be served, and {} would be used to {:.1} %",
            named.nodes[*node],
            utilisation * 100.0
        ),
        PlanError::OtherPlan { classes, nodes } => format!(
            "the previous plan has {classes} classes and {nodes} nodes, the inventory {} and {}",
            named.classes.len(),
            named.nodes.len()
        ),
    }
}
