//! Tags of a bucket, kept among its documents as they are answered.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    error::Code,
    tagging::{self, Tags},
    xml::Node,
};
use http::StatusCode;

/// What the document is called.
pub(super) const DOCUMENT: &str = "tagging";

/// The document of a bucket with these tags; without any it has none.
pub(super) fn document(tags: Tags) -> Option<String> {
    (!tags.is_empty()).then(|| tagging::document(tags))
}

/// Tags of a bucket below `set`, if they follow the rules.
pub(super) fn read(set: &Node<'_>) -> Outcome<Tags> {
    tagging::from_set(set, tagging::BUCKET)
}

/// The document that has them.
pub(super) struct TagsDocument;

impl BucketDocument for TagsDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Err(Code::NoSuchTagSet.into())
    }
}

/// Has a bucket have these tags, or none.
pub(super) struct Put {
    bucket: String,
    tags: Tags,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.vouched_document().await?;
        let tags = |root: &Node<'_>| tagging::from_root(root, tagging::BUCKET);
        let tags = document.read(Code::MalformedXml, tags).await?;
        Ok(Self { bucket: request.bucket.clone(), tags })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let document = document(self.tags);
        Ok(desk.store.set_bucket_document(&self.bucket, DOCUMENT, document.as_deref()).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
