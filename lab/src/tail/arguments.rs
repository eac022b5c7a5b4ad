use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Tail {
    /// Sizes of objects, in bytes; each object is one stripe.
    #[arg(long, value_delimiter = ',', default_values_t = [1 << 20, 8 << 20])]
    pub sizes: Vec<u32>,
    /// Rates of arrival, as shares of full capacity: 16 lanes over the mean time of one fetch of a
    /// whole object.
    #[arg(long, value_delimiter = ',', default_values_t = [0.1, 0.5, 0.8, 0.95])]
    pub loads: Vec<f64>,
    /// A policy to compare, as in `ripstop whatif`; can be given several times [default: backfill,
    /// direct and parallel fetches, hedges, and all at once].
    #[arg(long = "policy", value_name = "POLICY")]
    pub policies: Vec<String>,
    /// How long requests arrive, all measurements together: 24 minutes unless set.
    #[arg(long, value_name = "MINUTES")]
    pub minutes: Option<f64>,
    /// Take four minutes: fewer requests, so less is known about the rare slow ones.
    #[arg(long, conflicts_with = "minutes")]
    pub short: bool,
    /// Seed of all luck: arrivals and delays.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write tail.csv, checks.csv and tail.svg into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
