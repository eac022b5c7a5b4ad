use super::{
    Desk, Operate, Outcome, Reply, Request,
    version::{Subject, show_version},
};
use crate::{
    FrontSettings,
    error::Code,
    notification::{EventKind, Happened},
    tagging::{self, Tags},
};
use http::StatusCode;
use ripstop_catalog::{Attributes, CatalogError, ObjectVersion, Refusal};
use ripstop_store::StoreError;

/// A write in between makes another attempt needed; after this many it is the client's turn.
const ATTEMPTS_MAX: usize = 4;

pub(super) struct Get(Subject);

impl Operate for Get {
    /// And of which version they are.
    type Done = (Tags, Option<ObjectVersion>);

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Subject::parse(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<(Tags, Option<ObjectVersion>)> {
        let located = self.0.find(desk).await?;
        Ok((located.object.attributes.tags.clone(), located.version))
    }

    fn render((tags, version): (Tags, Option<ObjectVersion>), _: &FrontSettings) -> Reply {
        show_version(Reply::document(tagging::document(tags)), version)
    }
}

pub(super) struct Put {
    subject: Subject,
    tags: Tags,
}

impl Operate for Put {
    /// Which version it is.
    type Done = Option<ObjectVersion>;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let subject = Subject::parse(request)?;
        let document = request.vouched_document().await?;
        let tags = document
            .read(Code::MalformedXml, |root| tagging::from_root(root, tagging::OBJECT))
            .await?;
        Ok(Self { subject, tags })
    }

    async fn run(self, desk: &Desk) -> Outcome<Option<ObjectVersion>> {
        set(desk, &self.subject, self.tags).await
    }

    fn render(version: Option<ObjectVersion>, _: &FrontSettings) -> Reply {
        show_version(Reply::empty(StatusCode::OK), version)
    }
}

pub(super) struct Delete(Subject);

impl Operate for Delete {
    /// Which version it is.
    type Done = Option<ObjectVersion>;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Subject::parse(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<Option<ObjectVersion>> {
        set(desk, &self.0, Tags::new()).await
    }

    fn render(version: Option<ObjectVersion>, _: &FrontSettings) -> Reply {
        show_version(Reply::empty(StatusCode::NO_CONTENT), version)
    }
}

async fn set(desk: &Desk, subject: &Subject, tags: Tags) -> Outcome<Option<ObjectVersion>> {
    let Subject { bucket, key, .. } = subject;
    let mut attempt = 1;
    loop {
        let located = subject.find_to_tag(desk, Some(&tags)).await?;
        let _held = desk.allowances.extents_of(&located.object).await?;
        let attributes = Attributes { tags: tags.clone(), ..located.object.attributes.clone() };
        match desk.store.set_attributes(bucket, key, &located, attributes).await {
            Ok(_) => {
                let kind = if tags.is_empty() { EventKind::Untagged } else { EventKind::Tagged };
                let version = located.version.filter(|version| *version != ObjectVersion::Null);
                let version = version.map(|version| version.to_string());
                let happened = || Happened { kind, key: key.clone(), object: None, version };
                desk.tell(bucket, happened).await;
                return Ok(located.version);
            }
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
