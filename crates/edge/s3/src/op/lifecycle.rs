//! What becomes of a bucket's objects as they grow old.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    lifecycle::{Configured, DOCUMENT, Sizes, answer},
    xml::Node,
};
use http::StatusCode;

/// The document that says so.
pub(super) struct LifecycleDocument;

impl BucketDocument for LifecycleDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Err(Code::NoSuchLifecycleConfiguration.into())
    }
}

pub(super) struct Get {
    bucket: String,
}

impl Operate for Get {
    type Done = (String, Sizes);

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<(String, Sizes)> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        let document = bucket.documents.get(DOCUMENT).map(answer);
        let none = || Failure::from(Code::NoSuchLifecycleConfiguration);
        document.ok_or_else(|| none().with("BucketName", self.bucket))
    }

    fn render((document, sizes): (String, Sizes), _: &FrontSettings) -> Reply {
        Reply::document(document).with(Sizes::HEADER, sizes.word())
    }
}

pub(super) struct Put {
    bucket: String,
    document: String,
    sizes: Sizes,
}

impl Operate for Put {
    type Done = Sizes;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let sizes = Sizes::read(request.header(Sizes::HEADER))?;
        let document = request.vouched_document().await?;
        let settings = request.settings.clone();
        let kept = move |root: &Node<'_>| {
            Ok(Configured::from_root(root, &settings.storage_classes)?.document(sizes))
        };
        let document = document.read(Code::MalformedXml, kept).await?;
        Ok(Self { bucket: request.bucket.clone(), document, sizes })
    }

    async fn run(self, desk: &Desk) -> Outcome<Sizes> {
        desk.set_document(&self.bucket, DOCUMENT, Some(&self.document)).await?;
        Ok(self.sizes)
    }

    fn render(sizes: Sizes, _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK).with(Sizes::HEADER, sizes.word())
    }
}
