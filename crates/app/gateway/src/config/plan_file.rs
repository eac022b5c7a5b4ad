use anyhow::{Context as _, Result, bail, ensure};
use ripstop_gateway::{Placement, PlacementGroup, ReadSelection, WHOLE_CHUNK};
use ripstop_model::NodeId;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::Path};

/// What plans' files are. One key more is another format: a program that does not know it would
/// follow another plan than was written.
pub const PLAN_FORMAT: u32 = 1;

/// The format of what says none: it was written before plans said it.
const fn plan_format() -> u32 {
    1
}

/// Refuses a plan of a format that a newer program wrote.
fn know(format: u32) -> Result<()> {
    ensure!(
        format <= PLAN_FORMAT,
        "it is of format {format}, which a newer program must have written; this program knows \
         {PLAN_FORMAT}"
    );
    ensure!(format > 0, "it is of format 0, which does not exist");
    Ok(())
}

/// A pool's plan as a file (TOML): what `ripstop plan --apply` writes and a gateway follows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// See [`PLAN_FORMAT`].
    #[serde(default = "plan_format")]
    pub format: u32,
    /// The pool it is for.
    pub pool: String,
    /// How reads choose among the nodes that hold a stripe.
    pub selection: ReadSelection,
    /// Where stripes go.
    #[serde(default)]
    pub group: Vec<PlanGroup>,
}

/// The one key that a plan of any format has.
#[derive(Deserialize)]
struct PlanHead {
    #[serde(default = "plan_format")]
    format: u32,
}

/// Nodes that hold the same stripes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanGroup {
    /// Part of all stripes, beside the others' weights.
    pub weight: u64,
    /// The nodes' names.
    pub nodes: Vec<String>,
    /// With which probability a request goes to each of them; together K.
    pub dispatch: Vec<f64>,
}

impl PlanFile {
    /// Reads a plan.
    pub fn read(path: &Path) -> Result<Self> {
        let named = || format!("plan {}", path.display());
        let text = std::fs::read_to_string(path).with_context(named)?;
        // Before the keys, which may be others in another format.
        let head: PlanHead = toml::from_str(&text).with_context(named)?;
        know(head.format).with_context(named)?;
        toml::from_str(&text).with_context(named)
    }

    /// Writes it, in one step: a reader sees the old plan or this one.
    pub fn write(&self, path: &Path) -> Result<()> {
        let named = || format!("plan {}", path.display());
        let beside = path.with_extension("new");
        std::fs::write(&beside, toml::to_string(self)?).with_context(named)?;
        std::fs::rename(&beside, path).with_context(named)
    }

    /// In the machine's terms, for a pool of that name, nodes and code (n,k).
    pub fn placement(
        &self,
        pool: &str,
        nodes: &[(NodeId, String)],
        (n, k): (usize, usize),
    ) -> Result<Placement> {
        ensure!(self.pool == pool, "it is for pool {:?}, not for {pool:?}", self.pool);
        let groups = self.group.iter().map(|group| group.placement(nodes, (n, k)));
        Ok(Placement { selection: self.selection, groups: groups.collect::<Result<_>>()? })
    }
}

impl PlanGroup {
    fn placement(
        &self,
        known: &[(NodeId, String)],
        (n, k): (usize, usize),
    ) -> Result<PlacementGroup> {
        let names = self.nodes.join(", ");
        ensure!(
            self.nodes.len() == n,
            "the group of {names} has {} nodes, but a stripe of the pool has {n} fragments",
            self.nodes.len()
        );
        let distinct: BTreeSet<&String> = self.nodes.iter().collect();
        ensure!(distinct.len() == n, "the group of {names} names a node twice");
        ensure!(
            self.dispatch.len() == n && self.dispatch.iter().all(|p| (0.0..=1.0).contains(p)),
            "the group of {names} needs one probability for each node"
        );
        let sum: f64 = self.dispatch.iter().sum();
        ensure!(
            (sum - k as f64).abs() < 1e-3,
            "the probabilities of the group of {names} sum to {sum}, but a request needs {k} chunks"
        );
        let mut nodes = Vec::with_capacity(n);
        for name in &self.nodes {
            let Some((id, _)) = known.iter().find(|(_, known)| known == name) else {
                bail!("the pool has no node {name:?}");
            };
            nodes.push(*id);
        }
        let whole = f64::from(WHOLE_CHUNK);
        let dispatch = self.dispatch.iter().map(|p| (p * whole).round() as u32).collect();
        Ok(PlacementGroup { weight: self.weight, nodes, dispatch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_written_and_read_and_what_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        let group = PlanGroup {
            weight: 3,
            nodes: ["a", "b", "c"].map(String::from).to_vec(),
            dispatch: vec![1.0, 0.75, 0.25],
        };
        let plan = PlanFile {
            format: PLAN_FORMAT,
            pool: "p".into(),
            selection: ReadSelection::LeastWork,
            group: vec![group],
        };
        plan.write(&path).unwrap();
        let read = PlanFile::read(&path).unwrap();
        assert_eq!(read, plan);
        let nodes: Vec<_> =
            ["c", "b", "a"].into_iter().zip(1..).map(|(n, id)| (NodeId(id), n.into())).collect();
        let placed = read.placement("p", &nodes, (3, 2)).unwrap();
        assert_eq!(placed.groups[0].nodes, [NodeId(3), NodeId(2), NodeId(1)]);
        assert_eq!(placed.groups[0].dispatch, [1_000_000, 750_000, 250_000]);
        let refusal = |pool, nodes: &[_], code| {
            read.placement(pool, nodes, code).expect_err("must be refused").to_string()
        };
        assert!(refusal("q", &nodes, (3, 2)).contains("for pool \"p\""));
        assert!(refusal("p", &nodes[1..], (3, 2)).contains("no node \"c\""));
        assert!(refusal("p", &nodes, (4, 2)).contains("has 3 nodes"));
        assert!(refusal("p", &nodes, (3, 1)).contains("sum to 2"));
    }

    #[test]
    fn a_plan_of_another_format_is_refused_by_its_number_and_one_without_is_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        let read = |head: &str| {
            std::fs::write(&path, format!("{head}\npool = \"p\"\nselection = \"ready\"\n"))
                .unwrap();
            PlanFile::read(&path).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(read("").unwrap().format, 1);
        assert_eq!(read("format = 1").unwrap(), read("").unwrap());
        let told = format!(
            "plan {}: it is of format 2, which a newer program must have written; this program \
             knows 1",
            path.display()
        );
        assert_eq!(read("format = 2").unwrap_err(), told);
        // What a newer format adds is not complained of: the number is the reason.
        assert_eq!(read("format = 2\nshade = \"blue\"").unwrap_err(), told);
        assert!(read("shade = \"blue\"").unwrap_err().contains("unknown field `shade`"));
        assert!(read("format = 0").unwrap_err().contains("format 0"));
        assert!(read("format = \"1\"").unwrap_err().contains("invalid type"));
        let plan = PlanFile { group: Vec::new(), ..read("").unwrap() };
        plan.write(&path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("format = 1\n"));
    }
}
