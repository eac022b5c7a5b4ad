//! Pages of a bucket's keys, in S3's three shapes.

use super::{Outcome, Reply, Request};
use crate::{
    allowance::Held,
    date, digest,
    error::{Code, Failure},
    uri,
    xml::{self, Element},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ripstop_catalog::{Listed, Listing, ListingRequest, PAGE_LEN_MAX};
use std::borrow::Cow;

/// Most entries on a page.
pub(super) const ENTRIES_MAX: usize = 1000;
/// What an entry takes on a page besides its key.
pub(super) const ENTRY_MEMORY: usize = 512;
/// How many bytes a byte of a key takes on a page: itself, and up to six in the document.
pub(super) const KEY_FACTOR: usize = 7;

/// Memory for a page of `max` keys or uploads, until it is sent.
pub(super) async fn page_memory(request: &Request, max: usize) -> Outcome<Held> {
    let keys = (max * uri::KEY_LEN_MAX).min(PAGE_LEN_MAX + uri::KEY_LEN_MAX);
    request.allowances.pages.take(keys * KEY_FACTOR + max * ENTRY_MEMORY).await
}

/// How keys are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    url: bool,
}

impl Spelling {
    /// Reads `encoding-type`.
    pub(super) fn read(request: &Request) -> Outcome<Self> {
        match request.query.filled("encoding-type") {
            None => Ok(Self { url: false }),
            Some(text) if text.eq_ignore_ascii_case("url") => Ok(Self { url: true }),
            Some(text) => {
                let message = "Invalid Encoding Method specified in Request";
                Err(Failure::argument(message, "encoding-type", text))
            }
        }
    }

    /// As it is, unless XML cannot hold one of these texts: then as URLs have it, though nobody asked, which
    /// the page says.
    pub(super) fn fit_for<'a>(self, mut texts: impl Iterator<Item = &'a str>) -> Self {
        Self { url: self.url || texts.any(|text| !xml::can_hold(text)) }
    }

    pub(super) fn spell(self, key: &str) -> Cow<'_, str> {
        if self.url { uri::encode(key, b"/*") } else { Cow::Borrowed(key) }
    }

    /// As [`Self::spell`], unless it reads the same whether its reader decodes it or not: some clients
    /// decode the prefix of the first version's listing, others do not.
    fn spell_prefix(self, prefix: &str) -> Cow<'_, str> {
        let apart =
            |c: char| matches!(c, '%' | '+') || c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        if prefix.contains(apart) { self.spell(prefix) } else { Cow::Borrowed(prefix) }
    }

    pub(super) fn show(self, root: &mut Element) {
        if self.url {
            root.text("EncodingType", "url");
        }
    }
}

/// One page and what was asked for.
struct Page {
    spelling: Spelling,
    prefix: String,
    delimiter: Option<String>,
    max: usize,
    listing: Listing,
    held: Held,
}

async fn page(request: &Request, after: &str) -> Outcome<Page> {
    let spelling = Spelling::read(request)?;
    let max = request.count("max-keys")?.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX);
    let prefix = request.query.get("prefix").unwrap_or_default().to_owned();
    let delimiter = request.query.filled("delimiter").map(str::to_owned);
    let wanted = ListingRequest {
        bucket: request.bucket.clone(),
        prefix: prefix.clone(),
        delimiter: delimiter.clone().unwrap_or_default(),
        after: after.to_owned(),
        after_upload: String::new(),
        max,
    };
    let held = page_memory(request, max).await?;
    let listing = request.store.list(&wanted).await?;
    let asked = [after, &prefix, &wanted.delimiter, request.query.get("start-after").unwrap_or("")];
    let keys = listing.objects.iter().map(|(key, _)| key).chain(&listing.prefixes);
    let spelling = spelling.fit_for(asked.into_iter().chain(keys.map(String::as_str)));
    Ok(Page { spelling, prefix, delimiter, max, listing, held })
}

impl Page {
    /// Everything that the three shapes have in common, up to the entries.
    fn show_head(&self, request: &Request, root: &mut Element) {
        self.show_head_with(request, &self.spelling.spell(&self.prefix), root);
    }

    fn show_head_with(&self, request: &Request, prefix: &str, root: &mut Element) {
        root.text("Name", &request.bucket).text("Prefix", prefix);
        root.value("MaxKeys", self.max);
        if let Some(delimiter) = &self.delimiter {
            root.text("Delimiter", &self.spelling.spell(delimiter));
        }
        root.value("IsTruncated", self.listing.next.is_some());
        self.spelling.show(root);
    }

    fn show_entries(&self, request: &Request, name: &str, with_owner: bool, root: &mut Element) {
        for (key, object) in &self.listing.objects {
            root.child(name, |element| {
                element.text("Key", &self.spelling.spell(key));
                if name == "Version" {
                    element.text("VersionId", "null").text("IsLatest", "true");
                }
                show_object(object, element);
                if with_owner {
                    show_owner("Owner", request, element);
                }
            });
        }
        for prefix in &self.listing.prefixes {
            root.child("CommonPrefixes", |element| {
                element.text("Prefix", &self.spelling.spell(prefix));
            });
        }
    }
}

fn show_object(object: &Listed, element: &mut Element) {
    element.text("LastModified", &date::document(object.modified_ms));
    element.text("ETag", &format!("\"{}\"", object.etag));
    if let Some((algorithm, composite)) = object.checksum {
        element.text("ChecksumAlgorithm", digest::word(algorithm));
        element.text("ChecksumType", digest::kind(composite));
    }
    element.value("Size", object.len).text("StorageClass", "STANDARD");
}

/// The one owner of everything.
pub(super) fn show_owner(name: &str, request: &Request, element: &mut Element) {
    let owner = &request.settings.owner;
    element.child(name, |element| {
        element.text("ID", owner).text("DisplayName", owner);
    });
}

pub(super) async fn version_1(request: Request) -> Outcome<Reply> {
    let marker = request.query.get("marker").unwrap_or_default();
    let page = page(&request, marker).await?;
    let mut root = Element::in_namespace("ListBucketResult");
    page.show_head_with(&request, &page.spelling.spell_prefix(&page.prefix), &mut root);
    root.text("Marker", &page.spelling.spell(marker));
    // Without a delimiter clients go on from the last key.
    if let Some(next) = page.listing.next.as_ref().filter(|_| page.delimiter.is_some()) {
        root.text("NextMarker", &page.spelling.spell(next));
    }
    page.show_entries(&request, "Contents", true, &mut root);
    Ok(Reply::page(root.document(), page.held))
}

pub(super) async fn version_2(request: Request) -> Outcome<Reply> {
    let token = request.query.get("continuation-token");
    let start_after = request.query.get("start-after");
    let after = match token.filter(|token| !token.is_empty()) {
        None => start_after.unwrap_or_default().to_owned(),
        Some(token) => {
            let key =
                URL_SAFE_NO_PAD.decode(token).ok().and_then(|key| String::from_utf8(key).ok());
            key.filter(|key| !key.is_empty()).ok_or_else(|| {
                let message = "The continuation token provided is incorrect";
                Failure::argument(message, "continuation-token", token)
            })?
        }
    };
    let page = page(&request, &after).await?;
    let with_owner =
        request.query.get("fetch-owner").is_some_and(|v| v.eq_ignore_ascii_case("true"));
    let mut root = Element::in_namespace("ListBucketResult");
    page.show_head(&request, &mut root);
    root.value("KeyCount", page.listing.objects.len() + page.listing.prefixes.len());
    root.optional("ContinuationToken", token);
    if let Some(next) = &page.listing.next {
        root.text("NextContinuationToken", &URL_SAFE_NO_PAD.encode(next));
    }
    if let Some(start_after) = start_after {
        root.text("StartAfter", &page.spelling.spell(start_after));
    }
    page.show_entries(&request, "Contents", with_owner, &mut root);
    Ok(Reply::page(root.document(), page.held))
}

/// Objects as the only versions there are.
pub(super) async fn versions(request: Request) -> Outcome<Reply> {
    let marker = request.query.get("key-marker").unwrap_or_default();
    let version = request.query.filled("version-id-marker");
    if version.is_some_and(|_| marker.is_empty()) {
        let message = "A version-id marker cannot be specified without a key marker.";
        return Err(Failure::argument(message, "version-id-marker", version.unwrap_or_default()));
    }
    if version.is_some_and(|version| version != "null") {
        return Err(Failure::new(Code::InvalidArgument, "Invalid version id specified"));
    }
    let page = page(&request, marker).await?;
    let mut root = Element::in_namespace("ListVersionsResult");
    page.show_head(&request, &mut root);
    root.text("KeyMarker", &page.spelling.spell(marker));
    root.text("VersionIdMarker", version.unwrap_or_default());
    if let Some(next) = &page.listing.next {
        root.text("NextKeyMarker", &page.spelling.spell(next));
        root.text("NextVersionIdMarker", "null");
    }
    page.show_entries(&request, "Version", true, &mut root);
    Ok(Reply::page(root.document(), page.held))
}
