//! Which other origins a bucket lets in; and what browsers ask before they send what a page of
//! another origin wants sent.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    cors::{Admission, Crossing, DOCUMENT, METHODS, Rules, requested},
    error::{Code, Failure},
};
use http::StatusCode;
use ripstop_catalog::{CatalogError, Refusal};
use ripstop_store::{Store, StoreError};

/// The rules of a bucket; none if there are none, or no such bucket.
pub(crate) async fn rules_of(store: &Store, bucket: &str) -> Result<Option<Rules>, StoreError> {
    match store.bucket(bucket).await {
        Ok(bucket) => Ok(bucket.documents.get(DOCUMENT).map(Rules::stored)),
        Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchBucket))) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The document that says so.
pub(super) struct CorsDocument;

impl BucketDocument for CorsDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Err(Code::NoSuchCorsConfiguration.into())
    }
}

pub(super) struct Put {
    bucket: String,
    rules: Rules,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.vouched_document().await?;
        let rules = document.read(Code::MalformedXml, Rules::from_root).await?;
        Ok(Self { bucket: request.bucket.clone(), rules })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let document = self.rules.document();
        Ok(desk.store.set_bucket_document(&self.bucket, DOCUMENT, Some(&document)).await?)
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

/// Whether a page may send a request: asked without a signature, before any that has one.
pub(super) struct Preflight {
    bucket: String,
    crossing: Crossing,
    is_for_bucket: bool,
}

impl Operate for Preflight {
    type Done = Admission;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let bad = |message: String| Failure::new(Code::BadRequest, message);
        let Some(origin) = request.header("origin").filter(|origin| !origin.is_empty()) else {
            return Err(bad("Insufficient information. Origin request header needed.".to_owned()));
        };
        let method = request.header("access-control-request-method").unwrap_or("null");
        if !METHODS.contains(&method) {
            return Err(bad(format!("Invalid Access-Control-Request-Method: {method}")));
        }
        let headers = requested(&request.headers)?;
        let crossing = Crossing { origin: origin.to_owned(), method: method.to_owned(), headers };
        let (bucket, is_for_bucket) = (request.bucket.clone(), request.key.is_empty());
        Ok(Self { bucket, crossing, is_for_bucket })
    }

    /// A bucket that is not there is like one without rules: which there are is not told to
    /// everybody.
    async fn run(self, desk: &Desk) -> Outcome<Admission> {
        let Self { bucket, crossing, is_for_bucket } = self;
        let message = match rules_of(&desk.store, &bucket).await? {
            Some(rules) => match rules.admit(&crossing) {
                Some(admission) => return Ok(admission),
                None => {
                    "CORSResponse: This CORS request is not allowed. This is usually because the \
                     evalution of Origin, request method / Access-Control-Request-Method or \
                     Access-Control-Request-Headers are not whitelisted by the resource's CORS \
                     spec."
                }
            },
            None => "CORSResponse: CORS is not enabled for this bucket.",
        };
        let kind = if is_for_bucket { "BUCKET" } else { "OBJECT" };
        let refused = Failure::new(Code::AccessForbidden, message);
        Err(refused.with("Method", crossing.method).with("ResourceType", kind))
    }

    fn render(admission: Admission, _: &FrontSettings) -> Reply {
        let mut reply = Reply::empty(StatusCode::OK);
        admission.tell(&mut reply.headers);
        reply
    }
}
