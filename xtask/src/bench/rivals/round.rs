use super::{
    cell::{Cell, Operation},
    contender::Kind,
    server::Server,
};
use crate::command::command;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;

/// What one server did in one cell in one round.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Observation {
    pub(super) kind: Kind,
    pub(super) cell: Cell,
    pub(super) round: usize,
    pub(super) seconds: f64,
    pub(super) requests: u64,
    pub(super) per_s: f64,
    pub(super) mib_per_s: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Processors that were busy with the server, and with the load; not a number where unknown.
    pub(super) server_cpus: f64,
    pub(super) loader_cpus: f64,
}

/// Puts a group of cells, all of one size and number of clients, to a server.
pub(super) fn load(
    loader: &Path,
    server: &Server,
    (kind, round): (Kind, usize),
    cells: &[Cell],
    seconds: f64,
) -> Result<Vec<Observation>> {
    let first = cells.first().context("a group has a cell")?;
    let operations: Vec<_> =
        cells.iter().map(|cell| cell.operation.to_string().to_lowercase()).collect();
    let mut bench = command(loader, ["bench", "--json", "--keep"])?;
    bench.arg(format!("--endpoint=http://{}", server.address));
    bench.arg(format!("--sizes={}", first.bytes)).arg(format!("--clients={}", first.clients));
    bench.arg(format!("--operations={}", operations.join(",")));
    bench.arg(format!("--seconds={seconds}")).arg(format!("--server-pid={}", server.id));
    bench.env("AWS_ACCESS_KEY_ID", Server::ACCESS_KEY);
    bench.env("AWS_SECRET_ACCESS_KEY", Server::SECRET_KEY);
    let output = bench.output().context("running the load")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let lines = String::from_utf8(output.stdout).context("what the load says")?;
    let found = lines.lines().map(|line| read(line, kind, round)).collect::<Result<Vec<_>>>()?;
    if found.iter().map(|found| found.cell).eq(cells.iter().copied()) {
        return Ok(found);
    }
    bail!("the load measured something else: {lines}")
}

/// Reads one line of the load's.
fn read(line: &str, kind: Kind, round: usize) -> Result<Observation> {
    let value: Value = serde_json::from_str(line).with_context(|| format!("line {line:?}"))?;
    let number =
        |name: &str| value[name].as_f64().with_context(|| format!("{name} is missing in {line:?}"));
    let operation = match value["operation"].as_str() {
        Some("put") => Operation::Put,
        Some("get") => Operation::Get,
        other => bail!("operation {other:?}"),
    };
    let (bytes, clients) = (number("bytes")? as u64, number("clients")? as u32);
    Ok(Observation {
        kind,
        cell: Cell { operation, bytes, clients },
        round,
        seconds: number("seconds")?,
        requests: number("requests")? as u64,
        per_s: number("requests_per_s")?,
        mib_per_s: number("mib_per_s")?,
        p50_ms: number("p50_ms")?,
        p99_ms: number("p99_ms")?,
        server_cpus: number("server_cpus").unwrap_or(f64::NAN),
        loader_cpus: number("loader_cpus").unwrap_or(f64::NAN),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_load_is_read_and_one_that_lacks_something_refused() {
        let line = r#"{"operation":"get","bytes":4096,"clients":16,"seconds":4.0,"requests":40,
            "requests_per_s":10.0,"mib_per_s":0.04,"mean_ms":1.0,"p50_ms":0.9,"p99_ms":2.5,
            "loader_cpus":0.5,"server_cpus":null,"compared":3}"#;
        let read_ = read(line, Kind::Minio, 2).unwrap();
        assert_eq!(read_.cell, "get-4k-16".parse().unwrap());
        assert_eq!((read_.round, read_.requests, read_.p99_ms), (2, 40, 2.5));
        assert!(read_.server_cpus.is_nan());
        assert!(read(&line.replace("p99_ms", "p98_ms"), Kind::Minio, 2).is_err());
    }
}
