//! Who owns what others write into a bucket: its owner, always. What can be set is whether the rule
//! is shown.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::Code,
    xml::{Element, Malformed, Node},
};
use http::StatusCode;

/// The document of a bucket whose rule was removed; its text says nothing.
const REMOVED: &str = "ownershipControls-removed";

pub(super) struct Get {
    bucket: String,
}

impl Operate for Get {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        match bucket.documents.get(REMOVED) {
            None => Ok(()),
            Some(_) => Err(Code::OwnershipControlsNotFound.into()),
        }
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("OwnershipControls");
        root.child("Rule", |rule| {
            rule.text("ObjectOwnership", "BucketOwnerEnforced");
        });
        Reply::document(root.document())
    }
}

/// Takes the one rule that there is.
pub(super) struct Put {
    bucket: String,
    /// Whether it is that one.
    enforced: bool,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let enforced = document.read(Code::MalformedXml, is_enforced).await?;
        Ok(Self { bucket: request.bucket.clone(), enforced })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        desk.store.bucket(&self.bucket).await?;
        if !self.enforced {
            return Err(Code::NotImplemented.into());
        }
        Ok(desk.store.set_bucket_document(&self.bucket, REMOVED, None).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

/// Whether a document's one rule is that the bucket's owner owns everything.
fn is_enforced(root: &Node<'_>) -> Outcome<bool> {
    let rule = root.named("OwnershipControls")?.child("Rule")?.ok_or(Malformed)?;
    match rule.text_of("ObjectOwnership")? {
        Some("BucketOwnerEnforced") => Ok(true),
        Some("BucketOwnerPreferred" | "ObjectWriter") => Ok(false),
        Some(_) | None => Err(Malformed.into()),
    }
}

pub(super) struct Delete {
    bucket: String,
}

impl Operate for Delete {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        Ok(desk.store.set_bucket_document(&self.bucket, REMOVED, Some("")).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
