use crate::{Answer, CatalogError};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

type Reading<'a> = Pin<Box<dyn Future<Output = Result<Answer, CatalogError>> + Send + 'a>>;

/// A query under way: resolves to what its answer holds.
#[must_use = "a future does nothing by itself"]
pub struct Asked<'a, T> {
    reading: Reading<'a>,
    held: fn(Answer) -> Option<T>,
}

impl<'a, T> Asked<'a, T> {
    pub(crate) fn new(reading: Reading<'a>, held: fn(Answer) -> Option<T>) -> Self {
        Self { reading, held }
    }
}

impl<T> Future for Asked<'_, T> {
    type Output = Result<T, CatalogError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let held = self.held;
        let held = |answer| held(answer).expect("a catalog answers what it was asked");
        self.reading.as_mut().poll(context).map_ok(held)
    }
}

impl<T> fmt::Debug for Asked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").finish_non_exhaustive()
    }
}
