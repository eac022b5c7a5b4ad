//! Grouping a sorted run of keys by a delimiter, as S3's listings do.
//!
//! Pure over a [`Source`] that can seek: what is rolled up is stepped over, never read, so a page
//! costs as many steps as it has entries and prefixes, plus one.

use crate::{CatalogError, ListingRequest, PAGE_LEN_MAX};

/// Keys in byte order with something at each.
pub trait Source {
    /// What a key stands for.
    type Item;

    /// Goes to the first item whose key is `from` or greater. `from` need not be UTF-8.
    fn seek(&mut self, from: &[u8]) -> Result<(), CatalogError>;
    /// Goes to the first item of `key` whose id is greater than `id`, or of a later key.
    fn seek_within(&mut self, key: &str, id: &str) -> Result<(), CatalogError>;
    /// The item reached, if its key begins with `prefix`; then goes to the next one.
    fn next(&mut self, prefix: &str) -> Result<Option<(String, Self::Item)>, CatalogError>;
    /// The key that it came to last, if there is no next item because too much that is none was
    /// passed over.
    fn stopped_at(&self) -> Option<&str> {
        None
    }
}

/// One page of keys and rolled-up prefixes.
#[derive(PartialEq, Eq, Debug)]
pub struct Page<T> {
    /// Keys that are not rolled up.
    pub items: Vec<(String, T)>,
    /// What the others are rolled up to.
    pub prefixes: Vec<String>,
    /// Whether something follows the page.
    pub is_truncated: bool,
    /// Whether the last thing on the page is a prefix.
    pub ends_with_prefix: bool,
    /// The key behind which it goes on, if that is not on the page.
    pub stopped_at: Option<String>,
}

/// Reads the page that `request` asks for.
pub fn page<S: Source>(
    request: &ListingRequest,
    source: &mut S,
) -> Result<Page<S::Item>, CatalogError> {
    let (prefix, delimiter) = (request.prefix.as_str(), request.delimiter.as_str());
    let mut page = Page {
        items: Vec::new(),
        prefixes: Vec::new(),
        is_truncated: false,
        ends_with_prefix: false,
        stopped_at: None,
    };
    if request.max == 0 {
        return Ok(page);
    }
    begin(request, source)?;
    let mut len = 0;
    while let Some((key, item)) = source.next(prefix)? {
        let rolled = rolled_up(&key, prefix, delimiter);
        len += rolled.unwrap_or(&key).len();
        let entries = page.items.len() + page.prefixes.len();
        if entries == request.max || len > PAGE_LEN_MAX && entries > 0 {
            page.is_truncated = true;
            break;
        }
        if let Some(rolled) = rolled {
            source.seek(&beyond(rolled))?;
            page.prefixes.push(rolled.to_owned());
            page.ends_with_prefix = true;
        } else {
            page.items.push((key, item));
            page.ends_with_prefix = false;
        }
    }
    if !page.is_truncated {
        page.stopped_at = source.stopped_at().map(str::to_owned);
        page.is_truncated = page.stopped_at.is_some();
    }
    Ok(page)
}

fn begin<S: Source>(request: &ListingRequest, source: &mut S) -> Result<(), CatalogError> {
    let after = request.after.as_str();
    let is_first = after.is_empty() && request.after_upload.is_empty();
    if is_first || after < request.prefix.as_str() {
        source.seek(request.prefix.as_bytes())
    } else if rolled_up(after, &request.prefix, &request.delimiter) == Some(after) {
        source.seek(&beyond(after))
    } else if request.after_upload.is_empty() {
        source.seek(&[after.as_bytes(), b"\0"].concat())
    } else {
        source.seek_within(after, &request.after_upload)
    }
}

/// The prefix that `key` is rolled up to, if it is: up to and including the first delimiter that
/// begins after `prefix`.
pub fn rolled_up<'a>(key: &'a str, prefix: &str, delimiter: &str) -> Option<&'a str> {
    if delimiter.is_empty() {
        return None;
    }
    let at = key.strip_prefix(prefix)?.find(delimiter)?;
    Some(&key[..prefix.len() + at + delimiter.len()])
}

/// The least bytes greater than everything that begins with `prefix`.
pub(crate) fn beyond(prefix: &str) -> Vec<u8> {
    let mut bytes = prefix.as_bytes().to_vec();
    let last = bytes.last_mut().expect("a rolled-up prefix ends with its delimiter");
    // UTF-8 has no byte 255.
    *last += 1;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_roll_up_to_the_first_delimiter_after_the_prefix() {
        let cases = [
            ("a/b/c", "", "/", Some("a/")),
            ("a/b/c", "a/", "/", Some("a/b/")),
            ("a/b/c", "a/b/", "/", None),
            ("a/b/c", "a", "/", Some("a/")),
            ("a--b--c", "", "--", Some("a--")),
            ("a---b", "a-", "--", Some("a---")),
            ("a/b", "a/b", "/", None),
            ("a/b", "", "", None),
            ("b", "a", "/", None),
            ("/", "", "/", Some("/")),
        ];
        for (key, prefix, delimiter, expected) in cases {
            assert_eq!(rolled_up(key, prefix, delimiter), expected, "{key} {prefix} {delimiter}");
        }
    }

    #[test]
    fn beyond_a_prefix_lies_everything_that_does_not_begin_with_it() {
        assert!("a/\u{10ffff}\u{10ffff}".as_bytes() < beyond("a/").as_slice());
        assert!("a0".as_bytes() >= beyond("a/").as_slice());
        assert!("\u{e9}\u{10ffff}".as_bytes() < beyond("\u{e9}").as_slice());
        assert!("\u{ea}".as_bytes() >= beyond("\u{e9}").as_slice());
    }
}
