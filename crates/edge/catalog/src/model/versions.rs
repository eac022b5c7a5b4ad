//! Versions, by sorting all of them.

use super::State;
use super::page::{Entry, empty_page, grouped};
use crate::{
    ListedObject, ListedVersion, Listing, ListingRequest, Located, ObjectVersion, Refusal,
    VersionId, Versioning, bucket_of,
};
use ripstop_object::Place;

impl State {
    /// What orders them, and the versions of a bucket's keys, the latest of each first.
    pub(super) fn versions_of(&self, bucket: &str) -> Vec<(VersionId, ListedVersion)> {
        let of_bucket = self.objects.iter().filter(|((of, _), _)| bucket_of(of) == bucket);
        let mut versions: Vec<(VersionId, ListedVersion)> = of_bucket
            .map(|((space, name), object)| {
                let (key, order, version) = match Place::new(space, name).version() {
                    Some((key, id)) => (key, id, ObjectVersion::Id(id)),
                    None => (name.clone(), object.null_order(), ObjectVersion::Null),
                };
                let (is_marker, object) = (object.is_marker, ListedObject::of(object));
                (order, ListedVersion { key, version, is_latest: false, is_marker, object })
            })
            .collect();
        let rank = |(order, listed): &(VersionId, ListedVersion)| {
            (listed.key.clone(), !order.0, listed.version != ObjectVersion::Null)
        };
        versions.sort_by_key(|version| {
            let (key, order, is_named) = rank(version);
            // Of two of one moment the one with an id comes first.
            (key, order, !is_named)
        });
        let mut last = None;
        for (_, listed) in &mut versions {
            listed.is_latest = last.as_ref() != Some(&listed.key);
            last = Some(listed.key.clone());
        }
        versions
    }

    pub(crate) fn current(&self, bucket: &str, key: &str) -> Option<Located> {
        let keeps = |name: &str| self.buckets.get(name).map(|bucket| bucket.versioning);
        if keeps(bucket).unwrap_or_default() == Versioning::Never {
            return self.located((bucket, key));
        }
        let versions = self.versions_of(bucket);
        let (_, latest) = versions.iter().find(|(_, it)| it.key == key && it.is_latest)?;
        let place = Place::of_version(bucket, key, latest.version);
        let located = self.located((&place.bucket, &place.key))?;
        Some(Located { version: Some(latest.version), ..located })
    }

    pub(super) fn page_of_versions(&self, request: &ListingRequest) -> Result<Listing, Refusal> {
        self.must_have(&request.bucket)?;
        let versions = self.versions_of(&request.bucket);
        // What the page begins behind, in the order of a listing.
        let at = |(order, _): &(VersionId, ListedVersion)| format!("{:032x}", !order.0);
        let of_after = versions.iter().filter(|(_, it)| it.key == request.after);
        let named = VersionId::parse(&request.after_upload);
        let null = of_after.clone().find(|(_, it)| it.version == ObjectVersion::Null).map(at);
        let after_upload = match (request.after_upload.as_str(), named) {
            ("", _) => String::new(),
            (_, Some(id)) => format!("{:032x}", !id.0),
            (_, None) => null.unwrap_or_else(|| "~".into()),
        };
        let request = ListingRequest { after_upload, ..request.clone() };
        let items = versions.iter().map(|it| (it.1.key.clone(), at(it), it.1.clone()));
        let (entries, is_truncated) = grouped(&request, items);
        let mut page = empty_page();
        for entry in entries {
            match entry {
                Entry::Prefix(prefix) => {
                    page.next = is_truncated.then(|| prefix.clone());
                    page.next_upload = None;
                    page.prefixes.push(prefix);
                }
                Entry::Item(version) => {
                    page.next = is_truncated.then(|| version.key.clone());
                    page.next_upload = is_truncated.then(|| version.version.to_string());
                    page.versions.push(version);
                }
            }
        }
        Ok(page)
    }
}
