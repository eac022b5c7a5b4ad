//! The object that an upload's parts make, and what the client says of it.

use super::{Outcome, Request};
use crate::{
    digest,
    error::{Code, Failure},
};
use md5::{Digest as _, Md5};
use ripstop_catalog::{Attributes, ChecksumAlgorithm, Encryption, Part, Upload, UploadedPart};

/// The MD5 of the parts' MD5s, and how many there are; `None` if one is no MD5.
pub(super) fn etag_of<'a>(etags: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
    let count = etags.len();
    let mut md5 = Md5::new();
    for etag in etags {
        md5.update(hex::decode(etag).ok().filter(|etag| etag.len() == 16)?);
    }
    Some(format!("{}-{count}", hex::encode(md5.finalize())))
}

/// What is known of the whole object, computed beside: thousands of parts take milliseconds.
pub(super) async fn computed(
    upload: Upload,
    parts: Vec<UploadedPart>,
) -> Outcome<(Attributes, Vec<UploadedPart>)> {
    let computed = ripstop_host::spawn_blocking(move || Ok((whole(&upload, &parts)?, parts)));
    computed.await.map_err(|_| Code::InternalError)?
}

fn whole(upload: &Upload, parts: &[UploadedPart]) -> Outcome<Attributes> {
    let etag = etag_of(parts.iter().map(|part| part.etag.as_str())).ok_or(Code::InternalError)?;
    let (algorithm, is_composite) = upload.checksum.unwrap_or((digest::DEFAULT_ALGORITHM, false));
    let values: Option<Vec<(&[u8], u64)>> = parts
        .iter()
        .map(|part| {
            let checksum = part.checksum.as_ref().filter(|c| c.algorithm == algorithm)?;
            Some((checksum.value.as_slice(), part.len))
        })
        .collect();
    let checksum = values.and_then(|values| {
        if is_composite {
            Some(digest::composite(algorithm, values.iter().map(|(value, _)| *value)))
        } else {
            digest::combine(algorithm, &values)
        }
    });
    let part = |part: &UploadedPart| Part {
        number: part.number,
        len: part.len,
        checksum: part.checksum.as_ref().map(|checksum| checksum.value.clone()),
    };
    let encryption = encryption(upload, parts)?;
    let parts = parts.iter().map(part).collect();
    Ok(Attributes { etag, checksum, parts, encryption, ..upload.attributes.clone() })
}

/// How the whole is encrypted: each part as a stream of its own.
fn encryption(upload: &Upload, parts: &[UploadedPart]) -> Outcome<Option<Box<Encryption>>> {
    let Some(begun) = &upload.attributes.encryption else { return Ok(None) };
    let salts: Option<Vec<_>> = parts.iter().map(|part| part.salt).collect();
    let salts = salts.ok_or(Code::InternalError)?;
    Ok(Some(Box::new(Encryption { salts, ..(**begun).clone() })))
}

/// What the client says of the whole object.
#[derive(Debug, Default)]
pub(super) struct Announced {
    len: Option<u64>,
    checksum: Option<(ChecksumAlgorithm, String)>,
}

/// The headers that speak of the whole. What is wrong with them depends on the upload.
pub(super) struct Said {
    len: Option<String>,
    kind: Option<String>,
    checksum: Outcome<Option<(ChecksumAlgorithm, String)>>,
}

impl Said {
    pub(super) fn parse(request: &Request) -> Self {
        let text = |name: &str| request.header(name).map(str::to_owned);
        Self {
            len: text("x-amz-mp-object-size"),
            kind: text("x-amz-checksum-type"),
            checksum: digest::header_checksum(&request.headers),
        }
    }
}

/// The length that the client gives the whole.
fn whole_len(text: &str) -> Outcome<u64> {
    text.parse().map_err(|_| {
        let fault = if text.parse::<i64>().is_ok() { "less than zero" } else { "invalid" };
        let message = format!("Value for x-amz-mp-object-size header is {fault}: '{text}'");
        Failure::new(Code::InvalidRequest, message)
    })
}

/// What they say of the object of this upload.
pub(super) fn announced(said: Said, upload: &Upload) -> Outcome<Announced> {
    let invalid = |message: String| Err(Failure::new(Code::InvalidRequest, message));
    let len = said.len.as_deref().map(whole_len).transpose()?;
    let checksum = said.checksum?;
    let (expected, composite) = upload.checksum.unwrap_or((digest::DEFAULT_ALGORITHM, false));
    match said.kind.as_deref() {
        None => {}
        Some(kind) if kind.eq_ignore_ascii_case(digest::kind(composite)) => {}
        Some(kind) if kind.eq_ignore_ascii_case(digest::kind(!composite)) => {
            let kind = digest::kind(composite);
            return invalid(format!(
                "The upload was created using the {kind} checksum mode. The complete request must \
                 use the same checksum mode."
            ));
        }
        Some(_) => return invalid("Value for x-amz-checksum-type header is invalid.".to_owned()),
    }
    let Some((algorithm, value)) = checksum else {
        return Ok(Announced { len, checksum: None });
    };
    let (bare, count) = value.split_once('-').map_or((value.as_str(), None), |(bare, count)| {
        (bare, Some(count.bytes().all(|b| b.is_ascii_digit()) && !count.is_empty()))
    });
    if digest::unbase64(bare, digest::len(algorithm)).is_none() || count == Some(false) {
        return Err(digest::no_value(algorithm, &value));
    }
    if algorithm != expected {
        let (given, expected) = (digest::word(algorithm), digest::word(expected));
        return invalid(format!(
            "The upload was created using the {expected} checksum, not {given}."
        ));
    }
    Ok(Announced { len, checksum: Some((algorithm, value)) })
}

/// Holds the parts' lengths against what the client says of the whole: before anything is computed.
pub(super) fn check_len(announced: &Announced, parts: &[UploadedPart]) -> Outcome<()> {
    let len: u64 = parts.iter().map(|part| part.len).sum();
    match announced.len.filter(|given| *given != len) {
        None => Ok(()),
        Some(given) => {
            let message = format!(
                "The provided 'x-amz-mp-object-size' header value {given} does not match what was \
                 computed: {len}"
            );
            Err(Failure::new(Code::InvalidRequest, message))
        }
    }
}

/// Holds the whole's checksum against what the client says of it.
pub(super) fn check_checksum(announced: &Announced, attributes: &Attributes) -> Outcome<()> {
    let Some((algorithm, value)) = &announced.checksum else { return Ok(()) };
    let fits = attributes.checksum.as_ref().is_some_and(|checksum| {
        let shown = digest::shown(checksum, attributes.parts.len());
        *value == shown || *value == digest::base64(&checksum.value)
    });
    if fits { Ok(()) } else { Err(digest::mismatch(*algorithm)) }
}
