use super::server::{Server, Start};
use anyhow::{Context as _, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Who is measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Ripstop,
    /// Another build of Ripstop.
    Before,
    /// Ripstop with a stripe for each object, however small.
    Lone,
    Minio,
    Versitygw,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ripstop => "Ripstop",
            Self::Before => "Ripstop before",
            Self::Lone => "Ripstop, no packs",
            Self::Minio => "MinIO",
            Self::Versitygw => "versitygw",
        }
    }

    /// Where it keeps objects, and what a loss of power leaves of those it has answered for.
    pub(super) fn durability(self) -> &'static str {
        match self {
            Self::Ripstop | Self::Before | Self::Lone => {
                "six directories, coded (6,4); default settings: a write is answered when its fragments \
                 and its record are synced"
            }
            Self::Minio => {
                "six directories, coded (6,4) by `MINIO_STORAGE_CLASS_STANDARD=EC:2`; contents are synced \
                 (`fdatasync`, `O_DSYNC`), the directory entries that name them are not"
            }
            Self::Versitygw => {
                "one directory, neither coded nor synced: an answered write may be lost with the power; \
                 `--keep-alive`, as it closes each connection otherwise"
            }
        }
    }
}

/// A server that can be started as often as it is measured.
pub(super) struct Contender {
    pub(super) kind: Kind,
    pub(super) program: PathBuf,
    pub(super) version: String,
    /// Ripstop's configuration, where it is not the default.
    pub(super) config: Option<&'static str>,
}

impl Contender {
    /// Starts it on an empty folder, and waits until it serves.
    pub(super) fn start(&self, folder: &Path) -> Result<Server> {
        let (address, admin) = (Server::free_address()?, Server::free_address()?);
        let (access, secret) = (Server::ACCESS_KEY, Server::SECRET_KEY);
        let at = |name: &str| folder.join(name).into_os_string();
        let config = folder.with_extension("toml");
        if let Some(text) = self.config {
            fs::write(&config, text).with_context(|| format!("writing {}", config.display()))?;
        }
        let config = self.config.map(|_| ["--config".into(), config.into_os_string()]);
        let (words, variables, ready) = match self.kind {
            Kind::Ripstop | Kind::Before | Kind::Lone => (
                ["serve".into(), "--data".into(), at("data")]
                    .into_iter()
                    .chain(
                        [format!("--listen={address}"), format!("--admin={admin}")].map(Into::into),
                    )
                    .chain(config.into_iter().flatten())
                    .collect(),
                vec![("RIPSTOP_ACCESS_KEY", access), ("RIPSTOP_SECRET_KEY", secret)],
                "/",
            ),
            Kind::Minio => (
                ["server", "--address", &address.to_string()]
                    .into_iter()
                    .map(Into::into)
                    .chain((1..=6).map(|disk| at(&format!("d{disk}"))))
                    .collect(),
                vec![
                    ("MINIO_ROOT_USER", access),
                    ("MINIO_ROOT_PASSWORD", secret),
                    ("MINIO_STORAGE_CLASS_STANDARD", "EC:2"),
                    ("MINIO_UPDATE", "off"),
                    ("MINIO_BROWSER", "off"),
                    // It refuses folders on the disk that the system is on, unless that has more
                    // bytes.
                    ("MINIO_ROOTDRIVE_THRESHOLD_SIZE", "1"),
                ],
                "/minio/health/cluster",
            ),
            Kind::Versitygw => (
                vec![
                    "--keep-alive".into(),
                    format!("--port={address}").into(),
                    "posix".into(),
                    at("data"),
                ],
                vec![("ROOT_ACCESS_KEY", access), ("ROOT_SECRET_KEY", secret)],
                "/",
            ),
        };
        let folders: &[&str] = match self.kind {
            Kind::Ripstop | Kind::Before | Kind::Lone => &[],
            Kind::Minio => &["d1", "d2", "d3", "d4", "d5", "d6"],
            Kind::Versitygw => &["data"],
        };
        Server::start(
            self.kind.name(),
            folder,
            Start { program: &self.program, words, variables, folders, address, ready },
        )
    }
}
