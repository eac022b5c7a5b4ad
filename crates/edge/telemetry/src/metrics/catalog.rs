use super::{family as of, sheet::Sheet};
use async_trait::async_trait;
use ripstop_catalog::{Catalog, CatalogError, Change, Outcome, Query, Reply};
use ripstop_runtime::TimeHistogram;
use std::{
    fmt, iter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

const OUTCOMES: [&str; 3] = ["done", "refused", "failed"];
const DONE: usize = 0;
const REFUSED: usize = 1;
const FAILED: usize = 2;

/// Counts and times of what a catalog was asked.
#[derive(Debug, Default)]
pub(crate) struct CatalogCounts {
    commits: OperationCounts,
    /// In the order of their names.
    queries: [OperationCounts; Query::NAMES.len()],
    corrupt: AtomicU64,
}

#[derive(Debug, Default)]
struct OperationCounts {
    outcomes: [AtomicU64; OUTCOMES.len()],
    took: TimeHistogram,
}

impl OperationCounts {
    fn add(&self, start: Instant, outcome: usize) {
        self.outcomes[outcome].fetch_add(1, Relaxed);
        self.took.add(ripstop_host::since(start));
    }
}

impl CatalogCounts {
    fn add(&self, query: usize, start: Instant, result: &Result<Reply, CatalogError>) {
        let outcome = match result {
            Ok(_) => DONE,
            Err(CatalogError::Refused(_)) => REFUSED,
            Err(CatalogError::Corrupt { .. } | CatalogError::Unavailable(_)) => FAILED,
        };
        self.note(result);
        self.queries[query].add(start, outcome);
    }

    /// Each of the `changes` of a commit counts as one.
    fn add_changes(
        &self,
        changes: usize,
        start: Instant,
        answer: &Result<Vec<Outcome>, CatalogError>,
    ) {
        self.note(answer);
        match answer {
            Ok(outcomes) => {
                for outcome in outcomes {
                    self.commits.add(start, if outcome.is_ok() { DONE } else { REFUSED });
                }
            }
            Err(_) => (0..changes).for_each(|_| self.commits.add(start, FAILED)),
        }
    }

    fn note<T>(&self, result: &Result<T, CatalogError>) {
        if let Err(CatalogError::Corrupt { .. }) = result {
            self.corrupt.fetch_add(1, Relaxed);
        }
    }

    /// Everything that was asked, by name.
    fn operations(&self) -> impl Iterator<Item = (&'static str, &OperationCounts)> {
        iter::once(("commit", &self.commits)).chain(Query::NAMES.into_iter().zip(&self.queries))
    }

    pub(crate) fn encode(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let mut rows = sheet.family(&of::CATALOG_OPERATIONS)?;
        for (operation, counts) in self.operations() {
            for (outcome, count) in OUTCOMES.into_iter().zip(&counts.outcomes) {
                rows.count(&[("operation", operation), ("outcome", outcome)], count)?;
            }
        }
        sheet.family(&of::CATALOG_CORRUPT)?.single(self.corrupt.load(Relaxed) as f64)?;
        let mut rows = sheet.family(&of::CATALOG_SECONDS)?;
        for (operation, counts) in self.operations() {
            rows.histogram(&[("operation", operation)], &counts.took.buckets())?;
        }
        Ok(())
    }
}

/// A catalog that counts and times what it is asked, and otherwise is the one within. What its
/// caller gives up before the end is not counted.
#[derive(Debug)]
pub struct MeteredCatalog {
    inner: Arc<dyn Catalog>,
    counts: Arc<CatalogCounts>,
}

impl MeteredCatalog {
    pub(crate) fn new(inner: Arc<dyn Catalog>, counts: Arc<CatalogCounts>) -> Self {
        Self { inner, counts }
    }
}

#[async_trait]
impl Catalog for MeteredCatalog {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        let (count, start) = (changes.len(), ripstop_host::now());
        let answer = self.inner.commit(now_ms, changes).await;
        self.counts.add_changes(count, start, &answer);
        answer
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        let start = ripstop_host::now();
        let result = self.inner.read(query).await;
        self.counts.add(query.index(), start, &result);
        result
    }
}
