//! Documents of a bucket that are answered as they are kept, and removed: one piece for all.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::FrontSettings;
use http::StatusCode;
use std::marker::PhantomData;

/// Which document.
pub(super) trait BucketDocument: Send {
    /// What it is called among the bucket's documents.
    const NAME: &'static str;
    /// Whether it is among those that say who may do what to the bucket.
    const IS_GUARD: bool = false;

    /// What is answered where there is none.
    fn none() -> Outcome<String>;
}

pub(super) struct Get<D> {
    bucket: String,
    document: PhantomData<D>,
}

impl<D: BucketDocument> Operate for Get<D> {
    type Done = String;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone(), document: PhantomData })
    }

    async fn run(self, desk: &Desk) -> Outcome<String> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        let kept = if D::IS_GUARD { &bucket.guards } else { &bucket.documents };
        let document = kept.get(D::NAME).map_or_else(D::none, |kept| Ok(kept.to_owned()));
        document.map_err(|none| none.with("BucketName", self.bucket))
    }

    fn render(document: String, _: &FrontSettings) -> Reply {
        Reply::document(document)
    }
}

pub(super) struct Delete<D> {
    bucket: String,
    document: PhantomData<D>,
}

impl<D: BucketDocument> Operate for Delete<D> {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone(), document: PhantomData })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        if D::IS_GUARD {
            return Ok(desk.store.set_bucket_guard(&self.bucket, D::NAME, None).await?);
        }
        desk.set_document(&self.bucket, D::NAME, None).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
