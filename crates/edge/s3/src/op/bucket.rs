use super::{Outcome, Reply, Request};
use crate::{
    date,
    error::{Code, Failure},
    metadata,
    request::read_document,
    xml::{Element, Node},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use ripstop_catalog::{CatalogError, ListingRequest};
use ripstop_store::StoreError;

/// Most buckets on a page.
const BUCKETS_MAX: usize = 10_000;
/// What a bucket takes on a page: itself, and its part of the document.
const BUCKET_MEMORY: usize = 512;
/// Where a bucket made without a location constraint is.
const UNCONSTRAINED: &str = "us-east-1";

pub(super) async fn create(mut request: Request) -> Outcome<Reply> {
    metadata::refuse_unsupported(&request.headers)?;
    if request
        .header("x-amz-bucket-object-lock-enabled")
        .is_some_and(|v| v.eq_ignore_ascii_case("true"))
    {
        return Err(Code::NotImplemented.into());
    }
    if let Some(ownership) = request.header("x-amz-object-ownership") {
        match ownership {
            "BucketOwnerEnforced" => {}
            "BucketOwnerPreferred" | "ObjectWriter" => return Err(Code::NotImplemented.into()),
            other => {
                let message = format!("Invalid x-amz-object-ownership header: {other}");
                return Err(Failure::argument(message, "x-amz-object-ownership", other));
            }
        }
    }
    let document = request.document().await?;
    if !document.trim_ascii().is_empty() {
        let region = request.settings.region.clone();
        let check = move |root: &Node<'_>| check_configuration(root, &region);
        read_document(document, Code::MalformedXml, check).await?;
    }
    match request.store.create_bucket(&request.bucket).await {
        Ok(()) => {}
        Err(StoreError::Catalog(CatalogError::BucketExists)) => {
            return Err(
                Failure::from(Code::BucketAlreadyOwnedByYou).with("BucketName", &request.bucket)
            );
        }
        Err(error) => return Err(error.into()),
    }
    let location = format!("/{}", request.bucket);
    Ok(Reply::empty(StatusCode::OK).with("location", &location))
}

fn check_configuration(root: &Node<'_>, region: &str) -> Outcome<()> {
    if root.name != "CreateBucketConfiguration" {
        return Err(Code::MalformedXml.into());
    }
    match root.text_of("LocationConstraint").filter(|location| !location.is_empty()) {
        None => Ok(()),
        Some(location) => check_location(location, region),
    }
}

fn check_location(location: &str, region: &str) -> Outcome<()> {
    if location == region || location == "EU" && region == "eu-west-1" {
        return Ok(());
    }
    let looks_like_a_region = location.len() <= 32
        && location.bytes().filter(|&b| b == b'-').count() >= 2
        && location.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let failure = if looks_like_a_region && region != UNCONSTRAINED {
        let message = format!(
            "The {location} location constraint is incompatible for the region specific endpoint \
             this request was sent to."
        );
        Failure::new(Code::IllegalLocationConstraint, message)
    } else {
        Failure::from(Code::InvalidLocationConstraint)
    };
    Err(failure.with("LocationConstraint", location))
}

pub(super) async fn delete(request: Request) -> Outcome<Reply> {
    match request.store.delete_bucket(&request.bucket).await {
        Err(StoreError::Catalog(CatalogError::BucketNotEmpty)) => {
            abort_uploads(&request).await?;
            request.store.delete_bucket(&request.bucket).await?;
        }
        done => done?,
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// Uploads under way do not keep a bucket; objects do.
async fn abort_uploads(request: &Request) -> Outcome<()> {
    let bucket = request.bucket.clone();
    let wanted = ListingRequest { bucket, max: 1, ..ListingRequest::default() };
    if !request.store.list(&wanted).await?.objects.is_empty() {
        return Err(Code::BucketNotEmpty.into());
    }
    let wanted = ListingRequest { max: 1000, ..wanted };
    loop {
        let uploads = request.store.uploads(&wanted).await?.uploads;
        if uploads.is_empty() {
            return Ok(());
        }
        for upload in &uploads {
            match request.store.abort_upload(&upload.id).await {
                Ok(()) | Err(StoreError::Catalog(CatalogError::NoSuchUpload)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

pub(super) async fn head(request: Request) -> Outcome<Reply> {
    request.store.bucket(&request.bucket).await?;
    Ok(Reply::empty(StatusCode::OK)
        .with("x-amz-bucket-region", &request.settings.region)
        .with("x-amz-access-point-alias", "false")
        .with("content-type", "application/xml"))
}

pub(super) async fn location(request: Request) -> Outcome<Reply> {
    request.store.bucket(&request.bucket).await?;
    let region = request.settings.region.as_str();
    let constraint = if region == UNCONSTRAINED { "" } else { region };
    Ok(Reply::document(Element::only_text("LocationConstraint", constraint)))
}

/// All buckets, or a page of them.
pub(super) async fn list(request: Request) -> Outcome<Reply> {
    let max = match request.count("max-buckets")? {
        None => BUCKETS_MAX,
        Some(max @ 1..=BUCKETS_MAX) => max,
        Some(max) => {
            let message = "max-buckets must be between 1 and 10000";
            return Err(Failure::argument(message, "max-buckets", &max.to_string()));
        }
    };
    let prefix = request.query.get("prefix").unwrap_or_default();
    let region = request.query.filled("bucket-region");
    let elsewhere = region.is_some_and(|region| region != request.settings.region);
    let mut after = match request.query.filled("continuation-token") {
        None => String::new(),
        Some(token) => {
            let after = URL_SAFE_NO_PAD.decode(token).ok().and_then(|t| String::from_utf8(t).ok());
            after.ok_or_else(|| {
                Failure::argument(
                    "The continuation token provided is incorrect",
                    "continuation-token",
                    token,
                )
            })?
        }
    };
    let held = request.allowances.pages.take(max * BUCKET_MEMORY).await?;
    let mut found = Vec::new();
    while found.len() <= max && !elsewhere {
        let page = request.store.buckets(&after, 1000).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.name);
        let shown = |name: &str| name.starts_with(prefix) && request.may_know(name);
        found.extend(page.into_iter().filter(|bucket| shown(&bucket.name)));
    }
    let truncated = found.len() > max;
    found.truncate(max);
    let owner = &request.settings.owner;
    let mut root = Element::in_namespace("ListAllMyBucketsResult");
    root.child("Owner", |element| {
        element.text("ID", owner).text("DisplayName", owner);
    });
    root.child("Buckets", |buckets| {
        for bucket in &found {
            buckets.child("Bucket", |element| {
                element.text("Name", &bucket.name);
                element.text("CreationDate", &date::document(bucket.created_ms));
                element.text("BucketRegion", &request.settings.region);
            });
        }
    });
    if let Some(last) = found.last().filter(|_| truncated) {
        root.text("ContinuationToken", &URL_SAFE_NO_PAD.encode(&last.name));
    }
    if !prefix.is_empty() {
        root.text("Prefix", prefix);
    }
    Ok(Reply::page(root.document(), held))
}
