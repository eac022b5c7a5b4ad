use crate::Service;
use alloc::vec::Vec;
use core::fmt;

/// What is to be planned: nodes, classes of equal files, and what a second is worth.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// The nodes; everywhere else a node is its position here.
    pub nodes: Vec<StorageNode>,
    /// The classes; everywhere else a class is its position here.
    pub classes: Vec<Class>,
    /// The paper's θ: how many seconds of mean latency one unit of money is worth.
    pub seconds_per_money: f64,
    /// With a previous plan: by how many seconds of the objective each moved byte must pay.
    pub seconds_per_moved_byte: f64,
}

/// One place that stores chunks and serves them one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct StorageNode {
    /// Service time of one chunk. Chunks of every class are served alike, as in the paper.
    pub service: Service,
    /// The paper's V: money for storing one chunk.
    pub price_per_chunk: f64,
    /// Money for storing one byte, besides.
    pub price_per_byte: f64,
    /// Nodes of a site fail together.
    pub site: u16,
    /// Who runs it. A site must belong to one vendor, or a vendor to one site.
    pub vendor: u16,
    /// How many bytes of chunks it can hold.
    pub capacity_bytes: u64,
    /// Whether it takes and serves chunks.
    pub state: StorageNodeState,
}

/// Whether a node takes and serves chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StorageNodeState {
    /// It does.
    #[default]
    Up,
    /// It serves the chunks the previous plan gave it, keeps them, and takes no others.
    Fixed,
    /// Neither.
    Down,
}

/// Files with the same code, size and popularity.
#[derive(Clone, PartialEq, Debug)]
pub struct Class {
    /// Requests per second to all its files together.
    pub rate: f64,
    /// How many files.
    pub files: u64,
    /// How many chunks a request needs.
    pub k: u32,
    /// Size of a chunk.
    pub chunk_bytes: u64,
    /// How many nodes may be lost at once: every file gets at least `k` + this many chunks.
    pub survive_nodes: u32,
    /// How many whole sites may be lost at once and leave `k` chunks of every file.
    pub survive_sites: u32,
    /// No vendor and no site may hold `k` or more chunks of a file.
    pub spread: bool,
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Debug)]
pub enum PlanError {
    /// A number is not one the problem allows.
    Invalid {
        /// "node", "class" or "problem".
        kind: &'static str,
        /// Position of the node or class.
        at: usize,
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// Two vendors share a site that is not the only one of either.
    CrossingDomains {
        /// The site.
        site: u16,
    },
    /// Too few nodes take chunks.
    MissingNodes {
        /// The class.
        class: usize,
        /// k + nodes to survive.
        needed: usize,
        /// Nodes that take chunks.
        usable: usize,
    },
    /// The nodes are too concentrated to survive the loss of sites, or to keep below k at each
    /// site.
    MissingSites {
        /// The class.
        class: usize,
        /// How many chunks a file needs.
        needed: usize,
        /// How many can be placed at most.
        reached: usize,
        /// Sites to survive.
        survive_sites: u32,
        /// Whether sites and vendors must stay below k.
        spread: bool,
    },
    /// There are more ways to share chunks among sites than can be searched.
    TooManyWays {
        /// The class.
        class: usize,
        /// The limit.
        limit: usize,
        /// Sites to survive.
        survive_sites: u32,
    },
    /// The nodes cannot hold the chunks.
    MissingBytes {
        /// The node that would overflow most.
        node: usize,
        /// By how much.
        over_bytes: u64,
        /// How many bytes are missing at all nodes together.
        bytes_missing: u64,
    },
    /// The nodes cannot serve the requests.
    Overload {
        /// The node that would be used most.
        node: usize,
        /// Its utilisation, 1 being all it can serve.
        utilisation: f64,
        /// How many more chunks per second the nodes would have to serve, at least.
        chunks_per_second_missing: f64,
    },
    /// The previous plan does not belong to the problem.
    OtherPlan {
        /// Of the plan.
        classes: usize,
        /// Of the plan.
        nodes: usize,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { kind, at, what, value } => {
                write!(f, "{what} of {kind} {at} is {value}")
            }
            Self::CrossingDomains { site } => write!(
                f,
                "site {site} is shared by vendors, one of which has other sites: give each vendor's part a site of its own"
            ),
            Self::MissingNodes { class, needed, usable } => write!(
                f,
                "class {class} needs {needed} nodes for k + failures to survive, {usable} take chunks: {} missing",
                needed - usable
            ),
            Self::MissingSites { class, needed, reached, survive_sites, spread } => write!(
                f,
                "class {class}: sites and vendors admit {reached} of the {needed} chunks: {} missing (survive {survive_sites} sites, spread {spread})",
                needed - reached
            ),
            Self::TooManyWays { class, limit, survive_sites } => write!(
                f,
                "class {class}: more than {limit} ways to survive the loss of {survive_sites} sites"
            ),
            Self::MissingBytes { node, over_bytes, bytes_missing } => write!(
                f,
                "node {node} would be {over_bytes} bytes too full, all nodes together {bytes_missing}"
            ),
            Self::Overload { node, utilisation, chunks_per_second_missing } => write!(
                f,
                "node {node} would be used to {utilisation:.4} of what it can serve; {chunks_per_second_missing} chunks per second are missing"
            ),
            Self::OtherPlan { classes, nodes } => {
                write!(f, "the previous plan has {classes} classes and {nodes} nodes")
            }
        }
    }
}

impl core::error::Error for PlanError {}

impl Problem {
    /// Requests per second of all classes: the paper's λ̂.
    pub fn rate(&self) -> f64 {
        self.classes.iter().map(|class| class.rate).sum()
    }

    /// Chunk requests per second of all classes.
    pub fn chunk_rate(&self) -> f64 {
        self.classes.iter().map(|class| class.rate * f64::from(class.k)).sum()
    }

    /// Money for one chunk of a class at a node.
    pub fn chunk_price(&self, class: usize, node: usize) -> f64 {
        let node = &self.nodes[node];
        node.price_per_chunk + node.price_per_byte * self.classes[class].chunk_bytes as f64
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let invalid =
            |kind, at, what, value: f64| Err(PlanError::Invalid { kind, at, what, value });
        let proper = |value: f64| value >= 0.0 && value.is_finite();
        if !proper(self.seconds_per_money) {
            return invalid("problem", 0, "seconds per money", self.seconds_per_money);
        }
        if !proper(self.seconds_per_moved_byte) {
            return invalid("problem", 0, "seconds per moved byte", self.seconds_per_moved_byte);
        }
        if self.nodes.len() > usize::from(u16::MAX) {
            return invalid("problem", 0, "number of nodes", self.nodes.len() as f64);
        }
        for (at, node) in self.nodes.iter().enumerate() {
            if !proper(node.price_per_chunk) {
                return invalid("node", at, "price per chunk", node.price_per_chunk);
            }
            if !proper(node.price_per_byte) {
                return invalid("node", at, "price per byte", node.price_per_byte);
            }
        }
        for (at, class) in self.classes.iter().enumerate() {
            if !proper(class.rate) {
                return invalid("class", at, "rate", class.rate);
            }
            if class.k == 0 {
                return invalid("class", at, "k", 0.0);
            }
            if class.files == 0 && class.rate > 0.0 {
                return invalid("class", at, "number of files, which has requests,", 0.0);
            }
        }
        Ok(())
    }
}
