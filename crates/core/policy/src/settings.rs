use crate::Limits;
use core::time::Duration;
use ripstop_delay::ShiftedExponential;
use ripstop_model::Code;
use serde::{Deserialize, Serialize};

/// What the policies can be told; each reads what concerns it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PolicySettings {
    /// `fixed`: the code; `hedge`, `hedge-p95`: the code with the hedge; `fixed-dimension`: its k.
    pub code: Option<Code>,
    /// `fixed`, where chunks are strips: how many a full read fetches, of which K are needed; K if
    /// `None`, never more than N.
    pub read_chunks: Option<u8>,
    /// What no adaptive policy exceeds.
    pub limits: Limits,
    /// `tofec`: weight of the old average of the queue's length; 0 looks at the present only. 0.99.
    pub memory: f64,
    /// `tofec`: the delay model; `None`: it is learned.
    pub model: Option<ShiftedExponential>,
    /// `hedge`: when the hedge is due; `hedge-p95`: when, before anything was seen. 100 ms.
    pub hedge_after: Duration,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            code: None,
            read_chunks: None,
            limits: Limits::default(),
            memory: 0.99,
            model: None,
            hedge_after: Duration::from_millis(100),
        }
    }
}
