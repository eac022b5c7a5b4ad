//! Who is told what happens in a bucket.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings, date,
    error::{Code, Failure},
    notification::{DOCUMENT, Wanted, from_root, none, test_event},
};
use http::StatusCode;

/// The document that says so.
pub(super) struct NotificationDocument;

impl BucketDocument for NotificationDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Ok(none())
    }
}

pub(super) struct Put {
    bucket: String,
    wanted: Wanted,
    /// Whether webhooks are taken to be there.
    is_sure: bool,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let is_sure = request
            .header("x-amz-skip-destination-validation")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let document = request.document().await?;
        let wanted = document.read(Code::MalformedXml, from_root).await?;
        Ok(Self { bucket: request.bucket.clone(), wanted, is_sure })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let Self { bucket, wanted, is_sure } = self;
        desk.store.bucket(&bucket).await?;
        let webhooks = &desk.settings.webhooks;
        if let Some(webhook) = wanted.webhooks.iter().find(|name| !webhooks.has(name) && !is_sure) {
            let message = "Unable to validate the following destination configurations";
            return Err(Failure::argument(message, "Destination", webhook));
        }
        desk.set_document(&bucket, DOCUMENT, wanted.document.as_deref()).await?;
        if !is_sure {
            let event = || test_event(&bucket, &desk.request_id, date::now_ms());
            wanted.webhooks.iter().for_each(|webhook| webhooks.tell(webhook, event()));
        }
        Ok(())
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}
