//! Who owns what others write into a bucket: its owner, unless that is set otherwise.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::Code,
    gate::{BucketAccess, OWNERSHIP, OWNERSHIP_REMOVED, ObjectOwnership},
    xml::{Element, Malformed, Node},
};
use http::StatusCode;
use ripstop_access::AccessList;

pub(super) struct Get {
    bucket: String,
}

impl Operate for Get {
    /// S3's word.
    type Done = &'static str;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<&'static str> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        let access = BucketAccess::of(&bucket, &desk.settings.owner);
        access.ownership.word().ok_or_else(|| Code::OwnershipControlsNotFound.into())
    }

    fn render(word: &'static str, _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("OwnershipControls");
        root.child("Rule", |rule| {
            rule.text("ObjectOwnership", word);
        });
        Reply::document(root.document())
    }
}

pub(super) struct Put {
    bucket: String,
    ownership: ObjectOwnership,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let ownership = document.read(Code::MalformedXml, read).await?;
        Ok(Self { bucket: request.bucket.clone(), ownership })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let Self { bucket, ownership } = self;
        let access = BucketAccess::of(&desk.store.bucket(&bucket).await?, &desk.settings.owner);
        // Whom a list lets in would be shut out unseen.
        if !ownership.has_lists() && access.list != AccessList::private(&access.owner) {
            return Err(Code::InvalidBucketAclWithObjectOwnership.into());
        }
        Ok(set(desk, &bucket, ownership).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

async fn set(
    desk: &Desk,
    bucket: &str,
    ownership: ObjectOwnership,
) -> Result<(), ripstop_store::StoreError> {
    desk.store.set_bucket_guard(bucket, OWNERSHIP, ownership.stored()).await?;
    desk.store.set_bucket_document(bucket, OWNERSHIP_REMOVED, None).await
}

/// The one rule of a document.
fn read(root: &Node<'_>) -> Outcome<ObjectOwnership> {
    let rule = root.named("OwnershipControls")?.child("Rule")?.ok_or(Malformed)?;
    let word = rule.text_of("ObjectOwnership")?;
    word.and_then(ObjectOwnership::named).ok_or_else(|| Malformed.into())
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
        Ok(set(desk, &self.bucket, ObjectOwnership::Unsaid).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
