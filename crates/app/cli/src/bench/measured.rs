use serde::Serialize;

/// What one measurement found.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub(super) struct Measured {
    pub operation: String,
    pub bytes: usize,
    pub clients: usize,
    pub seconds: f64,
    pub requests: usize,
    pub requests_per_s: f64,
    pub mib_per_s: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Processors that were busy with this program, and with the server.
    pub loader_cpus: Option<f64>,
    pub server_cpus: Option<f64>,
    /// Reads that were compared with what was put; the length of every one is.
    pub compared: usize,
}
