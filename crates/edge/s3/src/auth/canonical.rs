use super::{
    Presented,
    claim::{Claim, Place},
};
use crate::uri;

/// The canonical requests that the client may have signed: one with path and query encoded as the
/// specification wants, and, where that is another, one with both as they were sent.
pub(super) fn requests(presented: &Presented<'_>, claim: &Claim, payload: &str) -> Vec<Vec<u8>> {
    let path = uri::decode_bytes(presented.path.as_bytes(), false)
        .and_then(|path| String::from_utf8(path).ok())
        .map_or_else(|| presented.path.to_owned(), |path| uri::encode(&path, b"/").into_owned());
    let query = canonical_query(presented, claim.place);
    let raw_query = sorted_query(presented.raw_query, claim.place);
    let mut requests = vec![request(presented, claim, payload, &path, &query)];
    if path != presented.path || query != raw_query {
        requests.push(request(presented, claim, payload, presented.path, &raw_query));
    }
    requests
}

fn request(
    presented: &Presented<'_>,
    claim: &Claim,
    payload: &str,
    path: &str,
    query: &str,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    for line in [presented.method.as_str(), path, query] {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    for name in &claim.signed_headers {
        out.extend_from_slice(name.as_bytes());
        out.push(b':');
        for (at, value) in presented.headers.get_all(name.as_str()).iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            push_collapsed(value.as_bytes(), &mut out);
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    out.extend_from_slice(claim.signed_headers.join(";").as_bytes());
    out.push(b'\n');
    out.extend_from_slice(payload.as_bytes());
    out
}

/// Without blanks around it, and with runs of blanks as one.
fn push_collapsed(value: &[u8], out: &mut Vec<u8>) {
    let mut last_blank = false;
    for &byte in value.trim_ascii() {
        let blank = byte == b' ';
        if !(blank && last_blank) {
            out.push(byte);
        }
        last_blank = blank;
    }
}

fn canonical_query(presented: &Presented<'_>, place: Place) -> String {
    let pairs = presented.query.pairs().iter().filter(|(name, _)| covered(name, place));
    let encoded = pairs.map(|(name, value)| {
        (uri::encode(name, b"").into_owned(), uri::encode(value, b"").into_owned())
    });
    join(encoded.collect())
}

fn sorted_query(raw: &str, place: Place) -> String {
    let pairs = raw.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let covered = pairs.filter(|(name, _)| covered(name, place));
    join(covered.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn covered(name: &str, place: Place) -> bool {
    place == Place::Header || name != "X-Amz-Signature"
}

fn join(mut pairs: Vec<(String, String)>) -> String {
    pairs.sort_unstable();
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}
