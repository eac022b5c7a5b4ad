//! Groups of nodes as a plan's file has them, and back.

use anyhow::{Context as _, Result};
use ripstop_assembly::config::{PLAN_FORMAT, PlanFile, PlanGroup};
use ripstop_gateway::ReadSelection;
use ripstop_placement::Group;

/// Probabilities in a file have this many decimals; a sum within this of k is k.
const DECIMALS: f64 = 1e6;

/// Groups of nodes with these names as a pool's file, every one with dispatch that sums to k.
pub fn file_of(
    pool: &str,
    selection: ReadSelection,
    names: &[String],
    k: u32,
    groups: &[Group],
) -> PlanFile {
    let group = |group: &Group| PlanGroup {
        weight: group.files,
        nodes: group.nodes.iter().map(|&node| names[usize::from(node)].clone()).collect(),
        dispatch: rounded(&group.probabilities, k),
    };
    let group = groups.iter().map(group).collect();
    PlanFile { format: PLAN_FORMAT, pool: pool.into(), selection, group }
}

/// A pool's file as groups of this many files at nodes with these names.
pub(crate) fn groups_of(file: &PlanFile, names: &[String], files: u64) -> Result<Vec<Group>> {
    let parts: Vec<u64> = file.group.iter().map(|group| group.weight).collect();
    let group = |(group, files): (&PlanGroup, u64)| {
        let nodes = numbers(names, &group.nodes)?;
        Ok(ordered(Group { files, nodes, probabilities: group.dispatch.clone() }))
    };
    let shares = shares(&parts, files);
    file.group.iter().zip(shares).filter(|(_, files)| *files > 0).map(group).collect()
}

/// With six decimals, and still with the sum k: the largest remainders are rounded up.
fn rounded(probabilities: &[f64], k: u32) -> Vec<f64> {
    let mut parts: Vec<u64> = probabilities.iter().map(|p| (p * DECIMALS) as u64).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let rest = |at: &usize| probabilities[*at] * DECIMALS - parts[*at] as f64;
    order.sort_by(|a, b| rest(b).total_cmp(&rest(a)));
    let mut missing = (u64::from(k) * DECIMALS as u64).saturating_sub(parts.iter().sum());
    for at in order.into_iter().cycle().take(3 * parts.len()) {
        if missing > 0 && parts[at] < DECIMALS as u64 {
            parts[at] += 1;
            missing -= 1;
        }
    }
    parts.into_iter().map(|part| part as f64 / DECIMALS).collect()
}

/// This many files, shared out as others were.
pub(crate) fn shares(parts: &[u64], files: u64) -> Vec<u64> {
    let total: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    let mut reached = 0u128;
    let mut given = 0u128;
    let share = |&part: &u64| {
        reached += u128::from(part);
        let end = (reached * u128::from(files)).checked_div(total).unwrap_or(0);
        let share = end - given;
        given = end;
        share as u64
    };
    parts.iter().map(share).collect()
}

pub(crate) fn numbers(known: &[String], names: &[String]) -> Result<Vec<u16>> {
    let number = |name: &String| {
        let at = known.iter().position(|known| known == name);
        let at = at.with_context(|| {
            format!("node {name:?} is not in the inventory: name it there with state = \"down\"")
        })?;
        Ok(at as u16)
    };
    names.iter().map(number).collect()
}

/// Nodes ascending, as the planner has them.
pub(crate) fn ordered(group: Group) -> Group {
    let mut pairs: Vec<(u16, f64)> = group.nodes.into_iter().zip(group.probabilities).collect();
    pairs.sort_by_key(|(node, _)| *node);
    let (nodes, probabilities) = pairs.into_iter().unzip();
    Group { nodes, probabilities, ..group }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_probabilities_sum_to_k_and_stay_within_one() {
        let thirds = rounded(&[1.0 / 3.0; 3], 1);
        assert!((thirds.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{thirds:?}");
        let mixed = rounded(&[1.0, 1.0, 0.999_999_9, 0.500_000_05, 0.500_000_05], 4);
        assert!((mixed.iter().sum::<f64>() - 4.0).abs() < 1e-9, "{mixed:?}");
        assert!(mixed.iter().all(|p| (0.0..=1.0).contains(p)), "{mixed:?}");
    }

    #[test]
    fn shares_keep_the_sum() {
        assert_eq!(shares(&[1, 1, 1], 10), [3, 3, 4]);
        assert_eq!(shares(&[7, 3], 100), [70, 30]);
        assert_eq!(shares(&[], 5), [0; 0]);
        assert_eq!(shares(&[0], 5), [0]);
    }
}
