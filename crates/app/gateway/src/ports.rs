//! The two ports: bound, with what they speak and whom they let in.

use crate::{
    config::{AdminAddress, Config},
    kv::KvPort,
    owner_only,
    socket::{bind, load},
};
use anyhow::{Context as _, Result, ensure};
use ripstop_listen::{Listener, Tls};
use ripstop_telemetry::{AdminSettings, AdminToken};
use std::{
    fs,
    io::ErrorKind,
    net::SocketAddr,
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::UnixStream,
    },
    path::Path,
};
use tokio::net::{TcpListener, UnixListener};

pub(crate) struct Ports {
    pub listener: TcpListener,
    pub listen: SocketAddr,
    pub tls: Option<Tls>,
    pub admin_listener: Listener,
    pub admin: AdminAddress,
    pub admin_settings: AdminSettings,
    pub kv: Option<KvPort>,
    pub website: Option<TcpListener>,
}

impl Ports {
    /// Binds both ports and reads what they need; says what is open to strangers.
    pub(crate) async fn open(config: &Config) -> Result<Self> {
        let tls = load(config.tls.as_ref(), Tls::load)?;
        let token = config.admin_token.as_deref().map(owner_only::token).transpose()?;
        let admin_settings = AdminSettings {
            names: config.admin_names.clone(),
            token: token.map(AdminToken::new),
            tls: load(config.admin_tls.as_ref(), Tls::load_http1)?,
            is_private: matches!(config.admin, AdminAddress::Unix(_)),
            ..AdminSettings::default()
        };
        let kv = match &config.kv {
            Some(kv) => Some(KvPort::open(kv, &config.data).await?),
            None => None,
        };
        let website = match config.website_listen {
            Some(address) => Some(bind(address, "gateway.website_listen").await?),
            None => None,
        };
        let listener = bind(config.listen, "gateway.listen").await?;
        let listen = listener.local_addr()?;
        let (admin_listener, admin) = match &config.admin {
            AdminAddress::Network(address) => {
                let listener = bind(*address, "gateway.admin").await?;
                let address = listener.local_addr()?;
                (Listener::from(listener), AdminAddress::Network(address))
            }
            AdminAddress::Unix(path) => {
                let listener = bind_unix(path)
                    .with_context(|| format!("gateway.admin = \"unix:{}\"", path.display()))?;
                (Listener::from(listener), AdminAddress::Unix(std::path::absolute(path)?))
            }
        };
        let ports =
            Self { listener, listen, tls, admin_listener, admin, admin_settings, kv, website };
        ports.warn();
        Ok(ports)
    }

    fn warn(&self) {
        if let Some(address) = self.website.as_ref().and_then(|it| it.local_addr().ok()) {
            tracing::info!(listen = %address, "websites are served");
        }
        if self.tls.is_none() && !self.listen.ip().is_loopback() {
            tracing::warn!(
                listen = %self.listen,
                "S3 is served to the network without TLS: anyone on the path can read and change what is \
                 sent (gateway.tls_certificate)"
            );
        }
        if let Some(kv) = &self.kv {
            kv.warn();
        }
        if !self.admin.is_reached_from_outside() {
            return;
        }
        if self.admin_settings.token.is_none() {
            tracing::warn!(
                admin = %self.admin,
                "the admin port lets in anyone who reaches it, and other machines can reach it \
                 (gateway.admin_token)"
            );
        }
        if self.admin_settings.tls.is_none() {
            tracing::warn!(
                admin = %self.admin,
                "the admin port is served to the network without TLS (gateway.admin_tls_certificate)"
            );
        }
    }

    /// What the S3 port, the admin port and the door that speaks memcached speak TLS with.
    pub(crate) fn all_tls(&self) -> [Option<Tls>; 3] {
        let kv = self.kv.as_ref().and_then(|kv| kv.settings.tls.clone());
        [self.tls.clone(), self.admin_settings.tls.clone(), kv]
    }
}

/// A socket for its owner alone. One that nobody listens on any more is removed before; nothing
/// else is.
fn bind_unix(path: &Path) -> Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).context("cannot be inspected"),
        Ok(found) => {
            ensure!(found.file_type().is_socket(), "something other than a socket is there");
            let answers = UnixStream::connect(path).is_ok();
            ensure!(!answers, "another process listens there");
            fs::remove_file(path).context("a socket that nobody listens on cannot be removed")?;
        }
    }
    // Bound under another name, and there for others once its mode is set.
    let mut hidden = path.as_os_str().to_owned();
    hidden.push(format!(".{}", std::process::id()));
    let hidden = Path::new(&hidden);
    let listener = UnixListener::bind(hidden).context("cannot be listened on")?;
    let shown = fs::set_permissions(hidden, fs::Permissions::from_mode(0o600))
        .and_then(|()| fs::rename(hidden, path));
    if let Err(error) = shown {
        // Nobody knows of it.
        let _ = fs::remove_file(hidden);
        return Err(error).context("cannot be restricted to its owner");
    }
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_its_owners_alone_and_takes_the_place_of_a_dead_one_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin");
        let first = bind_unix(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let told = format!("{:#}", bind_unix(&path).unwrap_err());
        assert_eq!(told, "another process listens there");
        drop(first);
        let second = bind_unix(&path).unwrap();
        UnixStream::connect(&path).unwrap();
        drop(second);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        let told = format!("{:#}", bind_unix(&path).unwrap_err());
        assert_eq!(told, "something other than a socket is there");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
}
