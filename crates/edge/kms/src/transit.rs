//! What is said to a transit engine, and what its answers mean.
//! <https://openbao.org/api-docs/secret/transit/>

use crate::wire::Came;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ripstop_envelope::{KeyFault, KeyUse, WrappingKey};
use serde::Deserialize;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// The pair of a context that says what a key is bound to, as AWS names it.
const ARN: &str = "aws:s3:arn";
/// Longest name of a key.
const NAME_LEN_MAX: usize = 256;
/// What is repeated of a service's words, in characters.
const SAID_LEN_MAX: usize = 200;

/// What an answer comes to that is not the wished one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The service has said no.
    Fault(KeyFault),
    /// It does not know who asks, or does not let them.
    Forbidden(String),
    /// It may say yes if it is asked again.
    Again(String),
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<String>,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: T,
}

#[derive(Deserialize)]
struct Encrypted {
    ciphertext: String,
}

#[derive(Deserialize)]
struct Decrypted {
    plaintext: Zeroizing<String>,
}

/// What is told of a key.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Key {
    supports_encryption: Option<bool>,
    derived: bool,
    soft_deleted: bool,
}

#[derive(Deserialize)]
struct LoggedIn {
    auth: Auth,
}

/// A token, and how long it is good for.
#[derive(Deserialize)]
pub(crate) struct Auth {
    pub(crate) client_token: Zeroizing<String>,
    /// Seconds; 0: for ever.
    #[serde(default)]
    pub(crate) lease_duration: u64,
}

/// The name, if a key can have it: it becomes part of a path.
pub(crate) fn checked(name: &str) -> Result<&str, KeyFault> {
    let in_names = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let begins =
        name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if begins && name.len() <= NAME_LEN_MAX && name.bytes().all(in_names) {
        return Ok(name);
    }
    Err(KeyFault::Missing { key: name.to_owned() })
}

/// What a key is bound to, in one form: the client's pairs and the ARN, by name.
fn about(of: &KeyUse<'_>) -> Result<String, KeyFault> {
    let mismatch = || KeyFault::Mismatch { key: of.key.to_owned() };
    let mut pairs: BTreeMap<String, String> = BTreeMap::new();
    if !of.context.is_empty() {
        let json = STANDARD.decode(of.context).map_err(|_| mismatch())?;
        pairs = serde_json::from_slice(&json).map_err(|_| mismatch())?;
    }
    pairs.insert(ARN.to_owned(), of.arn.to_owned());
    let json = serde_json::to_vec(&pairs).map_err(|_| mismatch())?;
    Ok(STANDARD.encode(json))
}

/// Asks for this key to be sealed.
pub(crate) fn encrypt(key: &WrappingKey, of: &KeyUse<'_>) -> Result<Zeroizing<Vec<u8>>, KeyFault> {
    let mut text = Zeroizing::new([0; 44]);
    let len = STANDARD.encode_slice(key.bytes(), &mut *text);
    let len = len.expect("44 characters are 32 bytes in Base64");
    let about = about(of)?;
    // Room for all of it from the start: bytes that move as they grow leave copies behind.
    let mut body = Zeroizing::new(Vec::with_capacity(about.len() + 128));
    for part in [&b"{\"plaintext\":\""[..], &text[..len], b"\",\"associated_data\":\""] {
        body.extend_from_slice(part);
    }
    body.extend_from_slice(about.as_bytes());
    body.extend_from_slice(b"\"}");
    Ok(body)
}

/// Asks for a sealed key to be opened.
pub(crate) fn decrypt(sealed: &[u8], of: &KeyUse<'_>) -> Result<Zeroizing<Vec<u8>>, KeyFault> {
    let mismatch = || KeyFault::Mismatch { key: of.key.to_owned() };
    let sealed = std::str::from_utf8(sealed).map_err(|_| mismatch())?;
    let said = serde_json::json!({ "ciphertext": sealed, "associated_data": about(of)? });
    Ok(Zeroizing::new(said.to_string().into_bytes()))
}

/// The sealed key.
pub(crate) fn encrypted(came: &Came) -> Result<Vec<u8>, Verdict> {
    let answer: Answer<Encrypted> = read(came)?;
    Ok(answer.data.ciphertext.into_bytes())
}

/// The opened key.
pub(crate) fn decrypted(came: &Came, key: &str) -> Result<WrappingKey, Verdict> {
    let answer: Answer<Decrypted> = read(came)?;
    // Room for more, so that what is too long is seen to be.
    let mut bytes = Zeroizing::new([0; 48]);
    let len = STANDARD.decode_slice(&*answer.data.plaintext, &mut *bytes).ok();
    let bytes = len.and_then(|len| <&[u8; 32]>::try_from(&bytes[..len]).ok());
    let mismatch = || Verdict::Fault(KeyFault::Mismatch { key: key.to_owned() });
    bytes.map(WrappingKey::from_bytes).ok_or_else(mismatch)
}

/// Whether a key is one that wraps others.
pub(crate) fn is_fit(came: &Came, key: &str) -> Result<(), Verdict> {
    let Answer { data: told } = read::<Answer<Key>>(came)?;
    let (key, unfit) = (key.to_owned(), told.supports_encryption == Some(false));
    let fault = match (told.soft_deleted, unfit, told.derived) {
        (false, false, false) => return Ok(()),
        (true, _, _) => KeyFault::Disabled { key, said: "it is deleted softly".to_owned() },
        (_, true, _) => KeyFault::Unfit { key, said: "it does not encrypt".to_owned() },
        (_, _, true) => {
            let said = "keys that are derived from it are not used".to_owned();
            KeyFault::Unfit { key, said }
        }
    };
    Err(Verdict::Fault(fault))
}

/// A token.
pub(crate) fn logged_in(came: &Came) -> Result<Auth, Verdict> {
    read::<LoggedIn>(came).map(|logged_in| logged_in.auth)
}

fn read<'a, T: Deserialize<'a>>(came: &'a Came) -> Result<T, Verdict> {
    // What is wrong with it is not said: that may repeat what it holds.
    let strange = |_| Verdict::Again("its answer is not what is documented".to_owned());
    serde_json::from_slice(&came.body).map_err(strange)
}

/// What an answer means that is not a success, about a key of this name.
pub(crate) fn refusal(came: &Came, key: &str) -> Verdict {
    let errors = serde_json::from_slice::<Errors>(&came.body).map(|told| told.errors);
    let errors = errors.unwrap_or_default();
    let said = told(came.status, &errors.join("; "));
    let says = |word: &str| said.contains(word);
    let key = key.to_owned();
    match came.status {
        403 => Verdict::Forbidden(said),
        // An engine that is not there says so; a key that is not there says nothing.
        404 if !says("no handler") && !says("route") => Verdict::Fault(KeyFault::Missing { key }),
        // 412: a standby does not know yet what its active server does.
        300..400 | 412 | 429 | 500.. => Verdict::Again(said),
        400 if says("key not found") => Verdict::Fault(KeyFault::Missing { key }),
        400 if says("authentication failed") || says("invalid ciphertext") => {
            Verdict::Fault(KeyFault::Mismatch { key })
        }
        400 if says("disallowed by policy") || says("soft") || says("deleted") => {
            Verdict::Fault(KeyFault::Disabled { key, said })
        }
        400 => Verdict::Fault(KeyFault::Unfit { key, said }),
        _ => Verdict::Fault(KeyFault::Unavailable { said }),
    }
}

/// A service's words on one line, of bounded length.
fn told(status: u16, words: &str) -> String {
    let plain = words.split(|c: char| c.is_whitespace() || c.is_control());
    let plain: Vec<&str> = plain.filter(|word| !word.is_empty()).collect();
    let mut said = format!("{status} {}", plain.join(" "));
    if let Some((end, _)) = said.char_indices().nth(SAID_LEN_MAX) {
        said.truncate(end);
    }
    said.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(status: u16, body: &str) -> Came {
        Came { status, body: body.to_owned().into() }
    }

    #[test]
    fn answers_that_say_no_are_told_apart() {
        let no = |status, said: &str| {
            let body = serde_json::json!({ "errors": [said] }).to_string();
            match refusal(&came(status, &body), "k") {
                Verdict::Fault(KeyFault::Missing { .. }) => "missing",
                Verdict::Fault(KeyFault::Mismatch { .. }) => "mismatch",
                Verdict::Fault(KeyFault::Disabled { .. }) => "disabled",
                Verdict::Fault(KeyFault::Unfit { .. }) => "unfit",
                Verdict::Fault(KeyFault::Unavailable { .. }) => "unavailable",
                Verdict::Fault(KeyFault::Refused { .. } | KeyFault::Busy) => "other",
                Verdict::Forbidden(_) => "forbidden",
                Verdict::Again(_) => "again",
            }
        };
        for (status, said, means) in [
            (400, "encryption key not found", "missing"),
            (404, "", "missing"),
            (404, "no handler for route 'transit/keys/k'. route entry not found.", "unavailable"),
            (400, "cipher: message authentication failed", "mismatch"),
            (400, "invalid ciphertext: no prefix", "mismatch"),
            (400, "ciphertext or signature version is disallowed by policy (too old)", "disabled"),
            (400, "'[0].associated_data' provided for non-AEAD cipher suite rsa-2048", "unfit"),
            (400, "missing 'context' for key derivation", "unfit"),
            (403, "permission denied", "forbidden"),
            (405, "unsupported operation", "unavailable"),
            (307, "", "again"),
            (429, "rate limit quota exceeded", "again"),
            (503, "Vault is sealed", "again"),
        ] {
            assert_eq!(no(status, said), means, "{status} {said}");
        }
        assert_eq!(refusal(&came(502, "<html>"), "k"), Verdict::Again("502".to_owned()));
        let long = told(500, &"two\nlines ".repeat(100));
        assert!(long.len() == SAID_LEN_MAX && !long.contains('\n'), "{long}");
    }

    #[test]
    fn a_key_goes_in_and_out_with_what_it_is_bound_to() {
        let key = WrappingKey::from_bytes(&[7; 32]);
        let context = STANDARD.encode(r#"{"z": "1", "a": "b", "aws:s3:arn": "mine"}"#);
        let of = KeyUse { key: "k", arn: "arn:x", context: &context, is_shared: false };
        let body = encrypt(&key, &of).unwrap();
        let said: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(said["plaintext"], STANDARD.encode([7; 32]));
        let about = STANDARD.decode(said["associated_data"].as_str().unwrap()).unwrap();
        assert_eq!(about, br#"{"a":"b","aws:s3:arn":"arn:x","z":"1"}"#);
        assert!(encrypt(&key, &KeyUse { context: "no", ..of }).is_err());
        let body = decrypt(b"vault:v1:\"x", &of).unwrap();
        let said: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(said["ciphertext"], "vault:v1:\"x");
        let plain = format!(r#"{{"data":{{"plaintext":"{}"}}}}"#, STANDARD.encode([7; 32]));
        assert_eq!(decrypted(&came(200, &plain), "k").unwrap().bytes(), &[7; 32]);
        for strange in ["AAAA", &STANDARD.encode([7; 33]), "no base64!"] {
            let plain = format!(r#"{{"data":{{"plaintext":"{strange}"}}}}"#);
            assert!(matches!(decrypted(&came(200, &plain), "k"), Err(Verdict::Fault(_))));
        }
        assert!(matches!(decrypted(&came(200, "{}"), "k"), Err(Verdict::Again(_))));
    }

    #[test]
    fn a_name_that_is_no_part_of_a_path_is_no_keys() {
        for name in ["reports", "a.b-c_1", "_x"] {
            assert_eq!(checked(name), Ok(name));
        }
        for name in ["", "..", "../sys", "a/b", "a b", "a?b", "a%2e", "-x", &"k".repeat(257)] {
            assert!(checked(name).is_err(), "{name}");
        }
    }
}
