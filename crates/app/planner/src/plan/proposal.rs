use super::{
    answer::Answer,
    complaint::complaint,
    explain::explain,
    inventory::{Inventory, Named},
    picture, previous, solved,
};
use anyhow::{Context as _, Result, anyhow};
use ripstop_assembly::config::PlanFile;
use ripstop_gateway::ReadSelection;
use ripstop_placement::Plan;
use std::path::Path;

/// A plan of an inventory, and what there is to say of it.
#[derive(Debug)]
pub struct Proposal {
    named: Named,
    explained: Option<usize>,
    is_moving: bool,
    plan: Plan,
    answer: Answer,
}

/// What a plan is asked for, beside its inventory.
#[derive(Clone, Copy, Default, Debug)]
pub struct Asked<'a> {
    /// Seconds of mean latency that a dollar is worth, instead of the inventory's.
    pub theta: Option<f64>,
    /// The class that is to be explained.
    pub explained: Option<&'a str>,
    /// The file of the plan that is followed now.
    pub previous: Option<&'a Path>,
}

impl Proposal {
    /// The best plan.
    pub fn of(inventory: &Inventory, asked: Asked<'_>) -> Result<Self> {
        let named = named(inventory, asked.theta)?;
        let explained = asked.explained.map(|class| position(&named, class)).transpose()?;
        let previous = asked.previous.map(|path| previous::previous(&named, path)).transpose()?;
        let plan = solved::plan(&named, previous.as_ref())
            .map_err(|error| anyhow!("there is no plan: {}", complaint(&named, &error)))?;
        let answer = Answer::new(&named, &plan);
        Ok(Self { named, explained, is_moving: previous.is_some(), plan, answer })
    }

    /// As a file that a pool can follow.
    pub fn file(&self, selection: ReadSelection) -> Result<PlanFile> {
        previous::plan_file(&self.named, &self.plan, selection)
    }

    /// Latency against cost as a second's worth changes, the tables and `report.html`, in this
    /// folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        picture::write(&self.named, &self.plan, &self.answer, folder)
    }

    /// One JSON object.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(&self.answer)?)
    }

    /// Tables for a terminal, and what is doubtful about the inventory, a line each.
    pub fn text(&self) -> String {
        let notes = self.named.notes.iter().map(|note| format!("note: {note}\n"));
        self.answer.text() + &notes.collect::<String>()
    }

    /// What is moved for it, if a plan is followed now.
    pub fn moves_text(&self) -> Option<String> {
        self.is_moving.then(|| self.answer.moves_text())
    }

    /// Why the class that was asked about sits where it sits.
    pub fn explanation(&self) -> Option<String> {
        self.explained.map(|class| explain(&self.named, &self.plan, class))
    }
}

fn named(inventory: &Inventory, theta: Option<f64>) -> Result<Named> {
    let named = inventory.named(theta);
    if inventory.notes.is_empty() {
        return named;
    }
    named.with_context(|| inventory.notes.join("; "))
}

fn position(named: &Named, class: &str) -> Result<usize> {
    let found = named.classes.iter().position(|name| name == class);
    found.with_context(|| format!("no class {class:?}; there are: {}", named.classes.join(", ")))
}
