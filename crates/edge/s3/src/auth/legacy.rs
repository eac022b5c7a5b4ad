//! Signature Version 2, of presigned URLs only: what boto3 makes unless told otherwise.

use super::{
    PayloadClaim, Presented, Terms, Verified, claim::EXPIRY_S_MAX, presented::TOKEN,
    signatory::Candidate,
};
use crate::{
    error::{Code, Failure, Outcome},
    uri,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::Method;
use ripstop_identity::Credentials;
use sha1::Sha1;
use subtle::ConstantTimeEq as _;

/// Query parameters that are the signature.
const OWN: [&str; 4] = ["AWSAccessKeyId", "Expires", "Signature", TOKEN];

/// Whether a request claims such a signature and no other.
pub(super) fn is_claimed(presented: &Presented<'_>) -> bool {
    let query = presented.query;
    query.has("AWSAccessKeyId")
        && query.has("Signature")
        && !query.has("X-Amz-Signature")
        && !presented.headers.contains_key(http::header::AUTHORIZATION)
}

pub(super) fn verify(
    presented: &Presented<'_>,
    credentials: &Credentials,
    terms: &Terms<'_>,
    now_s: i64,
) -> Outcome<Verified> {
    let covered = terms.covered;
    check_covered(presented, covered)?;
    let query = presented.query;
    let access_key = query.get("AWSAccessKeyId").unwrap_or_default();
    let expires = query.get("Expires").unwrap_or_default();
    let expires_s: i64 = expires.parse().map_err(|_| {
        Failure::new(Code::AccessDenied, "Invalid date (should be seconds since epoch)")
    })?;
    if now_s > expires_s {
        return Err(Failure::new(Code::AccessDenied, "Request has expired"));
    }
    if expires_s - now_s > EXPIRY_S_MAX {
        let message = "Expires must be less than a week ahead";
        return Err(Failure::new(Code::AuthorizationQueryParametersError, message));
    }
    let token = presented.token();
    let candidate = Candidate::find(access_key, token, credentials, terms.keys)?;
    let (secret, known) = candidate.secret();
    let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("HMAC takes any key");
    mac.update(&text_to_sign(presented, covered, expires));
    let expected = STANDARD.encode(mac.finalize().into_bytes());
    let given = query.get("Signature").unwrap_or_default();
    let matches = bool::from(expected.as_bytes().ct_eq(given.as_bytes()));
    if !known {
        return Err(Failure::from(Code::InvalidAccessKeyId).with("AWSAccessKeyId", access_key));
    }
    if !matches {
        return Err(Failure::from(Code::SignatureDoesNotMatch).with("AWSAccessKeyId", access_key));
    }
    let who = candidate.admit(now_s)?;
    Ok(Verified { who, payload: PayloadClaim::Unsigned, chunks: None })
}

/// Refuses what such a signature cannot vouch for: parameters that are not under it, and changes of
/// buckets, since signers left parameters out that would have made it a lesser change.
fn check_covered(presented: &Presented<'_>, covered: &[&str]) -> Outcome<()> {
    let mut pairs = presented.query.pairs().iter();
    let uncovered = pairs.find(|(name, value)| {
        !OWN.contains(&name.as_str())
            && covered.binary_search(&name.as_str()).is_err()
            && !repeats_header(presented, name, value)
    });
    if let Some((name, _)) = uncovered {
        let message = format!(
            "Signature Version 2 does not cover the query parameter {name:?}. Please use \
             AWS4-HMAC-SHA256."
        );
        return Err(Failure::new(Code::AccessDenied, message));
    }
    let reads = matches!(*presented.method, Method::GET | Method::HEAD);
    if reads || names_a_key(presented) {
        return Ok(());
    }
    let message = "Signature Version 2 is taken for objects and for reading only. Please use \
                   AWS4-HMAC-SHA256.";
    Err(Failure::new(Code::AccessDenied, message))
}

/// Whether a parameter says what a header under the signature says, as signers add it to tell the
/// user of the URL which headers it takes.
fn repeats_header(presented: &Presented<'_>, name: &str, value: &str) -> bool {
    let signed = matches!(name, "content-md5" | "content-type") || name.starts_with("x-amz-");
    let header = presented.headers.get(name).filter(|_| signed);
    header.is_some_and(|header| header.as_bytes() == value.as_bytes())
}

/// Whether the path goes on after the bucket.
fn names_a_key(presented: &Presented<'_>) -> bool {
    let path = uri::decode_bytes(presented.path.as_bytes(), false).unwrap_or_default();
    let path = path.strip_prefix(b"/").unwrap_or(&path);
    match presented.host_bucket {
        Some(_) => !path.is_empty(),
        None => path.splitn(2, |&byte| byte == b'/').nth(1).is_some_and(|key| !key.is_empty()),
    }
}

fn text_to_sign(presented: &Presented<'_>, covered: &[&str], expires: &str) -> Vec<u8> {
    let header =
        |name: &str| presented.headers.get(name).map_or(&b""[..], |value| value.as_bytes());
    let mut text = Vec::with_capacity(256);
    for line in [
        presented.method.as_str().as_bytes(),
        header("content-md5"),
        header("content-type"),
        expires.as_bytes(),
    ] {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    let mut names: Vec<_> = presented.headers.keys().map(http::HeaderName::as_str).collect();
    names.retain(|name| name.starts_with("x-amz-"));
    names.sort_unstable();
    // Signers put it under the signature as a header, and then into the query.
    let token = presented.query.get(TOKEN).filter(|_| !presented.headers.contains_key(TOKEN));
    if token.is_some() {
        let at = names.partition_point(|name| *name < TOKEN);
        names.insert(at, TOKEN);
    }
    for name in names {
        let mut values: Vec<_> =
            presented.headers.get_all(name).iter().map(|v| v.as_bytes().trim_ascii()).collect();
        values.extend(token.filter(|_| name == TOKEN).map(str::as_bytes));
        text.extend_from_slice(name.as_bytes());
        text.push(b':');
        text.extend_from_slice(&values.join(&b','));
        text.push(b'\n');
    }
    if let Some(bucket) = presented.host_bucket {
        text.push(b'/');
        text.extend_from_slice(bucket.as_bytes());
    }
    text.extend_from_slice(presented.path.as_bytes());
    let parameters = covered.iter().filter_map(|name| Some((name, presented.query.get(name)?)));
    for (at, (name, value)) in parameters.enumerate() {
        text.push(if at == 0 { b'?' } else { b'&' });
        text.extend_from_slice(name.as_bytes());
        if !value.is_empty() {
            text.push(b'=');
            text.extend_from_slice(value.as_bytes());
        }
    }
    text
}
