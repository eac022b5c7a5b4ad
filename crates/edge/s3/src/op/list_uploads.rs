use super::{
    Outcome, Reply, Request,
    list::{ENTRIES_MAX, Spelling, page_memory, show_owner},
};
use crate::{date, digest, xml::Element};
use ripstop_catalog::ListingRequest;

/// A page of uploads that are under way.
pub(super) async fn list(request: Request) -> Outcome<Reply> {
    let spelling = Spelling::read(&request)?;
    let max = request.count("max-uploads")?.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX);
    let prefix = request.query.get("prefix").unwrap_or_default();
    let delimiter = request.query.filled("delimiter");
    let key_marker = request.query.get("key-marker").unwrap_or_default();
    // Without a key the marker of an upload means nothing.
    let id_marker = request.query.get("upload-id-marker").filter(|_| !key_marker.is_empty());
    let wanted = ListingRequest {
        bucket: request.bucket.clone(),
        prefix: prefix.to_owned(),
        delimiter: delimiter.unwrap_or_default().to_owned(),
        after: key_marker.to_owned(),
        after_upload: id_marker.unwrap_or_default().to_owned(),
        max,
    };
    let held = page_memory(&request, max).await?;
    let listing = request.store.uploads(&wanted).await?;
    let keys = listing.uploads.iter().map(|upload| &upload.key).chain(&listing.prefixes);
    let asked = [prefix, key_marker, delimiter.unwrap_or_default()];
    let spelling = spelling.fit_for(asked.into_iter().chain(keys.map(String::as_str)));
    let mut root = Element::in_namespace("ListMultipartUploadsResult");
    root.text("Bucket", &request.bucket);
    root.text("KeyMarker", &spelling.spell(key_marker));
    root.text("UploadIdMarker", id_marker.unwrap_or_default());
    if let Some(next) = &listing.next {
        root.text("NextKeyMarker", &spelling.spell(next));
        root.text("NextUploadIdMarker", listing.next_upload.as_deref().unwrap_or_default());
    }
    root.text("Prefix", &spelling.spell(prefix));
    if let Some(delimiter) = delimiter {
        root.text("Delimiter", &spelling.spell(delimiter));
    }
    root.value("MaxUploads", max).value("IsTruncated", listing.next.is_some());
    spelling.show(&mut root);
    for upload in &listing.uploads {
        root.child("Upload", |element| {
            element.text("Key", &spelling.spell(&upload.key)).text("UploadId", &upload.id);
            show_owner("Initiator", &request, element);
            show_owner("Owner", &request, element);
            element.text("StorageClass", "STANDARD");
            element.text("Initiated", &date::document(upload.created_ms));
            if let Some((algorithm, composite)) = upload.checksum {
                element.text("ChecksumAlgorithm", digest::word(algorithm));
                element.text("ChecksumType", digest::kind(composite));
            }
        });
    }
    for prefix in &listing.prefixes {
        root.child("CommonPrefixes", |element| {
            element.text("Prefix", &spelling.spell(prefix));
        });
    }
    Ok(Reply::page(root.document(), held))
}
