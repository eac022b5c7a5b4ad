//! A plan as it is told: to people in columns, to programs as JSON.

use super::inventory::Named;
use ripstop_experiment::text_columns;
use ripstop_placement::{Plan, StorageNodeState};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Of a class's requests, this part is within what is told as the bound of its tail.
const TAIL: f64 = 0.99;
/// Moves that are told one by one.
const MOVES_SHOWN: usize = 20;

/// A plan with the names of the inventory; what `--json` prints and `--previous` reads.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Answer {
    pub pool: String,
    /// Latency plus θ times money, seconds.
    pub objective_s: f64,
    /// No plan's objective is below.
    pub lower_bound_s: f64,
    /// The part of the objective that a better plan could save at most.
    pub gap: f64,
    /// The bound on the mean latency of all requests.
    pub latency_s: f64,
    pub money: f64,
    pub months: f64,
    pub seconds_per_dollar: f64,
    pub nodes: Vec<AnswerNode>,
    pub classes: Vec<AnswerClass>,
    pub moves: Vec<AnswerMove>,
    pub moved_bytes: u64,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct AnswerNode {
    pub name: String,
    pub site: String,
    pub state: String,
    pub lanes: u16,
    pub chunks_per_s: f64,
    pub utilisation: f64,
    pub bytes: f64,
    pub money: f64,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct AnswerClass {
    pub name: String,
    pub rate_per_s: f64,
    pub files: u64,
    pub k: u32,
    /// The bound on the mean latency of its requests.
    pub latency_s: f64,
    /// 99 % of its requests are within this.
    pub p99_s: f64,
    pub money: f64,
    pub groups: Vec<AnswerGroup>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct AnswerGroup {
    pub files: u64,
    pub nodes: Vec<String>,
    pub dispatch: Vec<f64>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct AnswerMove {
    pub class: String,
    pub files: u64,
    pub from: Option<String>,
    pub to: Option<String>,
    pub bytes: u64,
}

impl Answer {
    pub(super) fn new(named: &Named, plan: &Plan) -> Self {
        let name = |node: u16| named.nodes[usize::from(node)].clone();
        let moves = plan.moves.iter().map(|change| AnswerMove {
            class: named.classes[change.class].clone(),
            files: change.files,
            from: change.from.map(name),
            to: change.to.map(name),
            bytes: change.bytes,
        });
        Self {
            pool: named.pool.clone(),
            objective_s: plan.certificate.value,
            lower_bound_s: plan.certificate.lower_bound,
            gap: plan.certificate.gap(),
            latency_s: plan.latency,
            money: plan.money,
            months: named.months,
            seconds_per_dollar: named.problem.seconds_per_money,
            nodes: nodes(named, plan),
            classes: (0..named.classes.len()).map(|at| class(named, plan, at)).collect(),
            moves: moves.collect(),
            moved_bytes: plan.moved_bytes(),
        }
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let mut text = text_columns(&self.node_rows());
        text.push('\n');
        text += &text_columns(&self.class_rows());
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "\nmean latency at most {} s, {} for {} months; objective {} s at {} s per dollar",
            number(self.latency_s),
            dollars(self.money),
            self.months,
            number(self.objective_s),
            number(self.seconds_per_dollar),
        );
        let _ = writeln!(
            text,
            "no plan is below {} s: this one is within {:.3} % of the best possible",
            number(self.lower_bound_s),
            self.gap * 100.0
        );
        text
    }

    /// What has to be moved to come from the previous plan to this.
    pub(super) fn moves_text(&self) -> String {
        if self.moves.is_empty() {
            return "nothing moves\n".into();
        }
        let row = ["class", "files", "from", "to", "GB written"].map(str::to_owned).to_vec();
        let mut rows = vec![row];
        let told = |node: &Option<String>| node.clone().unwrap_or_else(|| "-".into());
        for change in self.moves.iter().take(MOVES_SHOWN) {
            rows.push(vec![
                change.class.clone(),
                change.files.to_string(),
                told(&change.from),
                told(&change.to),
                number(change.bytes as f64 / 1e9),
            ]);
        }
        let mut text = text_columns(&rows);
        if self.moves.len() > MOVES_SHOWN {
            let _ =
                writeln!(text, "and {} more (--json tells them)", self.moves.len() - MOVES_SHOWN);
        }
        let _ = writeln!(
            text,
            "{} moves write {} GB",
            self.moves.len(),
            number(self.moved_bytes as f64 / 1e9)
        );
        text
    }

    fn node_rows(&self) -> Vec<Vec<String>> {
        let header = ["node", "site", "state", "chunks/s", "used", "GB", "dollars"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        for node in &self.nodes {
            rows.push(vec![
                node.name.clone(),
                node.site.clone(),
                node.state.clone(),
                number(node.chunks_per_s),
                format!("{:.1}%", node.utilisation * 100.0),
                number(node.bytes / 1e9),
                number(node.money),
            ]);
        }
        rows
    }

    fn class_rows(&self) -> Vec<Vec<String>> {
        let header =
            ["class", "requests/s", "files", "code", "groups", "mean ≤ s", "99% ≤ s", "dollars"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        for class in &self.classes {
            rows.push(vec![
                class.name.clone(),
                number(class.rate_per_s),
                class.files.to_string(),
                class.codes(),
                class.groups.len().to_string(),
                number(class.latency_s),
                number(class.p99_s),
                number(class.money),
            ]);
        }
        rows
    }
}

impl AnswerClass {
    /// The codes of its files: (6,4), or (6..7,4) where some have more chunks.
    pub(super) fn codes(&self) -> String {
        let sizes = self.groups.iter().map(|group| group.nodes.len());
        match (sizes.clone().min(), sizes.max()) {
            (Some(least), Some(most)) if least == most => format!("({least},{})", self.k),
            (Some(least), Some(most)) => format!("({least}..{most},{})", self.k),
            _ => "-".into(),
        }
    }
}

fn nodes(named: &Named, plan: &Plan) -> Vec<AnswerNode> {
    let money = |node: usize| -> f64 {
        let of_class = |(at, groups): (usize, &Vec<ripstop_placement::Group>)| {
            let holds = groups.iter().filter(|group| group.nodes.contains(&(node as u16)));
            holds.map(|group| group.files as f64).sum::<f64>() * named.problem.chunk_price(at, node)
        };
        plan.classes.iter().enumerate().map(of_class).sum()
    };
    let node = |(at, node): (usize, &ripstop_placement::StorageNode)| AnswerNode {
        name: named.nodes[at].clone(),
        site: named.sites[usize::from(node.site)].clone(),
        state: match node.state {
            StorageNodeState::Up => "up",
            StorageNodeState::Fixed => "fixed",
            StorageNodeState::Down => "down",
        }
        .into(),
        lanes: named.lanes[at],
        chunks_per_s: plan.loads[at],
        utilisation: plan.loads[at] / node.service.rate(),
        bytes: plan.bytes[at],
        money: money(at),
    };
    named.problem.nodes.iter().enumerate().map(node).collect()
}

fn class(named: &Named, plan: &Plan, at: usize) -> AnswerClass {
    let class = &named.problem.classes[at];
    let groups = &plan.classes[at];
    let name = |node: &u16| named.nodes[usize::from(*node)].clone();
    let price = |group: &ripstop_placement::Group| -> f64 {
        let chunks = group.nodes.iter().map(|&node| named.problem.chunk_price(at, node.into()));
        chunks.sum::<f64>() * group.files as f64
    };
    AnswerClass {
        name: named.classes[at].clone(),
        rate_per_s: class.rate,
        files: class.files,
        k: class.k,
        latency_s: if class.files == 0 { 0.0 } else { plan.class_latency(&named.problem, at) },
        p99_s: tail(|seconds| plan.class_tail(&named.problem, at, seconds)),
        money: groups.iter().map(price).sum(),
        groups: groups
            .iter()
            .map(|group| AnswerGroup {
                files: group.files,
                nodes: group.nodes.iter().map(name).collect(),
                dispatch: group.probabilities.clone(),
            })
            .collect(),
    }
}

/// The least time that no more than 1 % take longer than, by a falling bound on that part.
fn tail(beyond: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1e-6;
    // Nothing is beyond anything in a class without files.
    while beyond(high) > 1.0 - TAIL {
        high *= 2.0;
        if high > 1e12 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        *(if beyond(middle) > 1.0 - TAIL { &mut low } else { &mut high }) = middle;
    }
    high
}

/// Four digits that matter.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0".into(),
        _ if !value.is_finite() => "-".into(),
        _ if !(1e-4..1e7).contains(&size) => format!("{value:.3e}"),
        _ if size >= 1000.0 => format!("{value:.0}"),
        _ if size >= 100.0 => format!("{value:.1}"),
        _ if size >= 10.0 => format!("{value:.2}"),
        _ if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

fn dollars(money: f64) -> String {
    format!("{} dollars", number(money))
}
