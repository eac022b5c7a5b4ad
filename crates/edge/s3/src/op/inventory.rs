//! Which inventories are made of a bucket.

use super::{Desk, Operate, Outcome, Reply, Request, target::check_target};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    inventory::{DOCUMENT, Wanted, find, from_root, page, with, without},
};
use http::StatusCode;
use ripstop_catalog::Bucket;

/// The id that the query names.
fn id_of(request: &Request) -> String {
    request.query.get("id").unwrap_or_default().to_owned()
}

pub(super) struct Put {
    bucket: String,
    wanted: Wanted,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let id = id_of(request);
        let document = request.document().await?;
        let wanted = document.read(Code::MalformedXml, from_root).await?;
        if wanted.id != id {
            let message = "The ID of the query is not that of the document";
            return Err(Failure::argument(message, "id", &id));
        }
        Ok(Self { bucket: request.bucket.clone(), wanted })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let Self { bucket, wanted } = self;
        desk.store.bucket(&bucket).await?;
        let none = Failure::from(Code::InvalidS3DestinationBucket);
        check_target(desk, (&wanted.target, &wanted.folder), none.with("Bucket", &wanted.target))
            .await?;
        let put = |old: Bucket| {
            let document = with(old.documents.get(DOCUMENT), &wanted)?;
            Ok::<_, Failure>(changed(old, Some(document)))
        };
        desk.store.change_bucket(&bucket, put).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

fn changed(old: Bucket, document: Option<String>) -> Bucket {
    Bucket { documents: old.documents.with(DOCUMENT, document), ..old }
}

pub(super) struct Get {
    bucket: String,
    id: String,
}

impl Operate for Get {
    type Done = String;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone(), id: id_of(request) })
    }

    async fn run(self, desk: &Desk) -> Outcome<String> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        find(bucket.documents.get(DOCUMENT), &self.id)
    }

    fn render(document: String, _: &FrontSettings) -> Reply {
        Reply::document(document)
    }
}

pub(super) struct List {
    bucket: String,
    after: Option<String>,
}

impl Operate for List {
    type Done = String;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let after = request.query.filled("continuation-token").map(str::to_owned);
        Ok(Self { bucket: request.bucket.clone(), after })
    }

    async fn run(self, desk: &Desk) -> Outcome<String> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        page(bucket.documents.get(DOCUMENT), self.after.as_deref())
    }

    fn render(document: String, _: &FrontSettings) -> Reply {
        Reply::document(document)
    }
}

pub(super) struct Delete {
    bucket: String,
    id: String,
}

impl Operate for Delete {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone(), id: id_of(request) })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let remove = |old: Bucket| {
            let document = without(old.documents.get(DOCUMENT), &self.id)?;
            Ok::<_, Failure>(changed(old, document))
        };
        desk.store.change_bucket(&self.bucket, remove).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
