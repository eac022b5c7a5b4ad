//! How a bucket encrypts by default.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    encryption::{DOCUMENT, Defaults},
    error::{Code, Failure},
    xml::Node,
};
use http::StatusCode;

/// The document that says it.
pub(super) struct EncryptionDocument;

impl BucketDocument for EncryptionDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Err(Code::ServerSideEncryptionConfigurationNotFound.into())
    }
}

/// What is in force of a bucket, be it the gateway's.
pub(super) struct Get {
    bucket: String,
}

impl Operate for Get {
    type Done = Defaults;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<Defaults> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        let found = Defaults::of(&bucket)?;
        let found = found.or_else(|| Defaults::of_gateway(&desk.settings.encryption));
        let none = Failure::from(Code::ServerSideEncryptionConfigurationNotFound);
        found.ok_or_else(|| none.with("BucketName", self.bucket))
    }

    fn render(defaults: Defaults, _: &FrontSettings) -> Reply {
        Reply::document(defaults.document())
    }
}

/// Has a bucket encrypt what is put there from now on.
pub(super) struct Put {
    bucket: String,
    defaults: Defaults,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let defaults =
            document.read(Code::MalformedXml, |root: &Node<'_>| Defaults::from_root(root)).await?;
        Ok(Self { bucket: request.bucket.clone(), defaults })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let document = self.defaults.document();
        Ok(desk.store.set_bucket_document(&self.bucket, DOCUMENT, Some(&document)).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}
