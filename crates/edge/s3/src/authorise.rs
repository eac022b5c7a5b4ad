//! Whether the sender of a request may have it done: asked in one place, by what the table says of
//! the operation and what the bucket says of the sender, before any of the body is taken. Of a form
//! the fields are read before, since one is the signature. What depends on the object is asked when
//! it is found ([`Gate::settle`]).

mod action;

use crate::{
    by_name::ByName as _,
    error::{Code, Failure, Outcome},
    gate::{BucketAccess, Circumstances, Gate, KnownAccess, Need, Signing},
    op::{COPY_SOURCE, Row, S3Operation, Selector, Signer, copy_source, named_setting},
    tagging,
    uri::{Query, Target},
};
use action::{Sort, actions, of_object};
use http::HeaderMap;
use ripstop_access::S3Action;
use ripstop_catalog::Located;
use ripstop_identity::{Keyring, Principal, Privilege, Resource, rights_allow};
use ripstop_store::Store;
use std::{net::IpAddr, sync::Arc};

/// What nobody is told who asks for what only the owner of a key may.
const NOBODY: &str = "Anonymous users cannot invoke this API. Please authenticate.";

/// Where what buckets say is looked up.
#[derive(Clone, Copy)]
pub(crate) struct Archive<'a> {
    pub(crate) store: &'a Store,
    pub(crate) known: &'a KnownAccess,
    /// The account of the store.
    pub(crate) store_account: &'a Arc<str>,
    pub(crate) keyring: &'a Keyring,
    pub(crate) region: &'a str,
}

/// A request, as far as it is looked at here.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) row: &'static Row,
    pub(crate) target: &'a Target,
    pub(crate) query: &'a Query,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) address: Option<IpAddr>,
    pub(crate) secure: bool,
    pub(crate) signing: Signing,
    pub(crate) now_s: i64,
}

impl Archive<'_> {
    async fn access(&self, bucket: &str) -> Outcome<Option<Arc<BucketAccess>>> {
        self.known.access(self.store, bucket, self.store_account).await
    }

    async fn access_with(
        &self,
        bucket: &str,
        key: &str,
    ) -> Outcome<(Option<Arc<BucketAccess>>, Option<Arc<Located>>)> {
        self.known.access_with(self.store, (bucket, key), self.store_account).await
    }
}

/// Refuses what `principal` may not do. Where neither the operator nor a bucket lets it, the answer
/// is the same whether there is such a bucket or not.
pub(crate) async fn check(
    request: Request<'_>,
    principal: Principal,
    archive: Archive<'_>,
) -> Outcome<Gate> {
    let Request { row, target, .. } = request;
    let signed = principal.access_key().is_some();
    let may_send = match row.signer {
        Signer::Anybody => return Ok(Gate::new(principal, archive.store_account.clone())),
        Signer::Key | Signer::Caller => signed,
        Signer::KeyOrNobody | Signer::Form => true,
    };
    let is_of_policy = is_of_policy(row.operation);
    if !may_send && !is_of_policy {
        let is_of_service = target.bucket.is_none();
        return Err(if is_of_service {
            Code::AccessDenied.into()
        } else {
            Failure::new(Code::AccessDenied, NOBODY)
        });
    }
    let mut gate = Gate::new(principal, archive.store_account.clone());
    let Some(bucket) = &target.bucket else {
        let by_rights = rights_allow(&gate.principal, row.action, &Resource::Service);
        gate.circumstances = gate.principal.is_judged().then(|| circumstances(request, archive));
        gate.check_own(&of_service(row.action), by_rights)?;
        return Ok(gate);
    };
    let found_at = target.key.as_deref().filter(|_| reads_latest(row.operation, request.query));
    (gate.access, gate.ahead) = match found_at {
        Some(key) => archive.access_with(bucket, key).await?,
        None => (archive.access(bucket).await?, None),
    };
    let need = Need {
        actions: Vec::new(),
        privilege: row.action,
        bucket: bucket.clone(),
        key: target.key.clone(),
        looks: looks_at_object(row.operation) && target.key.is_some(),
    };
    if is_of_policy {
        return at_home(gate, need, request, archive, may_send);
    }
    enter(&mut gate, need, request, archive)?;
    let Some((source, version)) = source(&request) else { return Ok(gate) };
    let access = archive.access(&source.bucket).await?;
    let need = Need { actions: of_object("GetObject", version), ..source };
    follow(&mut gate, access.as_ref(), need, request, archive)?;
    gate.source = access;
    Ok(gate)
}

const fn is_of_policy(operation: S3Operation) -> bool {
    matches!(
        operation,
        S3Operation::GetBucketPolicy
            | S3Operation::PutBucketPolicy
            | S3Operation::DeleteBucketPolicy
    )
}

/// Lets a request about a bucket's policy in, if it is of the bucket's account or the operator lets
/// it. Whom the policy alone lets is told, as by S3, that it cannot be done from elsewhere.
fn at_home(
    mut gate: Gate,
    need: Need,
    request: Request<'_>,
    archive: Archive<'_>,
    may_send: bool,
) -> Outcome<Gate> {
    let by_rights = need.is_allowed_to(&gate.principal);
    let entered = enter(&mut gate, need, request, archive);
    let is_stranger = gate.access.as_ref().is_some_and(|access| !gate.owns(access));
    match entered {
        Ok(()) if is_stranger && !by_rights => Err(Code::MethodNotAllowed.into()),
        Ok(()) | Err(_) if !may_send => Err(Failure::new(Code::AccessDenied, NOBODY)),
        Ok(()) => Ok(gate),
        Err(failure) => Err(failure),
    }
}

/// Lets a request to the bucket that it names.
fn enter(gate: &mut Gate, need: Need, request: Request<'_>, archive: Archive<'_>) -> Outcome<()> {
    let Request { row, target, query, headers, .. } = request;
    if gate.principal.access_key().is_none() && !need.is_allowed_to(&gate.principal) {
        refuse_nobody(row.operation, target)?;
    }
    // Its name is taken, which is for the operation to say.
    let access = gate.access.clone().filter(|_| row.operation != S3Operation::CreateBucket);
    if access.is_none() && is_told_of_absence(gate, &need, archive) {
        return Err(Code::NoSuchBucket.into());
    }
    match &access {
        Some(access) if gate.lets_plainly(access, &need) => return Ok(()),
        None if !gate.principal.is_judged() => return gate.check_absent(&need),
        Some(_) | None => {}
    }
    gate.circumstances = Some(circumstances(request, archive));
    if let Some(access) = access.as_ref().filter(|_| row.operation == S3Operation::DeleteObjects) {
        return may_delete_any(gate, access, need);
    }
    let sort = Sort {
        operation: row.operation,
        is_of_object: target.key.is_some(),
        has_version: query.has("versionId"),
        setting: named_setting(query).map(|setting| setting.name),
        headers,
    };
    let need = Need { actions: actions(&sort), ..need };
    match access {
        Some(access) => gate.decide(&access, need),
        None => gate.check_absent(&need),
    }
}

/// Whether somebody without a signature hears that a bucket is not there: where there are accounts,
/// for whom buckets' names are no secrets, as in S3.
fn is_told_of_absence(gate: &Gate, need: &Need, archive: Archive<'_>) -> bool {
    let is_nobody = gate.principal.access_key().is_none() && !need.is_allowed_to(&gate.principal);
    is_nobody && archive.keyring.credentials().have_accounts()
}

/// To see which buckets there are.
fn of_service(privilege: Privilege) -> Need {
    let actions = S3Action::named("ListAllMyBuckets").into_iter().collect();
    Need { actions, privilege, bucket: "*".to_owned(), key: None, looks: false }
}

/// What policies and lists let nobody do without a signature, as in S3: what copies, what begins an
/// upload that somebody must complete, and what changes who may do what.
fn refuse_nobody(operation: S3Operation, target: &Target) -> Outcome<()> {
    let copies = [S3Operation::CopyObject, S3Operation::UploadPartCopy].contains(&operation);
    let message = if copies {
        "Anonymous users cannot copy objects. Please authenticate."
    } else if operation == S3Operation::CreateMultipartUpload {
        "Anonymous users cannot initiate multipart uploads. Please authenticate."
    } else if operation == S3Operation::PutAcl && target.key.is_none() {
        NOBODY
    } else {
        return Ok(());
    };
    Err(Failure::new(Code::AccessDenied, message))
}

/// The same to the one that it copies from.
fn follow(
    gate: &mut Gate,
    access: Option<&Arc<BucketAccess>>,
    need: Need,
    request: Request<'_>,
    archive: Archive<'_>,
) -> Outcome<()> {
    if access.is_some_and(|access| gate.lets_plainly(access, &need)) {
        return Ok(());
    }
    if gate.circumstances.is_none() {
        gate.circumstances = Some(circumstances(request, archive));
    }
    match access {
        Some(access) => gate.decide(access, need),
        None => gate.check_absent(&need),
    }
}

/// Each key is looked at when the document is there; who may delete none is refused before.
fn may_delete_any(gate: &mut Gate, access: &Arc<BucketAccess>, need: Need) -> Outcome<()> {
    let names = ["DeleteObject", "DeleteObjectVersion"];
    let actions = names.into_iter().flat_map(|name| of_object(name, false));
    if actions.clone().any(|action| gate.may_be_let(access, &need, action)) {
        return Ok(());
    }
    gate.decide(access, Need { actions: actions.take(1).collect(), ..need })
}

fn circumstances(request: Request<'_>, archive: Archive<'_>) -> Arc<Circumstances> {
    let Request { query, headers, address, secure, signing, now_s, .. } = request;
    let tags = headers.get("x-amz-tagging").and_then(|text| text.to_str().ok());
    let tags = tags.and_then(|text| tagging::from_header(text).ok()).unwrap_or_default();
    Arc::new(Circumstances {
        headers: headers.clone(),
        query: query.clone(),
        address,
        secure,
        signing,
        region: archive.region.to_owned(),
        now_s,
        tags,
    })
}

/// Whether a request reads the object that its key stands for, and not a version that it names.
fn reads_latest(operation: S3Operation, query: &Query) -> bool {
    matches!(operation, S3Operation::GetObject | S3Operation::HeadObject) && !query.has("versionId")
}

/// Operations that find the object before they do anything to it; what depends on it is asked then.
const fn looks_at_object(operation: S3Operation) -> bool {
    matches!(
        operation,
        S3Operation::GetObject
            | S3Operation::HeadObject
            | S3Operation::GetObjectAttributes
            | S3Operation::GetObjectTagging
            | S3Operation::PutObjectTagging
            | S3Operation::DeleteObjectTagging
            | S3Operation::GetAcl
            | S3Operation::PutAcl
    )
}

/// A copy reads, too. A source that cannot be made out is none: the operation refuses it.
fn source(request: &Request<'_>) -> Option<(Need, bool)> {
    let Request { row, headers, .. } = request;
    if !row.when.selectors.contains(&Selector::Header(COPY_SOURCE)) {
        return None;
    }
    let source = headers.named(COPY_SOURCE).and_then(|source| source.to_str().ok());
    let (bucket, key, version) = copy_source(source.unwrap_or_default()).ok()?;
    let (actions, privilege) = (Vec::new(), Privilege::Read);
    let need = Need { actions, privilege, bucket, key: Some(key), looks: true };
    Some((need, version.is_some()))
}
