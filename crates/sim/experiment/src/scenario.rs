//! Scenario files: everything about an experiment in one TOML file.

mod arrivals;
mod bounds;
mod definition;
mod error;
mod plan;
mod raw;
mod resolve;
mod tenants;

pub use definition::{Played, Scenario};
pub use error::ScenarioError;

use std::path::Path;

impl Scenario {
    /// The scenario in a TOML text; files that it names are sought in the current folder.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        resolve::resolve(toml::from_str(text)?, Path::new(""))
    }

    /// The scenario in a TOML file; files that it names are sought beside it.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScenarioError::File { path: path.to_owned(), source })?;
        resolve::resolve(toml::from_str(&text)?, path.parent().unwrap_or(Path::new("")))
    }

    /// Other seeds: 1 to `count`.
    pub fn set_seeds(&mut self, count: u16) -> Result<(), ScenarioError> {
        self.seeds = (1..=u64::from(count)).collect();
        bounds::runs(self)
    }
}
