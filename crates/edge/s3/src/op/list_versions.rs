//! Pages of all that a bucket's keys have stood for.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    list::{ENTRIES_MAX, Spelling, page_memory, show_object, show_owner},
    version::version_of,
};
use crate::{FrontSettings, allowance::Held, date, error::Failure, xml::Element};
use ripstop_catalog::{ListedVersion, Listing, ListingRequest};

pub(super) struct List {
    spelling: Spelling,
    wanted: ListingRequest,
}

pub(super) struct Listed {
    spelling: Spelling,
    wanted: ListingRequest,
    listing: Listing,
    held: Held,
}

impl Operate for List {
    type Done = Listed;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let spelling = Spelling::read(request)?;
        let max = request.count("max-keys")?.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX);
        let text = |name: &str| request.query.get(name).unwrap_or_default().to_owned();
        let after = text("key-marker");
        let marker = request.query.get("version-id-marker");
        if let Some(marker) = marker.filter(|_| after.is_empty()) {
            let message = "A version-id marker cannot be specified without a key marker.";
            return Err(Failure::argument(message, "version-id-marker", marker));
        }
        let marker = marker.map(|text| version_of(text, "version-id-marker")).transpose()?;
        let wanted = ListingRequest {
            bucket: request.bucket.clone(),
            prefix: text("prefix"),
            delimiter: text("delimiter"),
            after,
            after_upload: marker.map(|marker| marker.to_string()).unwrap_or_default(),
            max,
        };
        Ok(Self { spelling, wanted })
    }

    async fn run(self, desk: &Desk) -> Outcome<Listed> {
        let Self { spelling, wanted } = self;
        let held = page_memory(desk, wanted.max).await?;
        let listing = desk.store.versions(&wanted).await?;
        let keys = listing.versions.iter().map(|version| &version.key).chain(&listing.prefixes);
        let asked = [&wanted.prefix, &wanted.after, &wanted.delimiter];
        let spelling = spelling.fit_for(asked.into_iter().chain(keys).map(String::as_str));
        Ok(Listed { spelling, wanted, listing, held })
    }

    fn render(done: Listed, settings: &FrontSettings) -> Reply {
        let Listed { spelling, wanted, listing, held } = done;
        let mut root = Element::in_namespace("ListVersionsResult");
        root.text("Name", &wanted.bucket).text("Prefix", &spelling.spell(&wanted.prefix));
        root.value("MaxKeys", wanted.max);
        if !wanted.delimiter.is_empty() {
            root.text("Delimiter", &spelling.spell(&wanted.delimiter));
        }
        root.value("IsTruncated", listing.next.is_some());
        spelling.show(&mut root);
        root.text("KeyMarker", &spelling.spell(&wanted.after));
        root.text("VersionIdMarker", &wanted.after_upload);
        if let Some(next) = &listing.next {
            root.text("NextKeyMarker", &spelling.spell(next));
            root.optional("NextVersionIdMarker", listing.next_upload.as_deref());
        }
        for version in &listing.versions {
            let name = if version.is_marker { "DeleteMarker" } else { "Version" };
            root.child(name, |element| show(version, spelling, settings, element));
        }
        for prefix in &listing.prefixes {
            root.child("CommonPrefixes", |element| {
                element.text("Prefix", &spelling.spell(prefix));
            });
        }
        Reply::page(root.document(), held)
    }
}

fn show(
    version: &ListedVersion,
    spelling: Spelling,
    settings: &FrontSettings,
    element: &mut Element,
) {
    element.text("Key", &spelling.spell(&version.key));
    element.value("VersionId", version.version).value("IsLatest", version.is_latest);
    if version.is_marker {
        element.text("LastModified", &date::document(version.object.modified_ms));
    } else {
        show_object(&version.object, element);
    }
    show_owner("Owner", settings, element);
}
