//! Where the access log of a bucket goes.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    gate::Need,
    logging::{DOCUMENT, Wanted, from_root, none},
};
use http::StatusCode;
use ripstop_access::S3Action;
use ripstop_catalog::{CatalogError, Refusal};
use ripstop_identity::Privilege;
use ripstop_store::StoreError;

/// The document that says so.
pub(super) struct LogDocument;

impl BucketDocument for LogDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Ok(none())
    }
}

pub(super) struct Put {
    bucket: String,
    wanted: Option<Wanted>,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        let wanted = document.read(Code::MalformedXml, from_root).await?;
        Ok(Self { bucket: request.bucket.clone(), wanted })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let Self { bucket, wanted } = self;
        desk.store.bucket(&bucket).await?;
        if let Some(Wanted { target, .. }) = &wanted {
            check_target(desk, target).await?;
        }
        let document = wanted.map(|wanted| wanted.document);
        desk.set_document(&bucket, DOCUMENT, document.as_deref()).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

/// Refuses a bucket that is not there, or to which who asks may not write: what the log puts there,
/// it puts for them. Who may not is not told whether it is there.
async fn check_target(desk: &Desk, target: &str) -> Outcome<()> {
    let need = Need {
        actions: S3Action::named("PutObject").into_iter().collect(),
        privilege: Privilege::Write,
        bucket: target.to_owned(),
        key: Some(String::new()),
        looks: false,
    };
    let principal = &desk.gate.principal;
    desk.gate.check_own(&need, need.is_allowed_to(principal))?;
    let is_of_policies = principal.rights().policies().is_some();
    match desk.store.bucket(target).await {
        // Policies of users say nothing of what belongs to other accounts.
        Ok(bucket) if is_of_policies && !bucket.owner.is_empty() => Err(Code::AccessDenied.into()),
        Ok(_) => Ok(()),
        Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchBucket))) => {
            let message = "The target bucket for logging does not exist";
            let failure = Failure::new(Code::InvalidTargetBucket, message);
            Err(failure.with("TargetBucket", target))
        }
        Err(error) => Err(error.into()),
    }
}
