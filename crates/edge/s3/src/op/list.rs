//! Pages of a bucket's keys, in S3's three shapes.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    allowance::Held,
    date, digest,
    error::Failure,
    storage_class, uri,
    xml::{self, Element},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ripstop_catalog::{ListedObject, Listing, ListingRequest, PAGE_LEN_MAX};
use std::borrow::Cow;

/// Most entries on a page.
pub(super) const ENTRIES_MAX: usize = 1000;
/// What an entry takes on a page besides its key.
pub(super) const ENTRY_MEMORY: usize = 512;
/// How many bytes a byte of a key takes on a page: itself, and up to six in the document.
pub(super) const KEY_FACTOR: usize = 7;

/// Memory for a page of `max` keys or uploads, until it is sent.
pub(super) async fn page_memory(desk: &Desk, max: usize) -> Outcome<Held> {
    let keys = (max * uri::KEY_LEN_MAX).min(PAGE_LEN_MAX + uri::KEY_LEN_MAX);
    desk.allowances.pages.take(keys * KEY_FACTOR + max * ENTRY_MEMORY).await
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

    /// As it is, unless XML cannot hold one of these texts: then as URLs have it, though nobody
    /// asked, which the page says.
    pub(super) fn fit_for<'a>(self, mut texts: impl Iterator<Item = &'a str>) -> Self {
        Self { url: self.url || texts.any(|text| !xml::can_hold(text)) }
    }

    pub(super) fn spell(self, key: &str) -> Cow<'_, str> {
        if self.url { uri::encode(key, b"/*") } else { Cow::Borrowed(key) }
    }

    /// As [`Self::spell`], unless it reads the same whether its reader decodes it or not: some
    /// clients decode the prefix of the first version's listing, others do not.
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

/// Ceph's clients may ask for a page in whatever order; what is rolled up needs the order, and Ceph
/// refuses both together.
fn refuse_unordered(request: &Request) -> Outcome<()> {
    let asked = request.query.get("allow-unordered");
    let asked = asked.filter(|asked| asked.eq_ignore_ascii_case("true"));
    if asked.is_some() && request.query.filled("delimiter").is_some() {
        let message = "Unordered listings have no delimiter";
        return Err(Failure::argument(message, "allow-unordered", "true"));
    }
    Ok(())
}

/// What listings of keys and of versions ask for alike.
pub(super) struct Asked {
    spelling: Spelling,
    pub(super) wanted: ListingRequest,
    start_after: Option<String>,
}

impl Asked {
    pub(super) fn parse(request: &Request, after: String) -> Outcome<Self> {
        let spelling = Spelling::read(request)?;
        refuse_unordered(request)?;
        let max = request.count("max-keys")?.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX);
        let text = |name: &str| request.query.get(name).map(str::to_owned);
        let wanted = ListingRequest {
            bucket: request.bucket.clone(),
            prefix: text("prefix").unwrap_or_default(),
            delimiter: text("delimiter").unwrap_or_default(),
            after,
            after_upload: String::new(),
            max,
        };
        Ok(Self { spelling, wanted, start_after: text("start-after") })
    }

    async fn run(self, desk: &Desk) -> Outcome<Page> {
        let held = page_memory(desk, self.wanted.max).await?;
        let listing = desk.store.list(&self.wanted).await?;
        Ok(self.page(listing, desk, held))
    }

    /// The page that this listing is, in memory of its own.
    pub(super) fn page(self, listing: Listing, desk: &Desk, held: Held) -> Page {
        let Self { spelling, wanted, start_after } = self;
        let asked = [&wanted.after, &wanted.prefix, &wanted.delimiter].into_iter();
        let versions = listing.versions.iter().map(|version| &version.key);
        let keys = listing.objects.iter().map(|(key, _)| key).chain(versions);
        let keys = keys.chain(&listing.prefixes);
        let texts = asked.chain(&start_after).chain(keys).map(String::as_str);
        let spelling = spelling.fit_for(texts);
        let owner = desk.gate.bucket_owner().to_owned();
        Page { spelling, wanted, start_after, listing, owner, held }
    }
}

/// One page and what was asked for.
pub(super) struct Page {
    pub(super) spelling: Spelling,
    pub(super) wanted: ListingRequest,
    start_after: Option<String>,
    pub(super) listing: Listing,
    /// Of the bucket.
    pub(super) owner: String,
    pub(super) held: Held,
}

impl Page {
    /// Everything that all shapes have in common, up to the entries.
    pub(super) fn show_head(&self, root: &mut Element) {
        self.show_head_with(&self.spelling.spell(&self.wanted.prefix), root);
    }

    fn show_head_with(&self, prefix: &str, root: &mut Element) {
        root.text("Name", &self.wanted.bucket).text("Prefix", prefix);
        root.value("MaxKeys", self.wanted.max);
        if !self.wanted.delimiter.is_empty() {
            root.text("Delimiter", &self.spelling.spell(&self.wanted.delimiter));
        }
        root.value("IsTruncated", self.listing.next.is_some());
        self.spelling.show(root);
    }

    fn show_entries(&self, name: &str, with_owner: bool, root: &mut Element) {
        for (key, object) in &self.listing.objects {
            root.child(name, |element| {
                element.text("Key", &self.spelling.spell(key));
                show_object(object, element);
                if with_owner {
                    show_owner("Owner", &self.owner, element);
                }
            });
        }
        show_prefixes(&self.listing.prefixes, self.spelling, root);
    }
}

/// What keys of a page are rolled up to.
pub(super) fn show_prefixes(prefixes: &[String], spelling: Spelling, root: &mut Element) {
    for prefix in prefixes {
        root.child("CommonPrefixes", |element| {
            element.text("Prefix", &spelling.spell(prefix));
        });
    }
}

pub(super) fn show_object(object: &ListedObject, element: &mut Element) {
    element.text("LastModified", &date::document(object.modified_ms));
    element.text("ETag", &format!("\"{}\"", object.etag));
    if let Some((algorithm, composite)) = object.checksum {
        element.text("ChecksumAlgorithm", digest::word(algorithm));
        element.text("ChecksumType", digest::kind(composite));
    }
    element
        .value("Size", object.len)
        .text("StorageClass", storage_class::shown(&object.storage_class));
}

/// An account, which is called like its id.
pub(super) fn show_owner(name: &str, owner: &str, element: &mut Element) {
    element.child(name, |element| {
        element.text("ID", owner).text("DisplayName", owner);
    });
}

pub(super) struct Version1(Asked);

pub(super) struct Page1(Page);

impl Operate for Version1 {
    type Done = Page1;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let marker = request.query.get("marker").unwrap_or_default().to_owned();
        Asked::parse(request, marker).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<Page1> {
        self.0.run(desk).await.map(Page1)
    }

    fn render(Page1(page): Page1, _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("ListBucketResult");
        page.show_head_with(&page.spelling.spell_prefix(&page.wanted.prefix), &mut root);
        root.text("Marker", &page.spelling.spell(&page.wanted.after));
        // Without a delimiter clients go on from the last key, if that is where it goes on.
        let last = page.listing.objects.last().map(|(key, _)| key);
        let has_delimiter = !page.wanted.delimiter.is_empty();
        let next = page.listing.next.as_ref().filter(|next| has_delimiter || Some(*next) != last);
        if let Some(next) = next {
            root.text("NextMarker", &page.spelling.spell(next));
        }
        page.show_entries("Contents", true, &mut root);
        Reply::page(root.document(), page.held)
    }
}

pub(super) struct Version2 {
    asked: Asked,
    token: Option<String>,
    with_owner: bool,
}

pub(super) struct Page2 {
    page: Page,
    token: Option<String>,
    with_owner: bool,
}

impl Operate for Version2 {
    type Done = Page2;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let token = request.query.get("continuation-token");
        let after = match token.filter(|token| !token.is_empty()) {
            None => request.query.get("start-after").unwrap_or_default().to_owned(),
            Some(token) => {
                let key =
                    URL_SAFE_NO_PAD.decode(token).ok().and_then(|key| String::from_utf8(key).ok());
                key.filter(|key| !key.is_empty()).ok_or_else(|| {
                    let message = "The continuation token provided is incorrect";
                    Failure::argument(message, "continuation-token", token)
                })?
            }
        };
        let with_owner = request.query.get("fetch-owner");
        let with_owner = with_owner.is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let token = token.map(str::to_owned);
        Ok(Self { asked: Asked::parse(request, after)?, token, with_owner })
    }

    async fn run(self, desk: &Desk) -> Outcome<Page2> {
        let Self { asked, token, with_owner } = self;
        Ok(Page2 { page: asked.run(desk).await?, token, with_owner })
    }

    fn render(done: Page2, _: &FrontSettings) -> Reply {
        let Page2 { page, token, with_owner } = done;
        let mut root = Element::in_namespace("ListBucketResult");
        page.show_head(&mut root);
        root.value("KeyCount", page.listing.objects.len() + page.listing.prefixes.len());
        root.optional("ContinuationToken", token.as_deref());
        if let Some(next) = &page.listing.next {
            root.text("NextContinuationToken", &URL_SAFE_NO_PAD.encode(next));
        }
        if let Some(start_after) = &page.start_after {
            root.text("StartAfter", &page.spelling.spell(start_after));
        }
        page.show_entries("Contents", with_owner, &mut root);
        Reply::page(root.document(), page.held)
    }
}
