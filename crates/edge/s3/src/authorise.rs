//! Whether the sender of a request may have it done: asked in one place, by what the table says of
//! the operation, before any of the body is taken and before the store is asked what there is. Of a
//! form the fields are read before, since one is the signature.

use crate::{
    error::{Code, Outcome},
    op::{COPY_SOURCE, Row, Selector, Signer, copy_source},
    uri::Target,
};
use http::HeaderMap;
use ripstop_identity::{Principal, Privilege, Resource, allows};

/// Refuses what `principal` may not do. The answer is the same whether there is such a bucket or
/// not.
pub(crate) fn check(
    row: &Row,
    principal: &Principal,
    target: &Target,
    headers: &HeaderMap,
) -> Outcome<()> {
    let signed = principal.access_key().is_some();
    let may_send = match row.signer {
        Signer::Anybody => return Ok(()),
        Signer::Key => signed,
        Signer::KeyOrNobody | Signer::Form => true,
    };
    let allowed = may_send && allows(principal, row.action, &resource(target));
    if !allowed || !may_read_source(row, principal, headers) {
        return Err(Code::AccessDenied.into());
    }
    Ok(())
}

fn resource(target: &Target) -> Resource<'_> {
    match (&target.bucket, &target.key) {
        (None, _) => Resource::Service,
        (Some(bucket), None) => Resource::Bucket(bucket),
        (Some(bucket), Some(key)) => Resource::Object { bucket, key },
    }
}

/// A copy reads, too. A source that cannot be made out is none: the operation refuses it.
fn may_read_source(row: &Row, principal: &Principal, headers: &HeaderMap) -> bool {
    if !row.when.selectors.contains(&Selector::Header(COPY_SOURCE)) {
        return true;
    }
    let source = headers.get(COPY_SOURCE).and_then(|source| source.to_str().ok());
    let Ok((bucket, key, _)) = copy_source(source.unwrap_or_default()) else { return true };
    allows(principal, Privilege::Read, &Resource::Object { bucket: &bucket, key: &key })
}
