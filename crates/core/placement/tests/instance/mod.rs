//! Random problems, and what every plan must keep.

use ripstop_delay::Dice;
use ripstop_placement::{Class, Plan, Problem, Service, StorageNode, StorageNodeState};

/// `m` nodes at `sites` sites, classes of the given numbers of files, loaded to about
/// `utilisation`.
pub(crate) fn random(
    dice: &mut Dice,
    m: usize,
    sites: u64,
    files: &[u64],
    utilisation: f64,
) -> Problem {
    let nodes: Vec<StorageNode> = (0..m)
        .map(|at| {
            let mean = 0.5 + dice.uniform();
            let sd = mean * (0.2 + 0.8 * dice.uniform());
            StorageNode {
                service: Service::from_mean_sd(mean, sd, None).expect("positive"),
                price_per_chunk: dice.uniform(),
                price_per_byte: 0.0,
                site: (at as u64 % sites) as u16,
                vendor: 0,
                capacity_bytes: u64::MAX,
                state: StorageNodeState::Up,
            }
        })
        .collect();
    let able: f64 = nodes.iter().map(|node| node.service.rate()).sum();
    let mut classes: Vec<Class> = files
        .iter()
        .map(|&files| Class {
            rate: dice.exponential(),
            files,
            k: 1 + dice.below(m as u64 / 2) as u32,
            chunk_bytes: 1 + dice.below(1000),
            survive_nodes: 0,
            survive_sites: 0,
            spread: false,
        })
        .collect();
    let wanted: f64 = classes.iter().map(|class| class.rate * f64::from(class.k)).sum();
    // No class may alone need more of a node than it has.
    let scale = utilisation * able / wanted;
    for class in &mut classes {
        class.rate *= scale;
    }
    let total = files.iter().sum::<u64>() as f64;
    let seconds_per_money = 10f64.powf(3.0 * dice.uniform() - 2.0) / total;
    Problem { nodes, classes, seconds_per_money, seconds_per_moved_byte: 0.0 }
}

/// Every file has its chunks, its promises and its probabilities; bytes fit; the numbers are right.
pub(crate) fn check(problem: &Problem, plan: &Plan) {
    for (class, groups) in problem.classes.iter().zip(&plan.classes) {
        assert_eq!(groups.iter().map(|group| group.files).sum::<u64>(), class.files);
        assert!(groups.is_sorted_by(|a, b| a.nodes < b.nodes), "a set of nodes is one group");
        for group in groups {
            let k = class.k as usize;
            assert!(group.nodes.is_sorted_by(|a, b| a < b));
            assert!(group.nodes.len() >= k + class.survive_nodes as usize);
            assert!((group.probabilities.iter().sum::<f64>() - k as f64).abs() < 1e-9);
            assert!(group.probabilities.iter().all(|p| (0.0..=1.0).contains(p)), "{group:?}");
            let count = |of: &dyn Fn(&StorageNode) -> u16| {
                let mut counts = std::collections::BTreeMap::new();
                for &node in &group.nodes {
                    *counts.entry(of(&problem.nodes[usize::from(node)])).or_insert(0usize) += 1;
                }
                let mut counts: Vec<usize> = counts.into_values().collect();
                counts.sort_unstable_by(|a, b| b.cmp(a));
                counts
            };
            let (sites, vendors) = (count(&|node| node.site), count(&|node| node.vendor));
            let lost: usize = sites.iter().take(class.survive_sites as usize).sum();
            assert!(group.nodes.len() - lost >= k, "{sites:?}");
            assert!(!class.spread || (sites[0] < k && vendors[0] < k));
            let up = |&node: &u16| problem.nodes[usize::from(node)].state != StorageNodeState::Down;
            assert!(group.nodes.iter().all(up));
        }
    }
    let mut bytes = vec![0u64; problem.nodes.len()];
    for (class, groups) in problem.classes.iter().zip(&plan.classes) {
        for group in groups {
            for &node in &group.nodes {
                bytes[usize::from(node)] += group.files * class.chunk_bytes;
            }
        }
    }
    for (bytes, node) in bytes.iter().zip(&problem.nodes) {
        assert!(*bytes <= node.capacity_bytes, "{bytes} of {}", node.capacity_bytes);
    }
    let recount = Plan::new(problem, plan.classes.clone(), plan.certificate.lower_bound);
    assert!(
        (recount.certificate.value - plan.certificate.value).abs() <= 1e-9 * plan.certificate.value
    );
    assert!(
        plan.certificate.lower_bound <= plan.certificate.value * (1.0 + 1e-9),
        "{:?}",
        plan.certificate
    );
}
