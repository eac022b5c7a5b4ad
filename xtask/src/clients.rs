use crate::{
    command::{command, run},
    root::{root, target},
    tool,
};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The tests that make sense over nodes that are buckets, in pytest's words.
pub(crate) const BACKEND: &str = "backend or (not own and not long)";
const INSTALL_MAX: Duration = Duration::from_mins(15);

/// Real S3 clients in folders of their own, and what the suite is told about them.
pub(crate) struct Clients {
    folder: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
}

impl Clients {
    /// Installs what is not yet there below `target/clients`.
    pub(crate) fn set_up(program: PathBuf) -> Result<Self> {
        let folder = target()?.join("clients");
        fs::create_dir_all(&folder).context("making target/clients")?;
        install(&folder.join("python"), "requirements.txt")?;
        install(&folder.join("awscli"), "requirements-awscli.txt")?;
        let aws = folder.join("awscli/bin/aws");
        Ok(Self { folder, environment: vec![("RIPSTOP_BIN", program), ("RIPSTOP_AWS", aws)] })
    }

    /// Names a program to the suite.
    pub(crate) fn set(&mut self, variable: &'static str, program: PathBuf) {
        self.environment.push((variable, program));
    }

    /// The suite over one kind of node.
    pub(crate) fn pytest(&self, nodes: &str, which: &str, more: &[String]) -> Result<Command> {
        let temporary = self.folder.join(format!("tmp-{nodes}"));
        let mut words = vec!["-m".into(), "pytest".into(), "-q".into(), "--durations=8".into()];
        words.push(format!("--basetemp={}", temporary.display()));
        words.extend(["--nodes".into(), nodes.into(), "-m".into(), which.into()]);
        words.extend(more.iter().cloned());
        let mut pytest = command(self.folder.join("python/bin/python"), words)?;
        pytest.current_dir(root()?.join("tests/clients"));
        pytest.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1");
        // An endpoint left in somebody's shell must not be what is tested.
        pytest.env_remove("RIPSTOP_ENDPOINT");
        pytest.envs(self.environment.iter().map(|(name, path)| (name, path)));
        Ok(pytest)
    }
}

/// A virtual environment with just what a requirements file names.
fn install(folder: &Path, requirements: &str) -> Result<()> {
    let file = root()?.join("tests/clients").join(requirements);
    let wanted = fs::read_to_string(&file).with_context(|| format!("reading {requirements}"))?;
    let stamp = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).context("removing an old virtual environment")?;
    }
    tool::virtual_environment(folder)?;
    let mut pip = command(folder.join("bin/python"), ["-m", "pip", "install", "--quiet"])?;
    pip.args(["--disable-pip-version-check", "--retries", "5", "-r"]).arg(&file);
    run(pip, INSTALL_MAX)?;
    fs::write(&stamp, wanted).context("noting what was installed")
}
