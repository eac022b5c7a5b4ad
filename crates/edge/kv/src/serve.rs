use crate::{
    connection::converse,
    door::Door,
    settings::{KvSettings, TAKEN_PER_S_MIN},
    shelf::Shelf,
    status::KvStatus,
};
use ripstop_listen::{ListenSettings, Listener, Pace, Pressure, serve_wires};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Longest that a TLS handshake takes.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// For ever: a client may connect long before it asks for something.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

/// A door over a shelf.
pub struct KvDoor<S> {
    door: Arc<Door<S>>,
}

impl<S: Shelf> KvDoor<S> {
    /// A door that nobody comes through yet.
    pub fn new(shelf: S, settings: KvSettings) -> Self {
        Self { door: Arc::new(Door::new(shelf, settings)) }
    }

    /// What the door did and its shelf has, whenever it is asked.
    pub fn watch(&self) -> Arc<dyn Fn() -> KvStatus + Send + Sync> {
        let door = self.door.clone();
        Arc::new(move || KvStatus::of(&door))
    }

    /// Serves clients on `listener` until `shutdown`; then accepts nothing more, lets commands that
    /// have begun end for [`KvSettings::drain_timeout`], and returns.
    pub async fn serve(self, listener: impl Into<Listener>, shutdown: CancellationToken) {
        let listening = listening(&self.door.settings);
        let stop = shutdown.clone();
        let talk = move |wire, peer| {
            let (door, stop) = (self.door.clone(), stop.clone());
            async move {
                let _open = Open::new(door.open.clone());
                converse(&door, wire, &peer, &stop).await;
            }
        };
        serve_wires(listener.into(), listening, talk, shutdown).await;
    }
}

impl<S> fmt::Debug for KvDoor<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KvDoor").field("settings", &self.door.settings).finish_non_exhaustive()
    }
}

/// A connection that there is.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(open: Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Relaxed);
        Self(open)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn listening(settings: &KvSettings) -> ListenSettings {
    ListenSettings {
        name: "kv",
        connections_max: settings.connections_max,
        connections_per_address_max: settings.connections_per_address_max,
        trusted_proxies: settings.trusted_proxies.clone(),
        first_byte_timeout: match &settings.tls {
            Some(_) => HANDSHAKE_TIMEOUT,
            None => NEVER,
        },
        pace: Pace {
            wait_max: settings.stall_timeout,
            bytes_per_s_min: TAKEN_PER_S_MIN,
            pressure: Pressure::default(),
        },
        drain_timeout: settings.drain_timeout,
        tls: settings.tls.clone(),
        ..ListenSettings::default()
    }
}
