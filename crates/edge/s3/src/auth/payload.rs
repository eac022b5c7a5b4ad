use super::{Presented, claim::Place};
use crate::by_name::ByName as _;
use crate::error::{Code, Failure, Outcome};
use http::HeaderMap;

/// Says what the SHA-256 of a body is, or how it comes.
const SHA256: &str = "x-amz-content-sha256";

/// What was said of the body where the request was signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PayloadClaim {
    /// Nothing.
    Unsigned,
    /// Its SHA-256.
    Sha256([u8; 32]),
    /// Something that is no SHA-256, and so not its own: only where nobody signed it.
    Another,
    /// It comes in chunks.
    Chunks {
        /// Each with a signature.
        signed: bool,
        /// With headers after the last one.
        trailer: bool,
    },
}

impl PayloadClaim {
    /// Whether it comes without framing.
    pub(crate) const fn is_plain(self) -> bool {
        !matches!(self, Self::Chunks { .. })
    }

    /// What was said of its SHA-256, hexadecimal, where it is said of the whole.
    pub(crate) fn sha256(self, headers: &HeaderMap) -> Option<String> {
        match self {
            Self::Sha256(sha256) => Some(hex::encode(sha256)),
            Self::Another => {
                let said = headers.named(SHA256).and_then(|said| said.to_str().ok());
                Some(said.unwrap_or_default().to_owned())
            }
            Self::Unsigned | Self::Chunks { .. } => None,
        }
    }

    /// Whether each chunk has a signature.
    pub(crate) const fn chunks_are_signed(self) -> bool {
        matches!(self, Self::Chunks { signed: true, .. })
    }
}

/// Reads `x-amz-content-sha256`; answers also the words that stand for it in the canonical request.
pub(super) fn read<'a>(
    presented: &Presented<'a>,
    place: Place,
) -> Outcome<(PayloadClaim, &'a str)> {
    let header = presented.headers.named(SHA256);
    let text = match (header, place) {
        (Some(value), _) => value.to_str().map_err(|_| invalid("?"))?,
        (None, Place::Query { .. }) => {
            presented.query.get("X-Amz-Content-Sha256").unwrap_or("UNSIGNED-PAYLOAD")
        }
        (None, Place::Header) => {
            return Err(Failure::new(
                Code::InvalidRequest,
                "Missing required header for this request: x-amz-content-sha256",
            ));
        }
    };
    let claim = match text {
        "UNSIGNED-PAYLOAD" => PayloadClaim::Unsigned,
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" => {
            PayloadClaim::Chunks { signed: true, trailer: false }
        }
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" => {
            PayloadClaim::Chunks { signed: true, trailer: true }
        }
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => {
            PayloadClaim::Chunks { signed: false, trailer: true }
        }
        "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"
        | "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER" => {
            return Err(Code::NotImplemented.into());
        }
        digest => {
            let mut sha256 = [0; 32];
            hex::decode_to_slice(digest, &mut sha256).map_err(|_| invalid(digest))?;
            PayloadClaim::Sha256(sha256)
        }
    };
    Ok((claim, text))
}

/// The same of a request without a signature: of it S3 does not look at the words before it has
/// the body.
pub(super) fn read_unsigned(presented: &Presented<'_>) -> Outcome<PayloadClaim> {
    match read(presented, Place::Query { expires_s: 0 }) {
        Ok((claim, _)) => Ok(claim),
        Err(failure) if failure.code == Code::InvalidArgument => Ok(PayloadClaim::Another),
        Err(failure) => Err(failure),
    }
}

fn invalid(value: &str) -> Failure {
    Failure::argument(
        "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, \
         STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid \
         sha256 value.",
        "x-amz-content-sha256",
        value,
    )
}
