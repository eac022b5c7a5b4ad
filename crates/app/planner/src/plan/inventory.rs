//! What there is to plan with: nodes, classes and what a second is worth, as a TOML file has it.

use crate::moments::{Measured, service};
use anyhow::{Context as _, Result, bail, ensure};
use ripstop_assembly::config::Size;
use ripstop_placement::{Class, Problem, StorageNode, StorageNodeState};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Bytes of a GB in prices.
const GB: f64 = 1e9;

/// The file.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    pub(crate) pool: Option<String>,
    #[serde(alias = "theta")]
    pub(crate) seconds_per_dollar: Option<f64>,
    pub(crate) dollars_per_second: Option<f64>,
    pub(crate) months: Option<f64>,
    pub(crate) seconds_per_moved_gb: Option<f64>,
    #[serde(default, rename = "node")]
    pub(crate) nodes: Vec<InventoryNode>,
    #[serde(default, rename = "class")]
    pub(crate) classes: Vec<InventoryClass>,
    /// What is doubtful about it.
    #[serde(skip)]
    pub(crate) notes: Vec<String>,
}

#[derive(Deserialize, Clone, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct InventoryNode {
    pub name: String,
    pub lanes: Option<u16>,
    pub mean_s: Option<f64>,
    pub sd_s: Option<f64>,
    pub third_s3: Option<f64>,
    pub samples_s: Option<Vec<f64>>,
    pub task_log: Option<PathBuf>,
    pub task_log_node: Option<u16>,
    pub chunk: Option<Size>,
    pub fixed_s: Option<f64>,
    pub price_per_gb_month: Option<f64>,
    pub price_per_chunk: Option<f64>,
    pub site: Option<String>,
    pub vendor: Option<String>,
    pub capacity: Option<Size>,
    pub state: Option<State>,
    /// What a gateway's task log says of its service, where the file says nothing.
    #[serde(skip)]
    pub seen: Option<Measured>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Up,
    Fixed,
    Down,
}

#[derive(Deserialize, Clone, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct InventoryClass {
    pub name: String,
    pub rate_per_s: Option<f64>,
    pub files: Option<u64>,
    pub k: Option<u32>,
    pub n: Option<u32>,
    pub survive_nodes: Option<u32>,
    pub survive_sites: Option<u32>,
    pub spread: Option<bool>,
    pub chunk: Option<Size>,
    pub file: Option<Size>,
}

/// An inventory in the planner's terms, and what its numbers are called.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub pool: String,
    pub problem: Problem,
    pub nodes: Vec<String>,
    pub lanes: Vec<u16>,
    pub classes: Vec<String>,
    /// Of the numbers in the problem.
    pub sites: Vec<String>,
    pub months: f64,
    pub notes: Vec<String>,
    /// Whether files have exactly k + `survive_nodes` chunks: whether the classes say `n`.
    pub exact: bool,
}

impl Inventory {
    /// Reads one; task logs that it names are looked for beside it.
    pub fn read(path: &Path) -> Result<Self> {
        let named = || format!("inventory {}", path.display());
        let text = std::fs::read_to_string(path).with_context(named)?;
        let mut read: Self = toml::from_str(&text).with_context(named)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for log in read.nodes.iter_mut().filter_map(|node| node.task_log.as_mut()) {
            *log = folder.join(&log);
        }
        Ok(read)
    }

    /// This with what `over` says of nodes and classes of the same names; what it has besides is
    /// added. Its only class is this one's, whatever it is called.
    #[must_use]
    pub fn overlaid(mut self, over: Self) -> Self {
        for node in over.nodes {
            match self.nodes.iter_mut().find(|known| known.name == node.name) {
                Some(known) => known.overlay(node),
                None => self.nodes.push(node),
            }
        }
        let single = over.classes.len() == 1 && self.classes.len() == 1;
        for class in over.classes {
            match self.classes.iter_mut().find(|known| single || known.name == class.name) {
                Some(known) => known.overlay(class),
                None => self.classes.push(class),
            }
        }
        Self {
            pool: self.pool.or(over.pool),
            seconds_per_dollar: over.seconds_per_dollar.or(self.seconds_per_dollar),
            dollars_per_second: over.dollars_per_second.or(self.dollars_per_second),
            months: over.months.or(self.months),
            seconds_per_moved_gb: over.seconds_per_moved_gb.or(self.seconds_per_moved_gb),
            ..self
        }
    }

    /// In the planner's terms. `theta` wins over what the inventory says.
    pub(crate) fn named(&self, theta: Option<f64>) -> Result<Named> {
        ensure!(!self.nodes.is_empty(), "there are no nodes: add a [[node]]");
        ensure!(!self.classes.is_empty(), "there are no classes: add a [[class]]");
        distinct("node", self.nodes.iter().map(|node| &node.name))?;
        distinct("class", self.classes.iter().map(|class| &class.name))?;
        let exact = self.classes.iter().all(|class| class.n.is_some());
        ensure!(
            exact || self.classes.iter().all(|class| class.n.is_none()),
            "n is the exact number of chunks, survive_nodes asks for at least k plus that many: either all \
             classes give n, or none"
        );
        let months = self.months.unwrap_or(1.0);
        ensure!(months > 0.0 && months.is_finite(), "months is {months}");
        let classes = self.classes.iter().map(InventoryClass::class).collect::<Result<Vec<_>>>()?;
        let (mut sites, mut vendors) = (Vec::new(), Vec::new());
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let site = node.site.as_ref().unwrap_or(&node.name);
            let vendor = node.vendor.as_ref().unwrap_or(site);
            let places = (number(&mut sites, site), number(&mut vendors, vendor));
            let told = node.node(&classes, months, places);
            nodes.push(told.with_context(|| format!("node {}", node.name))?);
        }
        let problem = Problem {
            nodes,
            classes,
            seconds_per_money: self.theta(theta)?,
            seconds_per_moved_byte: self.seconds_per_moved_gb.unwrap_or(0.0) / GB,
        };
        Ok(Named {
            pool: self.pool.clone().unwrap_or_else(|| "main".into()),
            problem,
            nodes: self.nodes.iter().map(|node| node.name.clone()).collect(),
            lanes: self.nodes.iter().map(|node| node.lanes.unwrap_or(1)).collect(),
            classes: self.classes.iter().map(|class| class.name.clone()).collect(),
            sites,
            months,
            notes: self.notes.clone(),
            exact,
        })
    }

    /// θ: seconds of mean latency that a dollar is worth.
    fn theta(&self, wanted: Option<f64>) -> Result<f64> {
        Ok(match (wanted, self.seconds_per_dollar, self.dollars_per_second) {
            (Some(theta), _, _) | (None, Some(theta), None) => theta,
            (None, None, Some(dollars)) => {
                ensure!(dollars > 0.0, "dollars_per_second is {dollars}");
                1.0 / dollars
            }
            (None, Some(_), Some(_)) => {
                bail!("seconds_per_dollar and dollars_per_second say the same: give one")
            }
            (None, None, None) => 0.0,
        })
    }
}

fn distinct<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        ensure!(seen.insert(name), "two {kind}s are called {name:?}");
    }
    Ok(())
}

/// The number of a name, given it now if it is new.
fn number(names: &mut Vec<String>, name: &str) -> u16 {
    let known = names.iter().position(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u16
}

impl InventoryNode {
    fn overlay(&mut self, over: Self) {
        let Self { seen, lanes, state, .. } = std::mem::replace(self, over);
        self.seen = seen;
        self.lanes = self.lanes.or(lanes);
        self.state = self.state.or(state);
    }

    fn node(
        &self,
        classes: &[Class],
        months: f64,
        (site, vendor): (u16, u16),
    ) -> Result<StorageNode> {
        let measured = self.measured()?;
        let lanes = self.lanes.unwrap_or(1);
        ensure!(lanes > 0, "lanes is 0");
        Ok(StorageNode {
            service: service(&measured, classes)?.with_lanes(lanes),
            price_per_chunk: self.price_per_chunk.unwrap_or(0.0),
            price_per_byte: self.price_per_gb_month.unwrap_or(0.0) * months / GB,
            site,
            vendor,
            capacity_bytes: self.capacity.map_or(u64::MAX, |size| size.0),
            state: match self.state.unwrap_or(State::Up) {
                State::Up => StorageNodeState::Up,
                State::Fixed => StorageNodeState::Fixed,
                State::Down => StorageNodeState::Down,
            },
        })
    }

    /// How long it serves a chunk, from whatever is said of it.
    fn measured(&self) -> Result<Measured> {
        let told = [self.mean_s.is_some(), self.samples_s.is_some(), self.task_log.is_some()];
        let ways = told.iter().filter(|told| **told).count();
        if let (0, Some(seen)) = (ways, &self.seen) {
            return Ok(*seen);
        }
        ensure!(
            ways == 1,
            "its service time must be given in one way: mean_s and sd_s, samples_s, or task_log"
        );
        let mut measured = if let Some(path) = &self.task_log {
            Measured::of_log(path, self.task_log_node)?
        } else if let Some(samples) = &self.samples_s {
            Measured::of_samples(samples)?
        } else {
            let (Some(mean), Some(sd)) = (self.mean_s, self.sd_s) else {
                bail!("mean_s needs sd_s beside it");
            };
            Measured::of_moments(mean, sd, self.third_s3)?
        };
        measured.fixed_s = self.fixed_s.unwrap_or(0.0);
        if let Some(chunk) = self.chunk {
            ensure!(chunk.0 > 0, "chunk is 0 bytes");
            measured.chunk_bytes = Some(chunk.0 as f64);
        }
        Ok(measured)
    }
}

impl InventoryClass {
    fn overlay(&mut self, over: Self) {
        let before = std::mem::replace(self, over);
        self.name = before.name;
        self.rate_per_s = self.rate_per_s.or(before.rate_per_s);
        self.files = self.files.or(before.files);
        self.k = self.k.or(before.k);
        if self.survive_nodes.is_none() {
            self.n = self.n.or(before.n);
        }
        if self.file.is_none() {
            self.chunk = self.chunk.or(before.chunk);
        }
    }

    fn class(&self) -> Result<Class> {
        let named = || format!("class {}", self.name);
        let Some(k) = self.k.filter(|k| *k > 0) else {
            bail!("{} needs k, the number of chunks that suffice", named());
        };
        let survive_nodes = match (self.n, self.survive_nodes) {
            (Some(n), None) => n
                .checked_sub(k)
                .with_context(|| format!("{}: n is {n}, less than k, {k}", named()))?,
            (None, survive) => survive.unwrap_or(0),
            (Some(_), Some(_)) => {
                bail!("{}: n and survive_nodes say the same: give one", named())
            }
        };
        let chunk_bytes = match (self.chunk, self.file) {
            (Some(chunk), None) => chunk.0,
            (None, Some(file)) => file.0.div_ceil(u64::from(k)),
            _ => bail!("{} needs either chunk or file, a size", named()),
        };
        Ok(Class {
            rate: self.rate_per_s.with_context(|| format!("{} needs rate_per_s", named()))?,
            files: self.files.with_context(|| format!("{} needs files, a number", named()))?,
            k,
            chunk_bytes,
            survive_nodes,
            survive_sites: self.survive_sites.unwrap_or(0),
            spread: self.spread.unwrap_or(false),
        })
    }
}
