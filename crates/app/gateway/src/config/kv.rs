//! The door that speaks memcached.

use super::{
    address::{TlsFiles, tls_files},
    bounds::{self, given},
    raw,
    rings::{self, SERVER_MEMORY},
    units::Size,
};
use anyhow::{Context as _, Result, ensure};
use ripstop_kv::KvSettings;
use ripstop_model::Code;
use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

/// Bytes of items in this process, unless told otherwise: memcached's own default.
const MEMORY_MAX: u64 = 64 << 20;
/// How many times the longest item all of them may take, at least.
const ITEMS_MIN: u64 = 4;

/// The door that speaks memcached, as configured.
#[derive(Clone, PartialEq, Debug)]
pub struct KvConfig {
    /// Where it is.
    pub listen: SocketAddr,
    /// Where items are.
    pub place: KvPlace,
    /// The file of names and passwords; without it anyone may come in.
    pub users: Option<PathBuf>,
    /// What it speaks TLS with.
    pub tls: Option<TlsFiles>,
    /// Most connections at once.
    pub connections_max: usize,
    /// Most connections from one address.
    pub connections_per_address_max: Option<usize>,
    /// What an item comes to, at most.
    pub item_max: usize,
    /// Bytes of values on their way in, at most.
    pub incoming_max: usize,
    /// How long a connection may be idle; none: until somebody needs its place.
    pub idle_timeout: Option<Duration>,
    /// How long a command may take to come, and a client to take its answers.
    pub stall_timeout: Duration,
}

/// Where items are.
#[derive(Clone, PartialEq, Debug)]
pub enum KvPlace {
    /// In this process.
    Here {
        /// Bytes of them, at most.
        memory_max: usize,
    },
    /// In memcached servers, coded.
    Servers {
        /// Any K of N rings suffice.
        code: Code,
        /// The servers of each ring.
        rings: Vec<Vec<SocketAddr>>,
        /// Others use these servers too.
        shared: bool,
        /// Bytes of requests under way, at most.
        requests_max: usize,
        /// Bytes stored at all servers together, at most: what was read least gives way.
        stored_max: u64,
    },
}

impl KvConfig {
    /// Bytes of this machine's memory that it may take.
    pub(crate) fn memory(&self) -> u64 {
        let items = match self.place {
            KvPlace::Here { memory_max } => memory_max,
            KvPlace::Servers { requests_max, .. } => requests_max,
        };
        items as u64 + self.incoming_max as u64
    }

    /// Sockets that it may have open.
    pub(crate) fn sockets(&self) -> u64 {
        let servers = match &self.place {
            KvPlace::Here { .. } => 0,
            KvPlace::Servers { rings, .. } => rings.iter().map(Vec::len).sum(),
        };
        (self.connections_max + servers + 1) as u64
    }
}

impl fmt::Display for KvPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here { memory_max } => {
                write!(f, "{} of items in this process", Size(*memory_max as u64))
            }
            Self::Servers { code, rings, .. } => {
                let servers: usize = rings.iter().map(Vec::len).sum();
                write!(f, "items at {servers} memcached servers, code {code}")
            }
        }
    }
}

pub(super) fn resolve(raw: Option<raw::Kv>) -> Result<Option<KvConfig>> {
    let Some(raw) = raw else { return Ok(None) };
    let default = KvSettings::default();
    let item_max = size("kv.item_max", raw.item_max, default.item_max, &bounds::KV_ITEM)?;
    let incoming_max =
        size("kv.incoming_max", raw.incoming_max, default.incoming_max, &bounds::MEMORY)?;
    ensure!(
        incoming_max as u64 >= ITEMS_MIN * item_max as u64,
        "kv.incoming_max is {}: it must hold at least {ITEMS_MIN} items of kv.item_max ({})",
        Size(incoming_max as u64),
        Size(item_max as u64)
    );
    let connections = |key, value| given(key, value, &bounds::CONNECTIONS);
    let idle = bounds::span("kv.idle_timeout", raw.idle_timeout, Duration::ZERO, &bounds::AGE)?;
    Ok(Some(KvConfig {
        listen: raw.listen.unwrap_or_else(|| ([127, 0, 0, 1], 11211).into()),
        tls: tls_files(
            (raw.tls_certificate.clone(), raw.tls_key.clone()),
            ("kv.tls_certificate", "kv.tls_key"),
        )?,
        connections_max: connections("kv.connections_max", raw.connections_max)?
            .unwrap_or(default.connections_max),
        connections_per_address_max: connections(
            "kv.connections_per_address_max",
            raw.connections_per_address_max,
        )?,
        item_max,
        incoming_max,
        idle_timeout: (!idle.is_zero()).then_some(idle),
        stall_timeout: bounds::span(
            "kv.stall_timeout",
            raw.stall_timeout,
            default.stall_timeout,
            &bounds::TIMEOUT,
        )?,
        users: raw.users.clone(),
        place: place(&raw, item_max)?,
    }))
}

fn size(
    key: &str,
    value: Option<Size>,
    default: usize,
    range: &std::ops::RangeInclusive<Size>,
) -> Result<usize> {
    let bytes = bounds::size(key, value, default as u64, range)?;
    usize::try_from(bytes).with_context(|| format!("{key} is more than this machine can address"))
}

/// Where items are: at servers if any are named.
fn place(raw: &raw::Kv, item_max: usize) -> Result<KvPlace> {
    let memory_max = size("kv.memory_max", raw.memory_max, MEMORY_MAX as usize, &bounds::MEMORY)?;
    let Some(rings) = raw.rings.clone() else {
        ensure!(raw.code.is_none(), "kv.code is given without kv.rings");
        ensure!(raw.shared.is_none(), "kv.shared is given without kv.rings");
        let stored_max = raw.servers_memory_max;
        ensure!(stored_max.is_none(), "kv.servers_memory_max is given without kv.rings");
        ensure!(
            memory_max as u64 >= ITEMS_MIN * item_max as u64,
            "kv.memory_max is {}: it must hold at least {ITEMS_MIN} items of kv.item_max ({})",
            Size(memory_max as u64),
            Size(item_max as u64)
        );
        return Ok(KvPlace::Here { memory_max });
    };
    let code = rings::code("kv", &rings, raw.code)?;
    let servers: usize = rings.iter().map(Vec::len).sum();
    let stored_max = bounds::size(
        "kv.servers_memory_max",
        raw.servers_memory_max,
        SERVER_MEMORY * servers as u64,
        &bounds::MEMORY,
    )?;
    Ok(KvPlace::Servers {
        code,
        rings,
        shared: raw.shared.unwrap_or(false),
        requests_max: memory_max,
        stored_max,
    })
}
