//! Which way in a request took, and how it is called.

use std::{
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    sync::atomic::{AtomicU64, Ordering},
};

/// Who is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Door {
    /// Clients of S3.
    S3,
    /// Browsers, which are shown websites.
    Website,
}

impl Door {
    /// Its name in the log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Website => "website",
        }
    }
}

/// Names requests.
#[derive(Debug)]
pub(crate) struct RequestIds {
    seed: u64,
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new() -> Self {
        Self { seed: ripstop_host::random_u64(), next: AtomicU64::new(0) }
    }

    /// Sixteen hexadecimal digits, different for each request of a run, and most likely between
    /// runs.
    pub(crate) fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        format!("{:016X}", hasher.hash_one((self.seed, number)))
    }
}
