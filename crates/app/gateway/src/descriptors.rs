//! How many files and sockets the process may have open, and who gets them.

use crate::config::{Config, KvConfig, NodePlace};
use anyhow::{Result, ensure};
use ripstop_telemetry::AdminSettings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of each lane of a node that is no memory: its file, or its connection; and a folder to be
/// synced.
const PER_LANE: u64 = 2;
/// The catalog, logs, the runtime, and what works beside requests: checks, sweeps, mends, moves.
const PROGRAM: u64 = 128;
/// Connections of clients where nothing is configured and descriptors suffice.
const CONNECTIONS_DEFAULT: u64 = 4096;
/// With fewer than these something is wrong with the limit.
const CONNECTIONS_LEAST: u64 = 64;

/// Raises the number of descriptors that the process may have to what the system allows; answers
/// it.
pub(crate) fn raise_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(error) => {
            tracing::warn!(%error, ?current, ?maximum, "the limit of open files could not be raised");
            current
        }
    };
    now.unwrap_or(u64::MAX)
}

/// Most connections of clients at once, by what is configured and by the descriptors that there are
/// beyond those which nodes, the admin port and the program itself need.
pub(crate) fn connections_max(config: &Config, descriptors: u64) -> Result<usize> {
    let nodes = config.pools.iter().flat_map(|pool| &pool.nodes);
    let lanes = nodes.filter(|node| !matches!(node.place, NodePlace::Memory { .. }));
    let lanes: u64 = lanes.map(|node| u64::from(node.lanes)).sum();
    let admin = AdminSettings::default().connections_max as u64;
    let kv = config.kv.as_ref().map_or(0, KvConfig::sockets);
    let tiers: u64 = config.tiers.iter().map(|tier| tier.servers() as u64).sum();
    let kept = lanes * PER_LANE + admin + PROGRAM + kv + tiers;
    let left = descriptors.saturating_sub(kept);
    if let Some(configured) = config.connections_max {
        ensure!(
            configured as u64 <= left,
            "gateway.connections_max = {configured} does not fit: the process may have {descriptors} files \
             and sockets open (ulimit -Hn), and keeps {kept} of them for the nodes ({PER_LANE} for each of \
             {lanes} lanes), the admin port ({admin}) and itself ({PROGRAM}), which leaves {left}"
        );
        tracing::info!(descriptors, kept, connections_max = configured, "connections");
        return Ok(configured);
    }
    if left < CONNECTIONS_LEAST {
        let some = (descriptors / 4).max(1);
        tracing::warn!(
            descriptors,
            wanted = kept + CONNECTIONS_LEAST,
            connections_max = some,
            "the limit of open files (ulimit -Hn) is too low for nodes and clients: requests will fail"
        );
        return Ok(some as usize);
    }
    let max = left.min(CONNECTIONS_DEFAULT);
    if max < CONNECTIONS_DEFAULT {
        tracing::warn!(
            descriptors,
            kept,
            connections_max = max,
            "the limit of open files (ulimit -Hn) leaves fewer connections than usual"
        );
    } else {
        tracing::info!(descriptors, kept, connections_max = max, "connections");
    }
    Ok(max as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn max(configured: &str, descriptors: u64) -> Result<usize> {
        connections_max(&parse(configured, []).unwrap(), descriptors)
    }

    #[test]
    fn connections_get_what_nodes_and_admin_port_leave_over() {
        // Six directories with 16 lanes each: 192 descriptors, and 192 for the rest.
        assert_eq!(max("", 1 << 20).unwrap(), 4096);
        assert_eq!(max("", u64::MAX).unwrap(), 4096);
        assert_eq!(max("", 1024).unwrap(), 640);
        assert_eq!(max("", 256).unwrap(), 64);
        assert_eq!(max("", 0).unwrap(), 1);
    }

    #[test]
    fn what_is_configured_fits_or_is_refused_with_the_numbers() {
        let configured = "[gateway]\nconnections_max = 641";
        assert_eq!(max(configured, 1025).unwrap(), 641);
        let told = max(configured, 1024).unwrap_err().to_string();
        for number in ["= 641 ", "1024", "384", "96 lanes", "leaves 640"] {
            assert!(told.contains(number), "{number}: {told}");
        }
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        let raised = raise_limit();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
        assert_eq!(now.current.unwrap_or(u64::MAX), raised);
    }
}
