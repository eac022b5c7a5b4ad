use super::{Outcome, Reply, Request};
use crate::{
    error::Code,
    request::read_document,
    tagging::{self, Tags},
};
use http::StatusCode;
use ripstop_catalog::{Attributes, CatalogError, Refusal};
use ripstop_store::StoreError;

/// A write in between makes another attempt needed; after this many it is the client's turn.
const ATTEMPTS_MAX: usize = 4;

pub(super) async fn get(request: Request) -> Outcome<Reply> {
    request.check_version()?;
    let located = request.store.object(&request.bucket, &request.key).await?;
    Ok(Reply::document(tagging::document(&located.object.attributes.tags)))
}

pub(super) async fn put(mut request: Request) -> Outcome<Reply> {
    request.check_version()?;
    let document = request.vouched_document().await?;
    let tags = read_document(document, Code::MalformedXml, tagging::from_root).await?;
    set(&request, tags).await?;
    Ok(Reply::empty(StatusCode::OK))
}

pub(super) async fn delete(request: Request) -> Outcome<Reply> {
    request.check_version()?;
    set(&request, Tags::new()).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn set(request: &Request, tags: Tags) -> Outcome<()> {
    let mut attempt = 1;
    loop {
        let located = request.store.object(&request.bucket, &request.key).await?;
        let _held = request.allowances.extents_of(&located.object).await?;
        let attributes = Attributes { tags: tags.clone(), ..located.object.attributes.clone() };
        let set = request.store.set_attributes(&request.bucket, &request.key, &located, attributes);
        match set.await {
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
