//! Who owns what others write into a bucket: its owner, unless that is set otherwise.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    gate::{BucketAccess, OWNERSHIP, OWNERSHIP_REMOVED, ObjectOwnership},
    xml::{Element, Malformed, Node},
};
use http::StatusCode;
use ripstop_access::AccessList;
use ripstop_catalog::Bucket;

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
        let put = |old: Bucket| {
            let access = BucketAccess::of(&old, &desk.settings.owner);
            // Whom a list lets in would be shut out unseen.
            if !ownership.has_lists() && access.list != AccessList::private(&access.owner) {
                return Err(Failure::from(Code::InvalidBucketAclWithObjectOwnership));
            }
            Ok(with(old, ownership))
        };
        desk.store.change_bucket(&bucket, put).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

/// A bucket with other words for who owns what is put there.
fn with(old: Bucket, ownership: ObjectOwnership) -> Bucket {
    let guards = old.guards.with(OWNERSHIP, ownership.stored().map(str::to_owned));
    let documents = old.documents.with(OWNERSHIP_REMOVED, None);
    Bucket { guards, documents, ..old }
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
        let unsaid = |old| Ok::<_, Failure>(with(old, ObjectOwnership::Unsaid));
        desk.store.change_bucket(&self.bucket, unsaid).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
