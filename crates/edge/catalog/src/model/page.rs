//! Pages of listings, cut out of everything there is.

use crate::{Listing, ListingRequest, PAGE_LEN_MAX};

/// A thing on a page.
pub(super) enum Entry<T> {
    Item(T),
    Prefix(String),
}

/// Groups all of a bucket's `items` (key, id, thing; in order), then cuts the page out of them.
pub(super) fn grouped<T>(
    request: &ListingRequest,
    items: impl Iterator<Item = (String, String, T)>,
) -> (Vec<Entry<T>>, bool) {
    let ListingRequest { prefix, delimiter, after, after_upload, max, .. } = request;
    let mut entries: Vec<Entry<T>> = Vec::new();
    let mut lens = Vec::new();
    for (key, id, item) in items {
        let is_after =
            key > *after || (key == *after && !after_upload.is_empty() && id > *after_upload);
        // At the very beginning, `after` is empty and the empty key is still to come.
        let is_after = is_after || after.is_empty() && after_upload.is_empty();
        if !key.starts_with(prefix) || !is_after {
            continue;
        }
        let rest = &key[prefix.len()..];
        let rolled = if delimiter.is_empty() { None } else { rest.split_once(delimiter.as_str()) };
        if let Some((before, _)) = rolled {
            let rolled = format!("{prefix}{before}{delimiter}");
            let is_known = matches!(entries.last(), Some(Entry::Prefix(last)) if *last == rolled);
            if rolled != *after && !is_known {
                lens.push(rolled.len());
                entries.push(Entry::Prefix(rolled));
            }
        } else {
            lens.push(key.len());
            entries.push(Entry::Item(item));
        }
    }
    let fits = |at: &usize| lens[..*at].iter().sum::<usize>() <= PAGE_LEN_MAX;
    let fitting = (0..=lens.len()).take_while(fits).count() - 1;
    let room = fitting.max(1).min(*max);
    let is_truncated = *max > 0 && entries.len() > room;
    entries.truncate(room);
    (entries, is_truncated)
}

pub(super) fn empty_page() -> Listing {
    Listing::default()
}
