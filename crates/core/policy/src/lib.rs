//! Which code a request gets: one file per policy.
