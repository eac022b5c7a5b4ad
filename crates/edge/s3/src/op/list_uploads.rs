use super::{
    Desk, Operate, Outcome, Reply, Request,
    list::{ENTRIES_MAX, Spelling, page_memory, show_owner, show_prefixes},
};
use crate::{
    FrontSettings, allowance::Held, date, digest, error::Failure, storage_class, xml::Element,
};
use ripstop_catalog::{ListedUpload, Listing, ListingRequest};

/// A page of uploads that are under way.
pub(super) struct List {
    spelling: Spelling,
    wanted: ListingRequest,
}

pub(super) struct Listed {
    spelling: Spelling,
    wanted: ListingRequest,
    listing: Listing,
    /// Of the bucket.
    owner: String,
    held: Held,
}

impl Operate for List {
    type Done = Listed;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let spelling = Spelling::read(request)?;
        let max = request.count("max-uploads")?.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX);
        let text = |name: &str| request.query.get(name).unwrap_or_default().to_owned();
        let after = text("key-marker");
        // Without a key the marker of an upload means nothing.
        let after_upload = if after.is_empty() { after.clone() } else { text("upload-id-marker") };
        if !after_upload.is_empty() && !could_name_upload(&after_upload) {
            return Err(invalid_marker(&after_upload));
        }
        let wanted = ListingRequest {
            bucket: request.bucket.clone(),
            prefix: text("prefix"),
            delimiter: text("delimiter"),
            after,
            after_upload,
            max,
        };
        Ok(Self { spelling, wanted })
    }

    async fn run(self, desk: &Desk) -> Outcome<Listed> {
        let Self { spelling, wanted } = self;
        let held = page_memory(desk, wanted.max).await?;
        let ListingRequest { bucket, after, after_upload, .. } = &wanted;
        if !after_upload.is_empty()
            && desk.store.is_of_another_key(bucket, after, after_upload).await?
        {
            return Err(invalid_marker(after_upload));
        }
        let listing = desk.store.uploads(&wanted).await?;
        let keys = listing.uploads.iter().map(|upload| &upload.key).chain(&listing.prefixes);
        let asked = [&wanted.prefix, &wanted.after, &wanted.delimiter];
        let spelling = spelling.fit_for(asked.into_iter().chain(keys).map(String::as_str));
        let owner = desk.gate.bucket_owner().to_owned();
        Ok(Listed { spelling, wanted, listing, owner, held })
    }

    fn render(done: Listed, _: &FrontSettings) -> Reply {
        let Listed { spelling, wanted, listing, owner, held } = done;
        let mut root = Element::in_namespace("ListMultipartUploadsResult");
        root.text("Bucket", &wanted.bucket);
        root.text("KeyMarker", &spelling.spell(&wanted.after));
        root.text("UploadIdMarker", &wanted.after_upload);
        if let Some(next) = &listing.next {
            root.text("NextKeyMarker", &spelling.spell(next));
            root.text("NextUploadIdMarker", listing.next_upload.as_deref().unwrap_or_default());
        }
        root.text("Prefix", &spelling.spell(&wanted.prefix));
        if !wanted.delimiter.is_empty() {
            root.text("Delimiter", &spelling.spell(&wanted.delimiter));
        }
        root.value("MaxUploads", wanted.max).value("IsTruncated", listing.next.is_some());
        spelling.show(&mut root);
        for upload in &listing.uploads {
            root.child("Upload", |element| show_upload(upload, spelling, &owner, element));
        }
        show_prefixes(&listing.prefixes, spelling, &mut root);
        Reply::page(root.document(), held)
    }
}

fn invalid_marker(marker: &str) -> Failure {
    Failure::argument("Invalid uploadId marker", "upload-id-marker", marker)
}

/// Whether it has the form that the store gives names of uploads, whether or not one has it.
fn could_name_upload(marker: &str) -> bool {
    marker.len() == 32 && marker.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn show_upload(upload: &ListedUpload, spelling: Spelling, owner: &str, element: &mut Element) {
    element.text("Key", &spelling.spell(&upload.key)).text("UploadId", &upload.id);
    show_owner("Initiator", owner, element);
    show_owner("Owner", owner, element);
    element.text("StorageClass", storage_class::shown(&upload.storage_class));
    element.text("Initiated", &date::document(upload.created_ms));
    if let Some((algorithm, composite)) = upload.checksum {
        element.text("ChecksumAlgorithm", digest::word(algorithm));
        element.text("ChecksumType", digest::kind(composite));
    }
}
