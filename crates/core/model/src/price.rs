/// What a node's owner is paid, in dollars.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Price {
    /// For a thousand tasks that fetch.
    pub per_1000_gets: Option<f64>,
    /// For a thousand tasks that store.
    pub per_1000_puts: Option<f64>,
    /// For 10^9 bytes fetched.
    pub per_gb_out: Option<f64>,
    /// For 10^9 bytes kept for a month.
    pub per_gb_month: Option<f64>,
}
