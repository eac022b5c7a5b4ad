//! Nodes: where fragments are kept.

use super::{
    bounds::{self, given, within},
    raw::{self, BucketTable, NodeKind},
};
use anyhow::{Context as _, Result, bail};
use ripstop_model::Price;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// A node.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeConfig {
    /// Unlike every other node's.
    pub name: String,
    /// Where it is: nodes at one site are lost together.
    pub site: Option<String>,
    /// Tasks that it serves at once.
    pub lanes: u16,
    /// Where its fragments are.
    pub place: NodePlace,
    /// How slow it is made, if it is.
    pub delay: Option<NodeDelay>,
    /// What its owner is paid.
    pub price: Price,
}

/// Where a node keeps its fragments.
#[derive(Clone, PartialEq, Debug)]
pub enum NodePlace {
    /// A folder; `ours` if it lies in the data folder, and may be made there at the first start.
    Directory {
        /// The folder.
        path: PathBuf,
        /// Whether writes are synced before they are done.
        durable: bool,
        /// Whether it lies in the data folder.
        ours: bool,
    },
    /// A bucket at some S3 server.
    Bucket(BucketTable),
    /// This process, until it ends.
    Memory {
        /// Most bytes that it holds.
        bytes_max: u64,
    },
}

impl fmt::Display for NodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { path, durable, .. } => {
                let how = if *durable { "durable" } else { "not synced" };
                write!(f, "directory {} ({how})", path.display())
            }
            Self::Bucket(at) => {
                let exposed = ripstop_node::is_exposed(&at.endpoint);
                let how =
                    if exposed { " (no TLS: can be read and changed on its way)" } else { "" };
                write!(f, "bucket {} at {}{how}", at.name, at.endpoint)
            }
            Self::Memory { bytes_max } => write!(f, "memory, at most {} MiB", bytes_max >> 20),
        }
    }
}

/// An injected delay: a preset's name or a recorded log's path.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeDelay {
    /// Its law: the preset or the log.
    pub model: String,
    /// Times each delay.
    pub scale: f64,
    /// All luck of the delays.
    pub seed: u64,
}

/// Tasks of a node at once.
const DEFAULT_LANES: u16 = 16;

/// A node of the pool that is there when none is configured.
pub(super) fn default_node(data: &Path, number: usize) -> NodeConfig {
    let path = data.join("nodes").join(format!("d{number}"));
    let place = NodePlace::Directory { path, durable: true, ours: true };
    NodeConfig {
        name: format!("d{number}"),
        site: None,
        lanes: DEFAULT_LANES,
        place,
        delay: None,
        price: Price::default(),
    }
}

pub(super) fn node(raw: raw::Node) -> Result<NodeConfig> {
    let lanes = given("lanes", raw.lanes, &bounds::LANES)?.unwrap_or(DEFAULT_LANES);
    let delay = match (raw.delay.clone(), raw.delay_scale) {
        (None, None) => None,
        (None, Some(_)) => bail!("delay_scale is given without delay"),
        (Some(model), scale) => {
            let scale = within("delay_scale", scale.unwrap_or(1.0), &bounds::SCALE)?;
            Some(NodeDelay { model, scale, seed: raw.seed.unwrap_or(0) })
        }
    };
    let price = price(&raw)?;
    let strange = foreign_key(&raw);
    if let Some(key) = strange {
        bail!("{key} means nothing for a node of kind {:?}", raw.kind);
    }
    let place = match raw.kind {
        NodeKind::Directory => NodePlace::Directory {
            path: raw.path.context("a directory needs path")?,
            durable: raw.durable.unwrap_or(true),
            ours: false,
        },
        NodeKind::Memory => NodePlace::Memory {
            bytes_max: bounds::size("bytes_max", raw.bytes_max, 1 << 30, &bounds::NODE)?,
        },
        NodeKind::Bucket => NodePlace::Bucket(BucketTable {
            endpoint: raw.endpoint.context("a bucket needs endpoint, such as \"https://…\"")?,
            name: raw.bucket.context("a bucket needs bucket, its name")?,
            prefix: raw.prefix.unwrap_or_default(),
            region: raw.region.unwrap_or_else(|| "us-east-1".into()),
            credentials: raw.credentials,
        }),
    };
    Ok(NodeConfig { name: raw.name, site: raw.site, lanes, place, delay, price })
}

fn price(raw: &raw::Node) -> Result<Price> {
    let keys = [
        ("price_per_get", raw.price_per_get),
        ("price_per_put", raw.price_per_put),
        ("price_per_gb_out", raw.price_per_gb_out),
        ("price_per_gb_month", raw.price_per_gb_month),
    ];
    for (key, dollars) in keys {
        given(key, dollars, &bounds::PRICE)?;
    }
    let [per_1000_gets, per_1000_puts, per_gb_out, per_gb_month] = keys.map(|(_, dollars)| dollars);
    Ok(Price { per_1000_gets, per_1000_puts, per_gb_out, per_gb_month })
}

/// A key that is given and belongs to another kind of node.
fn foreign_key(raw: &raw::Node) -> Option<&'static str> {
    let directory = raw.kind == NodeKind::Directory;
    let bucket = raw.kind == NodeKind::Bucket;
    let memory = raw.kind == NodeKind::Memory;
    let keys = [
        ("path", raw.path.is_some(), directory),
        ("durable", raw.durable.is_some(), directory),
        ("bytes_max", raw.bytes_max.is_some(), memory),
        ("endpoint", raw.endpoint.is_some(), bucket),
        ("bucket", raw.bucket.is_some(), bucket),
        ("prefix", raw.prefix.is_some(), bucket),
        ("region", raw.region.is_some(), bucket),
        ("credentials", raw.credentials.is_some(), bucket),
        ("seed", raw.seed.is_some(), raw.delay.is_some()),
    ];
    keys.into_iter().find(|(_, given, fits)| *given && !fits).map(|(key, ..)| key)
}
