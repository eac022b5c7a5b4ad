#[cfg(test)]
mod tests;

use super::{Desk, Operate, Outcome, Reply, Request, bucket_tags};
use crate::{
    FrontSettings,
    allowance::Held,
    date,
    error::{Code, Failure},
    gate::{ACL, BucketAccess, OWNERSHIP, ObjectOwnership},
    grant::{Accounts, Granting},
    metadata,
    object_lock::{self, LockRule},
    tagging::Tags,
    xml::{Element, Node},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use ripstop_access::AccessList;
use ripstop_catalog::{Bucket, BucketDocuments, CatalogError, ListingRequest, Refusal, Versioning};
use ripstop_identity::{Privilege, Resource, rights_allow};
use ripstop_store::StoreError;

/// Most buckets on a page.
const BUCKETS_MAX: usize = 10_000;
/// What a bucket takes on a page: its name, and its part of the document.
const BUCKET_MEMORY: usize = 512;
/// Where a bucket made without a location constraint is.
const UNCONSTRAINED: &str = "us-east-1";

pub(super) struct Create {
    bucket: String,
    tags: Tags,
    has_lock: bool,
    /// Who is to own what is put into it, where that is said.
    ownership: Option<ObjectOwnership>,
    granting: Granting,
}

impl Operate for Create {
    /// The bucket's name.
    type Done = String;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let ownership =
            request.header("x-amz-object-ownership").map(ownership_named).transpose()?;
        metadata::refuse_unsupported(&request.headers)?;
        let granting = Granting::read(&request.headers)?;
        let has_lock = has_lock(request)?;
        let mut tags = Tags::new();
        let document = request.document().await?;
        if !document.is_blank() {
            let region = request.settings.region.clone();
            let check = move |root: &Node<'_>| check_configuration(root, &region);
            tags = document.read(Code::MalformedXml, check).await?;
        }
        let bucket = request.bucket.clone();
        Ok(Self { bucket, tags, has_lock, ownership, granting })
    }

    async fn run(self, desk: &Desk) -> Outcome<String> {
        let ownership = self.ownership.unwrap_or(desk.settings.object_ownership);
        let guards = guards(ownership, self.granting, desk)?;
        let tags = bucket_tags::document(self.tags);
        let rule = self.has_lock.then(|| LockRule::default().document());
        let documents = BucketDocuments::default().with(bucket_tags::DOCUMENT, tags);
        let documents = documents.with(object_lock::DOCUMENT, rule);
        let versioning = if self.has_lock { Versioning::Enabled } else { Versioning::Never };
        let (name, owner) = (self.bucket.clone(), desk.gate.owner_of_new());
        let wanted = Bucket { name, documents, versioning, owner, guards, ..Bucket::default() };
        match desk.store.make_bucket(wanted).await {
            Ok(()) => Ok(self.bucket),
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::BucketExists))) => {
                let there = desk.store.bucket(&self.bucket).await?;
                if !desk.gate.owns(&BucketAccess::of(&there, &desk.settings.owner)) {
                    return Err(Code::BucketAlreadyExists.into());
                }
                // S3 answers so everywhere but in its oldest region.
                if desk.settings.region == UNCONSTRAINED {
                    return Ok(self.bucket);
                }
                let exists = Failure::from(Code::BucketAlreadyOwnedByYou);
                Err(exists.with("BucketName", &self.bucket))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn render(bucket: String, _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
            .with("location", &format!("/{bucket}"))
            .with("x-amz-bucket-arn", &format!("arn:aws:s3:::{bucket}"))
    }
}

/// Whether a bucket is to have object lock, and so keep versions.
fn has_lock(request: &Request) -> Outcome<bool> {
    const HEADER: &str = "x-amz-bucket-object-lock-enabled";
    match request.header(HEADER) {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(Failure::argument("Invalid value.", HEADER, text)),
    }
}

/// What a new bucket says of who may do what. Who says that lists mean nothing gives none.
fn guards(ownership: ObjectOwnership, granting: Granting, desk: &Desk) -> Outcome<BucketDocuments> {
    let account = desk.gate.account().unwrap_or_default();
    let credentials = desk.keyring.credentials();
    let accounts = Accounts { store: &desk.gate.store_account, credentials: &credentials };
    let list = granting.list(&account, &account, accounts)?;
    let list = Some(list).filter(|list| *list != AccessList::private(&account));
    if !ownership.has_lists() && list.is_some() {
        return Err(Code::InvalidBucketAclWithObjectOwnership.into());
    }
    let guards = BucketDocuments::default().with(OWNERSHIP, ownership.stored().map(str::to_owned));
    Ok(guards.with(ACL, list.map(|list| list.stored())))
}

fn ownership_named(word: &str) -> Outcome<ObjectOwnership> {
    ObjectOwnership::named(word).ok_or_else(|| {
        let message = format!("Invalid x-amz-object-ownership header: {word}");
        Failure::argument(message, "x-amz-object-ownership", word)
    })
}

/// The tags of a bucket that may be made.
fn check_configuration(root: &Node<'_>, region: &str) -> Outcome<Tags> {
    let root = root.named("CreateBucketConfiguration")?;
    if let Some(location) = root.text_of("LocationConstraint")?.filter(|text| !text.is_empty()) {
        check_location(location, region)?;
    }
    root.child("Tags")?.map_or_else(|| Ok(Tags::new()), bucket_tags::read)
}

fn check_location(location: &str, region: &str) -> Outcome<()> {
    let is_here = location == region || location == "EU" && region == "eu-west-1";
    // S3's oldest region has no name there.
    if is_here && location != UNCONSTRAINED {
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

pub(super) struct Delete {
    bucket: String,
}

impl Operate for Delete {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        match desk.store.delete_bucket(&self.bucket).await {
            Err(StoreError::Catalog(CatalogError::Refused(Refusal::BucketNotEmpty))) => {
                abort_uploads(desk, &self.bucket).await?;
                desk.store.delete_bucket(&self.bucket).await?;
            }
            done => done?,
        }
        Ok(())
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}

/// Uploads under way do not keep a bucket; objects do.
async fn abort_uploads(desk: &Desk, bucket: &str) -> Outcome<()> {
    let bucket = bucket.to_owned();
    let wanted = ListingRequest { bucket, max: 1, ..ListingRequest::default() };
    if !desk.store.versions(&wanted).await?.versions.is_empty() {
        if desk.store.bucket(&wanted.bucket).await?.versioning == Versioning::Never {
            return Err(Code::BucketNotEmpty.into());
        }
        let message = "The bucket you tried to delete is not empty. You must delete all versions \
                       in the bucket.";
        return Err(Failure::new(Code::BucketNotEmpty, message));
    }
    let wanted = ListingRequest { max: 1000, ..wanted };
    loop {
        let uploads = desk.store.uploads(&wanted).await?.uploads;
        if uploads.is_empty() {
            return Ok(());
        }
        for upload in &uploads {
            match desk.store.abort_upload(&upload.id).await {
                Ok(()) | Err(StoreError::Catalog(CatalogError::Refused(Refusal::NoSuchUpload))) => {
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

pub(super) struct Head {
    bucket: String,
}

impl Operate for Head {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        desk.store.bucket(&self.bucket).await?;
        Ok(())
    }

    fn render((): (), settings: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
            .with("x-amz-bucket-region", &settings.region)
            .with("x-amz-access-point-alias", "false")
            .with("content-type", "application/xml")
    }
}

pub(super) struct Location {
    bucket: String,
}

impl Operate for Location {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        desk.store.bucket(&self.bucket).await?;
        Ok(())
    }

    fn render((): (), settings: &FrontSettings) -> Reply {
        let region = settings.region.as_str();
        let constraint = if region == UNCONSTRAINED { "" } else { region };
        Reply::document(Element::only_text("LocationConstraint", constraint))
    }
}

/// Users see the buckets of their account, keys those that the operator lets them into.
fn is_shown(bucket: &Bucket, account: &str, desk: &Desk) -> bool {
    let rights = desk.gate.principal.rights();
    if rights.policies().is_some() {
        return bucket.owner.is_empty();
    }
    if rights.is_user() {
        return bucket.owner == account;
    }
    rights_allow(&desk.gate.principal, Privilege::Know, &Resource::Bucket(&bucket.name))
}

/// All buckets, or a page of them.
pub(super) struct List {
    max: usize,
    prefix: String,
    /// Those of another region are wanted.
    elsewhere: bool,
    after: String,
}

/// A page of buckets.
pub(super) struct Listed {
    /// Their names, and when they were made.
    buckets: Vec<(String, u64)>,
    prefix: String,
    truncated: bool,
    /// Who asks.
    owner: String,
    held: Held,
}

impl Operate for List {
    type Done = Listed;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let max = match request.query.filled("max-buckets") {
            None => BUCKETS_MAX,
            Some(text) => {
                let max = text.parse().ok().filter(|max| (1..=BUCKETS_MAX).contains(max));
                max.ok_or_else(|| {
                    let message = "Argument max-buckets must be an integer between 1 and 10000.";
                    Failure::argument(message, "max-buckets", text)
                })?
            }
        };
        let region = request.query.filled("bucket-region");
        let elsewhere = region.is_some_and(|region| region != request.settings.region);
        let after = match request.query.filled("continuation-token") {
            None => String::new(),
            Some(token) => {
                let after = URL_SAFE_NO_PAD.decode(token).ok();
                after.and_then(|after| String::from_utf8(after).ok()).ok_or_else(|| {
                    let message = "The continuation token provided is incorrect";
                    Failure::argument(message, "continuation-token", token)
                })?
            }
        };
        let prefix = request.query.get("prefix").unwrap_or_default().to_owned();
        Ok(Self { max, prefix, elsewhere, after })
    }

    async fn run(self, desk: &Desk) -> Outcome<Listed> {
        let Self { max, prefix, elsewhere, mut after } = self;
        let held = desk.allowances.pages.take(max * BUCKET_MEMORY).await?;
        let owner = desk.gate.account().unwrap_or_default();
        let shown =
            |bucket: &Bucket| bucket.name.starts_with(&prefix) && is_shown(bucket, &owner, desk);
        let mut buckets = Vec::new();
        while buckets.len() <= max && !elsewhere {
            let page = desk.store.buckets(&after, 1000).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.name);
            let page = page.into_iter().filter(shown);
            // What is configured of them is not shown, and may be long.
            buckets.extend(page.map(|bucket| (bucket.name, bucket.created_ms)));
        }
        let truncated = buckets.len() > max;
        buckets.truncate(max);
        Ok(Listed { buckets, prefix, truncated, owner: (*owner).to_owned(), held })
    }

    fn render(done: Listed, settings: &FrontSettings) -> Reply {
        let Listed { buckets: found, prefix, truncated, owner, held } = done;
        let mut root = Element::in_namespace("ListAllMyBucketsResult");
        root.child("Owner", |element| {
            element.text("ID", &owner).text("DisplayName", &owner);
        });
        root.child("Buckets", |buckets| {
            for (name, created_ms) in &found {
                buckets.child("Bucket", |element| {
                    element.text("Name", name);
                    element.text("CreationDate", &date::document(*created_ms));
                    element.text("BucketRegion", &settings.region);
                });
            }
        });
        if let Some((last, _)) = found.last().filter(|_| truncated) {
            root.text("ContinuationToken", &URL_SAFE_NO_PAD.encode(last));
        }
        if !prefix.is_empty() {
            root.text("Prefix", &prefix);
        }
        Reply::page(root.document(), held)
    }
}
