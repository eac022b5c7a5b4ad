//! Metrics, logs and the admin port.
