//! Metrics, logs and the admin port.
//!
//! [`Metrics`] counts and shows; [`serve_admin`] answers `/livez`, `/readyz`, `/metrics`,
//! `/status`, `/buckets`, `/keys`, `/check`, `/reload` and `/pools/{pool}/task-log` on a port of
//! its own; [`init_logs`] sends what is traced to the standard error output, a line for each event.
//! Every metric is described in `docs/operations.md`.
//!
//! It deliberately decides nothing, and nothing rests on its counts: what decides is in
//! `ripstop-roster`, which it shows. It keeps no history but how tenants fared in the last five
//! minutes, and sends nothing anywhere. The admin port belongs on loopback, or behind a token and
//! TLS.
//!
//! ```
//! use ripstop_telemetry::{AnsweredRequest, Metrics};
//! use std::time::Duration;
//!
//! let metrics = Metrics::new("1.2.3", &["GetObject", "PutObject"]);
//! metrics.answered(&AnsweredRequest {
//!     operation: "GetObject",
//!     status: 200,
//!     received: 0,
//!     sent: 4096,
//!     broken: false,
//!     first_byte: Duration::from_millis(2),
//!     duration: Duration::from_millis(3),
//!     hashing: Duration::ZERO,
//! });
//! let row = r#"ripstop_requests_total{operation="GetObject",status="2xx"} 1"#;
//! assert!(metrics.page().contains(row));
//! ```

mod admin;
mod log;
mod metrics;

pub use admin::{
    Admin, AdminSettings, AdminToken, BUCKETS_PAGE_MAX, BucketPage, BucketStatus, ChangeUsers,
    Check, Checked, GatewayStatus, Gateways, GiveBucket, GrantedStatus, KEYS_PAGE_MAX, KeyPage,
    KeyStatus, Keys, MemoryServerStatus, MemoryTierStatus, NamedTier, NodeStatus, NotGiven,
    PoolStatus, Progress, Readiness, Reload, Status, TenantStatus, TierStatus, check_of, keys_of,
    serve_admin,
};
pub use log::{LogFormat, LogsError, init_logs};
pub use metrics::{
    AnsweredRequest, BUCKETS_SHOWN_MAX, FAMILIES, Family, Kind, MeteredCatalog, Metrics, PAGE_TYPE,
    PoolCounts, TENANT_SLOT, TENANT_SLOTS, TenantNames,
};
