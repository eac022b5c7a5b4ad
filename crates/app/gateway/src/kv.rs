//! The door that speaks memcached: bound, and served.

use crate::{
    config::{KV_TIER, KvConfig, KvPlace},
    owner_only, secret_file,
    socket::{bind, load},
    telemetry::Telemetry,
};
use anyhow::{Context as _, Result};
use ripstop_kv::{CodedShelf, KvDoor, KvSettings, LocalShelf, Shelf};
use ripstop_listen::Tls;
use ripstop_memory::{CodedMemory, CodedMemorySettings, LinkSettings};
use ripstop_seal::StoreKey;
use std::{net::SocketAddr, path::Path, time::Duration};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// The file in the data folder of the key that items at servers are sealed with. Who has another
/// one takes none of them for its own.
const KEY_FILE: &str = "kv.key";

/// The door, bound: all that can fail has not.
pub(crate) struct KvPort {
    listener: TcpListener,
    pub(crate) at: SocketAddr,
    pub(crate) settings: KvSettings,
    place: Place,
}

/// Where its items are.
enum Place {
    Here { memory_max: usize },
    Servers(CodedMemory),
}

impl KvPort {
    /// Binds it and reads what it needs, from servers too: what they have of an earlier run.
    pub(crate) async fn open(config: &KvConfig, data: &Path) -> Result<Self> {
        let settings = KvSettings {
            connections_max: config.connections_max,
            connections_per_address_max: config.connections_per_address_max,
            item_max: config.item_max,
            incoming_max: config.incoming_max,
            idle_timeout: config.idle_timeout,
            stall_timeout: config.stall_timeout,
            users: config.users.as_deref().map(owner_only::users).transpose()?,
            tls: load(config.tls.as_ref(), Tls::load_nameless)?,
            ..KvSettings::default()
        };
        let listener = bind(config.listen, "kv.listen").await?;
        let at = listener.local_addr()?;
        Ok(Self { listener, at, settings, place: place(&config.place, data).await? })
    }

    /// The memory tier that has its items, if one does.
    pub(crate) const fn memory(&self) -> Option<&CodedMemory> {
        match &self.place {
            Place::Here { .. } => None,
            Place::Servers(memory) => Some(memory),
        }
    }

    /// Says what is open to strangers.
    pub(crate) fn warn(&self) {
        if self.at.ip().is_loopback() {
            return;
        }
        if self.settings.users.is_none() {
            tracing::warn!(
                listen = %self.at,
                "memcached is spoken with anyone who reaches it, and other machines can (kv.users)"
            );
        }
        if self.settings.tls.is_none() {
            tracing::warn!(
                listen = %self.at,
                "memcached is spoken with the network without TLS (kv.tls_certificate)"
            );
        }
    }

    /// Serves until it is told to stop.
    pub(crate) fn serve(
        self,
        drain_timeout: Duration,
        telemetry: &Telemetry,
        stop: CancellationToken,
    ) -> JoinHandle<()> {
        let Self { listener, settings, place, .. } = self;
        let settings = KvSettings { drain_timeout, ..settings };
        match place {
            Place::Here { memory_max } => {
                let door = KvDoor::new(LocalShelf::new(memory_max), settings);
                begin(door, listener, telemetry, stop)
            }
            Place::Servers(memory) => {
                begin(KvDoor::new(CodedShelf::new(memory), settings), listener, telemetry, stop)
            }
        }
    }
}

fn begin<S: Shelf>(
    door: KvDoor<S>,
    listener: TcpListener,
    telemetry: &Telemetry,
    stop: CancellationToken,
) -> JoinHandle<()> {
    if let Some(metrics) = &telemetry.metrics {
        metrics.watch_kv(door.watch());
    }
    ripstop_host::spawn(door.serve(listener, stop))
}

async fn place(config: &KvPlace, data: &Path) -> Result<Place> {
    match config {
        KvPlace::Here { memory_max } => Ok(Place::Here { memory_max: *memory_max }),
        KvPlace::Servers { code, rings, shared, requests_max, stored_max } => {
            let settings = CodedMemorySettings {
                name: KV_TIER.to_owned(),
                code: *code,
                rings: rings.clone(),
                is_shared: *shared,
                link: LinkSettings::default(),
                bytes_max: *requests_max,
            };
            let memory = CodedMemory::recover(settings, &key(&data.join(KEY_FILE))?).await;
            let memory = memory.context("kv.rings")?;
            // Below what the servers have: one that must refuse or evict items is lost to the tier.
            memory.limit_memory(*stored_max);
            Ok(Place::Servers(memory))
        }
    }
}

/// The key in this file, which is made where it is not there.
fn key(path: &Path) -> Result<StoreKey> {
    if let Some(text) = secret_file::read(path)? {
        return StoreKey::from_text(text.trim()).with_context(|| format!("key {}", path.display()));
    }
    let key = StoreKey::generate();
    secret_file::create(path, Zeroizing::new(format!("{}\n", *key.to_text())).as_bytes())?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_a_file_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(KEY_FILE);
        let id = key(&path).unwrap().id();
        assert_eq!(key(&path).unwrap().id(), id);
        std::fs::write(&path, "no key\n").unwrap();
        let refused = format!("{:#}", key(&path).unwrap_err());
        assert!(refused.contains("kv.key") && !refused.contains("no key"), "{refused}");
    }
}
