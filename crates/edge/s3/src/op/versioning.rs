//! Whether a bucket keeps versions.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    object_lock,
    xml::{Element, Malformed, Node},
};
use http::StatusCode;
use ripstop_catalog::{Bucket, Versioning};

pub(super) struct Get {
    bucket: String,
}

impl Operate for Get {
    type Done = Versioning;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<Versioning> {
        Ok(desk.store.bucket(&self.bucket).await?.versioning)
    }

    fn render(versioning: Versioning, _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("VersioningConfiguration");
        match versioning {
            Versioning::Never => {}
            Versioning::Enabled => _ = root.text("Status", "Enabled"),
            Versioning::Suspended => _ = root.text("Status", "Suspended"),
        }
        Reply::document(root.document())
    }
}

pub(super) struct Put {
    bucket: String,
    versioning: Versioning,
}

fn configured(root: &Node<'_>) -> Outcome<Versioning> {
    let root = root.named("VersioningConfiguration")?;
    if root.text_of("MfaDelete")?.is_some_and(|state| state != "Disabled") {
        let message = "Deletions under multi-factor authentication are not implemented";
        return Err(Failure::new(Code::NotImplemented, message));
    }
    match root.text_of("Status")? {
        Some("Enabled") => Ok(Versioning::Enabled),
        Some("Suspended") => Ok(Versioning::Suspended),
        Some(_) => Err(Malformed.into()),
        None => Err(Failure::new(
            Code::IllegalVersioningConfiguration,
            "The Versioning element must be specified",
        )),
    }
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let versioning = document.read(Code::MalformedXml, configured).await?;
        Ok(Self { bucket: request.bucket.clone(), versioning })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let versioning = self.versioning;
        let change = |old: Bucket| {
            if versioning == Versioning::Suspended && object_lock::is_on(&old) {
                let message = "An Object Lock configuration is present on this bucket, so the \
                               versioning state cannot be changed.";
                return Err(Failure::new(Code::InvalidBucketState, message));
            }
            Ok(Bucket { versioning, ..old })
        };
        desk.store.change_bucket(&self.bucket, change).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}
