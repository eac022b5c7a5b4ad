//! What strangers' bytes are given to first, for the fuzzer in `fuzz/` and for the laws below:
//! nothing panics, and nothing is handed on that did not come.

use crate::{
    Credentials,
    auth::{self, Presented, Terms},
    body::{self, Chunked},
    form::{Fields, Policy},
    op,
    route::route,
    uri::{Query, Target},
    xml,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use ripstop_envelope::ObjectKeys;

const TRAILER: &str = "x-amz-checksum-crc32";
/// When everything is said to be asked: a day in 2025.
const NOW_S: i64 = 1_760_000_000;

/// A request's head, up to the verdict on its signature: method and target on the first line, a
/// header on each other.
pub fn head(bytes: &[u8]) {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (method, target) = first.split_once(' ').unwrap_or(("GET", &first));
    let (Ok(method), Ok(uri)) = (method.parse::<Method>(), target.parse::<Uri>()) else { return };
    let mut headers = HeaderMap::new();
    for line in lines.take(100) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    let host = headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let raw_query = uri.query().unwrap_or_default();
    let (Ok(query), Ok(target)) = (Query::parse(raw_query), Target::parse(uri.path(), host, None))
    else {
        return;
    };
    let _ = route(&method, &target, &query, &headers);
    let presented = Presented {
        method: &method,
        path: uri.path(),
        raw_query,
        query: &query,
        headers: &headers,
        host_bucket: None,
    };
    let credentials: Credentials = [("KEY", "a secret that nobody guesses")].into_iter().collect();
    let keys = &ObjectKeys::default();
    let terms = Terms { region: "us-east-1", signature_v2: true, covered: op::covered(), keys };
    let verified = auth::verify(&presented, &credentials, &terms, NOW_S);
    assert!(verified.is_err(), "somebody came in without the secret");
}

/// A document in a request's body.
pub fn document(bytes: &[u8]) {
    let limits = xml::Limits { bytes: 4 << 20, depth: 8, elements: 100_000 };
    let _ = xml::parse(bytes, limits);
}

/// A streamed upload: the first byte says how long the pieces are in which the others come.
pub fn chunked(bytes: &[u8]) {
    let Some((&step, framed)) = bytes.split_first() else { return };
    let mut chunked = Chunked::new(None, vec![TRAILER.to_owned()]);
    let mut handed_on = 0;
    for piece in framed.chunks(usize::from(step).max(1)) {
        let mut input = Bytes::copy_from_slice(piece);
        loop {
            match chunked.decode(&mut input) {
                Ok(Some(bytes)) => handed_on += bytes.len(),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    let _ = chunked.finish();
    assert!(handed_on <= framed.len(), "more was handed on than came");
}

/// A form: the first byte says how long the pieces are in which the others come.
pub fn form(bytes: &[u8]) {
    let Some((&step, form)) = bytes.split_first() else { return };
    let read = body::read_form(form, usize::from(step).max(1));
    if let Ok((fields, filename, len)) = read {
        assert!(len <= form.len(), "the file is longer than the form");
        let Ok(fields) = Fields::new(fields, &filename) else { return };
        let _ = (fields.key(), fields.headers(), fields.wish());
        if let Some(Ok(policy)) = fields.get("policy").map(Policy::read) {
            let _ = policy.check(&fields, "bucket", NOW_S);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "GET /bucket/key?list-type=2&prefix=a%2Fb HTTP/1.1\nhost: localhost\nx-amz-date: \
        20251009T085320Z\nx-amz-content-sha256: UNSIGNED-PAYLOAD\nauthorization: AWS4-HMAC-SHA256 \
        Credential=KEY/20251009/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=00";
    const DOCUMENT: &str = "<?xml version=\"1.0\"?><Delete xmlns=\"x\"><Object><Key>a&amp;b</Key></Object>\
        <Quiet>true</Quiet></Delete>";
    const FRAMED: &str =
        "\x075\r\nhello\r\n6;x=y\r\n world\r\n0\r\nx-amz-checksum-crc32: AAAA\r\n\r\n";

    const FORM: &str = "\x07--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\na${filename}\r\n\
        --b\r\nContent-Disposition: form-data; name=\"policy\"\r\n\r\neyJleHBpcmF0aW9uIjoiMjAzMC0wMS0wMVQwMDowMDowMFoiLCJjb25kaXRpb25zIjpbeyJhIjoiYiJ9XX0=\r\n\
        --b\r\nContent-Disposition: form-data; name=file; filename=\"x\"\r\n\r\nbytes\r\n--b--\r\n";

    /// A valid text with some of its bytes changed, and bytes of no meaning.
    fn bytes(valid: &'static str) -> impl Strategy<Value = Vec<u8>> {
        let changes = prop::collection::vec((0..valid.len(), any::<u8>()), 0..6);
        let near = (changes, 0..=valid.len()).prop_map(move |(changes, len)| {
            let mut bytes = valid.as_bytes().to_vec();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            bytes.truncate(len);
            bytes
        });
        prop_oneof![4 => near, 1 => prop::collection::vec(any::<u8>(), 0..300)]
    }

    proptest! {
        #[test]
        fn no_head_panics_or_comes_in(bytes in bytes(HEAD)) {
            head(&bytes);
        }

        #[test]
        fn no_document_panics(bytes in bytes(DOCUMENT)) {
            document(&bytes);
        }

        #[test]
        fn no_form_panics(bytes in bytes(FORM)) {
            form(&bytes);
        }

        #[test]
        fn no_upload_panics_or_grows(bytes in bytes(FRAMED)) {
            chunked(&bytes);
        }
    }
}
