use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::Code,
    tagging::{self, Tags},
};
use http::StatusCode;
use ripstop_catalog::{Attributes, CatalogError, Refusal};
use ripstop_store::StoreError;

/// A write in between makes another attempt needed; after this many it is the client's turn.
const ATTEMPTS_MAX: usize = 4;

pub(super) struct Get {
    bucket: String,
    key: String,
}

impl Operate for Get {
    type Done = Tags;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        request.check_version()?;
        Ok(Self { bucket: request.bucket.clone(), key: request.key.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<Tags> {
        let located = desk.store.object(&self.bucket, &self.key).await?;
        Ok(located.object.attributes.tags.clone())
    }

    fn render(tags: Tags, _: &FrontSettings) -> Reply {
        Reply::document(tagging::document(tags))
    }
}

pub(super) struct Put {
    bucket: String,
    key: String,
    tags: Tags,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        request.check_version()?;
        let document = request.vouched_document().await?;
        let tags = document
            .read(Code::MalformedXml, |root| tagging::from_root(root, tagging::OBJECT))
            .await?;
        Ok(Self { bucket: request.bucket.clone(), key: request.key.clone(), tags })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        set(desk, &self.bucket, &self.key, self.tags).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

pub(super) struct Delete {
    bucket: String,
    key: String,
}

impl Operate for Delete {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        request.check_version()?;
        Ok(Self { bucket: request.bucket.clone(), key: request.key.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        set(desk, &self.bucket, &self.key, Tags::new()).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}

async fn set(desk: &Desk, bucket: &str, key: &str, tags: Tags) -> Outcome<()> {
    let mut attempt = 1;
    loop {
        let located = desk.store.object(bucket, key).await?;
        let _held = desk.allowances.extents_of(&located.object).await?;
        let attributes = Attributes { tags: tags.clone(), ..located.object.attributes.clone() };
        match desk.store.set_attributes(bucket, key, &located, attributes).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::ConditionFailed)))
                if attempt < ATTEMPTS_MAX =>
            {
                attempt += 1;
            }
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::ConditionFailed))) => {
                return Err(Code::ConditionalRequestConflict.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
}
