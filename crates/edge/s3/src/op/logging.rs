//! Where the access log of a bucket goes.

use super::{
    Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument, target::check_target,
};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    logging::{DOCUMENT, Wanted, from_root, none},
};
use http::StatusCode;

/// The document that says so.
pub(super) struct LogDocument;

impl BucketDocument for LogDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Ok(none())
    }
}

pub(super) struct Put {
    bucket: String,
    wanted: Option<Wanted>,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let wanted = document.read(Code::MalformedXml, from_root).await?;
        Ok(Self { bucket: request.bucket.clone(), wanted })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let Self { bucket, wanted } = self;
        desk.store.bucket(&bucket).await?;
        if let Some(Wanted { target, .. }) = &wanted {
            let message = "The target bucket for logging does not exist";
            let none = Failure::new(Code::InvalidTargetBucket, message);
            check_target(desk, (target, ""), none.with("TargetBucket", target)).await?;
        }
        let document = wanted.map(|wanted| wanted.document);
        desk.set_document(&bucket, DOCUMENT, document.as_deref()).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}
