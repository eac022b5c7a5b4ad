//! Plans that were made before, and the file of one that is made now.

use super::{
    answer::{Answer, AnswerGroup},
    inventory::Named,
};
use crate::groups::{file_of, groups_of, numbers, ordered, shares};
use anyhow::{Context as _, Result, bail, ensure};
use ripstop_assembly::config::PlanFile;
use ripstop_gateway::ReadSelection;
use ripstop_placement::{Group, Plan};
use std::path::Path;

/// The plan of a pool: of the only class, which is the pool's stripes.
pub(super) fn plan_file(named: &Named, plan: &Plan, selection: ReadSelection) -> Result<PlanFile> {
    let [class] = plan.classes.as_slice() else {
        bail!(
            "a pool follows a plan of one class, its stripes, and there are {}: {}. Plan each pool from an \
             inventory of its own",
            named.classes.len(),
            named.classes.join(", ")
        );
    };
    let k = named.problem.classes[0].k;
    let n = class.first().map_or(0, |group| group.nodes.len());
    let other = class.iter().find(|group| group.nodes.len() != n);
    ensure!(
        other.is_none(),
        "some files have {n} chunks and others {}, and a pool has one code: say n in place of survive_nodes, or \
         a larger one",
        other.map_or(0, |group| group.nodes.len())
    );
    Ok(file_of(&named.pool, selection, &named.nodes, k, class))
}

/// A plan that was made before: a plan's file, or what `--json` printed.
pub(super) fn previous(named: &Named, path: &Path) -> Result<Plan> {
    let told = || format!("previous plan {}", path.display());
    let text = std::fs::read_to_string(path).with_context(told)?;
    let classes = if text.trim_start().starts_with('{') {
        of_answer(named, &serde_json::from_str(&text).with_context(told)?)
    } else {
        of_file(named, &PlanFile::read(path)?)
    };
    let mut plan = Plan::new(&named.problem, classes.with_context(told)?, 0.0);
    // The planner takes moves from the groups only.
    plan.moves.clear();
    Ok(plan)
}

fn of_file(named: &Named, file: &PlanFile) -> Result<Vec<Vec<Group>>> {
    ensure!(
        named.classes.len() == 1,
        "it is a pool's, of one class, and the inventory has {}",
        named.classes.len()
    );
    Ok(vec![groups_of(file, &named.nodes, named.problem.classes[0].files)?])
}

fn of_answer(named: &Named, answer: &Answer) -> Result<Vec<Vec<Group>>> {
    let class = |(at, name): (usize, &String)| {
        let its = answer.classes.iter().find(|class| class.name == *name);
        let its = its.with_context(|| format!("it has no class {name:?}"))?;
        let parts: Vec<u64> = its.groups.iter().map(|group| group.files).collect();
        let files = shares(&parts, named.problem.classes[at].files);
        let groups = its.groups.iter().zip(files).filter(|(_, files)| *files > 0);
        let group = |(group, files): (&AnswerGroup, u64)| {
            let nodes = numbers(&named.nodes, &group.nodes)?;
            Ok(ordered(Group { files, nodes, probabilities: group.dispatch.clone() }))
        };
        groups.map(group).collect()
    };
    named.classes.iter().enumerate().map(class).collect()
}
