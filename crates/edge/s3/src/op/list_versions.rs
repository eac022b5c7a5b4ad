//! Pages of all that a bucket's keys have stood for.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    list::{Asked, Page, Spelling, page_memory, show_object, show_owner, show_prefixes},
    version::version_of,
};
use crate::{FrontSettings, date, error::Failure, xml::Element};
use ripstop_catalog::ListedVersion;

pub(super) struct List(Asked);

impl Operate for List {
    type Done = Page;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let after = request.query.get("key-marker").unwrap_or_default().to_owned();
        let marker = request.query.filled("version-id-marker");
        if let Some(marker) = marker.filter(|_| after.is_empty()) {
            let message = "A version-id marker cannot be specified without a key marker.";
            return Err(Failure::argument(message, "version-id-marker", marker));
        }
        let marker = marker.map(|text| version_of(text, "version-id-marker")).transpose()?;
        let mut asked = Asked::parse(request, after)?;
        asked.wanted.after_upload = marker.map(|marker| marker.to_string()).unwrap_or_default();
        Ok(Self(asked))
    }

    async fn run(self, desk: &Desk) -> Outcome<Page> {
        let held = page_memory(desk, self.0.wanted.max).await?;
        let listing = desk.store.versions(&self.0.wanted).await?;
        Ok(self.0.page(listing, desk, held))
    }

    fn render(page: Page, _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("ListVersionsResult");
        page.show_head(&mut root);
        let Page { spelling, wanted, listing, owner, held, .. } = page;
        root.text("KeyMarker", &spelling.spell(&wanted.after));
        root.text("VersionIdMarker", &wanted.after_upload);
        if let Some(next) = &listing.next {
            root.text("NextKeyMarker", &spelling.spell(next));
            root.optional("NextVersionIdMarker", listing.next_upload.as_deref());
        }
        for version in &listing.versions {
            let name = if version.is_marker { "DeleteMarker" } else { "Version" };
            root.child(name, |element| show(version, spelling, &owner, element));
        }
        show_prefixes(&listing.prefixes, spelling, &mut root);
        Reply::page(root.document(), held)
    }
}

fn show(version: &ListedVersion, spelling: Spelling, owner: &str, element: &mut Element) {
    element.text("Key", &spelling.spell(&version.key));
    element.value("VersionId", version.version).value("IsLatest", version.is_latest);
    if version.is_marker {
        element.text("LastModified", &date::document(version.object.modified_ms));
    } else {
        show_object(&version.object, element);
    }
    show_owner("Owner", owner, element);
}
