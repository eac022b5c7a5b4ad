//! Requests without a signature.

use crate::{
    Face, assert_refused,
    cases::{BUCKET, Case, KEY, Needed, OTHER},
    client::{Call, UNSIGNED},
    operations, rights,
};
use ripstop_identity::{Right, Rights};
use ripstop_s3::S3Operation;

/// Whether a case is one that its head's signature decides on.
fn is_of_head((_, case): &(S3Operation, Case)) -> bool {
    !matches!(case.needed, Needed::NoKey | Needed::Form)
}

async fn send(face: &Face, case: &Case) -> crate::client::Answer {
    case.call(&face.upload).send_unsigned(face.to, &case.body).await
}

#[tokio::test]
async fn nothing_is_done_without_a_signature_unless_it_was_given() {
    let face = Face::new(Rights::administrator(), Rights::none()).await;
    let before = face.state().await;
    for (operation, case) in operations().filter(is_of_head) {
        assert_refused(&send(&face, &case).await, &format!("{operation:?}"));
    }
    assert_eq!(face.state().await, before);
}

#[tokio::test]
async fn what_was_given_is_done_without_a_signature_in_that_bucket_alone() {
    for (right, given) in [(Right::Read, &[Right::Read][..]), (Right::Write, &[Right::Write])] {
        for (operation, case) in operations().filter(is_of_head) {
            let face = Face::new(Rights::none(), rights(&[(BUCKET, given)])).await;
            let answer = send(&face, &case).await;
            // Copies read elsewhere, where nothing was given.
            if case.needed == Needed::Of(right) || case.needed == Needed::Any {
                assert_eq!(answer.status, case.status, "{operation:?} {right:?}: {answer:?}");
            } else {
                assert_refused(&answer, &format!("{operation:?} {right:?}"));
            }
            let elsewhere = case.at(case.path.replacen(BUCKET, OTHER, 1));
            assert_refused(&send(&face, &elsewhere).await, &format!("{operation:?} elsewhere"));
        }
    }
}

#[tokio::test]
async fn buckets_are_not_listed_created_or_deleted_without_a_signature() {
    let everything = rights(&[("*", &[Right::Read, Right::Write])]);
    let face = Face::new(Rights::none(), everything).await;
    for operation in
        [S3Operation::ListBuckets, S3Operation::CreateBucket, S3Operation::DeleteBucket]
    {
        let answer = send(&face, &crate::case(operation)).await;
        assert_refused(&answer, &format!("{operation:?}"));
    }
    let made = Call::new("PUT", "/a-new-bucket").send_unsigned(face.to, b"").await;
    assert_refused(&made, "a bucket that is not there");
}

#[tokio::test]
async fn half_a_signature_is_none_that_counts_as_nobodys() {
    let face = Face::new(Rights::none(), rights(&[(BUCKET, &[Right::Read])])).await;
    let path = format!("/{BUCKET}/{KEY}");
    let get = || Call::new("GET", &path);
    assert_eq!(get().send_unsigned(face.to, b"").await.body, b"what was there");
    for query in [
        "X-Amz-Signature=00",
        "X-Amz-Credential=KEY%2F20250101%2Fus-east-1%2Fs3%2Faws4_request",
        "AWSAccessKeyId=KEY",
        "AWSAccessKeyId=KEY&Signature=AAAA&Expires=99",
        "Signature=AAAA",
        "X-Amz-Security-Token=x",
    ] {
        let answer = get().query(query).send_unsigned(face.to, b"").await;
        assert!(answer.status == 403 || answer.status == 400, "{query}: {answer:?}");
    }
    for (name, value) in [("authorization", "AWS4-HMAC-SHA256 x"), ("x-amz-security-token", "x")] {
        let answer = get().header(name, value).send_unsigned(face.to, b"").await;
        assert!(answer.status == 403 || answer.status == 400, "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn bodies_without_a_signature_are_held_against_what_is_said_of_them() {
    let face = Face::new(Rights::none(), rights(&[(BUCKET, &[Right::Write])])).await;
    let path = format!("/{BUCKET}/new");
    let put = |sha256: &str| {
        let call = Call::new("PUT", &path).header("x-amz-content-sha256", sha256);
        call.send_unsigned(face.to, b"body")
    };
    let nonsense = put("nonsense").await;
    assert_eq!((nonsense.status, nonsense.code().as_str()), (400, "XAmzContentSHA256Mismatch"));
    let told = crate::text(&nonsense);
    let computed = crate::client::sha256(b"body");
    assert!(told.contains("<ClientComputedContentSHA256>nonsense</"), "{told}");
    assert!(told.contains(&format!("<S3ComputedContentSHA256>{computed}</")), "{told}");
    assert_eq!(put(&crate::client::sha256(b"other")).await.code(), "XAmzContentSHA256Mismatch");
    // There is no key to verify its chunks with.
    let chunks = put("STREAMING-AWS4-HMAC-SHA256-PAYLOAD").await;
    assert_eq!((chunks.status, chunks.code().as_str()), (400, "InvalidRequest"), "{chunks:?}");
    assert!(face.store.object(BUCKET, "new").await.is_err());
    assert_eq!(put(UNSIGNED).await.status, 200);
    assert_eq!(put(&crate::client::sha256(b"body")).await.status, 200);
}

#[tokio::test]
async fn what_browsers_ask_first_is_answered_without_a_signature_and_tells_nothing() {
    let face = Face::new(Rights::none(), Rights::none()).await;
    let ask = |path: &str| Call::new("OPTIONS", path);
    let origin = ("origin", "https://example.com");
    for (call, status, code, said) in [
        (ask("/theirs"), 400, "BadRequest", "Origin request header needed."),
        (ask("/theirs").header(origin.0, origin.1), 400, "BadRequest", "Method: null"),
        (
            ask("/theirs").header(origin.0, origin.1).header("access-control-request-method", "X"),
            400,
            "BadRequest",
            "Method: X",
        ),
    ] {
        let answer = call.send_unsigned(face.to, b"").await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{answer:?}");
        assert!(crate::text(&answer).contains(said), "{answer:?}");
    }
    let mut told = Vec::new();
    for (path, kind) in [
        ("/theirs", "BUCKET"),
        ("/none-here", "BUCKET"),
        ("/theirs/some-key?retention", "OBJECT"),
        ("/none-here/k", "OBJECT"),
    ] {
        let call = || ask(path).header("access-control-request-method", "PUT");
        for answer in [
            call().header(origin.0, origin.1).send_unsigned(face.to, b"").await,
            call().header(origin.0, origin.1).secret("wrong").send(face.to, b"").await,
        ] {
            let body = crate::text(&answer);
            assert_eq!((answer.status, answer.code().as_str()), (403, "AccessForbidden"));
            assert!(body.contains("<Message>CORSResponse: CORS is not enabled for this bucket."));
            let kind = format!("<Method>PUT</Method><ResourceType>{kind}</ResourceType>");
            assert!(body.contains(&kind), "{body}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
            told.push(answer.head.lines().count());
        }
    }
    assert!(told.windows(2).all(|two| two[0] == two[1]), "{told:?}");
}

#[tokio::test]
async fn a_form_without_a_signature_does_what_was_given_whoever_signed_its_head() {
    let form = "--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nnew\r\n--b\r\n\
                Content-Disposition: form-data; name=\"file\"\r\n\r\nbytes\r\n--b--\r\n";
    let post = |path: &str| {
        let call =
            Call::new("POST", path).header("content-type", "Multipart/Form-Data; boundary=b");
        call.header("content-length", form.len())
    };
    let here = format!("/{BUCKET}");
    for given in [Rights::none(), rights(&[(BUCKET, &[Right::Read]), (OTHER, &[Right::Write])])] {
        let face = Face::new(Rights::administrator(), given).await;
        let before = face.state().await;
        for path in [here.clone(), "/none-here".to_owned()] {
            let signed = [post(&path).sign().head.as_bytes(), form.as_bytes()].concat();
            for answer in [
                crate::exchange(face.to, &[&signed], false).await,
                post(&path).send_unsigned(face.to, form.as_bytes()).await,
            ] {
                assert_refused(&answer, &path);
            }
        }
        assert_eq!(face.last_operation(), S3Operation::PostObject);
        assert_eq!(face.state().await, before);
    }
    let face = Face::new(Rights::none(), rights(&[(BUCKET, &[Right::Write])])).await;
    let answer = post(&here).send_unsigned(face.to, form.as_bytes()).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0), "{answer:?}");
    assert_eq!(face.store.object(BUCKET, "new").await.unwrap().object.len, 5);
    // What is no form is told so.
    let plain = Call::new("POST", &here).send_unsigned(face.to, b"").await;
    assert_eq!((plain.status, plain.code().as_str()), (412, "PreconditionFailed"));
}
