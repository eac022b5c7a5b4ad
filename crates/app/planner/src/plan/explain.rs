//! Why a class sits where it sits.

use super::{answer::number, inventory::Named};
use ripstop_experiment::text_columns;
use ripstop_placement::{Group, Plan, Problem, Sojourn, StorageNodeState, is_exact, solve};
use std::{collections::BTreeMap, fmt::Write as _};

/// A node that holds more than this part of its capacity is full.
const FULL: f64 = 0.999;
/// Alternatives whose probabilities are set again before they are compared.
const CLOSEST: usize = 6;

/// Constraints that bind, what each node costs, and the next best plan.
pub(super) fn explain(named: &Named, plan: &Plan, class: usize) -> String {
    let its = &named.problem.classes[class];
    let mut text = format!(
        "class {}: any {} of the chunks suffice, at least {} of each file, {} requests per second\n",
        named.classes[class],
        its.k,
        its.k + its.survive_nodes,
        number(its.rate)
    );
    for line in constraints(named, plan, class) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
    text += &text_columns(&node_rows(named, plan, class));
    text += "\nlatency: what one chunk request more per request of the class would add to the objective; \
             money: a chunk of each of its files\n";
    text += &alternative(named, plan, class);
    text
}

fn constraints(named: &Named, plan: &Plan, class: usize) -> Vec<String> {
    let problem = &named.problem;
    let its = &problem.classes[class];
    let groups = &plan.classes[class];
    let mut told = Vec::new();
    if groups.is_empty() {
        return vec!["it has no files".into()];
    }
    let least = (its.k + its.survive_nodes) as usize;
    let at_least = groups.iter().all(|group| group.nodes.len() == least);
    told.push(if its.survive_nodes == 0 {
        "no loss of nodes has to be survived: files have as few chunks as they may where more do not pay".into()
    } else if at_least {
        format!(
            "binds: {} nodes may be lost. Without that, files would have fewer chunks",
            its.survive_nodes
        )
    } else {
        format!("does not bind: {} nodes may be lost, some files have more chunks", its.survive_nodes)
    });
    if its.survive_sites > 0 || its.spread {
        told.push(site_line(named, plan, class));
    }
    for (at, node) in problem.nodes.iter().enumerate() {
        let name = &named.nodes[at];
        if plan.bytes[at] >= FULL * node.capacity_bytes as f64 {
            told.push(format!("binds: {name} is full"));
        }
        match node.state {
            StorageNodeState::Up => {}
            StorageNodeState::Fixed => {
                told.push(format!("binds: {name} is fixed and takes no other chunks"));
            }
            StorageNodeState::Down => told.push(format!("binds: {name} is down")),
        }
    }
    told.extend(always(named, groups));
    told
}

/// Nodes that every request for a file with a chunk there goes to, where it might go elsewhere.
fn always(named: &Named, groups: &[Group]) -> Option<String> {
    let names = (0..named.nodes.len()).filter(|&at| {
        let mut places = groups.iter().filter_map(|group| {
            let place = group.nodes.iter().position(|&node| usize::from(node) == at)?;
            let k: f64 = group.probabilities.iter().sum();
            Some((group.probabilities[place], (group.nodes.len() as f64) > k + 0.5))
        });
        let serves = places.clone().any(|(_, choice)| choice);
        serves && places.all(|(p, _)| p >= 1.0 - 1e-6)
    });
    let names: Vec<&str> = names.map(|at| &*named.nodes[at]).collect();
    let told = "binds: every request that can be served there goes to";
    (!names.is_empty()).then(|| format!("{told} {}", names.join(", ")))
}

/// How far sites are used.
fn site_line(named: &Named, plan: &Plan, class: usize) -> String {
    let its = &named.problem.classes[class];
    let mut tight = 0u64;
    for group in &plan.classes[class] {
        let mut counts = BTreeMap::<u16, usize>::new();
        for &node in &group.nodes {
            *counts.entry(named.problem.nodes[usize::from(node)].site).or_default() += 1;
        }
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let lost: usize = counts.iter().take(its.survive_sites as usize).sum();
        let survives_just = its.survive_sites > 0 && group.nodes.len() - lost == its.k as usize;
        let below_just = its.spread && counts[0] + 1 == its.k as usize;
        if survives_just || below_just {
            tight += group.files;
        }
    }
    format!(
        "{}: {} sites may be lost{}; {tight} of {} files have as many chunks at a site as they may",
        if tight > 0 { "binds" } else { "does not bind" },
        its.survive_sites,
        if its.spread { ", and no site or vendor may hold k chunks" } else { "" },
        its.files
    )
}

fn node_rows(named: &Named, plan: &Plan, class: usize) -> Vec<Vec<String>> {
    let (problem, groups) = (&named.problem, &plan.classes[class]);
    let its = &problem.classes[class];
    let header = ["node", "site", "files here", "asked by", "latency s", "money s", "sum s"];
    let mut rows = Vec::new();
    for (at, node) in problem.nodes.iter().enumerate() {
        let (mut files, mut asked) = (0, 0.0);
        for group in groups {
            if let Some(place) = group.nodes.iter().position(|&other| usize::from(other) == at) {
                files += group.files;
                asked += group.probabilities[place] * group.files as f64 / its.files as f64;
            }
        }
        let latency = its.rate * slope(problem, plan, at);
        let money = problem.seconds_per_money * its.files as f64 * problem.chunk_price(class, at);
        let row = vec![
            named.nodes[at].clone(),
            named.sites[usize::from(node.site)].clone(),
            files.to_string(),
            format!("{:.1}%", asked * 100.0),
            number(latency),
            number(money),
            number(latency + money),
        ];
        rows.push((latency + money, row));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let header = header.map(str::to_owned).to_vec();
    std::iter::once(header).chain(rows.into_iter().map(|(_, row)| row)).collect()
}

/// What a chunk request more per second at a node adds to the latency, at the plan's z.
fn slope(problem: &Problem, plan: &Plan, node: usize) -> f64 {
    let service = &problem.nodes[node].service;
    let term = |load: f64| {
        let sojourn = Sojourn::new(service, load).map(|sojourn| {
            if plan.z == f64::NEG_INFINITY { sojourn.mean } else { sojourn.excess(plan.z) }
        });
        sojourn.map_or(f64::INFINITY, |excess| load / problem.rate() * excess)
    };
    let load = plan.loads[node];
    let step = 1e-4 * (service.rate() - load).max(1e-12);
    let before = (load - step).max(0.0);
    (term(load + step) - term(before)) / (load + step - before)
}

/// One chunk of the class's largest group elsewhere, as little worse as it can be.
fn alternative(named: &Named, plan: &Plan, class: usize) -> String {
    let problem = &named.problem;
    let Some(largest) =
        (0..plan.classes[class].len()).max_by_key(|&at| plan.classes[class][at].files)
    else {
        return String::new();
    };
    let group = &plan.classes[class][largest];
    let mut found = Vec::new();
    for (place, &from) in group.nodes.iter().enumerate() {
        for to in
            (0..problem.nodes.len()).filter(|at| problem.nodes[*at].state == StorageNodeState::Up)
        {
            if group.nodes.contains(&(to as u16)) {
                continue;
            }
            let mut classes = plan.classes.clone();
            swap(&mut classes[class][largest], place, to as u16);
            let other = Plan::new(problem, classes, 0.0);
            if allowed(problem, &other, class, largest) {
                found.push((other.certificate.value, usize::from(from), to, other));
            }
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.truncate(CLOSEST);
    let value = plan.certificate.value;
    let settled = found.into_iter().map(|(at_first, from, to, other)| {
        (settled(problem, &other).map_or(at_first, |settled| settled.min(at_first)), from, to)
    });
    let best = settled.min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((other, from, to)) = best else {
        return "there is no other place for a chunk of its largest group\n".into();
    };
    format!(
        "next best for the {} files of its largest group: a chunk at {} instead of {}, {} s worse ({:.4} % of the \
         objective), requests shared out again\n",
        group.files,
        named.nodes[to],
        named.nodes[from],
        number((other - value).max(0.0)),
        100.0 * (other - value).max(0.0) / value
    )
}

fn swap(group: &mut Group, place: usize, to: u16) {
    let mut pairs: Vec<(u16, f64)> =
        group.nodes.iter().copied().zip(group.probabilities.iter().copied()).collect();
    pairs[place].0 = to;
    pairs.sort_by_key(|(node, _)| *node);
    (group.nodes, group.probabilities) = pairs.into_iter().unzip();
}

/// Whether the group keeps what its class promises, and the nodes their capacity.
fn allowed(problem: &Problem, plan: &Plan, class: usize, group: usize) -> bool {
    let its = &problem.classes[class];
    let group = &plan.classes[class][group];
    let most = |of: fn(&ripstop_placement::StorageNode) -> u16| {
        let mut counts = BTreeMap::<u16, usize>::new();
        for &node in &group.nodes {
            *counts.entry(of(&problem.nodes[usize::from(node)])).or_default() += 1;
        }
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    };
    let (sites, vendors) = (most(|node| node.site), most(|node| node.vendor));
    let lost: usize = sites.iter().take(its.survive_sites as usize).sum();
    let k = its.k as usize;
    let fits = |(bytes, node): (&f64, &ripstop_placement::StorageNode)| {
        *bytes <= node.capacity_bytes as f64
    };
    group.nodes.len() - lost >= k
        && (!its.spread || (sites[0] < k && vendors[0] < k))
        && plan.bytes.iter().zip(&problem.nodes).all(fits)
}

/// The objective when no chunk may move and requests are shared out again.
fn settled(problem: &Problem, plan: &Plan) -> Option<f64> {
    let mut still = problem.clone();
    for node in &mut still.nodes {
        if node.state == StorageNodeState::Up {
            node.state = StorageNodeState::Fixed;
        }
    }
    let settled = solve(&still, Some(plan)).ok()?;
    (is_exact(problem, &settled) || !is_exact(problem, plan))
        .then(|| Plan::new(problem, settled.classes, 0.0).certificate.value)
}
