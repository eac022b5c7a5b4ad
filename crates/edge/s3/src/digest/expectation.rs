use super::{algorithm, base64, unbase64};
use crate::{
    body::Payload,
    by_name::ByName as _,
    error::{Code, Failure, Outcome},
};
use http::HeaderMap;
use ripstop_catalog::{Checksum, ChecksumAlgorithm};

/// What a client says of the bytes it sends, to be held against what is computed.
#[derive(Debug, Default)]
pub(crate) struct Expectation {
    md5: Option<[u8; 16]>,
    /// The checksum it uses, and its value unless that comes in the trailer.
    checksum: Option<(ChecksumAlgorithm, Option<Vec<u8>>)>,
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.named(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// The one checksum that the headers give a value for.
pub(crate) fn header_checksum(headers: &HeaderMap) -> Outcome<Option<(ChecksumAlgorithm, String)>> {
    if headers.keys().any(|name| is_unknown(name.as_str())) {
        let message = "The algorithm type you specified in x-amz-checksum- header is invalid.";
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    let mut given = algorithm::ALL.into_iter().filter_map(|algorithm| {
        Some((algorithm, text(headers, algorithm::header(algorithm))?.to_owned()))
    });
    let first = given.next();
    if given.next().is_some() {
        return Err(Failure::new(
            Code::InvalidRequest,
            "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
        ));
    }
    Ok(first)
}

/// Whether a header gives a value of a function that is not computed here: to take it would be to
/// vouch for what nobody looked at.
fn is_unknown(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("x-amz-checksum-") else { return false };
    !matches!(rest, "algorithm" | "mode" | "type") && algorithm::parse(rest).is_none()
}

fn value(algorithm: ChecksumAlgorithm, text: &str) -> Outcome<Vec<u8>> {
    unbase64(text, algorithm::len(algorithm)).ok_or_else(|| no_value(algorithm, text))
}

/// A value that came after the last chunk.
fn trailing(algorithm: ChecksumAlgorithm, text: &str) -> Outcome<Vec<u8>> {
    unbase64(text, algorithm::len(algorithm)).ok_or_else(|| {
        let header = algorithm::header(algorithm);
        let message = format!("Value for {header} trailing header is invalid.");
        Failure::new(Code::InvalidRequest, message)
    })
}

/// What a client is told whose value cannot be read: that the digest is bad where the value is cut
/// off and otherwise spelled well, else that the header is.
pub(crate) fn no_value(algorithm: ChecksumAlgorithm, text: &str) -> Failure {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/');
    if plain && !text.len().is_multiple_of(4) {
        return mismatch(algorithm);
    }
    unreadable(algorithm)
}

fn unreadable(algorithm: ChecksumAlgorithm) -> Failure {
    let header = algorithm::header(algorithm);
    Failure::new(Code::InvalidRequest, format!("Value for {header} header is invalid."))
}

/// Of a form, S3 does not tell values that are cut off from others that cannot be read.
pub(crate) fn check_form(headers: &HeaderMap) -> Outcome<()> {
    let Some((algorithm, text)) = header_checksum(headers)? else { return Ok(()) };
    let value = unbase64(&text, algorithm::len(algorithm));
    value.map(|_| ()).ok_or_else(|| unreadable(algorithm))
}

/// What a client is told whose value is of other bytes.
pub(crate) fn mismatch(algorithm: ChecksumAlgorithm) -> Failure {
    let word = algorithm::word(algorithm);
    let message = format!("The {word} you specified did not match the calculated checksum.");
    Failure::new(Code::BadDigest, message)
}

impl Expectation {
    /// Reads `content-md5`, `x-amz-checksum-*`, `x-amz-trailer` and `x-amz-sdk-checksum-algorithm`.
    pub(crate) fn read(headers: &HeaderMap) -> Outcome<Self> {
        let md5 = match text(headers, "content-md5") {
            None => None,
            Some(md5) => {
                let invalid = || Failure::from(Code::InvalidDigest).with("Content-MD5", md5);
                let md5 = unbase64(md5.trim(), 16).ok_or_else(invalid)?;
                Some(md5.try_into().expect("sixteen bytes were asked for"))
            }
        };
        let in_header = match header_checksum(headers)? {
            Some((algorithm, text)) => Some((algorithm, Some(value(algorithm, &text)?))),
            None => None,
        };
        let trailer = text(headers, "x-amz-trailer");
        let in_trailer = match trailer.and_then(|names| {
            names.split(',').map(str::trim).find(|name| {
                name.get(..15).is_some_and(|start| start.eq_ignore_ascii_case("x-amz-checksum-"))
            })
        }) {
            None => None,
            Some(name) => Some(algorithm::parse(&name[15..]).ok_or_else(|| {
                Failure::new(
                    Code::InvalidRequest,
                    "The value specified in the x-amz-trailer header is not supported",
                )
            })?),
        };
        let checksum = match (in_header, in_trailer) {
            (Some(_), Some(_)) => {
                return Err(Failure::new(
                    Code::InvalidRequest,
                    "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
                ));
            }
            (Some(given), None) => Some(given),
            (None, in_trailer) => in_trailer.map(|algorithm| (algorithm, None)),
        };
        let expectation = Self { md5, checksum };
        expectation.check_announced(headers)?;
        Ok(expectation)
    }

    /// Where the client names its algorithm, the value must be of that one.
    fn check_announced(&self, headers: &HeaderMap) -> Outcome<()> {
        for name in ["x-amz-sdk-checksum-algorithm", "x-amz-checksum-algorithm"] {
            let Some(announced) = text(headers, name) else { continue };
            let announced = algorithm::named(announced)?;
            match self.algorithm() {
                Some(given) if given != announced => {
                    let message = format!("Value for {name} header is invalid.");
                    return Err(Failure::new(Code::InvalidRequest, message));
                }
                None if self.md5.is_none() && name == "x-amz-sdk-checksum-algorithm" => {
                    return Err(Failure::new(
                        Code::InvalidRequest,
                        "x-amz-sdk-checksum-algorithm specified, but no corresponding \
                         x-amz-checksum-* or x-amz-trailer headers were found.",
                    ));
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }

    /// The algorithm that the client uses.
    pub(crate) fn algorithm(&self) -> Option<ChecksumAlgorithm> {
        self.checksum.as_ref().map(|(algorithm, _)| *algorithm)
    }

    /// Whether the client vouches for its bytes at all.
    pub(crate) const fn is_some(&self) -> bool {
        self.md5.is_some() || self.checksum.is_some()
    }

    /// Holds what was computed over the whole of `payload` against what was said.
    pub(crate) fn check(
        &self,
        payload: &Payload,
        md5: [u8; 16],
        sha256: Option<[u8; 32]>,
        computed: &[Checksum],
    ) -> Outcome<()> {
        if let Some(said) = &payload.sha256 {
            let is = sha256.map(hex::encode).unwrap_or_default();
            if *said != is {
                return Err(Failure::from(Code::XAmzContentSha256Mismatch)
                    .with("ClientComputedContentSHA256", said.as_str())
                    .with("S3ComputedContentSHA256", is));
            }
        }
        if let Some(expected) = self.md5.filter(|expected| *expected != md5) {
            return Err(Failure::from(Code::BadDigest)
                .with("ExpectedDigest", hex::encode(expected))
                .with("CalculatedDigest", base64(&md5)));
        }
        let Some((algorithm, given)) = &self.checksum else { return Ok(()) };
        let header = algorithm::header(*algorithm);
        let given = match given {
            Some(given) => given.clone(),
            None => trailing(*algorithm, payload.trailer(header).ok_or(Code::MalformedTrailer)?)?,
        };
        let matches = computed.iter().any(|c| c.algorithm == *algorithm && c.value == given);
        if matches { Ok(()) } else { Err(mismatch(*algorithm)) }
    }
}
