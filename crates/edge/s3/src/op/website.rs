//! What a bucket is to browsers.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    error::Code,
    website::{DOCUMENT, from_root},
};
use http::StatusCode;

/// The document that says so.
pub(super) struct WebsiteDocument;

impl BucketDocument for WebsiteDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Err(Code::NoSuchWebsiteConfiguration.into())
    }
}

pub(super) struct Put {
    bucket: String,
    document: String,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let document = document.read(Code::MalformedXml, from_root).await?;
        Ok(Self { bucket: request.bucket.clone(), document })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        Ok(desk.store.set_bucket_document(&self.bucket, DOCUMENT, Some(&self.document)).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}
