//! Memory of requests beside the strips of objects: documents that arrive, pages that are sent.

use crate::{
    FrontSettings,
    error::{Code, Failure, Outcome},
};
use ripstop_catalog::{Extent, Object};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// Up to this much is taken from a part that large ones leave alone, so that small ones pass.
pub(crate) const SMALL_MAX: usize = 64 << 10;
/// An object of so few pieces is like any other.
pub(crate) const FEW_EXTENTS: usize = 1024;
/// Longest wait for memory that others hold, before a client is told to come again.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Allowances {
    /// For documents on their way in, and what is made of them.
    pub(crate) documents: Allowance,
    /// For pages of listings, from when they are read until they are sent.
    pub(crate) pages: Allowance,
    /// For where the bytes of objects of many pieces are, while they are read or copied.
    pub(crate) extents: Allowance,
}

impl Allowances {
    pub(crate) fn new(settings: &FrontSettings) -> Self {
        Self {
            documents: Allowance::new(settings.documents_memory_max),
            pages: Allowance::new(settings.pages_memory_max),
            extents: Allowance::new(settings.extents_memory_max),
        }
    }
}

impl Allowances {
    /// Memory for where an object's bytes are, if they are in many pieces.
    pub(crate) async fn extents_of(&self, object: &Object) -> Outcome<Held> {
        let mut held = self.extents.nothing();
        if object.extents.len() > FEW_EXTENTS {
            held.grow(object.extents.len() * size_of::<Extent>()).await?;
        }
        Ok(held)
    }
}

/// Bytes that may be held at once for one purpose. A quarter of them is for callers that hold at
/// most [`SMALL_MAX`].
#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    small: Part,
    large: Part,
}

#[derive(Clone, Debug)]
struct Part {
    free: Arc<Semaphore>,
    max: usize,
}

impl Part {
    fn new(max: usize) -> Self {
        let max = max.clamp(1, u32::MAX as usize);
        Self { free: Arc::new(Semaphore::new(max)), max }
    }
}

impl Allowance {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let small = bytes_max / 4;
        Self { small: Part::new(small), large: Part::new(bytes_max - small) }
    }

    /// To be grown as there is need.
    pub(crate) fn nothing(&self) -> Held {
        Held { of: self.clone(), permit: None, wanted: 0, is_large: false }
    }

    /// `bytes` at once.
    pub(crate) async fn take(&self, bytes: usize) -> Outcome<Held> {
        let mut held = self.nothing();
        held.grow(bytes).await?;
        Ok(held)
    }
}

/// What one request has of an allowance; given back as it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    of: Allowance,
    permit: Option<OwnedSemaphorePermit>,
    /// May be more than there is in all: then all is held.
    wanted: usize,
    is_large: bool,
}

impl Held {
    /// Takes `bytes` more, once they are free; `SlowDown` if that takes too long.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Outcome<()> {
        let wanted = self.wanted.saturating_add(bytes);
        let is_large = wanted > SMALL_MAX;
        let part = if is_large { &self.of.large } else { &self.of.small };
        let from_here = if is_large == self.is_large { self.held() } else { 0 };
        let lacking = wanted.min(part.max) - from_here;
        let lacking = u32::try_from(lacking).expect("a part is no larger than that");
        let taken = timeout(WAIT_MAX, part.free.clone().acquire_many_owned(lacking)).await;
        let taken = taken.map_err(|_| busy())?.expect("the semaphore is never closed");
        match &mut self.permit {
            Some(permit) if is_large == self.is_large => permit.merge(taken),
            Some(_) | None => self.permit = Some(taken),
        }
        (self.wanted, self.is_large) = (wanted, is_large);
        Ok(())
    }

    /// Gives back what is held beyond `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.held().saturating_sub(bytes);
        if let Some(permit) = &mut self.permit {
            drop(permit.split(surplus));
        }
        self.wanted = self.wanted.min(bytes);
    }

    fn held(&self) -> usize {
        self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }
}

fn busy() -> Failure {
    Failure::from(Code::SlowDown).header(http::header::RETRY_AFTER, "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(allowance: &Allowance) -> (usize, usize) {
        (allowance.small.free.available_permits(), allowance.large.free.available_permits())
    }

    #[tokio::test]
    async fn what_grows_large_leaves_the_part_of_the_small() {
        let allowance = Allowance::new(400 << 10);
        let whole = free(&allowance);
        let mut held = allowance.take(SMALL_MAX).await.unwrap();
        assert_eq!(free(&allowance), (whole.0 - SMALL_MAX, whole.1));
        held.grow(1).await.unwrap();
        assert_eq!(free(&allowance), (whole.0, whole.1 - SMALL_MAX - 1));
        held.grow(1000).await.unwrap();
        held.shrink_to(SMALL_MAX + 2);
        assert_eq!(free(&allowance), (whole.0, whole.1 - SMALL_MAX - 2));
        let everything = allowance.take(1 << 30).await.unwrap_err();
        assert_eq!(everything.code, Code::SlowDown);
        assert!(allowance.take(SMALL_MAX).await.is_ok(), "small ones pass");
        drop(held);
        assert_eq!(free(&allowance), whole);
        let everything = allowance.take(1 << 30).await.unwrap();
        assert_eq!(free(&allowance), (whole.0, 0));
        drop(everything);
        assert_eq!(free(&allowance), whole);
    }
}
