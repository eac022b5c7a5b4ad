use super::{
    ChunkSigner, PayloadClaim, Presented, Terms, Verified, canonical,
    claim::{self, Claim, Place},
    legacy, payload,
    presented::TOKEN,
    signatory::Candidate,
    signature::SigningKey,
};
use crate::by_name::ByName as _;
use crate::error::{Code, Failure, Outcome};
use ripstop_identity::Credentials;
use subtle::ConstantTimeEq as _;

/// Furthest that a request's clock may be from ours.
const SKEW_S_MAX: i64 = 15 * 60;
/// How the parameters of a presigned URL begin.
const SIGNED_PARAMETERS: &str = "x-amz-";

/// Verifies the signature of a request that came at `now_s` (seconds since 1970).
pub(crate) fn verify(
    presented: &Presented<'_>,
    credentials: &Credentials,
    terms: &Terms<'_>,
    now_s: i64,
) -> Outcome<Verified> {
    if !legacy::is_claimed(presented) {
        return verify_version_4(presented, Purpose::S3, credentials, terms, now_s);
    }
    if !terms.signature_v2 {
        return Err(claim::version_2());
    }
    legacy::verify(presented, credentials, terms, now_s)
}

/// The same of a call of the Security Token Service, whose body has this SHA-256 (hexadecimal).
pub(crate) fn verify_call(
    presented: &Presented<'_>,
    sha256: &str,
    credentials: &Credentials,
    terms: &Terms<'_>,
    now_s: i64,
) -> Outcome<Verified> {
    verify_version_4(presented, Purpose::Call { sha256 }, credentials, terms, now_s)
}

/// What a signature is for.
#[derive(Clone, Copy)]
enum Purpose<'a> {
    /// A request of S3, which says what it is over of the body.
    S3,
    /// A call, over all of its body.
    Call {
        /// Of the body, hexadecimal.
        sha256: &'a str,
    },
}

impl Purpose<'_> {
    const fn service(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Call { .. } => "sts",
        }
    }
}

/// Whether a request has no signature, nor a part of one, nor a token that goes with one.
pub(crate) fn is_unsigned(presented: &Presented<'_>) -> bool {
    const LEGACY: [&str; 3] = ["AWSAccessKeyId", "Signature", "Expires"];
    let mut names = presented.query.pairs().iter().map(|(name, _)| name.as_str());
    let authorization = presented.headers.get(http::header::AUTHORIZATION);
    authorization.is_none_or(http::HeaderValue::is_empty)
        && presented.headers.named(TOKEN).is_none()
        && !names.any(|name| {
            let start = name.get(..SIGNED_PARAMETERS.len()).unwrap_or_default();
            start.eq_ignore_ascii_case(SIGNED_PARAMETERS) || LEGACY.contains(&name)
        })
}

/// What a request without a signature says of its body. Nobody vouches for chunks that are signed.
pub(crate) fn unsigned_payload(presented: &Presented<'_>) -> Outcome<PayloadClaim> {
    let payload = payload::read_unsigned(presented)?;
    if payload.chunks_are_signed() {
        let message = "Anonymous requests don't support this x-amz-content-sha256 value. Please \
                       use UNSIGNED-PAYLOAD or STREAMING-UNSIGNED-PAYLOAD-TRAILER.";
        return Err(Failure::new(Code::InvalidRequest, message));
    }
    Ok(payload)
}

fn verify_version_4(
    presented: &Presented<'_>,
    purpose: Purpose<'_>,
    credentials: &Credentials,
    terms: &Terms<'_>,
    now_s: i64,
) -> Outcome<Verified> {
    let claim = Claim::read(presented)?;
    check_time(&claim, now_s)?;
    check_scope(&claim, terms.region, purpose.service())?;
    check_signed_headers(presented, &claim)?;
    let (payload, payload_text) = match purpose {
        Purpose::S3 => payload::read(presented, claim.place)?,
        Purpose::Call { sha256 } => (PayloadClaim::Unsigned, sha256),
    };

    let token = presented.token();
    let candidate = Candidate::find(&claim.access_key, token, credentials, terms.keys)?;
    let (secret, known) = candidate.secret();
    let key = SigningKey::derive(secret, &claim);
    let mut matches = subtle::Choice::from(0);
    for request in canonical::requests(presented, &claim, payload_text) {
        let expected = key.sign_request(&claim, &request);
        matches |= expected.as_bytes().ct_eq(claim.signature.as_bytes());
    }
    if !known {
        return Err(Failure::from(Code::InvalidAccessKeyId)
            .with("AWSAccessKeyId", claim.access_key.as_str()));
    }
    if !bool::from(matches) {
        return Err(Failure::from(Code::SignatureDoesNotMatch)
            .with("AWSAccessKeyId", claim.access_key.as_str())
            .with("SignatureProvided", claim.signature.as_str()));
    }
    let who = candidate.admit(now_s)?;
    let chunks = payload.chunks_are_signed().then(|| ChunkSigner::new(key, &claim));
    Ok(Verified { who, payload, chunks })
}

fn check_time(claim: &Claim, now_s: i64) -> Outcome<()> {
    let age_s = now_s - claim.at_s;
    match claim.place {
        Place::Header if age_s.abs() > SKEW_S_MAX => Err(Failure::from(Code::RequestTimeTooSkewed)
            .with("RequestTime", claim.date_time.as_str())
            .with("ServerTime", crate::date::document(now_s.max(0) as u64 * 1000))
            .with("MaxAllowedSkewMilliseconds", (SKEW_S_MAX * 1000).to_string())),
        Place::Query { .. } if age_s < -SKEW_S_MAX => {
            Err(Failure::new(Code::AccessDenied, "Request is not valid yet"))
        }
        Place::Query { expires_s } if age_s > expires_s || expires_s == 0 => {
            Err(Failure::new(Code::AccessDenied, "Request has expired")
                .with("X-Amz-Expires", expires_s.to_string())
                .with(
                    "Expires",
                    crate::date::document((claim.at_s + expires_s).max(0) as u64 * 1000),
                )
                .with("ServerTime", crate::date::document(now_s.max(0) as u64 * 1000)))
        }
        Place::Header | Place::Query { .. } => Ok(()),
    }
}

fn check_scope(claim: &Claim, region: &str, service: &str) -> Outcome<()> {
    let malformed = |message: String| Err(claim.place.malformed(message));
    if claim.service != service {
        return malformed(format!(
            "incorrect service \"{}\". This endpoint belongs to \"{service}\".",
            claim.service
        ));
    }
    if claim.region != region {
        let failure = claim
            .place
            .malformed(format!("the region '{}' is wrong; expecting '{region}'", claim.region));
        return Err(failure.with("Region", region));
    }
    if claim.date.len() != 8 || !claim.date.bytes().all(|byte| byte.is_ascii_digit()) {
        return malformed(format!(
            "incorrect date format \"{}\". This date in the credential must be in the format \
             \"yyyyMMdd\".",
            claim.date
        ));
    }
    let day = claim.date_time.get(..8).unwrap_or_default();
    if claim.date != day {
        let message = format!(
            "Invalid credential date \"{}\". This date is not the same as X-Amz-Date: \"{day}\".",
            claim.date
        );
        return match claim.place {
            Place::Header => malformed(message),
            Place::Query { .. } => {
                Err(Failure::new(Code::AuthorizationQueryParametersError, message))
            }
        };
    }
    Ok(())
}

/// S3 wants the host and every `x-amz-` header of the request under the signature.
fn check_signed_headers(presented: &Presented<'_>, claim: &Claim) -> Outcome<()> {
    let signed =
        |name: &str| claim.signed_headers.binary_search_by(|signed| (**signed).cmp(name)).is_ok();
    let mut missing: Vec<&str> = presented
        .headers
        .keys()
        .map(http::HeaderName::as_str)
        .filter(|name| name.starts_with("x-amz-") && !signed(name))
        .collect();
    if !signed("host") {
        missing.push("host");
    }
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort_unstable();
    let message = "There were headers present in the request which were not signed";
    Err(Failure::new(Code::AccessDenied, message).with("HeadersNotSigned", missing.join(", ")))
}
