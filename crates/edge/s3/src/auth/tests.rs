//! The examples that AWS published for S3's Signature Version 4, and each way to be refused.

use super::{Presented, Terms, verify};
use crate::{
    Credentials, date,
    error::{Code, Outcome},
    op::covered,
    uri::Query,
};
use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, Method};
use ripstop_envelope::ObjectKeys;
use sha2::{Digest as _, Sha256};

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct Example {
    method: Method,
    path: &'static str,
    query: String,
    headers: Vec<(&'static str, String)>,
    at: &'static str,
    signature_v2: bool,
}

impl Example {
    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(given, _)| *given != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn code(&self) -> Option<Code> {
        self.verify().err().map(|failure| failure.code)
    }

    fn verify(&self) -> Outcome<super::Verified> {
        let credentials: Credentials =
            [(KEY, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")].into_iter().collect();
        let headers: HeaderMap = self
            .headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let query = Query::parse(&self.query).unwrap();
        let presented = Presented {
            method: &self.method,
            path: self.path,
            raw_query: &self.query,
            query: &query,
            headers: &headers,
            host_bucket: None,
        };
        let (signature_v2, covered) = (self.signature_v2, covered());
        let keys = &ObjectKeys::default();
        let terms = Terms { region: "us-east-1", signature_v2, covered, keys };
        verify(&presented, &credentials, &terms, date::parse_basic(self.at).unwrap())
    }
}

fn authorization(signed: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential={KEY}/20130524/us-east-1/s3/aws4_request,\
         SignedHeaders={signed},Signature={signature}"
    )
}

fn example(method: Method, path: &'static str, query: &str, sha256: &str) -> Example {
    let headers = vec![
        ("host", "examplebucket.s3.amazonaws.com".to_owned()),
        ("x-amz-content-sha256", sha256.to_owned()),
        ("x-amz-date", "20130524T000000Z".to_owned()),
    ];
    let (query, at) = (query.to_owned(), "20130524T000100Z");
    Example { method, path, query, headers, at, signature_v2: true }
}

fn get_object() -> Example {
    let authorization = authorization(
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
    example(Method::GET, "/test.txt", "", EMPTY)
        .header("range", "bytes=0-9")
        .header("authorization", &authorization)
}

fn presigned() -> Example {
    let query = format!(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={KEY}%2F20130524%2Fus-east-1%2Fs3%2F\
         aws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&\
         X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    );
    let headers = vec![("host", "examplebucket.s3.amazonaws.com".to_owned())];
    let at = "20130524T120000Z";
    Example { method: Method::GET, path: "/test.txt", query, headers, at, signature_v2: true }
}

#[test]
fn the_published_examples_verify() {
    assert_eq!(get_object().code(), None);
    assert_eq!(presigned().code(), None);
    let put = example(
        Method::PUT,
        "/test$file.text",
        "",
        "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    )
    .header("date", "Fri, 24 May 2013 00:00:00 GMT")
    .header("x-amz-storage-class", "REDUCED_REDUNDANCY")
    .header(
        "authorization",
        &authorization(
            "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
    );
    assert_eq!(put.code(), None);
    for (query, signature) in [
        ("lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("max-keys=2&prefix=J", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ] {
        let signed = authorization("host;x-amz-content-sha256;x-amz-date", signature);
        let list = example(Method::GET, "/", query, EMPTY).header("authorization", &signed);
        assert_eq!(list.code(), None, "{query}");
    }
}

#[test]
fn the_published_chunks_verify() {
    let seed = example(
        Method::PUT,
        "/examplebucket/chunkObject.txt",
        "",
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    )
    .header("host", "s3.amazonaws.com")
    .header("x-amz-storage-class", "REDUCED_REDUNDANCY")
    .header("content-encoding", "aws-chunked")
    .header("x-amz-decoded-content-length", "66560")
    .header("content-length", "66824")
    .header(
        "authorization",
        &authorization(
            "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;\
                 x-amz-decoded-content-length;x-amz-storage-class",
            "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
        ),
    );
    let mut signer = seed.verify().unwrap().chunks.unwrap();
    for (len, signature) in [
        (65536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
        (1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
        (0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
    ] {
        let sha256 = Sha256::digest(vec![b'a'; len]).into();
        assert!(signer.accepts_chunk(sha256, signature), "{len}");
    }
    assert!(!signer.accepts_chunk([0; 32], "00"));
}

#[test]
fn each_wrong_thing_in_a_header_has_its_own_error() {
    let good = || get_object();
    let signed = "host;range;x-amz-content-sha256;x-amz-date";
    let cases = [
        (good().header("range", "bytes=0-8"), Code::SignatureDoesNotMatch),
        (good().header("x-amz-meta-a", "unsigned"), Code::AccessDenied),
        (good().header("x-amz-date", "20130524T010000Z"), Code::RequestTimeTooSkewed),
        (good().header("x-amz-date", "today"), Code::AccessDenied),
        (good().header("x-amz-content-sha256", "beef"), Code::InvalidArgument),
        (good().header("authorization", "AWS a:b"), Code::InvalidRequest),
        (good().header("authorization", "Basic abc"), Code::InvalidArgument),
        (good().header("authorization", "AWS4-HMAC-SHA256 x"), Code::AuthorizationHeaderMalformed),
        (
            good().header("authorization", &authorization(signed, "00").replace("us-east-1", "eu")),
            Code::AuthorizationHeaderMalformed,
        ),
        (
            good().header("authorization", &authorization(signed, "00").replace("/s3/", "/sts/")),
            Code::AuthorizationHeaderMalformed,
        ),
        (
            good().header("authorization", &authorization(signed, "00").replace("0524/", "0525/")),
            Code::AuthorizationHeaderMalformed,
        ),
        (
            good().header("authorization", &authorization(signed, "00").replace(KEY, "NOBODY")),
            Code::InvalidAccessKeyId,
        ),
        (
            good().header(
                "authorization",
                &authorization("range;x-amz-content-sha256;x-amz-date", "0"),
            ),
            Code::AccessDenied,
        ),
    ];
    for (at, (example, code)) in cases.iter().enumerate() {
        assert_eq!(example.code(), Some(*code), "case {at}");
    }
    let late = Example { at: "20130524T001501Z", ..good() };
    assert_eq!(late.code(), Some(Code::RequestTimeTooSkewed));
    assert_eq!(good().header("authorization", "").code(), Some(Code::AccessDenied));
    let unsigned = Example { headers: vec![], ..good() };
    assert_eq!(unsigned.code(), Some(Code::AccessDenied));
    let mut without_hash = good();
    without_hash.headers.retain(|(name, _)| *name != "x-amz-content-sha256");
    assert_eq!(without_hash.code(), Some(Code::InvalidRequest));
}

#[test]
fn the_region_error_tells_the_region() {
    let wrong = authorization("host", "0").replace("us-east-1", "mars-1");
    let failure = get_object().header("authorization", &wrong).verify().unwrap_err();
    assert!(failure.details.contains(&("Region", "us-east-1".to_owned())), "{failure:?}");
}

#[test]
fn what_is_wrong_with_a_claim_is_told_in_s3s_words() {
    let header = authorization("host;range;x-amz-content-sha256;x-amz-date", "00");
    let scope = "20130524/us-east-1/s3/aws4_request";
    assert!(header.contains(scope), "{header}");
    for (from, to, words) in [
        (" ", "_", "Authorization header is invalid -- one and only one ' ' (space) required."),
        ("Credential=", "Key=", "missing Credential."),
        ("SignedHeaders=", "Headers=", "missing SignedHeaders."),
        ("Signature=", "Sign=", "missing Signature."),
        (
            "Signature=00",
            "Signature-00",
            "the authorization component \"Signature-00\" is malformed.",
        ),
        (scope, "mine", "the Credential is mal-formed; expecting"),
        (
            "aws4_request",
            "aws4",
            "incorrect terminal \"aws4\". This endpoint uses \"aws4_request\".",
        ),
        ("/s3/", "/ec2/", "incorrect service \"ec2\". This endpoint belongs to \"s3\"."),
        ("/us-east-1/", "/mars-1/", "the region 'mars-1' is wrong; expecting 'us-east-1'"),
        ("20130524/", "2013/", "incorrect date format \"2013\"."),
        ("20130524/", "20130523/", "This date is not the same as X-Amz-Date: \"20130524\"."),
    ] {
        let failure = get_object().header("authorization", &header.replace(from, to)).verify();
        let failure = failure.unwrap_err();
        assert!(failure.message.contains(words), "{from} {to}: {failure}");
    }
    let short = header.rsplit_once(',').unwrap().0;
    let failure = get_object().header("authorization", short).verify().unwrap_err();
    assert!(failure.message.contains("requires three components"), "{failure}");
}

#[test]
fn presigned_urls_have_an_end() {
    let with = |from: &str, to: &str| Example {
        query: presigned().query.replace(from, to),
        ..presigned()
    };
    let bad = Some(Code::AuthorizationQueryParametersError);
    assert_eq!(with("Expires=86400", "Expires=604801").code(), bad);
    assert_eq!(with("Expires=86400", "Expires=0").code(), Some(Code::AccessDenied));
    assert_eq!(with("Expires=86400", "Expires=-1").code(), bad);
    assert_eq!(with("Expires=86400", "Expires=x").code(), bad);
    assert_eq!(with("&X-Amz-Expires=86400", "").code(), bad);
    assert_eq!(with("us-east-1", "eu-west-1").code(), bad);
    assert_eq!(with("Expires=86400", "Expires=604800").code(), Some(Code::SignatureDoesNotMatch));
    let expired = Example { at: "20130525T000001Z", ..presigned() };
    assert_eq!(expired.code(), Some(Code::AccessDenied));
    let early = Example { at: "20130523T234459Z", ..presigned() };
    assert_eq!(early.code(), Some(Code::AccessDenied));
    let meddled = presigned().header("x-amz-acl", "public-read");
    assert_eq!(meddled.code(), Some(Code::AccessDenied));
}

const V2_NOW: &str = "20130524T000000Z";

/// A URL of Version 2 that a client made for `signed` and that is used with `used` instead.
fn version_2(method: &Method, path: &'static str, signed: &str, used: &str) -> Example {
    let expires = date::parse_basic(V2_NOW).unwrap() + 60;
    let mut mac =
        Hmac::<sha1::Sha1>::new_from_slice(b"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY").unwrap();
    mac.update(format!("{method}\n\n\n{expires}\n{path}{signed}").as_bytes());
    let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
    version_2_with(method, path, expires, &crate::uri::encode(&signature, b""), used)
}

fn version_2_with(
    method: &Method,
    path: &'static str,
    expires: i64,
    signature: &str,
    used: &str,
) -> Example {
    Example {
        method: method.clone(),
        path,
        query: format!("AWSAccessKeyId={KEY}&Signature={signature}&Expires={expires}{used}"),
        headers: vec![("host", "localhost".to_owned())],
        at: V2_NOW,
        signature_v2: true,
    }
}

#[test]
fn version_2_is_taken_in_urls_only_and_if_it_is_wanted() {
    let expires = date::parse_basic(V2_NOW).unwrap() + 60;
    let url = |expires| version_2_with(&Method::GET, "/b/k", expires, "QQ%3D%3D", "");
    assert_eq!(url(expires).code(), Some(Code::SignatureDoesNotMatch));
    assert_eq!(url(expires - 61).code(), Some(Code::AccessDenied));
    let too_long = url(expires + super::claim::EXPIRY_S_MAX).code();
    assert_eq!(too_long, Some(Code::AuthorizationQueryParametersError));
    let signed = "?response-content-type=a/b";
    let good = || version_2(&Method::GET, "/b/k", signed, "&response-content-type=a%2Fb");
    assert_eq!(good().code(), None);
    let unwanted = Example { signature_v2: false, ..good() };
    assert_eq!(unwanted.code(), Some(Code::InvalidRequest));
}

#[test]
fn version_2_vouches_for_nothing_that_it_does_not_cover() {
    let denied = Some(Code::AccessDenied);
    for (method, path, used, code) in [
        (Method::GET, "/b", "", None),
        (Method::GET, "/b", "&prefix=a", denied),
        (Method::GET, "/b", "&list-type=2", denied),
        (Method::PUT, "/b/k", "", None),
        (Method::DELETE, "/b/k", "", None),
        (Method::DELETE, "/b/k", "&x-id=DeleteObject", denied),
        (Method::PUT, "/b/k", "&legal-hold", Some(Code::SignatureDoesNotMatch)),
        (Method::DELETE, "/b", "&publicAccessBlock", denied),
        (Method::DELETE, "/b", "", denied),
        (Method::DELETE, "/b/", "", denied),
        (Method::PUT, "/b", "", denied),
        (Method::POST, "/b", "&delete", denied),
    ] {
        let example = version_2(&method, path, "", used);
        assert_eq!(example.code(), code, "{method} {path} {used}");
    }
    let told = version_2(&Method::PUT, "/b/k", "", "&content-type=a%2Fb");
    assert_eq!(told.code(), denied);
    let followed = told.header("content-type", "a/b");
    assert_eq!(followed.code(), Some(Code::SignatureDoesNotMatch), "it was not signed so");
    let covered = version_2(&Method::PUT, "/b/k", "?legal-hold", "&legal-hold");
    assert_eq!(covered.code(), None);
}

#[test]
fn tokens_of_temporary_keys_are_refused_and_not_passed_over() {
    let url = version_2(&Method::GET, "/b/k", "", "&x-amz-security-token=t");
    assert_eq!(url.code(), Some(Code::InvalidToken), "it goes with no permanent key");
    let unsigned = get_object().header("x-amz-security-token", "t");
    assert_eq!(unsigned.code(), Some(Code::AccessDenied));
    let query = format!("{}&X-Amz-Security-Token=t", presigned().query);
    let meddled = Example { query, ..presigned() };
    assert_eq!(meddled.code(), Some(Code::InvalidToken), "whatever the signature is");
}

#[test]
fn version_4a_is_not_implemented_wherever_it_is_claimed() {
    let header = get_object().header("authorization", "AWS4-ECDSA-P256-SHA256 Credential=a");
    assert_eq!(header.code(), Some(Code::NotImplemented));
    let query = presigned().query.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256");
    assert_eq!(Example { query, ..presigned() }.code(), Some(Code::NotImplemented));
}

#[test]
fn signed_headers_are_few_and_named_once() {
    let many: Vec<String> = (0..201).map(|at| format!("h{at}")).collect();
    for names in ["host;host;range", &many.join(";")] {
        let signed = get_object().header("authorization", &authorization(names, "00"));
        assert_eq!(signed.code(), Some(Code::AuthorizationHeaderMalformed), "{names}");
    }
}
