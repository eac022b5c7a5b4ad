//! Access lists: there is one, and it says that the owner owns.

use super::{Outcome, Reply, Request};
use crate::{
    error::{Code, Failure},
    metadata,
    request::read_document,
    xml::{Element, Node},
};
use http::StatusCode;

async fn check_exists(request: &Request) -> Outcome<()> {
    if request.key.is_empty() {
        request.store.bucket(&request.bucket).await?;
    } else {
        request.check_version()?;
        request.store.object(&request.bucket, &request.key).await?;
    }
    Ok(())
}

pub(super) async fn get(request: Request) -> Outcome<Reply> {
    check_exists(&request).await?;
    let owner = &request.settings.owner;
    let mut root = Element::in_namespace("AccessControlPolicy");
    root.child("Owner", |element| {
        element.text("ID", owner).text("DisplayName", owner);
    });
    root.child("AccessControlList", |list| {
        list.child("Grant", |grant| {
            let kind = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
                        xsi:type=\"CanonicalUser\"";
            grant.child_with("Grantee", kind, |grantee| {
                grantee.text("ID", owner).text("DisplayName", owner);
            });
            grant.text("Permission", "FULL_CONTROL");
        });
    });
    Ok(Reply::document(root.document()))
}

/// Takes what changes nothing, refuses the rest.
pub(super) async fn put(mut request: Request) -> Outcome<Reply> {
    check_exists(&request).await?;
    metadata::refuse_unsupported(&request.headers)?;
    if request.header("x-amz-acl").is_none() {
        let document = request.document().await?;
        if document.is_empty() {
            return Err(Failure::new(Code::MissingRequestBody, "Request body is empty"));
        }
        let owner = request.settings.owner.clone();
        let check = move |root: &Node<'_>| check_grants(root, &owner);
        read_document(document, Code::MalformedAcl, check).await?;
    }
    Ok(Reply::empty(StatusCode::OK))
}

fn check_grants(root: &Node<'_>, owner: &str) -> Outcome<()> {
    let list = root.child("AccessControlList").ok_or(Code::MalformedAcl)?;
    let is_owners = |grant: &Node<'_>| {
        let grantee = grant.child("Grantee").and_then(|grantee| grantee.text_of("ID"));
        grantee == Some(owner) && grant.text_of("Permission") == Some("FULL_CONTROL")
    };
    if list.all("Grant").all(is_owners) {
        Ok(())
    } else {
        Err(Code::AccessControlListNotSupported.into())
    }
}
