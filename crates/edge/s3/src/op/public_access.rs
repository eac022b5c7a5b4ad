//! What of the public a bucket's owner wants none of, whatever policies and lists say.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    gate::{PUBLIC_ACCESS_BLOCK, PublicAccessBlock},
    xml::{Element, Malformed, Node},
};
use http::StatusCode;

pub(super) struct Put {
    bucket: String,
    block: PublicAccessBlock,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let block = document.read(Code::MalformedXml, read).await?;
        Ok(Self { bucket: request.bucket.clone(), block })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let Self { bucket, block } = self;
        let stored = block.stored();
        Ok(desk.store.set_bucket_guard(&bucket, PUBLIC_ACCESS_BLOCK, Some(&stored)).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

/// What is not said is not wanted.
fn read(root: &Node<'_>) -> Outcome<PublicAccessBlock> {
    let root = root.named("PublicAccessBlockConfiguration")?;
    let mut flags = [false; 4];
    for (flag, name) in flags.iter_mut().zip(PublicAccessBlock::NAMES) {
        *flag = match root.text_of(name)?.map(str::trim) {
            None => false,
            Some(word) if word.eq_ignore_ascii_case("true") => true,
            Some(word) if word.eq_ignore_ascii_case("false") => false,
            Some(_) => return Err(Malformed.into()),
        };
    }
    Ok(PublicAccessBlock::of(flags))
}

pub(super) struct Get {
    bucket: String,
}

impl Operate for Get {
    type Done = PublicAccessBlock;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<PublicAccessBlock> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        let stored = bucket.guards.get(PUBLIC_ACCESS_BLOCK).map(PublicAccessBlock::from_stored);
        stored.ok_or_else(|| {
            let failure = Failure::from(Code::NoSuchPublicAccessBlockConfiguration);
            failure.with("BucketName", self.bucket)
        })
    }

    fn render(block: PublicAccessBlock, _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("PublicAccessBlockConfiguration");
        for (name, flag) in PublicAccessBlock::NAMES.into_iter().zip(block.flags()) {
            root.value(name, flag);
        }
        Reply::document(root.document())
    }
}

/// The document that says so.
pub(super) struct BlockDocument;

impl BucketDocument for BlockDocument {
    const NAME: &'static str = PUBLIC_ACCESS_BLOCK;
    const IS_GUARD: bool = true;

    fn none() -> Outcome<String> {
        Err(Code::NoSuchPublicAccessBlockConfiguration.into())
    }
}
