//! Percent-encoding, query strings, and which bucket and key a request is for.

use crate::error::{Code, Failure, Outcome};
use std::{borrow::Cow, net::IpAddr};

/// Most parameters of a query: more than any of S3's operations has.
const PARAMETERS_MAX: usize = 100;
/// Longest key, in bytes.
pub(crate) const KEY_LEN_MAX: usize = 1024;

/// Longest path as it is sent: a bucket and the longest key, each byte of which may take three.
const PATH_LEN_MAX: usize = 4 << 10;
/// Longest query as it is sent: a listing's prefix, marker and token, and a signature.
const QUERY_LEN_MAX: usize = 12 << 10;

/// Refuses addresses that are longer than any request needs.
pub(crate) fn check_len(path: &str, query: &str) -> Outcome<()> {
    if path.len() > PATH_LEN_MAX || query.len() > QUERY_LEN_MAX {
        return Err(Code::UriTooLong.into());
    }
    Ok(())
}

/// Undoes percent-encoding; `None` where a `%` is not followed by two hexadecimal digits.
pub(crate) fn decode_bytes(text: &[u8], plus_is_blank: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'%' => {
                let high = char::from(*bytes.next()?).to_digit(16)?;
                let low = char::from(*bytes.next()?).to_digit(16)?;
                out.push((high * 16 + low) as u8);
            }
            b'+' if plus_is_blank => out.push(b' '),
            _ => out.push(byte),
        }
    }
    Some(out)
}

/// Undoes percent-encoding of UTF-8.
pub(crate) fn decode(text: &str, plus_is_blank: bool) -> Option<String> {
    String::from_utf8(decode_bytes(text.as_bytes(), plus_is_blank)?).ok()
}

/// Percent-encodes all but RFC 3986's unreserved characters and those in `keep`.
pub(crate) fn encode<'a>(text: &'a str, keep: &[u8]) -> Cow<'a, str> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'.' | b'~')
            || keep.contains(&byte)
    };
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 3 / 2);
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    Cow::Owned(out)
}

/// A query string, decoded, in the order it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what follows the `?`.
    pub(crate) fn parse(query: &str) -> Outcome<Self> {
        let pairs = || query.split('&').filter(|pair| !pair.is_empty());
        if pairs().nth(PARAMETERS_MAX).is_some() {
            let message = format!("The query has more than {PARAMETERS_MAX} parameters.");
            return Err(Failure::new(Code::InvalidUri, message));
        }
        let pairs = pairs().map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name, true)?, decode(value, true)?))
        });
        pairs.collect::<Option<_>>().map(Self).ok_or_else(|| Code::InvalidUri.into())
    }

    /// The first value of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The first value of that name, unless it is empty.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Whether the name is there, with whatever value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Names and values in the order they came.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

/// What a request is about: the service, a bucket, or an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Target {
    /// The bucket's name, unchecked.
    pub(crate) bucket: Option<String>,
    /// The key, never empty; only where there is a bucket.
    pub(crate) key: Option<String>,
}

impl Target {
    /// Reads the path as it was sent, and the host where buckets may be its first label. Only a
    /// host below `domain` names a bucket: any other host, an address above all, leaves it to the
    /// path.
    pub(crate) fn parse(path: &str, host: Option<&str>, domain: Option<&str>) -> Outcome<Self> {
        let path = path.strip_prefix('/').ok_or(Code::InvalidUri)?;
        let path = decode(path, false).ok_or(Code::InvalidUri)?;
        let (bucket, key) = if let Some(bucket) = host_bucket(host, domain) {
            (bucket, path.as_str())
        } else {
            let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
            (bucket.to_owned(), key)
        };
        if bucket.is_empty() {
            return if key.is_empty() {
                Ok(Self::default())
            } else {
                Err(Code::InvalidBucketName.into())
            };
        }
        check_key(key)?;
        check_path(key)?;
        Ok(Self { bucket: Some(bucket), key: (!key.is_empty()).then(|| key.to_owned()) })
    }
}

/// Refuses keys that lead out of their bucket where they are read as paths: at some place more of
/// their steps go up than down.
pub(crate) fn check_path(key: &str) -> Outcome<()> {
    let mut depth = 0_usize;
    for step in key.split('/') {
        depth = match step {
            ".." => depth.checked_sub(1).ok_or(Code::InvalidUri)?,
            "" | "." => depth,
            _ => depth + 1,
        };
    }
    Ok(())
}

/// Refuses keys that are too long.
pub(crate) fn check_key(key: &str) -> Outcome<()> {
    if key.len() > KEY_LEN_MAX {
        return Err(Failure::from(Code::KeyTooLong)
            .with("Size", key.len().to_string())
            .with("MaxSizeAllowed", KEY_LEN_MAX.to_string()));
    }
    Ok(())
}

/// The bucket that a host below `domain` names.
pub(crate) fn host_bucket(host: Option<&str>, domain: Option<&str>) -> Option<String> {
    let (host, domain) = (host?, domain?);
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.to_ascii_lowercase();
    let bucket = name.strip_suffix(&domain.to_ascii_lowercase())?.strip_suffix('.')?;
    (!bucket.is_empty()).then(|| bucket.to_owned())
}

/// The bucket whose website a host is: by its first label below `domain`, or by the whole of it.
pub(crate) fn website_bucket(host: Option<&str>, domain: Option<&str>) -> String {
    let host = host.unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    host_bucket(Some(host), domain).unwrap_or_else(|| name.to_ascii_lowercase())
}

/// Refuses names that S3 does not allow for buckets.
pub(crate) fn check_bucket_name(name: &str) -> Outcome<()> {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = name.as_bytes();
    let good = (3..=63).contains(&bytes.len())
        && bytes.iter().copied().all(inner)
        && edge(bytes.first())
        && edge(bytes.last())
        && !["..", ".-", "-."].iter().any(|joint| name.contains(joint))
        && name.parse::<IpAddr>().is_err()
        && !["xn--", "sthree-", "amzn-s3-demo-"].iter().any(|start| name.starts_with(start))
        && !["-s3alias", "--ol-s3", ".mrap", "--x-s3"].iter().any(|end| name.ends_with(end));
    if good { Ok(()) } else { Err(Failure::from(Code::InvalidBucketName).with("BucketName", name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding_there_and_back() {
        let text = "a b+c%d/é\u{1}~";
        let encoded = encode(text, b"/");
        assert_eq!(encoded, "a%20b%2Bc%25d/%C3%A9%01~");
        assert_eq!(decode(&encoded, false).as_deref(), Some(text));
        assert_eq!(decode("a+b", true).as_deref(), Some("a b"));
        assert_eq!(decode("a+b", false).as_deref(), Some("a+b"));
        for bad in ["%", "%4", "%zz", "%ff", "%+1"] {
            assert_eq!(decode(bad, false), None, "{bad}");
        }
    }

    #[test]
    fn bucket_and_key_come_from_the_path_and_are_not_normalised() {
        let target = |path: &str| {
            let target = Target::parse(path, Some("127.0.0.1:9000"), Some("s3.test")).unwrap();
            (target.bucket.unwrap_or_default(), target.key.unwrap_or_default())
        };
        let cases = [
            ("/", "", ""),
            ("/b", "b", ""),
            ("/b/", "b", ""),
            ("/b/k", "b", "k"),
            ("/b//k", "b", "/k"),
            ("/b/j/../k/./", "b", "j/../k/./"),
            ("/b/a%2Fb%25", "b", "a/b%"),
            ("/b/a+b", "b", "a+b"),
            ("/b/dir/", "b", "dir/"),
        ];
        for (path, bucket, key) in cases {
            assert_eq!(target(path), (bucket.to_owned(), key.to_owned()), "{path}");
        }
    }

    #[test]
    fn only_hosts_below_the_domain_name_a_bucket() {
        let bucket =
            |host, domain| Target::parse("/p/q", Some(host), domain).unwrap().bucket.unwrap();
        assert_eq!(bucket("my.bucket.s3.test:80", Some("s3.test")), "my.bucket");
        assert_eq!(bucket("MY.S3.TEST", Some("s3.test")), "my");
        for host in ["s3.test", "other.example", "127.0.0.1", "[::1]:80", "xs3.test", "localhost"] {
            assert_eq!(bucket(host, Some("s3.test")), "p", "{host}");
        }
        assert_eq!(bucket("my.s3.test", None), "p");
    }

    #[test]
    fn bucket_names_follow_the_rules() {
        for good in ["abc", "a-b.c", "1ab", &"a".repeat(63)] {
            assert!(check_bucket_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "ab",
            "aB1",
            "a_b",
            "-ab",
            "ab-",
            ".ab",
            "ab.",
            "a..b",
            "a.-b",
            "a-.b",
            "1.2.3.4",
            "xn--a",
            "a b",
            "abc-s3alias",
            &"a".repeat(64),
            "é-é-é",
        ] {
            assert!(check_bucket_name(bad).is_err(), "{bad}");
        }
    }
}
