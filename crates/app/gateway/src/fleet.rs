//! This gateway among those over its catalog.

use crate::{
    assembly::Assembly,
    config::{Config, TenantConfig, TenantNumbers},
    data_folder::GATEWAY_FILE,
    secret_file,
    watch::VERSION,
};
use anyhow::{Context as _, Result};
use ripstop_catalog::{GatewayId, Session, Watermark};
use ripstop_fleet::{Fleet, FleetSettings, GatewaySight};
use ripstop_model::TenantId;
use ripstop_store::Store;
use ripstop_telemetry::{GatewayStatus, Gateways};
use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// How often a gateway that has its catalog to itself tells that it is there: a commit each time.
const ALONE_EVERY: Duration = Duration::from_secs(30);

/// Where Linux says what the machine is called.
const MACHINE_NAME: &str = "/proc/sys/kernel/hostname";

/// The gateway of this data folder, which has told nothing yet.
pub(crate) fn fleet_of(config: &Config, assembly: &Assembly, listen: SocketAddr) -> Result<Fleet> {
    let is_shared = assembly.catalog.is_shared();
    let id = match gateway_id(&config.data.join(GATEWAY_FILE)) {
        // With nobody to be told from, any number does, and a full disk keeps nobody from reading.
        Err(error) if !is_shared => {
            tracing::warn!("{error:#}");
            GatewayId(ripstop_host::random_u64())
        }
        known => known?,
    };
    let mut settings = FleetSettings::new(id, address(listen), VERSION.into(), is_shared);
    if !is_shared {
        settings.beat_every = ALONE_EVERY;
    }
    let store = assembly.store.clone();
    let catalog = store.keeping().catalog().clone();
    let session = move || store.keeping().lineage().session();
    Ok(Fleet::new(catalog, session, &assembly.pools, settings))
}

/// Begins to be one of the gateways. Where there can be no others, a catalog that takes nothing is
/// no reason not to serve what it has.
pub(crate) async fn begin(fleet: &Fleet, is_shared: bool) -> Result<()> {
    match fleet.begin().await {
        Err(error) if is_shared => Err(error).context("telling the other gateways of this one"),
        Err(error) => {
            tracing::warn!(%error, "the catalog was not told of this gateway");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// The number in a file, which is drawn where there is none.
fn gateway_id(file: &Path) -> Result<GatewayId> {
    let wrong = || format!("{}: the gateway's number", file.display());
    match fs::read_to_string(file) {
        Ok(text) => {
            let number = u64::from_str_radix(text.trim(), 16);
            Ok(GatewayId(number.with_context(wrong)?))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let id = ripstop_host::random_u64();
            secret_file::replace(file, format!("{id:016x}\n").as_bytes()).with_context(wrong)?;
            Ok(GatewayId(id))
        }
        Err(error) => Err(error).with_context(wrong),
    }
}

/// Where others would look for it: this machine's name where it serves on all addresses.
fn address(listen: SocketAddr) -> String {
    if !listen.ip().is_unspecified() {
        return listen.to_string();
    }
    match fs::read_to_string(MACHINE_NAME) {
        Ok(name) => format!("{}:{}", name.trim(), listen.port()),
        Err(_) => listen.to_string(),
    }
}

/// How tenants are called among gateways.
pub(crate) fn names_of(
    tenants: &[TenantConfig],
    numbers: &TenantNumbers,
) -> BTreeMap<TenantId, String> {
    tenants.iter().map(|tenant| (numbers.of(tenant), tenant.name.clone())).collect()
}

/// What the admin port shows of all gateways.
pub(crate) fn shown(fleet: &Fleet, store: &Store) -> Gateways {
    let (fleet, store) = (fleet.clone(), store.clone());
    Arc::new(move || {
        let (fleet, store) = (fleet.clone(), store.clone());
        Box::pin(async move {
            let catalog = store.keeping().catalog();
            let watermarks = catalog.watermarks().await.map_err(|error| error.to_string())?;
            let watermarks: BTreeMap<Session, Watermark> = watermarks.into_iter().collect();
            Ok(fleet.sights().iter().map(|sight| status(sight, &watermarks)).collect())
        })
    })
}

fn status(sight: &GatewaySight, watermarks: &BTreeMap<Session, Watermark>) -> GatewayStatus {
    let gateway = &sight.gateway;
    let state = match (gateway.has_left, sight.is_alive) {
        (true, _) => "left",
        (false, true) => "alive",
        (false, false) => "dead",
    };
    let watermark = watermarks.get(&gateway.session).filter(|it| !it.is_retired);
    GatewayStatus {
        id: format!("{:016x}", sight.id.0),
        epoch: gateway.epoch,
        state: state.into(),
        is_this: sight.is_own,
        silent_ms: u64::try_from(sight.silent_for.as_millis()).unwrap_or(u64::MAX),
        address: gateway.address.clone(),
        version: gateway.version.clone(),
        session: format!("{:08x}", gateway.session.0),
        watermark: watermark.map(|it| it.least.to_string()),
    }
}

/// What a gateway does among the others while it serves.
pub(crate) struct Beating {
    fleet: Fleet,
    beats: tokio::task::JoinHandle<()>,
}

impl Beating {
    /// Beats from now on.
    pub(crate) fn begin(fleet: &Fleet) -> Self {
        Self { fleet: fleet.clone(), beats: fleet.spawn() }
    }

    /// Tells the others that it stops, in no more time than this leaves.
    pub(crate) async fn end(self, until: Instant) {
        self.beats.abort();
        let left = until.saturating_duration_since(ripstop_host::now());
        let _ = tokio::time::timeout(left, self.fleet.leave()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_keeps_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(GATEWAY_FILE);
        let id = gateway_id(&file).unwrap();
        assert_eq!(gateway_id(&file).unwrap(), id);
        fs::write(&file, "not a number\n").unwrap();
        let refused = format!("{:#}", gateway_id(&file).unwrap_err());
        assert!(refused.contains("the gateway's number"), "{refused}");
    }

    #[test]
    fn on_all_addresses_a_gateway_is_called_by_its_machine() {
        assert_eq!(address("10.0.0.1:9000".parse().unwrap()), "10.0.0.1:9000");
        let named = address("0.0.0.0:9000".parse().unwrap());
        assert!(named.ends_with(":9000") && !named.starts_with("0.0.0.0"), "{named}");
    }
}
