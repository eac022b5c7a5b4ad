//! Signatures of forms: over the policy, which is a field like those of the signature.

use super::{
    Signatory, Terms,
    claim::{self, Scoped, scoped},
    presented::TOKEN,
    signatory::Candidate,
    signature::SigningKey,
};
use crate::{
    date,
    error::{Code, Failure, Outcome},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use ripstop_identity::Credentials;
use sha1::Sha1;
use subtle::ConstantTimeEq as _;

/// Fields of a signature of Version 4, the policy among them.
const VERSION_4: [&str; 5] =
    ["policy", "x-amz-signature", "x-amz-credential", "x-amz-date", "x-amz-algorithm"];
/// The same of Version 2.
const VERSION_2: [&str; 3] = ["policy", "signature", "awsaccesskeyid"];

/// Who signed a form's policy; `None` if the form has no part of a signature.
pub(crate) fn signer_of_form<'f>(
    field: impl Fn(&str) -> Option<&'f str>,
    credentials: &Credentials,
    terms: &Terms<'_>,
    now_s: i64,
) -> Outcome<Option<Signatory>> {
    let is_there = |name: &&str| field(name).is_some();
    let is_legacy = VERSION_2[1..].iter().any(&is_there) && !VERSION_4[1..].iter().any(&is_there);
    let names: &[&str] = if is_legacy { &VERSION_2 } else { &VERSION_4 };
    let has_token = field(TOKEN).is_some_and(|token| !token.is_empty());
    if !names.iter().any(&is_there) {
        return if has_token { Err(Code::InvalidToken.into()) } else { Ok(None) };
    }
    if let Some(name) = names.iter().find(|name| !is_there(name)) {
        return Err(missing(name));
    }
    let value = |name| field(name).unwrap_or_default();
    if is_legacy && !terms.signature_v2 {
        return Err(claim::version_2());
    }
    let scope = if is_legacy { None } else { Some(read_scope(value, terms.region)?) };
    let access_key = scope.as_ref().map_or_else(|| value("awsaccesskeyid"), |it| it.access_key);
    let candidate = Candidate::find(access_key, field(TOKEN), credentials, terms.keys)?;
    let (secret, is_known) = candidate.secret();
    let policy = value("policy");
    let (expected, given) = match &scope {
        None => (sign_version_2(secret, policy), value("signature")),
        Some(Scoped { date, region, service, .. }) => {
            let key = SigningKey::of(secret, date, region, service);
            (key.sign_policy(policy), value("x-amz-signature"))
        }
    };
    judge(access_key, is_known, &expected, given, policy)?;
    candidate.admit(now_s).map(Some)
}

/// What a form is told that lacks a field.
pub(crate) fn missing(name: &str) -> Failure {
    let message = format!(
        "Bucket POST must contain a field named '{name}'.  If it is specified, please check the \
         order of the fields."
    );
    Failure::argument(message, name, "")
}

/// What a signature of Version 4 is good for.
fn read_scope<'f>(value: impl Fn(&'static str) -> &'f str, region: &str) -> Outcome<Scoped<'f>> {
    let algorithm = value("x-amz-algorithm");
    if algorithm != claim::ALGORITHM {
        let message = "Only AWS4-HMAC-SHA256 is supported";
        return Err(Failure::argument(message, "X-Amz-Algorithm", algorithm));
    }
    let date_time = value("x-amz-date");
    if date::parse_basic(date_time).is_none() {
        let message = "X-Amz-Date must be formated via ISO8601 Long format";
        return Err(Failure::argument(message, "X-Amz-Date", date_time));
    }
    let credential = value("x-amz-credential");
    let malformed =
        |message: &str| Failure::argument(message.to_owned(), "x-amz-credential", credential);
    let scope = scoped(credential).map_err(|message| malformed(&message))?;
    let Scoped { access_key, date, region: of, service } = scope;
    if access_key.is_empty() {
        return Err(malformed(claim::MALFORMED));
    }
    if date.len() != 8 || !date_time.starts_with(date) {
        return Err(malformed(&format!(
            "Invalid credential date \"{date}\". This date is not the same as X-Amz-Date: \
             \"{date_time}\"."
        )));
    }
    if of != region {
        let message = format!("the region \"{of}\" is wrong; expecting \"{region}\"");
        return Err(malformed(&message).with("Region", region));
    }
    if service != "s3" {
        let message = format!("incorrect service \"{service}\". This endpoint belongs to \"s3\".");
        return Err(malformed(&message));
    }
    Ok(Scoped { access_key, date, region: of, service })
}

fn sign_version_2(secret: &str, policy: &str) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("HMAC takes any key");
    mac.update(policy.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

/// Refuses what is not the signature of the access key's owner.
fn judge(
    access_key: &str,
    is_known: bool,
    expected: &str,
    given: &str,
    policy: &str,
) -> Outcome<()> {
    let matches = bool::from(expected.as_bytes().ct_eq(given.as_bytes()));
    if !is_known {
        return Err(Failure::from(Code::InvalidAccessKeyId).with("AWSAccessKeyId", access_key));
    }
    if !matches {
        let bytes: Vec<String> = policy.bytes().map(|byte| format!("{byte:02x}")).collect();
        return Err(Failure::from(Code::SignatureDoesNotMatch)
            .with("AWSAccessKeyId", access_key)
            .with("StringToSign", policy)
            .with("SignatureProvided", given)
            .with("StringToSignBytes", bytes.join(" ")));
    }
    Ok(())
}
