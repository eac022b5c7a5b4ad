//! Object lock: a bucket's rule, and what keeps one version.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    bucket_document::BucketDocument,
    version::{Subject, show_version},
};
use crate::{
    FrontSettings,
    document::{Document, Envelope},
    error::{Code, Failure},
    gate::Need,
    object_lock::{self, BYPASS, DOCUMENT, LockRule},
};
use http::StatusCode;
use ripstop_access::S3Action;
use ripstop_catalog::{
    Attributes, Bucket, CatalogError, ObjectLock, ObjectVersion, Refusal, Release, Retention,
    Versioning,
};
use ripstop_identity::Privilege;
use ripstop_store::StoreError;

/// A write in between makes another attempt needed; after this many it is the client's turn.
const ATTEMPTS_MAX: usize = 4;

/// A bucket's rule.
pub(super) struct RuleDocument;

impl BucketDocument for RuleDocument {
    const NAME: &'static str = DOCUMENT;

    fn none() -> Outcome<String> {
        Err(Code::ObjectLockConfigurationNotFound.into())
    }
}

/// Gives a bucket object lock, or another rule.
pub(super) struct PutRule {
    bucket: String,
    rule: LockRule,
}

impl Operate for PutRule {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.vouched_document().await?;
        if document.is_blank() {
            return Err(Code::MissingRequestBody.into());
        }
        let rule = document.read(Code::MalformedXml, LockRule::from_root).await?;
        Ok(Self { bucket: request.bucket.clone(), rule })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let lock = |old: Bucket| {
            if old.versioning != Versioning::Enabled {
                let message = "Versioning must be 'Enabled' on the bucket to apply a Object Lock \
                               configuration";
                return Err(Failure::new(Code::InvalidBucketState, message));
            }
            let documents = old.documents.with(DOCUMENT, Some(self.rule.document()));
            Ok(Bucket { documents, ..old })
        };
        desk.store.change_bucket(&self.bucket, lock).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

/// What keeps a version, as far as it was ever said.
async fn lock_of(desk: &Desk, subject: &Subject) -> Outcome<(ObjectLock, Option<ObjectVersion>)> {
    let bucket = desk.store.bucket(&subject.bucket).await?;
    let located = subject.find(desk).await?;
    object_lock::must_be_on(&bucket)?;
    Ok((located.object.attributes.lock, located.version))
}

/// The document of how a version is to be kept, which is not asked for where there is no such
/// bucket.
async fn said_of(subject: &Subject, envelope: Envelope, desk: &Desk) -> Outcome<Document> {
    desk.store.bucket(&subject.bucket).await?;
    envelope.open_vouched(&mut desk.allowances.documents.nothing()).await
}

fn none_said() -> Failure {
    Code::NoSuchObjectLockConfiguration.into()
}

pub(super) struct GetRetention(Subject);

impl Operate for GetRetention {
    type Done = Retention;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Subject::parse_or_latest(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<Retention> {
        let (lock, _) = lock_of(desk, &self.0).await?;
        lock.retention.ok_or_else(none_said)
    }

    fn render(retention: Retention, _: &FrontSettings) -> Reply {
        Reply::document(object_lock::retention_document(retention))
    }
}

pub(super) struct GetHold(Subject);

impl Operate for GetHold {
    type Done = bool;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Subject::parse_or_latest(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<bool> {
        let (lock, _) = lock_of(desk, &self.0).await?;
        lock.legal_hold.ok_or_else(none_said)
    }

    fn render(is_held: bool, _: &FrontSettings) -> Reply {
        Reply::document(object_lock::hold_document(is_held))
    }
}

pub(super) struct PutRetention {
    subject: Subject,
    envelope: Envelope,
    wants_bypass: bool,
}

impl Operate for PutRetention {
    /// Of which version.
    type Done = Option<ObjectVersion>;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let subject = Subject::parse_or_latest(request)?;
        let envelope = request.envelope()?;
        Ok(Self { subject, envelope, wants_bypass: wants_bypass(request) })
    }

    async fn run(self, desk: &Desk) -> Outcome<Option<ObjectVersion>> {
        let Self { subject, envelope, wants_bypass } = self;
        let document = said_of(&subject, envelope, desk).await?;
        let retention = document.read(Code::MalformedXml, object_lock::retention_from).await?;
        let bypass = may_bypass(desk, &subject.bucket, &subject.key, wants_bypass)?;
        set_lock(desk, &subject, |old| {
            let release = Release::Judged { as_of_ms: desk.store.retention_now_ms(), bypass };
            if !old.may_become(retention, release) {
                return Err(Refusal::Locked.into());
            }
            Ok(ObjectLock { retention, ..old })
        })
        .await
    }

    fn render(version: Option<ObjectVersion>, _: &FrontSettings) -> Reply {
        show_version(Reply::empty(StatusCode::OK), version)
    }
}

pub(super) struct PutHold {
    subject: Subject,
    envelope: Envelope,
}

impl Operate for PutHold {
    /// Of which version.
    type Done = Option<ObjectVersion>;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let subject = Subject::parse_or_latest(request)?;
        Ok(Self { subject, envelope: request.envelope()? })
    }

    async fn run(self, desk: &Desk) -> Outcome<Option<ObjectVersion>> {
        let Self { subject, envelope } = self;
        let document = said_of(&subject, envelope, desk).await?;
        let is_held = document.read(Code::MalformedXml, object_lock::hold_from).await?;
        let held = |old| Ok(ObjectLock { legal_hold: Some(is_held), ..old });
        set_lock(desk, &subject, held).await
    }

    fn render(version: Option<ObjectVersion>, _: &FrontSettings) -> Reply {
        show_version(Reply::empty(StatusCode::OK), version)
    }
}

/// Whether a request wants a retention in governance mode passed by.
pub(super) fn wants_bypass(request: &Request) -> bool {
    request.header(BYPASS).is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

/// Whether it is passed by, which takes an action of its own, or the right to own the bucket.
/// Refused to others, who may believe that they have it.
pub(super) fn may_bypass(desk: &Desk, bucket: &str, key: &str, wanted: bool) -> Outcome<bool> {
    if wanted {
        desk.gate.check(&Need {
            actions: S3Action::named("BypassGovernanceRetention").into_iter().collect(),
            privilege: Privilege::Own,
            bucket: bucket.to_owned(),
            key: Some(key.to_owned()),
            looks: false,
        })?;
    }
    Ok(wanted)
}

/// Has a version kept otherwise. `change` is asked again where somebody writes in between.
async fn set_lock(
    desk: &Desk,
    subject: &Subject,
    change: impl Fn(ObjectLock) -> Result<ObjectLock, StoreError>,
) -> Outcome<Option<ObjectVersion>> {
    let Subject { bucket, key, .. } = subject;
    object_lock::must_be_on(&desk.store.bucket(bucket).await?)?;
    for _ in 0..ATTEMPTS_MAX {
        let located = subject.find(desk).await?;
        let _held = desk.allowances.extents_of(&located.object).await?;
        let lock = change(located.object.attributes.lock)?;
        let attributes = Attributes { lock, ..located.object.attributes.clone() };
        match desk.store.set_attributes(bucket, key, &located, attributes).await {
            Ok(_) => return Ok(located.version),
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::ConditionFailed))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Code::ConditionalRequestConflict.into())
}
