//! Access lists, shown and put. Where the bucket's owner owns everything they say just that, and
//! what would say more is refused.

use super::{Desk, Operate, Outcome, Reply, Request, version};
use crate::{
    FrontSettings,
    document::Envelope,
    error::{Code, Failure},
    gate::{ACL, BucketAccess, list_of, owner_of},
    grant::{self, Accounts, Granting},
    metadata,
};
use http::StatusCode;
use ripstop_access::AccessList;
use ripstop_catalog::{Attributes, Bucket, CatalogError, Refusal};
use ripstop_store::StoreError;
use std::sync::Arc;

/// A write in between makes another attempt needed; after this many it is the client's turn.
const ATTEMPTS_MAX: usize = 4;

/// What an access list is about.
enum Subject {
    Bucket(String),
    Object(version::Subject),
}

impl Subject {
    fn parse(request: &Request) -> Outcome<Self> {
        if request.key.is_empty() {
            Ok(Self::Bucket(request.bucket.clone()))
        } else {
            version::Subject::parse(request).map(Self::Object)
        }
    }

    /// Who owns it, and what they grant.
    async fn list(&self, desk: &Desk) -> Outcome<(String, AccessList)> {
        match self {
            Self::Bucket(bucket) => {
                let access = access(bucket, desk).await?;
                let list = if access.ownership.has_lists() {
                    access.list.clone()
                } else {
                    AccessList::private(&access.owner)
                };
                Ok((access.owner.clone(), list))
            }
            Self::Object(object) => {
                let access = access(&object.bucket, desk).await?;
                let found = object.find(desk).await?;
                let attributes = &found.object.attributes;
                let owner = owner_of(attributes, &access).to_owned();
                Ok((owner, list_of(attributes, &access)))
            }
        }
    }

    fn bucket(&self) -> &str {
        match self {
            Self::Bucket(bucket) => bucket,
            Self::Object(object) => &object.bucket,
        }
    }
}

async fn access(bucket: &str, desk: &Desk) -> Outcome<Arc<BucketAccess>> {
    if let Some(access) = &desk.gate.access {
        return Ok(access.clone());
    }
    let bucket = desk.store.bucket(bucket).await?;
    Ok(Arc::new(BucketAccess::of(&bucket, &desk.settings.owner)))
}

pub(super) struct Get(Subject);

impl Operate for Get {
    type Done = (String, AccessList);

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Subject::parse(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<(String, AccessList)> {
        self.0.list(desk).await
    }

    fn render((owner, list): (String, AccessList), _: &FrontSettings) -> Reply {
        Reply::document(grant::document(&owner, &list))
    }
}

pub(super) struct Put {
    subject: Subject,
    /// What headers grant. Of lists that are off nobody is told what is wrong with them.
    granting: Outcome<Granting>,
    /// The list, if the answer depends on one.
    envelope: Outcome<Option<Envelope>>,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let subject = Subject::parse(request)?;
        metadata::refuse_unsupported(&request.headers)?;
        let granting = Granting::read(&request.headers);
        let is_unsaid = granting.as_ref().is_ok_and(Granting::is_unsaid);
        let has_body = request.payload.as_ref().is_some_and(|it| it.announced().unwrap_or(1) > 0);
        if !is_unsaid && has_body {
            return Err(Code::UnexpectedContent.into());
        }
        let envelope = is_unsaid.then(|| request.envelope()).transpose();
        Ok(Self { subject, granting, envelope })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        // Before the list is asked for: a client that waits to be told to go on is told so for
        // what is there alone.
        let access = access(self.subject.bucket(), desk).await?;
        let (owner, _) = self.subject.list(desk).await?;
        let granting = match self.envelope? {
            None if self.granting.is_err() && !access.ownership.has_lists() => {
                return Err(Code::AccessControlListNotSupported.into());
            }
            None => self.granting?,
            Some(envelope) => read(envelope, &owner, desk).await?,
        };
        let credentials = desk.keyring.credentials();
        let accounts = Accounts { store: &desk.gate.store_account, credentials: &credentials };
        if !access.ownership.has_lists() && granting.is_plain() {
            return Ok(());
        }
        let list = granting.list(&owner, &access.owner, accounts)?;
        if !access.ownership.has_lists() {
            let is_private = list == AccessList::private(&owner);
            return if is_private {
                Ok(())
            } else {
                Err(Code::AccessControlListNotSupported.into())
            };
        }
        grant::check_public(&list, &access)?;
        match self.subject {
            Subject::Bucket(bucket) => {
                let stored = (list != AccessList::private(&owner)).then(|| list.stored());
                let put = |old: Bucket| {
                    let access = BucketAccess::of(&old, &desk.settings.owner);
                    if !access.ownership.has_lists() {
                        return Err(Failure::from(Code::AccessControlListNotSupported));
                    }
                    grant::check_public(&list, &access)?;
                    Ok(Bucket { guards: old.guards.with(ACL, stored.clone()), ..old })
                };
                desk.store.change_bucket(&bucket, put).await
            }
            Subject::Object(object) => set(desk, &object, &grant::kept(&list, &owner)).await,
        }
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

async fn read(envelope: Envelope, owner: &str, desk: &Desk) -> Outcome<Granting> {
    let mut held = desk.allowances.documents.nothing();
    let document = envelope.open(&mut held).await?;
    if document.is_blank() {
        let failure = Failure::from(Code::MissingSecurityHeader);
        return Err(failure.with("MissingHeaderName", "x-amz-acl"));
    }
    let owner = owner.to_owned();
    document.read(Code::MalformedAcl, move |root| grant::from_root(root, &owner)).await
}

async fn set(desk: &Desk, subject: &version::Subject, grants: &str) -> Outcome<()> {
    let version::Subject { bucket, key, .. } = subject;
    for _ in 0..ATTEMPTS_MAX {
        let located = subject.find(desk).await?;
        let _held = desk.allowances.extents_of(&located.object).await?;
        let old = located.object.attributes.clone();
        let attributes = Attributes { grants: grants.to_owned(), ..old };
        match desk.store.set_attributes(bucket, key, &located, attributes).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::ConditionFailed))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Code::ConditionalRequestConflict.into())
}
