use super::claim::Claim;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Stands before the secret in the first key.
const PREFIX: &str = "AWS4";
/// The SHA-256 of nothing.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A code that is itself a key: wiped from memory as it is dropped.
fn derived(key: &[u8], text: &[u8]) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(hmac(key, text))
}

fn hmac(key: &[u8], text: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// The key that signs one day's requests to one region.
pub(super) struct SigningKey(Zeroizing<[u8; 32]>);

impl SigningKey {
    pub(super) fn derive(secret: &str, claim: &Claim) -> Self {
        Self::of(secret, &claim.date, &claim.region, &claim.service)
    }

    /// The key of this day, region and service.
    pub(super) fn of(secret: &str, date: &str, region: &str, service: &str) -> Self {
        let mut first = Zeroizing::new(String::with_capacity(PREFIX.len() + secret.len()));
        first.push_str(PREFIX);
        first.push_str(secret);
        let date = derived(first.as_bytes(), date.as_bytes());
        let region = derived(&*date, region.as_bytes());
        let service = derived(&*region, service.as_bytes());
        Self(derived(&*service, b"aws4_request"))
    }

    /// The signature of a form's policy as it came, hexadecimal.
    pub(super) fn sign_policy(&self, policy: &str) -> String {
        hex::encode(hmac(&*self.0, policy.as_bytes()))
    }

    /// The signature of a canonical request, hexadecimal.
    pub(super) fn sign_request(&self, claim: &Claim, request: &[u8]) -> String {
        let digest = hex::encode(Sha256::digest(request));
        let text = format!("AWS4-HMAC-SHA256\n{}\n{}\n{digest}", claim.date_time, claim.scope());
        hex::encode(hmac(&*self.0, text.as_bytes()))
    }
}

/// Verifies a body's chunks, each signed over the one before.
pub(crate) struct ChunkSigner {
    key: SigningKey,
    date_time: String,
    scope: String,
    previous: String,
}

impl ChunkSigner {
    pub(super) fn new(key: SigningKey, claim: &Claim) -> Self {
        Self {
            key,
            date_time: claim.date_time.clone(),
            scope: claim.scope(),
            previous: claim.signature.clone(),
        }
    }

    /// Whether `signature` is that of the next chunk, whose bytes have this SHA-256.
    pub(crate) fn accepts_chunk(&mut self, sha256: [u8; 32], signature: &str) -> bool {
        let rest = format!("{EMPTY}\n{}", hex::encode(sha256));
        self.accepts("PAYLOAD", &rest, signature)
    }

    /// Whether `signature` is that of the trailer, whose lines have this SHA-256.
    pub(crate) fn accepts_trailer(&mut self, sha256: [u8; 32], signature: &str) -> bool {
        self.accepts("TRAILER", &hex::encode(sha256), signature)
    }

    fn accepts(&mut self, what: &str, rest: &str, signature: &str) -> bool {
        let Self { key, date_time, scope, previous } = self;
        let text = format!("AWS4-HMAC-SHA256-{what}\n{date_time}\n{scope}\n{previous}\n{rest}");
        let expected = hex::encode(hmac(&*key.0, text.as_bytes()));
        let accepted = bool::from(expected.as_bytes().ct_eq(signature.as_bytes()));
        self.previous = expected;
        accepted
    }
}

impl fmt::Debug for ChunkSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkSigner").field("scope", &self.scope).finish_non_exhaustive()
    }
}
