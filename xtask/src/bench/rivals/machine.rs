use anyhow::Result;
use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::Command,
    thread::available_parallelism,
    time::Instant,
};

/// How often a small file is synced to see how long that takes.
const SYNCS: usize = 41;

/// The machine and the folder's file system, in words.
pub(super) fn machine(folder: &Path) -> Result<String> {
    let cpu = after("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = after("/proc/meminfo", "MemTotal")
        .and_then(|size| size.split(' ').next()?.parse::<f64>().ok())
        .map_or_else(|| "unknown memory".into(), |kib| format!("{:.0} GiB", kib / 1_048_576.0));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut df = Command::new("df");
    let system = said(df.arg("--output=fstype").arg(folder))
        .and_then(|lines| Some(lines.lines().last()?.to_owned()));
    Ok(format!(
        "{cpu}, {} processors, {memory}, Linux {}, {}",
        available_parallelism()?,
        kernel.trim(),
        system.as_deref().unwrap_or("unknown file system"),
    ))
}

/// How long it takes to make a small file in the folder and sync it and its name, in milliseconds:
/// the middle of several times.
pub(super) fn sync_ms(folder: &Path) -> Result<f64> {
    let (file, directory) = (folder.join("sync"), File::open(folder)?);
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let begun = Instant::now();
        let mut made = File::create(&file)?;
        made.write_all(&[1; 4096])?;
        made.sync_all()?;
        directory.sync_all()?;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        fs::remove_file(&file)?;
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[SYNCS / 2])
}

/// What a command says, if it does well.
pub(super) fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What follows a name and a colon in a file of the kernel's.
fn after(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
