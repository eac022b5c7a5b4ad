//! Documents of a bucket that are answered as they are kept, and removed: one piece for all.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::{Code, Failure},
};
use http::StatusCode;
use std::marker::PhantomData;

/// Which document.
pub(super) trait BucketDocument: Send {
    /// What it is called among the bucket's documents.
    const NAME: &'static str;
    /// What is answered where there is none.
    const NONE: Code;
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
        let document = bucket.documents.get(D::NAME).map(str::to_owned);
        document.ok_or_else(|| Failure::from(D::NONE).with("BucketName", self.bucket))
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
        Ok(desk.store.set_bucket_document(&self.bucket, D::NAME, None).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
