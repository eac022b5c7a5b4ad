//! What a client says of an object besides its bytes: standard headers, user metadata, tags; and
//! the headers that would change what a request means, which are refused where we could not do as
//! they say.

use crate::{
    by_name::ByName as _,
    error::{Code, Failure, Outcome},
    grant::Granting,
    object_lock, storage_class, tagging,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use ripstop_catalog::{Attributes, Object};

/// Most bytes of user metadata: names and values together.
const USER_LEN_MAX: usize = 2048;
/// Most bytes of everything that is kept of a write's headers: names and values together. Listings,
/// answers and fragments' headers all carry them.
const KEPT_LEN_MAX: usize = 8 << 10;
/// Most bytes of all headers of a `PUT`: names and values together.
const SECTION_LEN_MAX: usize = 8 << 10;
const USER_PREFIX: &str = "x-amz-meta-";

/// Says that a write is to go on with an object.
const WRITE_OFFSET: &str = "x-amz-write-offset-bytes";
/// Where a website sends who asks for the object.
pub(crate) const REDIRECT: &str = "x-amz-website-redirect-location";
/// Longest such place, in bytes.
const REDIRECT_LEN_MAX: usize = 2048;

/// Standard headers that are kept and handed back.
const STANDARD: [&str; 7] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    REDIRECT,
];

/// Reads everything that a write says of its object, which may be of one of these classes of
/// storage beside the standard one.
pub(crate) fn read(headers: &HeaderMap, classes: &[String]) -> Outcome<Attributes> {
    refuse_unsupported(headers)?;
    let storage_class = storage_class::asked(headers, classes)?;
    let tags = match headers.named("x-amz-tagging") {
        Some(value) => tagging::from_header(&text_of(value))?,
        None => Vec::new(),
    };
    let (standard, user) = (standard(headers), user(headers)?);
    check_kept(&standard, &user)?;
    let lock = object_lock::asked(headers)?;
    let headers = standard;
    Ok(Attributes { headers, user, tags, lock, storage_class, ..Attributes::default() })
}

/// Refuses a `PUT` whose headers are longer together than S3 takes them.
pub(crate) fn check_section(method: &Method, headers: &HeaderMap) -> Outcome<()> {
    if method != Method::PUT {
        return Ok(());
    }
    let len: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if len <= SECTION_LEN_MAX {
        return Ok(());
    }
    Err(Failure::from(Code::RequestHeaderSectionTooLarge)
        .with("MaxSizeAllowed", SECTION_LEN_MAX.to_string()))
}

fn check_kept(standard: &[(String, String)], user: &[(String, String)]) -> Outcome<()> {
    let len = |(name, value): &(String, String)| name.len() + value.len();
    let total: usize = standard.iter().chain(user).map(len).sum();
    let Some((longest, _)) = standard.iter().max_by_key(|pair| len(pair)) else { return Ok(()) };
    if total <= KEPT_LEN_MAX {
        return Ok(());
    }
    let message = format!(
        "The headers that are kept with an object have {total} bytes together, names included, and \
         may have {KEPT_LEN_MAX}; the longest is {longest}."
    );
    Err(Failure::new(Code::RequestHeaderSectionTooLarge, message)
        .with("Size", total.to_string())
        .with("MaxSizeAllowed", KEPT_LEN_MAX.to_string()))
}

/// A header's bytes as text: UTF-8, or else Latin-1.
fn text_of(value: &HeaderValue) -> String {
    std::str::from_utf8(value.as_bytes())
        .map_or_else(|_| value.as_bytes().iter().copied().map(char::from).collect(), str::to_owned)
}

fn standard(headers: &HeaderMap) -> Vec<(String, String)> {
    let mut kept = Vec::new();
    for name in STANDARD {
        let values: Vec<_> = headers.all_named(name).map(text_of).collect();
        let mut value = values.join(", ");
        if name == "content-encoding" {
            // How the request was framed, not what the object is.
            let is_framing = |coding: &&str| coding.trim().eq_ignore_ascii_case("aws-chunked");
            let codings: Vec<_> = value.split(',').filter(|it| !is_framing(it)).collect();
            codings.join(",").trim().clone_into(&mut value);
        }
        if !value.is_empty() {
            kept.push((name.to_owned(), value));
        }
    }
    kept
}

fn user(headers: &HeaderMap) -> Outcome<Vec<(String, String)>> {
    let mut user = Vec::new();
    let mut len = 0;
    for name in headers.keys() {
        let Some(short) = name.as_str().strip_prefix(USER_PREFIX) else { continue };
        let values: Vec<_> = headers.get_all(name).iter().map(text_of).collect();
        let value = values.join(",");
        len += short.len() + value.len();
        user.push((short.to_owned(), value));
    }
    if len > USER_LEN_MAX {
        return Err(Failure::from(Code::MetadataTooLarge)
            .with("Size", len.to_string())
            .with("MaxSizeAllowed", USER_LEN_MAX.to_string()));
    }
    user.sort_unstable();
    Ok(user)
}

/// Whether a request says where its object's visitors are to go.
pub(crate) fn names_redirect(headers: &HeaderMap) -> bool {
    headers.contains_key(REDIRECT)
}

/// The standard headers of a copy that is to have its source's: all but where visitors go, which is
/// what the request says of the copy.
pub(crate) fn copied(
    old: &[(String, String)],
    given: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let is_redirect = |(name, _): &(String, String)| name == REDIRECT;
    let kept = old.iter().filter(|header| !is_redirect(header)).cloned();
    kept.chain(given.into_iter().filter(is_redirect)).collect()
}

fn check_redirect(to: &str) -> Outcome<()> {
    let is_place = ["/", "http://", "https://"].iter().any(|start| to.starts_with(start));
    if !is_place {
        return Err(Code::InvalidRedirectLocation.into());
    }
    if to.len() > REDIRECT_LEN_MAX {
        let message = format!("A website redirect location may have {REDIRECT_LEN_MAX} bytes.");
        return Err(Failure::new(Code::InvalidRedirectLocation, message));
    }
    Ok(())
}

/// Refuses what we could only ignore.
pub(crate) fn refuse_unsupported(headers: &HeaderMap) -> Outcome<()> {
    for (name, value) in headers {
        let name = name.as_str();
        if name.starts_with(WRITE_OFFSET) {
            return Err(Failure::from(Code::NotImplemented).with("Header", name));
        }
        let text = value.to_str().unwrap_or_default();
        if name == REDIRECT {
            check_redirect(text)?;
        }
    }
    Ok(())
}

/// Refuses lists where nothing is put that could have one.
pub(crate) fn refuse_lists(headers: &HeaderMap) -> Outcome<()> {
    let is_plain = Granting::read(headers)?.is_plain();
    if is_plain { Ok(()) } else { Err(Code::AccessControlListNotSupported.into()) }
}

/// The headers of an answer that shows an object, without those of its length and its checksum.
pub(crate) fn show(object: &Object, headers: &mut HeaderMap) {
    let attributes = &object.attributes;
    let mut put = |name: &str, value: &str| {
        // Bytes that no header can hold were not stored from a header either.
        if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name), HeaderValue::from_bytes(value.as_bytes()))
        {
            headers.insert(name, value);
        }
    };
    put("etag", &format!("\"{}\"", attributes.etag));
    put("last-modified", &crate::date::http(object.modified_ms));
    put("accept-ranges", "bytes");
    put("content-type", "binary/octet-stream");
    for (name, value) in &attributes.headers {
        put(name, value);
    }
    for (name, value) in &attributes.user {
        put(&format!("{USER_PREFIX}{name}"), value);
    }
    if !attributes.tags.is_empty() {
        put("x-amz-tagging-count", &attributes.tags.len().to_string());
    }
    if !attributes.storage_class.is_empty() {
        put(storage_class::HEADER, &attributes.storage_class);
    }
    object_lock::show(&attributes.lock, put);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &HeaderMap) -> Outcome<Attributes> {
        super::read(headers, &["COLD".to_owned()])
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn framing_is_no_content_encoding() {
        for (given, kept) in [
            ("aws-chunked", None),
            ("gzip", Some("gzip")),
            ("gzip,aws-chunked", Some("gzip")),
            ("aws-chunked, gzip", Some("gzip")),
        ] {
            let attributes = read(&headers(&[("content-encoding", given)])).unwrap();
            assert_eq!(attributes.headers.first().map(|(_, value)| value.as_str()), kept);
        }
    }

    #[test]
    fn user_metadata_is_bounded() {
        let long = "x".repeat(USER_LEN_MAX - 1);
        assert!(read(&headers(&[("x-amz-meta-a", &long)])).is_ok());
        let failure = read(&headers(&[("x-amz-meta-ab", &long)])).unwrap_err();
        assert_eq!(failure.code, Code::MetadataTooLarge);
    }

    #[test]
    fn kept_headers_are_bounded_together() {
        let long = "x".repeat(KEPT_LEN_MAX - "content-disposition".len() - 8);
        let with = |user: &str| {
            read(&headers(&[("content-disposition", &long), ("x-amz-meta-four", user)]))
        };
        assert!(with("four").is_ok());
        let failure = with("fives").unwrap_err();
        assert_eq!(failure.code, Code::RequestHeaderSectionTooLarge);
        assert!(failure.message.contains("the longest is content-disposition"), "{failure}");
    }

    #[test]
    fn what_would_change_the_meaning_is_refused() {
        for (name, value, code) in [
            (WRITE_OFFSET, "0", Code::NotImplemented),
            ("x-amz-object-lock-mode", "GOVERNANCE", Code::InvalidArgument),
            ("x-amz-object-lock-legal-hold", "on", Code::InvalidArgument),
            ("x-amz-storage-class", "GLACIER", Code::InvalidStorageClass),
            ("x-amz-website-redirect-location", "ftp://x", Code::InvalidRedirectLocation),
        ] {
            assert_eq!(read(&headers(&[(name, value)])).unwrap_err().code, code, "{name}");
        }
        for (name, class) in [("STANDARD", ""), ("", ""), ("COLD", "COLD")] {
            let attributes = read(&headers(&[("x-amz-storage-class", name)])).unwrap();
            assert_eq!(attributes.storage_class, class);
        }
        for (name, value, code) in [
            ("x-amz-acl", "public-read", Code::AccessControlListNotSupported),
            ("x-amz-acl", "mine", Code::InvalidArgument),
            ("x-amz-grant-read", "id=x", Code::AccessControlListNotSupported),
        ] {
            assert_eq!(refuse_lists(&headers(&[(name, value)])).unwrap_err().code, code, "{name}");
        }
        assert!(refuse_lists(&headers(&[("x-amz-acl", "private")])).is_ok());
    }
}
