//! What a second costs: the plan among those for other θ, as tables and a drawing.

use super::{answer::Answer, inventory::Named, solved};
use anyhow::Result;
use ripstop_experiment::Report;
use ripstop_figure::Table;
use ripstop_placement::Plan;
use ripstop_placing::{Chosen, tradeoff, tradeoff_figure};
use std::path::Path;

/// Quarters of a power of ten to either side of the plan's own θ.
const STEPS: i32 = 10;

/// Writes the tables of nodes and classes, latency against cost, and `report.html` that holds them
/// all.
pub(super) fn write(named: &Named, plan: &Plan, answer: &Answer, folder: &Path) -> Result<()> {
    let theta = named.problem.seconds_per_money;
    // Without a price of latency, about one where both weigh the same.
    let middle = if theta > 0.0 { theta } else { plan.latency / plan.money.max(1e-12) };
    let thetas: Vec<f64> =
        (-STEPS..=STEPS).map(|step| middle * 10f64.powf(f64::from(step) / 4.0)).collect();
    let table = tradeoff(&thetas, |theta| {
        let mut named = named.clone();
        named.problem.seconds_per_money = theta;
        solved::plan(&named, None)
    });
    let chosen = Chosen { theta, latency_s: plan.latency, money: plan.money };
    let unit = format!("dollars for {} months", named.months);
    let figure = tradeoff_figure("Latency against cost", &table, &chosen, &unit)?;
    let mut report =
        Report::new(format!("Plan of {}", named.pool), answer.text().replace('\n', "\n\n"));
    report.intro = summary(answer);
    let caption = "Mean latency and cost of the best plans, as what a second is worth changes.";
    report.figure("tradeoff", caption, &figure);
    report.table("nodes", "The nodes under the plan.", nodes(answer));
    report.table("classes", "The classes under the plan.", classes(answer));
    report.table("tradeoff", "The plans of the drawing.", table);
    report.write(folder)?;
    Ok(())
}

fn summary(answer: &Answer) -> String {
    let told = answer.text();
    // What comes after the two tables.
    told.rsplit("\n\n").next().unwrap_or_default().replace('\n', "\n\n")
}

fn nodes(answer: &Answer) -> Table {
    let columns =
        ["node", "site", "state", "lanes", "chunks_per_s", "utilisation", "bytes", "dollars"];
    let mut table = Table::new(columns);
    for node in &answer.nodes {
        let words = [&node.name, &node.site, &node.state].map(|word| word.clone().into());
        let numbers =
            [f64::from(node.lanes), node.chunks_per_s, node.utilisation, node.bytes, node.money];
        table.push(words.into_iter().chain(numbers.map(Into::into)));
    }
    table
}

fn classes(answer: &Answer) -> Table {
    let columns = [
        "class",
        "code",
        "rate_per_s",
        "files",
        "groups",
        "mean_bound_s",
        "p99_bound_s",
        "dollars",
    ];
    let mut table = Table::new(columns);
    for class in &answer.classes {
        let words = [class.name.clone().into(), class.codes().into()];
        let numbers = [
            class.rate_per_s,
            class.files as f64,
            class.groups.len() as f64,
            class.latency_s,
            class.p99_s,
            class.money,
        ];
        table.push(words.into_iter().chain(numbers.map(Into::into)));
    }
    table
}
